# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from spark_ext.model.column_mapping import (
    column_id,
    has_column_id,
    has_physical_name,
    physical_name,
    schema_has_column_mapping_metadata,
    with_physical_name,
)
from spark_ext.model.keys import (
    NESTED_COLUMN_IDS,
)
from spark_ext.model.physical_schema import drop_column_mapping_metadata
from tests.unit.tables import columns, struct


class TestFields:
    def test_field_without_metadata_is_unmapped(self) -> None:
        field = {"name": "a", "type": "long"}

        assert not has_column_id(field)
        assert not has_physical_name(field)
        assert physical_name(field) == "a"

    def test_mapped_field_has_id_and_physical_name(self) -> None:
        field = struct({"a": "7 col-7"})["fields"][0]

        assert (column_id(field), physical_name(field)) == (7, "col-7")

    def test_nested_ids_follow_the_physical_name(self) -> None:
        ids = {"col-2.element": 4, "col-2.element.key": 5, "col-22.element": 6}
        words = {"column": "2 col-2", "metadata": {NESTED_COLUMN_IDS: ids}, "array": {"x": ""}}
        field = struct({"l": words})["fields"][0]

        renamed = with_physical_name(field, "l")

        assert renamed["metadata"][NESTED_COLUMN_IDS] == {
            "l.element": 4,
            "l.element.key": 5,
            "col-22.element": 6,
        }
        assert field["metadata"][NESTED_COLUMN_IDS] is ids


class TestSchemas:
    def test_dropped_mapping_metadata_keeps_other_metadata(self) -> None:
        schema = struct({"a": {"column": "1 col-1", "metadata": {"comment": "why"}}})

        dropped = drop_column_mapping_metadata(schema)

        assert columns(dropped) == {"a": {"column": "", "metadata": {"comment": "why"}}}
        assert not schema_has_column_mapping_metadata(dropped)
        assert schema_has_column_mapping_metadata(schema)
