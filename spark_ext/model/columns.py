# SPDX-License-Identifier: Apache-2.0
"""The columns of a schema, each with its paths in queries and in data files."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from spark_ext.model.column_mapping import field_metadata, has_physical_name, physical_name
from spark_ext.model.keys import COLUMN_ID, NESTED_COLUMN_IDS
from spark_ext.model.schema import Field, Path, Schema, walk


class Column(NamedTuple):
    """A column of a schema, at any level.

    Args:
        path: The logical path.
        physical_path: The physical names, or else logical names, even if column mapping is off.
        field: The field of the schema.
    """

    path: Path
    physical_path: Path
    field: Field

    @property
    def id(self) -> Any:
        """Returns the value in the schema, of any type; None without one."""
        return field_metadata(self.field).get(COLUMN_ID)

    @property
    def known_id(self) -> int | None:
        """Returns the id; None if it is not an integer."""
        return self.id if type(self.id) is int else None

    @property
    def has_physical_name(self) -> bool:
        """Returns whether the field has a physical name, which may equal the logical name."""
        return has_physical_name(self.field)

    @property
    def nested_ids(self) -> Mapping[str, Any]:
        """Returns the ids of its elements, keys and values by path; empty if invalid."""
        ids = field_metadata(self.field).get(NESTED_COLUMN_IDS)
        return ids if isinstance(ids, dict) else {}


def columns_of(schema: Schema) -> tuple[Column, ...]:
    """Returns every column of a schema, parents first."""
    physical = walk(schema, name=physical_name)
    return tuple(
        Column(path, physical_path, field)
        for (path, field), (physical_path, _) in zip(walk(schema), physical, strict=True)
    )
