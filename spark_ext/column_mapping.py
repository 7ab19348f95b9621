# SPDX-License-Identifier: Apache-2.0
"""Delta's column-mapping functions on schemas.

Source:
    Delta 4.4.0, DeltaColumnMapping.scala; a function names the Scala function it follows, unless
    it has its name.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from spark_ext.errors import (
    ColumnNotResolvedError,
    DuplicatedColumnIdError,
    DuplicatedPhysicalNameError,
    MaxColumnIdNotSetError,
    MaxColumnIdTooLowError,
    MissingColumnIdError,
    MissingPhysicalNameError,
    UnsupportedModeError,
)
from spark_ext.keys import (
    COLLATIONS,
    COLUMN_ID,
    COLUMN_MAPPING_FEATURE,
    COLUMN_MAPPING_METADATA_KEYS,
    COLUMN_MAPPING_MODE,
    INTERNAL_COLUMNS,
    MAX_COLUMN_ID,
    MODE_ID,
    MODE_NAME,
    MODE_NONE,
    NESTED_COLUMN_IDS,
    PARQUET_FIELD_ID,
    PARQUET_NESTED_FIELD_IDS,
    PHYSICAL_NAME,
)
from spark_ext.metadata import Protocol, TableMetadata
from spark_ext.schema import Field, Path, Schema, map_fields, walk

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


def is_mode_change_allowed(old: str, new: str, *, removal_allowed: bool) -> bool:
    """Whether an existing table may go from one mode to another.

    Source:
        `allowMappingModeChange`.
    """
    if old == new:
        return True
    if new == MODE_NONE:
        return removal_allowed
    return (old, new) == (MODE_NONE, MODE_NAME)


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
            metadata[key] = {_renamed(path, old, name): i for path, i in metadata[key].items()}
    return {**field, "metadata": metadata}


def _renamed(nested_path: str, old: str, new: str) -> str:
    return new + nested_path[len(old) :] if nested_path.startswith(old + ".") else nested_path


def schema_has_column_mapping_metadata(schema: Schema) -> bool:
    """Whether any field has metadata reserved for column mapping."""
    return any(
        not COLUMN_MAPPING_METADATA_KEYS.isdisjoint(field_metadata(field))
        for _, field in walk(schema)
    )


def find_max_column_id(schema: Schema) -> int:
    """The highest column id in a schema, nested ids included; 0 without any."""
    highest = 0
    for _, field in walk(schema):
        if has_column_id(field):
            highest = max(highest, column_id(field), *nested_column_ids(field).values())
    return highest


def max_column_id(metadata: TableMetadata) -> int:
    """The highest column id that a table has ever used; 0 where it does not say."""
    return int(metadata.configuration.get(MAX_COLUMN_ID, "0"))


def drop_column_mapping_metadata(schema: Schema) -> Schema:
    """A schema without metadata reserved for column mapping; itself where it has none.

    Source:
        `dropColumnMappingMetadata`.
    """
    return map_fields(schema, lambda _, field: _without_mapping(field))


def _without_mapping(field: Field) -> Field:
    metadata = field_metadata(field)
    if COLUMN_MAPPING_METADATA_KEYS.isdisjoint(metadata):
        return field
    kept = {key: metadata[key] for key in metadata if key not in COLUMN_MAPPING_METADATA_KEYS}
    return {**field, "metadata": kept}


def rename_to_physical(schema: Schema) -> Schema:
    """A schema whose fields are called by their physical names.

    Source:
        `renameColumns`.
    """
    return map_fields(schema, lambda _, field: _called(field, physical_name(field)))


def _called(field: Field, name: str) -> Field:
    if field["name"] == name:
        return field
    return {
        **field,
        "name": name,
        "metadata": _with_collations_of(field, field_metadata(field), name),
    }


def _with_collations_of(field: Field, metadata: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """Metadata of a field that is called otherwise: Spark keys collations by the field's name."""
    if COLLATIONS not in metadata:
        return metadata
    old = field["name"]
    keyed = {
        name if path == old else _renamed(path, old, name): collation
        for path, collation in metadata[COLLATIONS].items()
    }
    return {**metadata, COLLATIONS: keyed}


