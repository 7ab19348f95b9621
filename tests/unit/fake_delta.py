# SPDX-License-Identifier: Apache-2.0
"""Assigns ids and physical names as Delta does before it calls the rules.

The source is `verifyAndUpdateMetadataChange` in DeltaColumnMapping.scala of Delta 4.4.0. In place
of a UUID, the name contains the id: the column with id 7 gets the name `col-7`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from spark_ext.model.column_mapping import (
    column_id,
    drop_column_mapping_metadata,
    find_max_column_id,
    has_column_id,
    has_physical_name,
    is_mapped,
    mode_of,
    physical_name,
    schema_has_column_mapping_metadata,
)
from spark_ext.model.keys import (
    COLUMN_ID,
    MAX_COLUMN_ID,
    PHYSICAL_NAME,
)
from spark_ext.model.metadata import TableMetadata
from spark_ext.model.schema import Field, Path, map_fields, walk


def assigned(
    old: TableMetadata,
    proposed: TableMetadata,
    *,
    creating_table: bool = False,
    overwriting_schema: bool = False,
) -> TableMetadata:
    if not is_mapped(proposed):
        keeps_names = schema_has_column_mapping_metadata(old.schema)
        stripped = proposed.schema if keeps_names else drop_column_mapping_metadata(proposed.schema)
        return proposed.with_schema(stripped)
    existing = {_folded(path): field for path, field in walk(old.schema)}
    enabling = mode_of(old.configuration) != mode_of(proposed.configuration) and not creating_table
    highest = max(
        int(old.configuration.get(MAX_COLUMN_ID, 0)),
        int(proposed.configuration.get(MAX_COLUMN_ID, 0)),
        find_max_column_id(proposed.schema),
    )

    def assign(path: Path, field: Field) -> Field:
        nonlocal highest
        known = existing.get(_folded(path))
        reused = overwriting_schema and known is not None and _same_type(known, field)
        metadata = dict(field["metadata"])
        if not has_column_id(field):
            if not (reused and known is not None):
                highest += 1
            metadata[COLUMN_ID] = column_id(known) if reused and known else highest
        if not has_physical_name(field):
            generated = f"col-{metadata[COLUMN_ID]}"
            if enabling and known is not None:
                generated = known["name"]
            elif reused and known is not None:
                generated = physical_name(known)
            metadata[PHYSICAL_NAME] = generated
        return field if metadata == field["metadata"] else {**field, "metadata": metadata}

    schema = map_fields(proposed.schema, assign)
    return proposed.with_schema(schema).with_property(MAX_COLUMN_ID, str(highest))


def _folded(path: Path) -> Path:
    return tuple(name.lower() for name in path)


def _same_type(one: Field, other: Field) -> bool:
    return bool(_shape(one["type"]) == _shape(other["type"]))


def _shape(data_type: Any) -> Any:
    if not isinstance(data_type, Mapping):
        return data_type
    if data_type["type"] == "struct":
        return [(field["name"], _shape(field["type"])) for field in data_type["fields"]]
    return {key: _shape(data_type[key]) for key in data_type if key.endswith("Type")} | {
        "type": data_type["type"]
    }
