# SPDX-License-Identifier: Apache-2.0
"""Schemas with the names and the metadata that data files have.

`spark_ext.column_mapping` makes the functions public, except `check_mapped`.

Source:
    Delta 4.4.0, DeltaColumnMapping.scala; each public function has the name of the Scala function.
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
)
from spark_ext.model.column_mapping import (
    column_id,
    field_metadata,
    find_max_column_id,
    has_column_id,
    has_physical_name,
    mode_of,
    physical_name,
    renamed_path,
    supported_mode,
)
from spark_ext.model.columns import columns_of
from spark_ext.model.keys import (
    COLLATIONS,
    COLUMN_MAPPING_METADATA_KEYS,
    INTERNAL_COLUMNS,
    MAX_COLUMN_ID,
    MODE_NONE,
    NESTED_COLUMN_IDS,
    PARQUET_FIELD_ID,
    PARQUET_NESTED_FIELD_IDS,
    ROW_TRACKING_MARKS,
)
from spark_ext.model.metadata import TableMetadata
from spark_ext.model.schema import Field, Path, Schema, lower, map_fields, walk


def create_physical_schema(schema: Schema, reference_schema: Schema, mode: str) -> Schema:
    """Returns the schema that data files have for a logical schema.

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

    Source:
        `createPhysicalSchema`.

    Example:
        >>> from spark_ext.column_mapping import create_physical_schema
        >>> keys = {"delta.columnMapping.id": 1, "delta.columnMapping.physicalName": "col-3f2a"}
        >>> field = {"name": "fare", "type": "double", "nullable": True, "metadata": keys}
        >>> logical = {"type": "struct", "fields": [{**field, "metadata": {}}]}
        >>> reference = {"type": "struct", "fields": [field]}
        >>> create_physical_schema(logical, reference, "name")["fields"][0]["name"]
        'col-3f2a'
    """
    mode = supported_mode(mode)
    if mode == MODE_NONE:
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
    """Returns whether Delta adds a field to the schema of files by itself.

    Source:
        `isInternalField`, which also wants the marks that Spark sets together with these keys.
    """
    metadata = field_metadata(field)
    return field["name"].lower() in INTERNAL_COLUMNS or any(
        metadata.get(key) is True for key in ROW_TRACKING_MARKS
    )


def rename_columns(schema: Schema) -> Schema:
    """Returns a schema in which every field has its physical name as its name.

    Source:
        `renameColumns`.

    Example:
        >>> from spark_ext.column_mapping import rename_columns
        >>> keys = {"delta.columnMapping.id": 1, "delta.columnMapping.physicalName": "col-3f2a"}
        >>> field = {"name": "fare", "type": "double", "nullable": True, "metadata": keys}
        >>> rename_columns({"type": "struct", "fields": [field]})["fields"][0]["name"]
        'col-3f2a'
    """
    return map_fields(schema, lambda _, field: _renamed(field, field, field_metadata(field)))


def drop_column_mapping_metadata(schema: Schema) -> Schema:
    """Returns a schema without the metadata that is reserved for column mapping.

    Source:
        `dropColumnMappingMetadata`.

    Example:
        >>> from spark_ext.column_mapping import drop_column_mapping_metadata
        >>> keys = {"delta.columnMapping.id": 1, "delta.columnMapping.physicalName": "col-3f2a"}
        >>> field = {"name": "fare", "type": "double", "nullable": True, "metadata": keys}
        >>> schema = drop_column_mapping_metadata({"type": "struct", "fields": [field]})
        >>> schema["fields"][0]["metadata"]
        {}
    """
    return map_fields(schema, lambda _, field: _without_mapping(field))


def get_column_mapping_metadata(field: Field, mode: str) -> Mapping[str, Any]:
    """Returns the metadata that a field has in the schema of data files.

    Raises:
        UnsupportedModeError: DELTA_MODE_NOT_SUPPORTED.
        MissingColumnIdError: USAGE_TRACKING_MISSING_COLUMN_ID.
        MissingPhysicalNameError: USAGE_TRACKING_MISSING_PHYSICAL_NAME.

    Source:
        `getColumnMappingMetadata`.

    Example:
        >>> from spark_ext.column_mapping import get_column_mapping_metadata
        >>> keys = {"delta.columnMapping.id": 1, "delta.columnMapping.physicalName": "col-3f2a"}
        >>> field = {"name": "fare", "type": "double", "nullable": True, "metadata": keys}
        >>> get_column_mapping_metadata(field, "name")["parquet.field.id"]
        1
    """
    mode = supported_mode(mode)
    if mode == MODE_NONE:
        return field_metadata(_without_mapping(field))
    check_mapped(field, (field["name"],), mode)
    metadata = {**field_metadata(field), PARQUET_FIELD_ID: column_id(field)}
    if NESTED_COLUMN_IDS in metadata:
        metadata[PARQUET_NESTED_FIELD_IDS] = metadata[NESTED_COLUMN_IDS]
    return metadata


def _renamed(field: Field, column: Field, metadata: Mapping[str, Any]) -> Field:
    """Returns the field under its physical name; Spark keys collations by the field's name."""
    old, new = column["name"], physical_name(column)
    if COLLATIONS in metadata:
        collations = {
            new if path == old else renamed_path(path, old, new): collation
            for path, collation in metadata[COLLATIONS].items()
        }
        metadata = {**metadata, COLLATIONS: collations}
    return {**field, "name": new, "metadata": metadata}


def _without_mapping(field: Field) -> Field:
    metadata = field_metadata(field)
    if COLUMN_MAPPING_METADATA_KEYS.isdisjoint(metadata):
        return field
    kept = {key: metadata[key] for key in metadata if key not in COLUMN_MAPPING_METADATA_KEYS}
    return {**field, "metadata": kept}


def check_mapped(field: Field, path: Path, mode: str) -> None:
    """Checks that a field of a mapped table has a column id and a physical name.

    Raises:
        MissingColumnIdError: USAGE_TRACKING_MISSING_COLUMN_ID.
        MissingPhysicalNameError: USAGE_TRACKING_MISSING_PHYSICAL_NAME.

    Source:
        `getColumnMappingMetadata`.
    """
    if not has_column_id(field):
        raise MissingColumnIdError(columnName=".".join(path), mode=mode)
    if not has_physical_name(field):
        raise MissingPhysicalNameError(columnName=".".join(path), mode=mode)


def check_column_id_and_physical_name_assignments(metadata: TableMetadata) -> None:
    """Checks that every column of a mapped table has its own column id and physical path.

    A table without column mapping passes. Delta calls its function for mapped tables only.

    Raises:
        UnsupportedModeError: DELTA_MODE_NOT_SUPPORTED.
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
    if mode == MODE_NONE:
        return
    ids: set[int] = set()
    physical_paths: set[Path] = set()
    for path, physical_path, field in columns_of(metadata.schema):
        name = ".".join(path)
        check_mapped(field, path, mode)
        if column_id(field) in ids:
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
