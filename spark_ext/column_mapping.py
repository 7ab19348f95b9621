# SPDX-License-Identifier: Apache-2.0
r"""Delta's column mapping functions in Python, for programs that read a table's log or files.

The functions have the names of Delta's `DeltaColumnMapping` in Python's spelling. They need neither
Spark nor a JVM, and the differential tests compare them with Delta's own functions. A schema is the
JSON object of Spark's `StructType`, and a field is one of its `fields`. A function also takes
PySpark's `StructType` and `StructField`, and then returns a schema as a `StructType`.

The functions return what plain Delta would commit. `next_metadata` applies the rules of usage
tracking to this result.

Source: Delta 4.4.0, DeltaColumnMapping.scala. `requiresNewProtocol`, `satisfyColumnMappingProtocol`
and `tryFixMetadata` have their names of earlier releases.

Example:
    >>> import json
    >>> import spark_ext
    >>> line = (  # of _delta_log/00000000000000000000.json
    ...     r'{"metaData": {"configuration": {"delta.columnMapping.mode": "name"}, "schemaString":'
    ...     r'"{\"type\": \"struct\", \"fields\": [{\"name\": \"fare\", \"type\": \"double\",'
    ...     r'\"nullable\": true, \"metadata\": {\"delta.columnMapping.id\": 1,'
    ...     r'\"delta.columnMapping.physicalName\": \"col-3f2a\"}}]}"}}'
    ... )
    >>> action = json.loads(line)["metaData"]
    >>> metadata = spark_ext.column_mapping.TableMetadata(
    ...     json.loads(action["schemaString"]), action["configuration"]
    ... )
    >>> spark_ext.column_mapping.requires_new_protocol(metadata)
    True
    >>> (field,) = metadata.schema["fields"]
    >>> spark_ext.column_mapping.get_physical_name(field)
    'col-3f2a'
    >>> spark_ext.column_mapping.get_column_mapping_metadata(field, "name")["parquet.field.id"]
    1
    >>> spark_ext.column_mapping.rename_columns(metadata.schema)["fields"][0]["name"]
    'col-3f2a'
    >>> logical = spark_ext.column_mapping.drop_column_mapping_metadata(metadata.schema)
    >>> logical["fields"][0]["metadata"]
    {}
    >>> schema = spark_ext.column_mapping.create_physical_schema(logical, metadata.schema, "name")
    >>> schema["fields"][0]["name"]
    'col-3f2a'
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any, Final, TypeVar
from uuid import uuid4

from spark_ext.errors import (
    DuplicatedColumnIdError,
    DuplicatedPhysicalNameError,
    MappingMetadataExistsError,
    MaxColumnIdNotSetError,
    MaxColumnIdTooLowError,
    ModeChangeError,
    SchemaChangeWithModeError,
)
from spark_ext.model import column_mapping, keys
from spark_ext.model.column_mapping import (
    SUPPORTED_MODES,
    check_mapped,
    column_id,
    columns_of,
    field_metadata,
    find_max_column_id,
    has_column_id,
    has_physical_name,
    max_column_id,
    mode_of,
    nested_column_ids,
    physical_name,
    satisfy_column_mapping_protocol,
    schema_has_column_mapping_metadata,
    supported_mode,
)
from spark_ext.model.column_mapping import is_mapped as requires_new_protocol
from spark_ext.model.metadata import CommitContext, Protocol, TableMetadata
from spark_ext.model.schema import (
    CHILDREN,
    DataType,
    Field,
    Path,
    lower,
    map_fields,
    type_name,
    walk,
)
from spark_ext.rules import next_metadata

__all__ = [
    "MIN_PROTOCOL_VERSION",
    "MIN_READER_VERSION",
    "MIN_WRITER_VERSION",
    "CommitContext",
    "Protocol",
    "TableMetadata",
    "allow_mapping_mode_change",
    "check_column_id_and_physical_name_assignments",
    "create_physical_schema",
    "drop_column_mapping_metadata",
    "get_column_mapping_metadata",
    "get_physical_name",
    "next_metadata",
    "rename_columns",
    "requires_new_protocol",
    "satisfy_column_mapping_protocol",
    "supported_modes",
    "try_fix_metadata",
    "verify_and_update_metadata_change",
]

_Result = TypeVar("_Result")

MIN_READER_VERSION: Final = column_mapping.MIN_READER_VERSION
"""The lowest reader version of a table with column mapping."""

MIN_WRITER_VERSION: Final = column_mapping.MIN_WRITER_VERSION
"""The lowest writer version of a table with column mapping."""

MIN_PROTOCOL_VERSION: Final = Protocol(MIN_READER_VERSION, MIN_WRITER_VERSION)
"""The lowest protocol of a table with column mapping, without table features."""

supported_modes: Final = SUPPORTED_MODES
"""The values of the property `delta.columnMapping.mode`."""


def _on_spark_types(function: Callable[..., _Result]) -> Callable[..., _Result]:
    """Returns a function that also takes the types of PySpark, which this module never imports."""

    @wraps(function)
    def on_spark_types(*arguments: Any, **named: Any) -> Any:
        given = (*arguments, *named.values())
        structs = [type(each) for each in given if hasattr(each, "fieldNames")]
        result: Any = function(
            *map(_as_json, arguments), **{name: _as_json(value) for name, value in named.items()}
        )
        return structs[0].fromJson(result) if structs else result

    return on_spark_types


def _as_json(value: Any) -> Any:
    return value.jsonValue() if hasattr(value, "jsonValue") else value


create_physical_schema = _on_spark_types(column_mapping.create_physical_schema)
drop_column_mapping_metadata = _on_spark_types(column_mapping.drop_column_mapping_metadata)
get_column_mapping_metadata = _on_spark_types(column_mapping.get_column_mapping_metadata)
get_physical_name = _on_spark_types(column_mapping.physical_name)
rename_columns = _on_spark_types(column_mapping.rename_columns)


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
    """
    mode = mode_of(metadata.configuration)
    if mode == keys.MODE_NONE:
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
    if keys.MAX_COLUMN_ID not in metadata.configuration:
        raise MaxColumnIdNotSetError(prop=keys.MAX_COLUMN_ID)
    table_max = max_column_id(metadata)
    field_max = find_max_column_id(metadata.schema)
    if table_max < field_max:
        raise MaxColumnIdTooLowError(
            prop=keys.MAX_COLUMN_ID, tableMax=table_max, fieldMax=field_max
        )


