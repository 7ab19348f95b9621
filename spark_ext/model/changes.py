# SPDX-License-Identifier: Apache-2.0
"""The columns that differ between two schemas of one table, their former ids and names."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from spark_ext.model.column_mapping import Column, column_id, columns_of, has_column_id
from spark_ext.model.schema import Field, Path, Schema, differing, inner_types, lower, quoted, walk


@dataclass(frozen=True)
class ColumnChanges:
    """The columns added, dropped and renamed, each by its logical path.

    A child of a renamed column is renamed only if its own name changed.
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

    Source: Delta 4.4.0, DeltaColumnMapping.scala, `isDropColumnOperation`, `collectDroppedColumns`,
    `collectRenamedColumns`, which compare physical paths only.
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


def misleading_names(schema: Schema) -> list[tuple[Column, Column]]:
    """Returns the columns whose logical name is another column's physical name in the same struct.

    Delta finds columns of a mapped table by physical names or ids, and reads the right columns. A
    reader that looks for values or statistics by logical names reads another column. Letter case is
    ignored, as readers of Parquet do.

    Example:
        >>> found = misleading_names(table({"town": "1 city", "city": "2 col-5d2c"}, "name").schema)
        >>> [(column.path, other.path) for column, other in found]
        [(('city',), ('town',))]
    """
    columns = columns_of(schema)
    by_name: dict[Path, Column] = {}
    for column in columns:
        by_name.setdefault(lower(column.physical_path), column)
    others = (by_name.get(lower((*each.physical_path[:-1], each.path[-1]))) for each in columns)
    return [
        (column, other)
        for column, other in zip(columns, others, strict=True)
        if other is not None and other.path != column.path
    ]


@dataclass(frozen=True)
class FormerIds:
    """The column ids of a table before an alignment of its names removed column mapping.

    `highest` is the highest id that the table ever used. The property
    `sparkext.columnMapping.aligning` starts with the former mode. The commit that removes column
    mapping appends JSON: for each path the id and the type of the column. The type includes
    elements, keys and values, but not the fields of a struct::

        name {"max":8,"ids":{"items":[2,"array/struct"],"items.element.x":[3,"long"]}}
    """

    highest: int
    ids: Mapping[str, tuple[int, str]]

    def of(self, path: Path, field: Field) -> int | None:
        """Returns the former id of a column; None if no column of this path and type had an id."""
        id, kind = self.ids.get(quoted(path), (None, None))
        return id if kind == _kind(field) else None

    @property
    def _is_valid(self) -> bool:
        numbers = [id for id, _ in self.ids.values()]
        return (
            all(type(number) is int for number in (self.highest, *numbers))
            and all(0 < number <= self.highest for number in numbers)
            and len(set(numbers)) == len(numbers)
        )


def aligning_mode(value: str) -> str:
    """Returns the mode in the property of `FormerIds`."""
    return value.partition(" ")[0]


def with_former_ids(value: str, former: FormerIds) -> str:
    """Returns the value of the property with ids."""
    content = {"max": former.highest, "ids": former.ids}
    return f"{aligning_mode(value)} {json.dumps(content, separators=(',', ':'))}"


def former_ids(value: str) -> FormerIds | None:
    """Returns the ids in the property; None if there are none, or if they are not valid.

    Example:
        >>> former_ids('name {"max":1,"ids":{"a":[1,"long"]}}')
        FormerIds(highest=1, ids={'a': (1, 'long')})
        >>> former_ids('name {"max":1,"ids":{"a":[2,"long"]}}')
    """
    try:
        content = json.loads(value.partition(" ")[2])
        ids = {path: (id, kind) for path, (id, kind) in content["ids"].items()}
        former = FormerIds(content["max"], ids)
    except (AttributeError, KeyError, TypeError, ValueError):
        # Another program wrote the value. Column mapping then starts without former ids.
        return None
    return former if former._is_valid else None


def ids_of(schema: Schema) -> dict[str, tuple[int, str]]:
    """Returns the id and the type of each column that has an id, by its path."""
    return {
        quoted(path): (column_id(field), _kind(field))
        for path, field in walk(schema)
        if has_column_id(field)
    }


def has_same_columns(one: Schema, other: Schema) -> bool:
    """Returns whether two schemas have the same paths and types; ids are not compared."""
    one_kinds, other_kinds = ({path: _kind(f) for path, f in walk(each)} for each in (one, other))
    return one_kinds == other_kinds


def _kind(field: Field) -> str:
    types = (inner for _, inner in inner_types((), field["type"]))
    return "/".join(inner if isinstance(inner, str) else str(inner["type"]) for inner in types)
