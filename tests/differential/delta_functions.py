# SPDX-License-Identifier: Apache-2.0
"""Calls Delta's own functions on schemas in the JVM, under Python names.

Schemas and fields are the dicts of `StructType.json`, and paths are tuples. `old` precedes `new`
everywhere; Delta takes the new schema first.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

from py4j.java_gateway import JavaObject
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

Schema = Mapping[str, Any]
Path = tuple[str, ...]

# Four of Delta's errors have no condition, and only their texts differ.
_WITHOUT_CONDITION = {
    "Missing column ID": "MISSING_COLUMN_ID",
    "Missing physical name": "MISSING_PHYSICAL_NAME",
    "Found duplicated column id": "DUPLICATED_COLUMN_ID",
    "Found duplicated physical name": "DUPLICATED_PHYSICAL_NAME",
}


_LEGACY_PROTOCOL = {"minReaderVersion": 1, "minWriterVersion": 2}


class DeltaRefusal(Exception):
    """Contains the condition of an error of Delta, or a word if it has none, and its parameters."""

    def __init__(self, condition: str | None, params: Mapping[str, str], text: str) -> None:
        super().__init__(text)
        without = (word for start, word in _WITHOUT_CONDITION.items() if text.startswith(start))
        self.condition = condition or next(without, None)
        self.params = dict(params)


class Metadata(NamedTuple):
    """Contains the part of a `metaData` action that the functions read."""

    schema: Schema
    configuration: Mapping[str, str]


class DeltaFunctions:
    """Calls `DeltaColumnMapping` of the session's delta-spark."""

    def __init__(self, spark: SparkSession) -> None:
        jvm: Any = spark._jvm
        delta = jvm.org.apache.spark.sql.delta
        self._gateway: Any = spark.sparkContext._gateway
        self._session: Any = spark._jsparkSession
        self._mapping = _singleton(delta, "DeltaColumnMapping")
        self._modes = _singleton(delta, "DeltaColumnMappingMode")
        self._column_mapping_feature = _singleton(delta, "ColumnMappingTableFeature")
        self._action = _singleton(delta.actions, "Action")
        self._data_type = _singleton(jvm.org.apache.spark.sql.types, "DataType")
        self._to_json = _singleton(delta.util, "JsonUtils").mapper()
        self._allow_mode_change = self._private_method("allowMappingModeChange")

    # Changes between two schemas.

    def is_drop_column_operation(
        self, old: Schema, new: Schema, *, both_mapped: bool = True
    ) -> bool:
        return self._mapping.isDropColumnOperation(self._type(new), self._type(old), both_mapped)

    def is_rename_column_operation(
        self, old: Schema, new: Schema, *, both_mapped: bool = True
    ) -> bool:
        return self._mapping.isRenameColumnOperation(self._type(new), self._type(old), both_mapped)

    def collect_dropped_columns(self, old: Schema, new: Schema) -> set[Path]:
        dropped = self._mapping.collectDroppedColumns(self._type(new), self._type(old))
        return {tuple(column["fieldPath"]) for column in self._value(dropped)}

    def collect_renamed_columns(self, old: Schema, new: Schema) -> set[tuple[Path, Path]]:
        renamed = self._mapping.collectRenamedColumns(self._type(new), self._type(old))
        return {
            (tuple(column["fromFieldPath"]), tuple(column["toFieldPath"]))
            for column in self._value(renamed)
        }

    # Facts about one schema.

    def physical_name(self, field: Mapping[str, Any]) -> str:
        return self._mapping.getPhysicalName(self._type(_struct(field)).apply(0))

    def physical_paths(self, schema: Schema) -> dict[Path, Path]:
        """Returns the physical path of every column by its logical path."""
        pairs = self._mapping.getLogicalNameToPhysicalNameMap(self._type(schema)).toSeq()
        return {tuple(logical): tuple(physical) for logical, physical in self._value(pairs)}

    def find_max_column_id(self, schema: Schema) -> int:
        return self._mapping.findMaxColumnId(self._type(schema))

    def column_mapping_metadata_keys(self) -> set[str]:
        return set(self._value(self._mapping.COLUMN_MAPPING_METADATA_KEYS()))

    def schema_has_column_mapping_metadata(self, schema: Schema) -> bool:
        return self._mapping.schemaHasColumnMappingMetadata(self._type(schema))

    def check_column_id_and_physical_name_assignments(self, table: Metadata) -> None:
        with _refusals():
            self._mapping.checkColumnIdAndPhysicalNameAssignments(self._metadata(table))

    # Changed schemas.

    def rename_columns(self, schema: Schema) -> Schema:
        return self._schema(self._mapping.renameColumns(self._type(schema)))

    def drop_column_mapping_metadata(self, schema: Schema) -> Schema:
        return self._schema(self._mapping.dropColumnMappingMetadata(self._type(schema)))

    def create_physical_schema(self, schema: Schema, reference: Schema, mode: str) -> Schema:
        with _refusals():
            logical, known = self._type(schema), self._type(reference)
            wanted = self._modes.apply(mode)
            return self._schema(self._mapping.createPhysicalSchema(logical, known, wanted, True))

    def assign_column_id_and_physical_name(
        self, old: Metadata, new: Metadata, *, changes_mode: bool = False, overwrites: bool = False
    ) -> Metadata:
        with _refusals():
            before, after = self._metadata(old), self._metadata(new)
            assigned = self._mapping.assignColumnIdAndPhysicalName(
                after, before, changes_mode, overwrites
            )
        fields = json.loads(assigned.json())["metaData"]
        return Metadata(json.loads(fields["schemaString"]), fields["configuration"])

    def verify_and_update_metadata_change(
        self, old: Metadata, new: Metadata, *, creating: bool = False, overwrites: bool = False
    ) -> Metadata:
        with _refusals():
            result = self._mapping.verifyAndUpdateMetadataChange(
                self._session,
                None,
                self._action.fromJson(json.dumps({"protocol": _LEGACY_PROTOCOL})),
                self._metadata(old),
                self._metadata(new),
                creating,
                overwrites,
            )
        fields = json.loads(result.json())["metaData"]
        return Metadata(json.loads(fields["schemaString"]), fields["configuration"])

    def column_mapping_metadata(self, field: Mapping[str, Any], mode: str) -> Mapping[str, Any]:
        with _refusals():
            spark_field = self._type(_struct(field)).apply(0)
            found = self._mapping.getColumnMappingMetadata(spark_field, self._modes.apply(mode))
        metadata: Mapping[str, Any] = json.loads(found.json())
        return metadata

    def supported_modes(self) -> set[str]:
        modes = self._mapping.supportedModes()
        return {modes.toSeq().apply(number).name() for number in range(modes.size())}

    def mapped(self, schema: Schema, properties: Mapping[str, str] | None = None) -> Schema:
        """Returns the schema of a new table in mode name."""
        configuration = {"delta.columnMapping.mode": "name", **(properties or {})}
        before = Metadata({"type": "struct", "fields": []}, {})
        return self.assign_column_id_and_physical_name(
            before, Metadata(schema, configuration)
        ).schema

    # Modes and protocols.

    def mode_of(self, configuration: Mapping[str, str]) -> str:
        with _refusals():
            table = Metadata({"type": "struct", "fields": []}, configuration)
            return self._metadata(table).columnMappingMode().name()

    def allow_mapping_mode_change(self, old: str, new: str) -> bool:
        """Calls a private method."""
        modes = self._array(self._gateway.jvm.java.lang.Object, map(self._modes.apply, (old, new)))
        return self._allow_mode_change.invoke(self._mapping, modes)

    def is_column_mapping_supported(self, protocol: Mapping[str, Any]) -> bool:
        """Calls `Protocol.isFeatureSupported`, which replaced `satisfyColumnMappingProtocol`."""
        parsed = self._action.fromJson(json.dumps({"protocol": protocol}))
        return parsed.isFeatureSupported(self._column_mapping_feature)

    # Conversions between Python and the JVM.

    def _type(self, schema: Schema) -> JavaObject:
        return self._data_type.fromJson(json.dumps(schema))

    def _schema(self, struct: JavaObject) -> Schema:
        return json.loads(struct.json())

    def _metadata(self, table: Metadata) -> JavaObject:
        fields = {
            "id": "t",
            "format": {"provider": "parquet", "options": {}},
            "schemaString": json.dumps(table.schema),
            "partitionColumns": [],
            "configuration": dict(table.configuration),
        }
        return self._action.fromJson(json.dumps({"metaData": fields}))

    def _value(self, result: JavaObject) -> Any:
        # Delta's own mapper needs one call, and py4j one call for each element.
        return json.loads(self._to_json.writeValueAsString(result))

    def _private_method(self, name: str) -> JavaObject:
        mode = self._modes.apply("none").getClass().getInterfaces()[0]
        declaring = self._mapping.getClass().getInterfaces()[0]
        parameters = self._array(self._gateway.jvm.java.lang.Class, (mode, mode))
        method = declaring.getDeclaredMethod(name, parameters)
        method.setAccessible(True)
        return method

    def _array(self, element: Any, values: Any) -> JavaObject:
        listed = list(values)
        array = self._gateway.new_array(element, len(listed))
        for index, value in enumerate(listed):
            array[index] = value
        return array


def _singleton(package: Any, name: str) -> JavaObject:
    return getattr(getattr(package, f"{name}$"), "MODULE$")


def _struct(*fields: Mapping[str, Any]) -> Schema:
    return {"type": "struct", "fields": list(fields)}


@contextmanager
def _refusals() -> Iterator[None]:
    try:
        yield
    except PySparkException as error:
        params = error.getMessageParameters() or {}
        raise DeltaRefusal(error.getCondition(), params, str(error)) from error
    except Py4JJavaError as error:
        thrown = error.java_exception
        raise DeltaRefusal(None, {}, str(thrown.getMessage())) from error
