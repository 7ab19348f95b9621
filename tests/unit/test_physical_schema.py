# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest
from hypothesis import given

from spark_ext.column_mapping import (
    check_column_id_and_physical_name_assignments,
    create_physical_schema,
)
from spark_ext.errors import (
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
)
from spark_ext.model.metadata import TableMetadata
from spark_ext.model.schema import Schema
from tests.unit import strategies
from tests.unit.tables import struct, table, without


@given(strategies.schemas())
def test_unmapped_schema_is_returned_itself(schema: Schema) -> None:
    assert create_physical_schema(schema, schema, "none") is schema


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
