# SPDX-License-Identifier: Apache-2.0
"""Reads the column mapping of tables, schemas and fields, and makes the schemas of data files.

`spark_ext.column_mapping` makes some of the functions public.

Source: Delta 4.4.0, DeltaColumnMapping.scala. A docstring names the Scala function if its name
differs.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from spark_ext.errors import (
    ColumnNotResolvedError,
    MissingColumnIdError,
    MissingPhysicalNameError,
    UnsupportedModeError,
)
from spark_ext.model import keys
from spark_ext.model.metadata import Protocol, TableMetadata
from spark_ext.model.schema import Field, Path, Schema, lower, map_fields, walk

# Characters that only names of mapped columns may have.
# Source: SchemaUtils.scala, `findInvalidColumnNamesInSchema`.
INVALID_NAME_CHARACTERS = frozenset(" ,;{}()\n\t=")

SUPPORTED_MODES = (keys.MODE_NONE, keys.MODE_NAME, keys.MODE_ID)

# Source: the same names in earlier releases; TableFeatureProtocolUtils for the other two.
MIN_READER_VERSION, MIN_WRITER_VERSION = 2, 5
_FEATURES_READER, _FEATURES_WRITER = 3, 7


def mode_of(configuration: Mapping[str, str]) -> str:
    """Returns the column mapping mode of a table in lower case, as `DeltaColumnMappingMode.apply`.

    Raises:
        UnsupportedModeError: DELTA_MODE_NOT_SUPPORTED, for a mode that another writer set. Delta
            refuses to set an unknown mode.
    """
    return supported_mode(configuration.get(keys.COLUMN_MAPPING_MODE, keys.MODE_NONE))


def supported_mode(mode: str) -> str:
    """Returns a column mapping mode in lower case. Raises as `mode_of`."""
    if mode.lower() not in SUPPORTED_MODES:
        raise UnsupportedModeError(mode=mode, supportedModes=", ".join(SUPPORTED_MODES))
    return mode.lower()


def is_mapped(metadata: TableMetadata) -> bool:
    """Returns whether column mapping is on, as `requiresNewProtocol` of earlier releases.

    Raises:
        UnsupportedModeError: DELTA_MODE_NOT_SUPPORTED.
    """
    return mode_of(metadata.configuration) != keys.MODE_NONE


def satisfy_column_mapping_protocol(protocol: Protocol) -> bool:
    """Returns whether a table with this protocol may have column mapping.

    Reader version 2 and writer versions 5 and 6 imply the feature.

    Source: `satisfyColumnMappingProtocol` of earlier releases; TableFeatureSupport.scala,
    `isFeatureSupported`.
    """
    if protocol.min_reader_version >= _FEATURES_READER:
        readable = protocol.has_reader_feature(keys.COLUMN_MAPPING_FEATURE)
    else:
        readable = protocol.min_reader_version >= MIN_READER_VERSION
    if protocol.min_writer_version >= _FEATURES_WRITER:
        writable = protocol.has_writer_feature(keys.COLUMN_MAPPING_FEATURE)
    else:
        writable = protocol.min_writer_version >= MIN_WRITER_VERSION
    return readable and writable


def field_metadata(field: Field) -> Mapping[str, Any]:
    """Returns the metadata of a field; empty if another writer omitted the metadata."""
    metadata: Mapping[str, Any] = field.get("metadata") or {}
    return metadata


def has_column_id(field: Field) -> bool:
    """Returns whether a field has a column id."""
    return keys.COLUMN_ID in field_metadata(field)


def column_id(field: Field) -> int:
    """Returns the column id of a field that has one."""
    return int(field_metadata(field)[keys.COLUMN_ID])


def nested_column_ids(field: Field) -> Mapping[str, int]:
    """Returns the ids of a field's array elements, map keys and map values by their paths."""
    ids: Mapping[str, int] = field_metadata(field).get(keys.NESTED_COLUMN_IDS) or {}
    return ids


def has_physical_name(field: Field) -> bool:
    """Returns whether a field has a physical name."""
    return keys.PHYSICAL_NAME in field_metadata(field)


def physical_name(field: Field) -> str:
    """Returns the name of a field in data files: its physical name, or else its logical name."""
    return str(field_metadata(field).get(keys.PHYSICAL_NAME, field["name"]))


def with_physical_name(field: Field, name: str) -> Field:
    """Returns a field with another physical name, which the keys of its nested ids start with.

    Nested ids are `{"<physical name>.element": 7}`. Source: `assignPhysicalName`;
    `rewriteFieldIdsForIceberg` for the keys.
    """
    old = physical_name(field)
    metadata = {**field_metadata(field), keys.PHYSICAL_NAME: name}
    for key in (keys.NESTED_COLUMN_IDS, keys.PARQUET_NESTED_FIELD_IDS):
        if key in metadata:
            metadata[key] = {renamed_path(path, old, name): i for path, i in metadata[key].items()}
    return {**field, "metadata": metadata}


def renamed_path(nested_path: str, old: str, new: str) -> str:
    """Returns a dotted path below the field `old` with `new` in its place."""
    return new + nested_path[len(old) :] if nested_path.startswith(old + ".") else nested_path


