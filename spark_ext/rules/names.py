# SPDX-License-Identifier: Apache-2.0
"""New columns get their logical name while the flag is false, and a misleading name a warning."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

from spark_ext.model.changes import misleading_names
from spark_ext.model.column_mapping import (
    column_id,
    has_column_id,
    has_physical_name,
    is_mapped,
    physical_name,
    with_physical_name,
)
from spark_ext.model.keys import INTERNAL_COLUMNS
from spark_ext.model.metadata import CommitContext, TableMetadata, flag
from spark_ext.model.schema import Field, Path, Schema, as_code, differing, map_fields, walk
from spark_ext.rules.situation import is_tracked


def name_columns(*, old: TableMetadata, new: TableMetadata, commit: CommitContext) -> TableMetadata:
    """Replaces the `col-<uuid>` of each column that this commit adds by the logical name.

    A column is new if Delta assigned its physical name in this commit. Names that Delta reused from
    the table (overwriteSchema, REPLACE) or took from its files (enabling column mapping on an
    existing table) are not new.

    The UUID is kept if the flag is true. It is also kept if a sibling has the name in the files,
    because the RFC requires unique names, and Parquet readers ignore letter case. Finally it is
    kept if Spark or Delta reserve the name, which they do at the top level only. A name may contain
    any character. Names in different structs may be equal, because Delta compares whole paths.

    Returns:
        `new` with the names in its schema, and in the keys of nested ids, which start with them.

    Source:
        RFC, "Writer Requirements for Column Mapping".

    Example:
        >>> proposed = table({"a": ""}, "name", "false")
        >>> new = table({"a": "1 col-5d2c"}, "name", "false")
        >>> named = name_columns(old=table(), new=new, commit=commit(proposed))
        >>> columns(named.schema)
        {'a': '1 a'}
    """
    if not is_tracked(old, new, commit) or flag(new) is not False or not is_mapped(new):
        return new
    if new.schema is old.schema or _takes_names_of_files(old, commit):
        return new
    columns = _new_columns(old.schema, new.schema, commit.proposed.schema)
    names = _names(columns, new.schema)

    def named(path: Path, field: Field) -> Field:
        return with_physical_name(field, names[path]) if path in names else field

    return new.with_schema(map_fields(new.schema, named)) if names else new


def _takes_names_of_files(old: TableMetadata, commit: CommitContext) -> bool:
    # When column mapping is enabled on an existing table, Delta takes the names in the files.
    return not commit.creating_table and not is_mapped(old) and bool(old.schema["fields"])


def _new_columns(old: Schema, new: Schema, proposed: Schema) -> Mapping[Path, Field]:
    asked, assigned = differing(proposed, new)
    before, after = differing(old, assigned)
    arrived = {path for path, field in walk(asked) if has_physical_name(field)}
    reused = {column_id(field) for _, field in walk(before) if has_column_id(field)}
    return {
        path: field
        for path, field in walk(after)
        if path not in arrived and column_id(field) not in reused
    }


def _names(columns: Mapping[Path, Field], schema: Schema) -> Mapping[Path, str]:
    """Returns the physical names to assign by path: logical names that are unused in the files."""
    if not columns:
        return {}
    parents = {path[:-1] for path in columns}
    taken: dict[Path, set[str]] = defaultdict(set)
    for path, field in walk(schema):
        if path[:-1] in parents and path not in columns:
            taken[path[:-1]].add(physical_name(field).lower())
    names = {}
    for path, field in columns.items():
        name = field["name"]
        siblings = taken[path[:-1]]
        is_reserved = len(path) == 1 and name.lower() in INTERNAL_COLUMNS
        if name.lower() not in siblings and not is_reserved:
            siblings.add(name.lower())
            names[path] = name
    return names


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
    return {
        (column_id(column.field), column_id(other.field)): (column.path, other.path)
        for column, other in misleading_names(metadata.schema)
        if has_column_id(column.field) and has_column_id(other.field)
    }
