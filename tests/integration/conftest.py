from delta_table import NAME_MODE, TRACKED, Table
from sessions import small_session

__all__ = ["NAME_MODE", "TRACKED", "Table", "small_session"]