def physical_schema(schema: Schema, reference: Schema, mode: str) -> Schema:
    """The schema that data files have for a logical schema.

    Args:
        schema: Logical, without metadata perhaps.
        reference: The table's schema, which has the metadata. Paths are compared in any case.
        mode: The table's mode; `none` leaves the schema as it is.

    Raises:
        ColumnNotResolvedError: DELTA_CANNOT_RESOLVE_COLUMN, for a column that is neither in
            `reference` nor one of `INTERNAL_COLUMNS`.
        MissingColumnIdError: USAGE_TRACKING_MISSING_COLUMN_ID.
        MissingPhysicalNameError: USAGE_TRACKING_MISSING_PHYSICAL_NAME.

    Source:
        `createPhysicalSchema`, `getColumnMappingMetadata`.
    """
    if mode == MODE_NONE:
        return schema
    columns = {_folded(path): field for path, field in walk(reference)}

    def as_written(path: Path, field: Field) -> Field:
        column = columns.get(_folded(path))
        if column is not None:
            name = physical_name(column)
            written = _with_collations_of(column, _parquet_metadata(column, path, mode), name)
            return {**field, "name": name, "metadata": written}
        if field["name"].lower() in INTERNAL_COLUMNS:
            return field
        names = ", ".join(f"`{'.'.join(known)}`" for known, _ in walk(reference))
        raise ColumnNotResolvedError(columnName=".".join(path), schema=names)

    return map_fields(schema, as_written)


def _folded(path: Path) -> Path:
    return tuple(name.lower() for name in path)


def _parquet_metadata(field: Field, path: Path, mode: str) -> Mapping[str, Any]:
    if not has_column_id(field):
        raise MissingColumnIdError(columnName=".".join(path), mode=mode)
    if not has_physical_name(field):
        raise MissingPhysicalNameError(columnName=".".join(path), mode=mode)
    metadata = {**field_metadata(field), PARQUET_FIELD_ID: column_id(field)}
    if NESTED_COLUMN_IDS in metadata:
        metadata[PARQUET_NESTED_FIELD_IDS] = metadata[NESTED_COLUMN_IDS]
    return metadata


def check_ids_and_physical_names(metadata: TableMetadata) -> None:
    """Refuses a mapped table whose columns are not mapped completely and uniquely.

    Raises:
        MissingColumnIdError: USAGE_TRACKING_MISSING_COLUMN_ID.
        MissingPhysicalNameError: USAGE_TRACKING_MISSING_PHYSICAL_NAME.
        DuplicatedColumnIdError: USAGE_TRACKING_DUPLICATED_COLUMN_ID.
        DuplicatedPhysicalNameError: USAGE_TRACKING_DUPLICATED_PHYSICAL_NAME.
        MaxColumnIdNotSetError: DELTA_COLUMN_MAPPING_MAX_COLUMN_ID_NOT_SET.
        MaxColumnIdTooLowError: DELTA_COLUMN_MAPPING_MAX_COLUMN_ID_NOT_SET_CORRECTLY.

    Source:
        `checkColumnIdAndPhysicalNameAssignments`.
    """
    mode = mode_of(metadata.configuration)
    ids: set[int] = set()
    physical_paths: set[Path] = set()
    physical = walk(metadata.schema, name=physical_name)
    for (path, field), (physical_path, _) in zip(walk(metadata.schema), physical, strict=True):
        name = ".".join(path)
        if _parquet_metadata(field, path, mode)[PARQUET_FIELD_ID] in ids:
            raise DuplicatedColumnIdError(columnName=name, columnId=column_id(field), mode=mode)
        if physical_path in physical_paths:
            raise DuplicatedPhysicalNameError(
                columnName=name, physicalPath=".".join(physical_path), mode=mode
            )
        ids.add(column_id(field))
        physical_paths.add(physical_path)
    _check_max_column_id(metadata)


def _check_max_column_id(metadata: TableMetadata) -> None:
    if MAX_COLUMN_ID not in metadata.configuration:
        raise MaxColumnIdNotSetError(prop=MAX_COLUMN_ID)
    table_max = int(metadata.configuration[MAX_COLUMN_ID])
    field_max = find_max_column_id(metadata.schema)
    if table_max < field_max:
        raise MaxColumnIdTooLowError(prop=MAX_COLUMN_ID, tableMax=table_max, fieldMax=field_max)