def allow_mapping_mode_change(old_mode: str, new_mode: str) -> bool:
    """Returns whether a table may change its column mapping mode; each may change to `none`.

    Raises:
        UnsupportedModeError: DELTA_MODE_NOT_SUPPORTED.

    Example:
        >>> from spark_ext.column_mapping import allow_mapping_mode_change
        >>> allow_mapping_mode_change("none", "name"), allow_mapping_mode_change("name", "id")
        (True, False)
    """
    old, new = supported_mode(old_mode), supported_mode(new_mode)
    return new in (old, keys.MODE_NONE) or (old, new) == (keys.MODE_NONE, keys.MODE_NAME)


def verify_and_update_metadata_change(
    *,
    old: TableMetadata,
    new: TableMetadata,
    is_creating_new_table: bool = False,
    is_overwrite_schema: bool = False,
) -> TableMetadata:
    """Returns the metadata that plain Delta commits for a change, with ids and physical names.

    The function does not change the flag of a tracked table, also if a column was dropped. The flag
    and readable names are rules of usage tracking, which `next_metadata` applies afterwards.

    Args:
        old: The metadata of the table before the change.
        new: The metadata that a statement requests.
        is_creating_new_table: Whether the statement creates or replaces the table.
        is_overwrite_schema: Whether the statement overwrites the schema. Columns of the same path
            and type then keep their ids and physical names.

    Raises:
        UnsupportedModeError: DELTA_MODE_NOT_SUPPORTED.
        ModeChangeError: DELTA_UNSUPPORTED_COLUMN_MAPPING_MODE_CHANGE.
        MappingMetadataExistsError: The old table has mapping metadata without column mapping.
        SchemaChangeWithModeError: DELTA_UNSUPPORTED_COLUMN_MAPPING_SCHEMA_CHANGE.

    Example:
        >>> from spark_ext.column_mapping import TableMetadata, verify_and_update_metadata_change
        >>> field = {"name": "fare", "type": "double", "nullable": True, "metadata": {}}
        >>> old = TableMetadata({"type": "struct", "fields": [field]})
        >>> new = old.with_property("delta.columnMapping.mode", "name")
        >>> committed = verify_and_update_metadata_change(old=old, new=new)
        >>> committed.schema["fields"][0]["metadata"]
        {'delta.columnMapping.id': 1, 'delta.columnMapping.physicalName': 'fare'}
    """
    old_mode, new_mode = mode_of(old.configuration), mode_of(new.configuration)
    changes_mode = old_mode != new_mode and not is_creating_new_table
    if changes_mode and not allow_mapping_mode_change(old_mode, new_mode):
        raise ModeChangeError(oldMode=old_mode, newMode=new_mode)
    has_metadata = schema_has_column_mapping_metadata(old.schema)
    if new_mode == keys.MODE_NONE:
        # Existing mapping metadata is kept, because files may have the physical names.
        kept = new.schema if has_metadata else drop_column_mapping_metadata(new.schema)
        return new.with_schema(kept)
    if old_mode == keys.MODE_NONE and has_metadata:
        raise MappingMetadataExistsError()
    return try_fix_metadata(
        old=old,
        new=new,
        is_changing_mode_on_existing_table=changes_mode,
        is_overwrite_schema=is_overwrite_schema,
    )


