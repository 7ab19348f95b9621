# SPDX-License-Identifier: Apache-2.0
"""Reads the column mapping of tables, schemas and fields.

`spark_ext.column_mapping` makes some of the functions public.

Source:
    Delta 4.4.0, DeltaColumnMapping.scala. A docstring names the Scala function if its name differs.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from spark_ext.errors import UnsupportedModeError
from spark_ext.model.keys import (
    COLUMN_ID,
    COLUMN_MAPPING_FEATURE,
    COLUMN_MAPPING_METADATA_KEYS,
    COLUMN_MAPPING_MODE,
    MAX_COLUMN_ID,
    MODE_ID,
    MODE_NAME,
    MODE_NONE,
    NESTED_COLUMN_IDS,
    PARQUET_NESTED_FIELD_IDS,
    PHYSICAL_NAME,
)
from spark_ext.model.metadata import Protocol, TableMetadata
from spark_ext.model.schema import Field, Schema, walk

# Characters that only names of mapped columns may have.
# Source: SchemaUtils.scala, `findInvalidColumnNamesInSchema`.
INVALID_NAME_CHARACTERS = frozenset(" ,;{}()\n\t=")

SUPPORTED_MODES = (MODE_NONE, MODE_NAME, MODE_ID)

# Source: `MIN_READER_VERSION`, `MIN_WRITER_VERSION` and `MIN_PROTOCOL_VERSION` of earlier releases;
# TableFeatureProtocolUtils for the other two.
MIN_READER_VERSION, MIN_WRITER_VERSION = 2, 5
MIN_PROTOCOL_VERSION = Protocol(MIN_READER_VERSION, MIN_WRITER_VERSION)
_FEATURES_READER, _FEATURES_WRITER = 3, 7


def mode_of(configuration: Mapping[str, str]) -> str:
    """Returns the column mapping mode of a table in lower case.

    Raises:
        UnsupportedModeError: DELTA_MODE_NOT_SUPPORTED, for a mode that another writer set. Delta
            refuses to set an unknown mode.

    Source:
        `DeltaColumnMappingMode.apply`.

    Example:
        >>> mode_of({"delta.columnMapping.mode": "Name"})
        'name'
    """
    return supported_mode(configuration.get(COLUMN_MAPPING_MODE, MODE_NONE))


def supported_mode(mode: str) -> str:
    """Returns a column mapping mode in lower case. Raises as `mode_of`."""
    if mode.lower() not in SUPPORTED_MODES:
        raise UnsupportedModeError(mode=mode, supportedModes=", ".join(SUPPORTED_MODES))
    return mode.lower()


def is_mapped(metadata: TableMetadata) -> bool:
    """Returns whether column mapping is on.

    Raises:
        UnsupportedModeError: DELTA_MODE_NOT_SUPPORTED.

    Source:
        `requiresNewProtocol` of earlier releases.
    """
    return mode_of(metadata.configuration) != MODE_NONE


def satisfy_column_mapping_protocol(protocol: Protocol) -> bool:
    """Returns whether a table with this protocol may have column mapping.

    Reader version 2 and writer versions 5 and 6 imply the feature.

    Source:
        `satisfyColumnMappingProtocol` of earlier releases; TableFeatureSupport.scala,
        `isFeatureSupported`.
    """
    if protocol.min_reader_version >= _FEATURES_READER:
        readable = protocol.has_reader_feature(COLUMN_MAPPING_FEATURE)
    else:
        readable = protocol.min_reader_version >= MIN_READER_VERSION
    if protocol.min_writer_version >= _FEATURES_WRITER:
        writable = protocol.has_writer_feature(COLUMN_MAPPING_FEATURE)
    else:
        writable = protocol.min_writer_version >= MIN_WRITER_VERSION
    return readable and writable


def field_metadata(field: Field) -> Mapping[str, Any]:
    """Returns the metadata of a field; empty if another writer omitted the metadata."""
    metadata: Mapping[str, Any] = field.get("metadata") or {}
    return metadata


def has_column_id(field: Field) -> bool:
    """Returns whether a field has a column id."""
    return COLUMN_ID in field_metadata(field)


def column_id(field: Field) -> int:
    """Returns the column id of a field that has one."""
    return int(field_metadata(field)[COLUMN_ID])


def nested_column_ids(field: Field) -> Mapping[str, int]:
    """Returns the ids of a field's array elements, map keys and map values by their paths."""
    ids: Mapping[str, int] = field_metadata(field).get(NESTED_COLUMN_IDS) or {}
    return ids


def has_physical_name(field: Field) -> bool:
    """Returns whether a field has a physical name."""
    return PHYSICAL_NAME in field_metadata(field)


def physical_name(field: Field) -> str:
    """Returns the name of a field in data files: its physical name, or else its logical name.

    Source:
        `getPhysicalName`.
    """
    return str(field_metadata(field).get(PHYSICAL_NAME, field["name"]))


def with_physical_name(field: Field, name: str) -> Field:
    """Returns a field with another physical name, which the keys of its nested ids start with.

    Shape:
        `delta.columnMapping.nested.ids` is `{"<physical name>.element": 7}`.

    Source:
        `assignPhysicalName`; `rewriteFieldIdsForIceberg` for the keys.
    """
    old = physical_name(field)
    metadata = {**field_metadata(field), PHYSICAL_NAME: name}
    for key in (NESTED_COLUMN_IDS, PARQUET_NESTED_FIELD_IDS):
        if key in metadata:
            metadata[key] = {renamed_path(path, old, name): i for path, i in metadata[key].items()}
    return {**field, "metadata": metadata}


def renamed_path(nested_path: str, old: str, new: str) -> str:
    """Returns a dotted path below the field `old` with `new` in its place."""
    return new + nested_path[len(old) :] if nested_path.startswith(old + ".") else nested_path


def schema_has_column_mapping_metadata(schema: Schema) -> bool:
    """Returns whether any field has metadata that is reserved for column mapping."""
    return any(
        not COLUMN_MAPPING_METADATA_KEYS.isdisjoint(field_metadata(field))
        for _, field in walk(schema)
    )


def column_ids(schema: Schema) -> frozenset[int]:
    """Returns every column id in a schema, nested ids included."""
    ids: set[int] = set()
    for _, field in walk(schema):
        if has_column_id(field):
            ids.update((column_id(field), *nested_column_ids(field).values()))
    return frozenset(ids)


def find_max_column_id(schema: Schema) -> int:
    """Returns the highest column id in a schema, nested ids included; 0 if there is none."""
    return max(column_ids(schema), default=0)


def max_column_id(metadata: TableMetadata) -> int:
    """Returns the highest column id that a table ever used; 0 if the property is not set."""
    return int(metadata.configuration.get(MAX_COLUMN_ID, "0"))
