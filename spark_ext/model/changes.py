# SPDX-License-Identifier: Apache-2.0
"""The columns that differ between two schemas of one table, and names that mislead readers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from spark_ext.model.column_mapping import Column, column_id, columns_of, has_column_id
from spark_ext.model.schema import Path, Schema, differing, lower, walk


@dataclass(frozen=True)
class ColumnChanges:
    """The columns added, dropped and renamed, each by its logical path.

    Args:
        added: Paths in the new schema.
        dropped: Paths in the old schema.
        renamed: Pairs of a path in the old and a path in the new schema. A child of a renamed
            column has a pair only if its own name changed.
    """

    added: tuple[Path, ...] = ()
    dropped: tuple[Path, ...] = ()
    renamed: tuple[tuple[Path, Path], ...] = ()


def column_changes(old: Schema, new: Schema) -> ColumnChanges:
    """Returns the columns of a mapped table that were added, dropped and renamed at every level.

    Two columns are the same column if they have the same `identity`. An id under another physical
    path belongs to another column: another table assigned the id (CLONE), or the column moved out
    of its struct. The old column then counts as dropped, and the new column as added. A column
    without an id also counts as dropped and added, unless its whole top-level column is unchanged.

    A column whose name changed only in letter case counts as renamed: files keep the old case, and
    Parquet readers may compare names exactly.

    Returns:
        The changes, in the order of the schemas.

    Source:
        Delta 4.4.0, DeltaColumnMapping.scala, `isDropColumnOperation`, `collectDroppedColumns`,
        `collectRenamedColumns`, which compare physical paths only.

    Example:
        >>> def schema(**ids):
        ...     fields = [
        ...         {"name": name, "type": "long", "metadata": {"delta.columnMapping.id": i,
        ...          "delta.columnMapping.physicalName": f"col-{i}"}} for name, i in ids.items()]
        ...     return {"type": "struct", "fields": fields}
        >>> column_changes(schema(a=1, b=2), schema(a=1, c=2, d=3)).renamed
        ((('b',), ('c',)),)
    """
    old, new = differing(old, new)
    after = {_identity(column): column for column in columns_of(new) if has_column_id(column.field)}
    before = set()
    dropped: list[Path] = []
    renamed: list[tuple[Path, Path]] = []
    for column in columns_of(old):
        same = after.get(_identity(column)) if has_column_id(column.field) else None
        if same is None:
            dropped.append(column.path)
            continue
        before.add(same.path)
        if same.field["name"] != column.field["name"]:
            renamed.append((column.path, same.path))
    added = tuple(column.path for column in columns_of(new) if column.path not in before)
    return ColumnChanges(added, tuple(dropped), tuple(renamed))


def identity(id: int, physical_path: Path) -> tuple[int, Path]:
    """Returns the key that two versions of a column share in mapped schemas of one table."""
    return id, physical_path


def dropped_paths(old: Schema, new: Schema) -> tuple[Path, ...]:
    """Returns the logical paths of `old` that are missing in `new`, letter case included.

    If one of the schemas is not mapped, ids cannot identify columns.
    """
    old, new = differing(old, new)
    kept = {path for path, _ in walk(new)}
    return tuple(path for path, _ in walk(old) if path not in kept)


def _identity(column: Column) -> tuple[int, Path]:
    return identity(column_id(column.field), column.physical_path)


def misleading_names(schema: Schema) -> Mapping[Path, Path]:
    """Returns the columns whose logical name is another column's physical name in the same struct.

    Delta finds columns by physical names or ids, and reads the right columns. A reader that looks
    for values or statistics by logical names reads another column.

    Args:
        schema: The schema of a mapped table.

    Returns:
        For the path of each such column, the path of the other column. Letter case is ignored, as
        readers of Parquet do.

    Example:
        >>> misleading_names(table({"town": "1 city", "city": "2 col-5d2c"}, "name").schema)
        {('city',): ('town',)}
    """
    by_physical_path: dict[Path, Path] = {}
    looked_for: dict[Path, Path] = {}
    for path, physical_path, field in columns_of(schema):
        by_physical_path.setdefault(lower(physical_path), path)
        looked_for[path] = lower((*physical_path[:-1], field["name"]))
    return {
        path: found
        for path, name in looked_for.items()
        if (found := by_physical_path.get(name)) is not None and found != path
    }