def schema_has_column_mapping_metadata(schema: Schema) -> bool:
    """Returns whether any field has metadata that is reserved for column mapping."""
    return any(
        not keys.COLUMN_MAPPING_METADATA_KEYS.isdisjoint(field_metadata(field))
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
    return int(metadata.configuration.get(keys.MAX_COLUMN_ID, "0"))


class Column(NamedTuple):
    """A column of a schema, at any level, with its logical path.

    `physical_path` has the physical names, or else logical names, even if column mapping is off.
    """

    path: Path
    physical_path: Path
    field: Field

    @property
    def id(self) -> Any:
        """Returns the value in the schema, of any type; None without one."""
        return field_metadata(self.field).get(keys.COLUMN_ID)

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
        ids = field_metadata(self.field).get(keys.NESTED_COLUMN_IDS)
        return ids if isinstance(ids, dict) else {}


def columns_of(schema: Schema) -> tuple[Column, ...]:
    """Returns every column of a schema, parents first."""
    physical = walk(schema, name=physical_name)
    return tuple(
        Column(path, physical_path, field)
        for (path, field), (physical_path, _) in zip(walk(schema), physical, strict=True)
    )


def create_physical_schema(schema: Schema, reference_schema: Schema, mode: str) -> Schema:
    """Returns the schema that data files have for a logical schema, as `createPhysicalSchema`.

    Args:
        schema: The logical schema, possibly without metadata.
        reference_schema: The table's schema with its metadata. Paths are compared without letter
            case.
        mode: The table's column mapping mode, in any letter case. The mode `none` returns `schema`
            itself.

    Raises:
        UnsupportedModeError: DELTA_MODE_NOT_SUPPORTED.
        ColumnNotResolvedError: DELTA_CANNOT_RESOLVE_COLUMN, for a column that is neither in
            `reference_schema` nor internal to Delta.
        MissingColumnIdError: USAGE_TRACKING_MISSING_COLUMN_ID.
        MissingPhysicalNameError: USAGE_TRACKING_MISSING_PHYSICAL_NAME.
    """
    mode = supported_mode(mode)
    if mode == keys.MODE_NONE:
        return schema
    columns = {lower(path): field for path, field in walk(reference_schema)}

    def physical(path: Path, field: Field) -> Field:
        column = columns.get(lower(path))
        if column is not None:
            check_mapped(column, path, mode)
            metadata = get_column_mapping_metadata(column, mode)
            return _renamed(field, column, metadata)
        if _is_internal(field):
            return field
        names = ", ".join(f"`{'.'.join(known)}`" for known, _ in walk(reference_schema))
        raise ColumnNotResolvedError(columnName=".".join(path), schema=names)

    return map_fields(schema, physical)


def _is_internal(field: Field) -> bool:
    """Returns whether Delta adds a field to files: `isInternalField`, without the other marks."""
    metadata = field_metadata(field)
    return field["name"].lower() in keys.INTERNAL_COLUMNS or any(
        metadata.get(key) is True for key in keys.ROW_TRACKING_MARKS
    )


def rename_columns(schema: Schema) -> Schema:
    """Returns a schema in which every field has its physical name as its name."""
    return map_fields(schema, lambda _, field: _renamed(field, field, field_metadata(field)))


def drop_column_mapping_metadata(schema: Schema) -> Schema:
    """Returns a schema without the metadata that is reserved for column mapping."""
    return map_fields(schema, lambda _, field: _without_mapping(field))


def get_column_mapping_metadata(field: Field, mode: str) -> Mapping[str, Any]:
    """Returns the metadata of a field in the schema of files. Raises as `check_mapped`."""
    mode = supported_mode(mode)
    if mode == keys.MODE_NONE:
        return field_metadata(_without_mapping(field))
    check_mapped(field, (field["name"],), mode)
    metadata = {**field_metadata(field), keys.PARQUET_FIELD_ID: column_id(field)}
    if keys.NESTED_COLUMN_IDS in metadata:
        metadata[keys.PARQUET_NESTED_FIELD_IDS] = metadata[keys.NESTED_COLUMN_IDS]
    return metadata


def _renamed(field: Field, column: Field, metadata: Mapping[str, Any]) -> Field:
    """Returns the field under its physical name; Spark keys collations by the field's name."""
    old, new = column["name"], physical_name(column)
    if keys.COLLATIONS in metadata:
        collations = {
            new if path == old else renamed_path(path, old, new): collation
            for path, collation in metadata[keys.COLLATIONS].items()
        }
        metadata = {**metadata, keys.COLLATIONS: collations}
    return {**field, "name": new, "metadata": metadata}


def _without_mapping(field: Field) -> Field:
    metadata = field_metadata(field)
    if keys.COLUMN_MAPPING_METADATA_KEYS.isdisjoint(metadata):
        return field
    kept = {key: metadata[key] for key in metadata if key not in keys.COLUMN_MAPPING_METADATA_KEYS}
    return {**field, "metadata": kept}


def check_mapped(field: Field, path: Path, mode: str) -> None:
    """Raises MissingColumnIdError or MissingPhysicalNameError for a field without one of them."""
    if not has_column_id(field):
        raise MissingColumnIdError(columnName=".".join(path), mode=mode)
    if not has_physical_name(field):
        raise MissingPhysicalNameError(columnName=".".join(path), mode=mode)
