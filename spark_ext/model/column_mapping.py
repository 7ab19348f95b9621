# SPDX-License-Identifier: Apache-2.0
"""Delta's column-mapping functions on schemas.

Source:
    Delta 4.4.0, DeltaColumnMapping.scala; a function names the Scala function it follows, unless
    it has its name.
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

# Source: SchemaUtils.scala, `findInvalidColumnNamesInSchema`. Names may have them while mapped.
INVALID_NAME_CHARACTERS = frozenset(" ,;{}()\n\t=")

SUPPORTED_MODES = (MODE_NONE, MODE_NAME, MODE_ID)

# Source: `MIN_READER_VERSION`, `MIN_WRITER_VERSION`; TableFeatureProtocolUtils for the other two.
_LEGACY_READER, _LEGACY_WRITER = 2, 5
_FEATURES_READER, _FEATURES_WRITER = 3, 7


def mode_of(configuration: Mapping[str, str]) -> str:
    """The column mapping mode of a table, in lower case.

    Raises:
        UnsupportedModeError: DELTA_MODE_NOT_SUPPORTED. Delta itself refuses an unknown mode as a
            bad property value when it is set; this is for a foreign writer's.

    Source:
        `DeltaColumnMappingMode.apply`.

    Example:
        >>> mode_of({"delta.columnMapping.mode": "Name"})
        'name'
    """
    mode = configuration.get(COLUMN_MAPPING_MODE, MODE_NONE)
    if mode.lower() not in SUPPORTED_MODES:
        raise UnsupportedModeError(mode=mode, supportedModes=", ".join(SUPPORTED_MODES))
    return mode.lower()


def is_mapped(metadata: TableMetadata) -> bool:
    """Whether column mapping is on. Raises as `mode_of`. Source: `requiresNewProtocol`."""
    return mode_of(metadata.configuration) != MODE_NONE


def satisfies_column_mapping_protocol(protocol: Protocol) -> bool:
    """Whether a table of this protocol may be mapped.

    Reader version 2 and writer versions 5 and 6 have the feature without naming it.

    Source:
        `satisfyColumnMappingProtocol` of older releases; TableFeatureSupport.scala,
        `isFeatureSupported`, since table features.
    """
    if protocol.min_reader_version >= _FEATURES_READER:
        readable = COLUMN_MAPPING_FEATURE in (protocol.reader_features or ())
    else:
        readable = protocol.min_reader_version >= _LEGACY_READER
    if protocol.min_writer_version >= _FEATURES_WRITER:
        writable = COLUMN_MAPPING_FEATURE in (protocol.writer_features or ())
    else:
        writable = protocol.min_writer_version >= _LEGACY_WRITER
    return readable and writable


def field_metadata(field: Field) -> Mapping[str, Any]:
    """A field's metadata; empty where a foreign writer left it out."""
    metadata: Mapping[str, Any] = field.get("metadata") or {}
    return metadata


def has_column_id(field: Field) -> bool:
    """Whether a field has a column id."""
    return COLUMN_ID in field_metadata(field)


def column_id(field: Field) -> int:
    """The column id of a field that has one."""
    return int(field_metadata(field)[COLUMN_ID])


def nested_column_ids(field: Field) -> Mapping[str, int]:
    """The ids of a field's array elements, map keys and values."""
    ids: Mapping[str, int] = field_metadata(field).get(NESTED_COLUMN_IDS) or {}
    return ids


def has_physical_name(field: Field) -> bool:
    """Whether a field has a physical name."""
    return PHYSICAL_NAME in field_metadata(field)


def physical_name(field: Field) -> str:
    """A field's name in data files: its physical name, without one its logical name."""
    return str(field_metadata(field).get(PHYSICAL_NAME, field["name"]))


def with_physical_name(field: Field, name: str) -> Field:
    """A field with another physical name, its nested ids keyed by it.

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
    """A dotted path below a field that is called otherwise; another field's path as it is."""
    return new + nested_path[len(old) :] if nested_path.startswith(old + ".") else nested_path


def schema_has_column_mapping_metadata(schema: Schema) -> bool:
    """Whether any field has metadata reserved for column mapping."""
    return any(
        not COLUMN_MAPPING_METADATA_KEYS.isdisjoint(field_metadata(field))
        for _, field in walk(schema)
    )


def column_ids(schema: Schema) -> frozenset[int]:
    """Every column id in a schema, nested ids included."""
    ids: set[int] = set()
    for _, field in walk(schema):
        if has_column_id(field):
            ids.update((column_id(field), *nested_column_ids(field).values()))
    return frozenset(ids)


def find_max_column_id(schema: Schema) -> int:
    """The highest column id in a schema, nested ids included; 0 without any."""
    return max(column_ids(schema), default=0)


def max_column_id(metadata: TableMetadata) -> int:
    """The highest column id that a table has ever used; 0 where it does not say."""
    return int(metadata.configuration.get(MAX_COLUMN_ID, "0"))
