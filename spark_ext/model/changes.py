# SPDX-License-Identifier: Apache-2.0
"""The columns that differ between two schemas of one table."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from spark_ext.model.column_mapping import column_id, has_column_id, physical_name
from spark_ext.model.schema import Field, Path, Schema, differing, walk


@dataclass(frozen=True)
class ColumnChanges:
    """The columns added, dropped and renamed, each by its logical path.

    Args:
        added: Paths in the new schema.
        dropped: Paths in the old schema.
        renamed: Pairs of a path in the old and one in the new schema. The children of a renamed
            column, whose own names are as before, are not among them.
    """

    added: tuple[Path, ...] = ()
    dropped: tuple[Path, ...] = ()
    renamed: tuple[tuple[Path, Path], ...] = ()


class _Column(NamedTuple):
    path: Path
    physical_path: Path
    field: Field


def column_changes(old: Schema, new: Schema) -> ColumnChanges:
    """What happened to the columns of a mapped table, at every level.

    Columns are the same column if they have one `identity`. An id under another physical path
    belongs to another column: it was given by another table (CLONE), or the column moved out of
    its struct. The old column is dropped then, and the new one added. A column
    without an id can't be recognised, and counts as dropped and added as well, unless the whole
    top-level column that it is in is as it was.

    A column whose name changed only in letter case is renamed: files keep the old case, and
    Parquet readers may compare names exactly.

    Returns:
        The changes, in the order of the schemas.

    Source:
        Delta 4.4.0, DeltaColumnMapping.scala, `isDropColumnOperation`, `collectDroppedColumns`,
        `collectRenamedColumns`, which go by the physical path alone.

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
    after = {_identity(column): column for column in _columns(new) if has_column_id(column.field)}
    before = set()
    dropped: list[Path] = []
    renamed: list[tuple[Path, Path]] = []
    for column in _columns(old):
        same = after.get(_identity(column)) if has_column_id(column.field) else None
        if same is None:
            dropped.append(column.path)
            continue
        before.add(same.path)
        if same.field["name"] != column.field["name"]:
            renamed.append((column.path, same.path))
    added = tuple(column.path for column in _columns(new) if column.path not in before)
    return ColumnChanges(added, tuple(dropped), tuple(renamed))


def identity(id: int, physical_path: Path) -> tuple[int, Path]:
    """By which two columns of mapped schemas of one table are the same column."""
    return id, physical_path


def dropped_paths(old: Schema, new: Schema) -> tuple[Path, ...]:
    """The logical paths of `old` that `new` has not, letter case included.

    For two schemas of which at most one is mapped, so that ids can't tell.
    """
    old, new = differing(old, new)
    kept = {path for path, _ in walk(new)}
    return tuple(path for path, _ in walk(old) if path not in kept)


def _columns(schema: Schema) -> Iterator[_Column]:
    physical = walk(schema, name=physical_name)
    for (path, field), (physical_path, _) in zip(walk(schema), physical, strict=True):
        yield _Column(path, physical_path, field)


def _identity(column: _Column) -> tuple[int, Path]:
    return identity(column_id(column.field), column.physical_path)
