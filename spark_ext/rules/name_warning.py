# SPDX-License-Identifier: Apache-2.0
"""The warning about a logical name that is now another column's physical name."""

from __future__ import annotations

from collections.abc import Mapping

from spark_ext.model.changes import misleading_names
from spark_ext.model.column_mapping import column_id, has_column_id, is_mapped
from spark_ext.model.metadata import TableMetadata
from spark_ext.model.schema import Path, as_code, walk

_Ids = tuple[int, int]

# An overwritten schema may have thousands of such columns.
_SHOWN = 3


def name_warning(*, old: TableMetadata, new: TableMetadata) -> str | None:
    """Returns the warning about a change for the session's log; None if there is no new problem.

    The warning names columns whose logical name is another column's physical name since this
    change. Columns that an earlier statement dropped are in neither metadata.

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
    misled = [paths for ids, paths in _by_ids(new).items() if ids not in before]
    if not misled:
        return None
    columns = ", ".join(_in_words(column, other) for column, other in misled[:_SHOWN])
    more = f" and {len(misled) - _SHOWN:,} more" * (len(misled) > _SHOWN)
    return (
        f"The data files hold {columns}{more}. Spark reads the right columns. A reader that looks"
        " for values or statistics by logical names, such as ClickHouse when it skips files, may"
        " miss rows or show the values of another column without an error. To make every physical"
        " name equal to the logical name, call"
        " spark_ext.UsageTracking.forName(spark, ..).align_names()."
    )


def _in_words(column: Path, other: Path) -> str:
    return f"{as_code(other)} under the name of the column {as_code(column)}"


def _by_ids(metadata: TableMetadata) -> Mapping[_Ids, tuple[Path, Path]]:
    """Returns both paths by both ids, which a further rename does not change."""
    misleading = misleading_names(metadata.schema)
    if not misleading:
        return {}
    ids = {path: column_id(f) for path, f in walk(metadata.schema) if has_column_id(f)}
    return {
        (ids[column], ids[other]): (column, other)
        for column, other in misleading.items()
        if column in ids and other in ids
    }
