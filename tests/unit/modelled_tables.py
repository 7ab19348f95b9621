# SPDX-License-Identifier: Apache-2.0
"""Makes metadata from the reference model, and compares metadata with the model."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from spark_ext.model.column_mapping import is_mapped, mode_of, physical_name
from spark_ext.model.keys import (
    COLUMN_ID,
    COLUMN_MAPPING_MODE,
    FEATURE_NAME,
    FEATURE_PROPERTY,
    HAS_DROPPED_OR_RENAMED,
    MAX_COLUMN_ID,
    PHYSICAL_NAME,
)
from spark_ext.model.metadata import TableMetadata
from spark_ext.model.schema import Path, logical_name, walk
from tests.support.reference_model import UUID, Column, Columns, State, mapped
from tests.support.reference_model import walk as walk_columns
from tests.unit.tables import struct

TYPES = {"INT": "integer", "BIGINT": "long", "STRING": "string"}
File = frozenset[tuple[Path, int]]


def properties(mode: str, is_tracked: bool) -> dict[str, str]:
    return {COLUMN_MAPPING_MODE: mode} | ({FEATURE_PROPERTY: "supported"} if is_tracked else {})


def schema_of(columns: Columns) -> dict[str, Any]:
    return struct(_in_notation(columns))


def _in_notation(columns: Columns) -> dict[str, Any]:
    """Returns columns in the notation of `tables.py`."""
    return {
        column.name: {
            "column": "" if column.id is None else f"{column.id} {column.physical}",
            "type": TYPES.get(column.kind),
            "metadata": {"key": column.key},
            **({column.kind.lower(): _in_notation(column.fields)} if column.fields else {}),
        }
        for column in columns
    }


def compared(metadata: TableMetadata, features: frozenset[str], state: State) -> State:
    """Compares a version with the model, and returns the model with the UUIDs of the version."""
    assert (FEATURE_NAME in features) == state.is_tracked
    assert metadata.configuration.get(HAS_DROPPED_OR_RENAMED) == state.flag_text
    assert mode_of(metadata.configuration) == state.mode
    if state.is_mapped:
        assert metadata.configuration[MAX_COLUMN_ID] == str(state.max_id)
    seen = dict(walk(metadata.schema))
    assert list(seen) == [path for path, _ in walk_columns(state.columns)]

    def named(path: Path, column: Column) -> Column:
        uuid = f"col-{column.id}"  # `fake_delta` draws this name.
        column = replace(column, physical=uuid) if column.physical == UUID else column
        found = seen[path]["metadata"]
        assert (found.get(COLUMN_ID), found.get(PHYSICAL_NAME)) == (column.id, column.physical)
        return column

    return replace(state, columns=mapped(state.columns, named))


def file_of(metadata: TableMetadata) -> File:
    """Returns the paths in lower case, as Parquet readers compare them, with the columns' keys."""
    name = physical_name if is_mapped(metadata) else logical_name
    columns = walk(metadata.schema, name=name)
    return frozenset(
        (tuple(part.lower() for part in path), field["metadata"]["key"]) for path, field in columns
    )
