# SPDX-License-Identifier: Apache-2.0
"""What the user of a statement is told when it gives a column the name of another one in files."""

from __future__ import annotations

from collections.abc import Mapping

from spark_ext.model.column_mapping import column_id, has_column_id, is_mapped
from spark_ext.model.metadata import TableMetadata
from spark_ext.model.misleading_names import misleading_names
from spark_ext.model.schema import Path, as_code, walk

_Ids = tuple[int, int]

# A schema that is overwritten may have thousands.
_SHOWN = 3


def name_warning(*, old: TableMetadata, new: TableMetadata) -> str | None:
    """The warning of a change, for the log of the session; None where there is nothing to say.

    It tells of columns that another one has the name of in files since this change, not of those
    that were so before. What was dropped by an earlier statement is in neither metadata.

    Example:
        >>> old = table({"town": "1 city"}, "name", "true")
        >>> new = table({"town": "1 city", "city": "2 col-5d2c"}, "name", "true")
        >>> print(name_warning(old=old, new=new))
        The data files hold `town` under the name of the column `city`. ...
        >>> name_warning(old=new, new=new) is None
        True
    """
    if new.schema is old.schema or not is_mapped(new):
        return None
    before = _by_ids(old) if is_mapped(old) else {}
    brought = [paths for ids, paths in _by_ids(new).items() if ids not in before]
    if not brought:
        return None
    told = ", ".join(_told(column, other) for column, other in brought[:_SHOWN])
    more = f" and {len(brought) - _SHOWN:,} more" * (len(brought) > _SHOWN)
    return (
        f"The data files hold {told}{more}. Spark reads the right columns. A reader that goes by"
        " the names of the table, be it only to skip files by their statistics, as ClickHouse"
        " does, may miss rows or show the values of one column as those of the other, without an"
        " error. To give every column its own name in the files:"
        " spark_ext.UsageTracking.forName(spark, ..).align_names()."
    )


def _told(column: Path, other: Path) -> str:
    return f"{as_code(other)} under the name of the column {as_code(column)}"


def _by_ids(metadata: TableMetadata) -> Mapping[_Ids, tuple[Path, Path]]:
    """Both paths by both ids, which stay when a column is renamed once more."""
    misleading = misleading_names(metadata.schema)
    if not misleading:
        return {}
    ids = {path: column_id(f) for path, f in walk(metadata.schema) if has_column_id(f)}
    return {
        (ids[column], ids[other]): (column, other)
        for column, other in misleading.items()
        if column in ids and other in ids
    }