def try_fix_metadata(
    *,
    old: TableMetadata,
    new: TableMetadata,
    is_changing_mode_on_existing_table: bool,
    is_overwrite_schema: bool = False,
) -> TableMetadata:
    """Returns `new` with a column id and a physical name for every column, if `new` is mapped.

    Raises:
        SchemaChangeWithModeError: DELTA_UNSUPPORTED_COLUMN_MAPPING_SCHEMA_CHANGE.

    Source: `updateColumnMappingMetadata` (`tryFixMetadata` before Delta 3.0.0) and
    `assignColumnIdAndPhysicalName`.

    Example:
        >>> from spark_ext.column_mapping import TableMetadata, try_fix_metadata
        >>> field = {"name": "tip", "type": "double", "nullable": True, "metadata": {}}
        >>> new = TableMetadata({"type": "struct", "fields": [field]})
        >>> new = new.with_property("delta.columnMapping.mode", "name")
        >>> new = new.with_property("delta.columnMapping.maxColumnId", "4")
        >>> fixed = try_fix_metadata(old=new, new=new, is_changing_mode_on_existing_table=False)
        >>> fixed.schema["fields"][0]["metadata"]["delta.columnMapping.id"]
        5
    """
    if not requires_new_protocol(new):
        return new
    assignment = _Assignment(old, new, is_changing_mode_on_existing_table, is_overwrite_schema)
    schema = map_fields(new.schema, assignment.field)
    if _enables_nested_ids(new):
        schema = assignment.struct_with_nested_ids(schema)
    return new.with_schema(schema).with_property(keys.MAX_COLUMN_ID, str(assignment.highest))


