# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest
from hypothesis import given

from spark_ext.errors import (
    ColumnNotResolvedError,
    DuplicatedColumnIdError,
    DuplicatedPhysicalNameError,
    MaxColumnIdNotSetError,
    MaxColumnIdTooLowError,
    MissingColumnIdError,
    MissingPhysicalNameError,
    SparkExtError,
)
from spark_ext.model.keys import (
    COLUMN_MAPPING_MODE,
    MAX_COLUMN_ID,
    NESTED_COLUMN_IDS,
    PARQUET_FIELD_ID,
    PARQUET_NESTED_FIELD_IDS,
)
from spark_ext.model.metadata import TableMetadata
from spark_ext.model.physical_schema import (
    check_column_id_and_physical_name_assignments,
    create_physical_schema,
)
from spark_ext.model.schema import Schema
from tests.unit import strategies
from tests.unit.tables import struct, table, without

NESTED = struct({"a": "1 col-1", "l": {"column": "2 col-2", "array": {"x": "3 col-3"}}})


class TestPhysicalSchema:
    @given(strategies.schemas())
    def test_unmapped_schema_is_returned_itself(self, schema: Schema) -> None:
        assert create_physical_schema(schema, schema, "none") is schema

    def test_unknown_column_is_refused(self) -> None:
        with pytest.raises(ColumnNotResolvedError) as refusal:
            create_physical_schema(struct({"b": ""}), NESTED, "name")

        assert refusal.value.condition == "DELTA_CANNOT_RESOLVE_COLUMN"
        assert refusal.value.params["columnName"] == "b"

    def test_names_and_ids_come_from_the_reference(self) -> None:
        logical = struct({"A": "", "l": {"array": {"X": ""}}})

        physical = create_physical_schema(logical, NESTED, "name")

        assert [field["name"] for field in physical["fields"]] == ["col-1", "col-2"]
        assert physical["fields"][0]["metadata"][PARQUET_FIELD_ID] == 1
        assert physical["fields"][1]["type"]["elementType"]["fields"][0]["name"] == "col-3"

    def test_nested_ids_are_copied_to_the_parquet_key(self) -> None:
        words = {"column": "2 l", "metadata": {NESTED_COLUMN_IDS: {"l.element": 9}}}
        reference = struct({"l": words})

        physical = create_physical_schema(struct({"l": ""}), reference, "id")

        assert physical["fields"][0]["metadata"][PARQUET_NESTED_FIELD_IDS] == {"l.element": 9}

    def test_internal_columns_need_no_mapping(self) -> None:
        internal = struct({"_CHANGE_TYPE": ""})

        assert create_physical_schema(internal, NESTED, "name") is internal


ID_ONLY = struct({"a": {"metadata": {"delta.columnMapping.id": 1}}})


@pytest.mark.parametrize(
    ("metadata", "error", "params"),
    [
        (table({"a": ""}, "name"), MissingColumnIdError, {"columnName": "a", "mode": "name"}),
        (
            TableMetadata(ID_ONLY, {COLUMN_MAPPING_MODE: "id", MAX_COLUMN_ID: "1"}),
            MissingPhysicalNameError,
            {"columnName": "a", "mode": "id"},
        ),
        (
            table({"a": "1 a", "s": {"column": "2 s", "struct": {"x": "1 x"}}}, "name"),
            DuplicatedColumnIdError,
            {"columnName": "s.x", "columnId": "1", "mode": "name"},
        ),
        (
            table({"a": "1 p", "b": "2 p"}, "name"),
            DuplicatedPhysicalNameError,
            {"columnName": "b", "physicalPath": "p", "mode": "name"},
        ),
        (
            without(table({"a": "1 a"}, "name"), MAX_COLUMN_ID),
            MaxColumnIdNotSetError,
            {"prop": MAX_COLUMN_ID},
        ),
        (
            table({"a": "5 a"}, "name", properties={MAX_COLUMN_ID: "4"}),
            MaxColumnIdTooLowError,
            {"prop": MAX_COLUMN_ID, "tableMax": "4", "fieldMax": "5"},
        ),
    ],
)
def test_incomplete_mapping_is_refused(
    metadata: TableMetadata, error: type[SparkExtError], params: dict[str, str]
) -> None:
    with pytest.raises(error) as refusal:
        check_column_id_and_physical_name_assignments(metadata)

    assert refusal.value.params == params


def test_equal_physical_names_in_two_structs_are_accepted() -> None:
    one = {"column": "1 s", "struct": {"x": "2 x"}}
    other = {"column": "3 u", "struct": {"x": "4 x"}}

    check_column_id_and_physical_name_assignments(table({"s": one, "u": other}, "name"))


def test_name_with_a_dot_differs_from_a_path() -> None:
    nested = {"column": "1 a", "struct": {"b": "2 b"}}

    check_column_id_and_physical_name_assignments(table({"a": nested, "a.b": "3 a.b"}, "name"))
