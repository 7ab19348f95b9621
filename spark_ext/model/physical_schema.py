# SPDX-License-Identifier: Apache-2.0
"""The schema that data files have, and the check that a table's mapping makes one.

No rule calls these: Delta does the same in the JVM. They are for programs that read a table's log
and files in Python, and are held against Delta's own by `tests/differential`.

Source:
    Delta 4.4.0, DeltaColumnMapping.scala; a function names the Scala function it follows.
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
)
from spark_ext.model.keys import (
    COLLATIONS,
    INTERNAL_COLUMNS,
    MAX_COLUMN_ID,
    MODE_NONE,
    NESTED_COLUMN_IDS,
    PARQUET_FIELD_ID,
    PARQUET_NESTED_FIELD_IDS,
)
from spark_ext.model.metadata import TableMetadata
from spark_ext.model.schema import Field, Path, Schema, lower, map_fields, walk


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
    columns = {lower(path): field for path, field in walk(reference)}

    def as_written(path: Path, field: Field) -> Field:
        column = columns.get(lower(path))
        if column is not None:
            name = physical_name(column)
            written = _with_collations_of(column, _parquet_metadata(column, path, mode), name)
            return {**field, "name": name, "metadata": written}
        if field["name"].lower() in INTERNAL_COLUMNS:
            return field
        names = ", ".join(f"`{'.'.join(known)}`" for known, _ in walk(reference))
        raise ColumnNotResolvedError(columnName=".".join(path), schema=names)

    return map_fields(schema, as_written)


def _with_collations_of(field: Field, metadata: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """Metadata of a field that is called otherwise: Spark keys collations by the field's name."""
    if COLLATIONS not in metadata:
        return metadata
    old = field["name"]
    keyed = {
        name if path == old else renamed_path(path, old, name): collation
        for path, collation in metadata[COLLATIONS].items()
    }
    return {**metadata, COLLATIONS: keyed}


def _parquet_metadata(field: Field, path: Path, mode: str) -> Mapping[str, Any]:
    check_mapped(field, path, mode)
    metadata = {**field_metadata(field), PARQUET_FIELD_ID: column_id(field)}
    if NESTED_COLUMN_IDS in metadata:
        metadata[PARQUET_NESTED_FIELD_IDS] = metadata[NESTED_COLUMN_IDS]
    return metadata


def check_mapped(field: Field, path: Path, mode: str) -> None:
    """Refuses a field of a mapped table that is not mapped completely.

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