class _Assignment:
    """Assigns ids and names field by field, parents before children."""

    def __init__(
        self, old: TableMetadata, new: TableMetadata, changes_mode: bool, overwrites: bool
    ) -> None:
        self._schemas = old.schema, new.schema
        self._existing = {lower(path): field for path, field in walk(old.schema)}
        self._mode = mode_of(old.configuration)
        self._changes_mode = changes_mode
        self._overwrites = overwrites
        ids = max_column_id(new), max_column_id(old), find_max_column_id(new.schema)
        self.highest = max(ids)

    def field(self, path: Path, field: Field) -> Field:
        """Returns a field with its id and its physical name."""
        metadata = dict(field_metadata(field))
        existing = self._existing.get(lower(path))
        reused = self._reused(path, existing, field)
        if not has_column_id(field):
            metadata[keys.COLUMN_ID] = column_id(reused) if reused else self._next_id()
        if not has_physical_name(field):
            metadata[keys.PHYSICAL_NAME] = self._name(existing, reused)
        if reused and keys.NESTED_COLUMN_IDS in field_metadata(reused):
            metadata.setdefault(keys.NESTED_COLUMN_IDS, nested_column_ids(reused))
        return {**field, "metadata": metadata}

    def struct_with_nested_ids(self, struct: DataType) -> DataType:
        """Returns a struct with nested ids, in the order of `rewriteFieldIdsForIceberg`."""
        fields = []
        for field in struct["fields"]:
            ids = dict(nested_column_ids(field))
            inner = self._with_nested_ids(field["type"], (physical_name(field),), ids)
            metadata = {**field_metadata(field), keys.NESTED_COLUMN_IDS: ids}
            fields.append({**field, "type": inner, "metadata": metadata})
        return {**struct, "fields": fields}

    def _with_nested_ids(
        self, data_type: DataType | str, path: Path, ids: dict[str, int]
    ) -> DataType | str:
        if isinstance(data_type, str):
            return data_type
        if data_type["type"] == "struct":
            return self.struct_with_nested_ids(data_type)
        changed = dict(data_type)
        for key, segment in CHILDREN.get(data_type["type"], ()):
            inner = (*path, segment)
            if ".".join(inner) not in ids:
                ids[".".join(inner)] = self._next_id()
            changed[key] = self._with_nested_ids(data_type[key], inner, ids)
        return changed

    def _reused(self, path: Path, existing: Field | None, field: Field) -> Field | None:
        if not self._overwrites or existing is None:
            return None
        if not _fits(existing["type"], field["type"]):
            return None
        check_mapped(existing, path, self._mode)
        return existing

    def _name(self, existing: Field | None, reused: Field | None) -> str:
        if self._changes_mode and self._existing:
            if existing is None:
                old, new = map(type_name, self._schemas)
                raise SchemaChangeWithModeError(oldTableSchema=old, newTableSchema=new)
            # The files have the column under this name.
            return str(existing["name"])
        return physical_name(reused) if reused else f"col-{uuid4()}"

    def _next_id(self) -> int:
        self.highest += 1
        return self.highest


def _enables_nested_ids(metadata: TableMetadata) -> bool:
    """Returns whether nested ids are required: the first enabled IcebergCompat is V2 or later."""
    enabled = (
        feature
        for feature, key in keys.ICEBERG_COMPAT_ENABLED.items()
        if metadata.configuration.get(key, "").lower() == "true"
    )
    return next(enabled, "icebergCompatV1") != "icebergCompatV1"


def _fits(one: DataType | str, other: DataType | str) -> bool:
    """Returns `equalsIgnoreCompatibleNullability` of Spark: `other` may have more nulls."""
    if isinstance(one, str) or isinstance(other, str) or one["type"] != other["type"]:
        return one == other
    if one["type"] == "struct":
        pairs = list(zip(one["fields"], other["fields"], strict=False))
        return len(one["fields"]) == len(other["fields"]) and all(
            before["name"] == after["name"]
            and _allows(after, before, "nullable")
            and _fits(before["type"], after["type"])
            for before, after in pairs
        )
    if one["type"] not in CHILDREN:
        return one == other
    nulls = "containsNull" if one["type"] == "array" else "valueContainsNull"
    return _allows(other, one, nulls) and all(
        _fits(one[key], other[key]) for key, _ in CHILDREN[one["type"]]
    )


def _allows(to: Mapping[str, Any], of: Mapping[str, Any], nulls: str) -> bool:
    return bool(to.get(nulls, True) or not of.get(nulls, True))
