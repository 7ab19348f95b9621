# SPDX-License-Identifier: Apache-2.0
"""The column ids of a table before an alignment of its names removed column mapping.

Shape:
    The property `sparkext.columnMapping.aligning` starts with the former mode. The commit that
    removes column mapping appends JSON: for each path the id and the type of the column. The type
    includes elements, keys and values, but not the fields of a struct::

        name {"max":8,"ids":{"items":[2,"array/struct"],"items.element.x":[3,"long"]}}
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from spark_ext.model.column_mapping import column_id, has_column_id
from spark_ext.model.schema import Field, Path, Schema, inner_types, quoted, walk


@dataclass(frozen=True)
class FormerIds:
    """The former ids of columns by their paths.

    Args:
        highest: The highest id that the table ever used.
        ids: For each path the id and the type of the column.
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
    """Returns the mode in the property.

    Example:
        >>> aligning_mode('id {"max":1,"ids":{}}')
        'id'
    """
    return value.partition(" ")[0]


def with_former_ids(value: str, former: FormerIds) -> str:
    """Returns the value of the property with ids.

    Example:
        >>> with_former_ids("name", FormerIds(1, {"a": (1, "long")}))
        'name {"max":1,"ids":{"a":[1,"long"]}}'
    """
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
    return _kinds(one) == _kinds(other)


def _kinds(schema: Schema) -> dict[Path, str]:
    return {path: _kind(field) for path, field in walk(schema)}


def _kind(field: Field) -> str:
    types = (inner for _, inner in inner_types((), field["type"]))
    return "/".join(inner if isinstance(inner, str) else str(inner["type"]) for inner in types)
