# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from spark_ext import column_mapping
from spark_ext.column_mapping import Protocol
from spark_ext.errors import UnsupportedModeError
from spark_ext.model.column_mapping import (
    column_id,
    has_column_id,
    has_physical_name,
    physical_name,
    schema_has_column_mapping_metadata,
    with_physical_name,
)
from spark_ext.model.keys import (
    COLUMN_MAPPING_MODE,
    NESTED_COLUMN_IDS,
)
from spark_ext.model.physical_schema import drop_column_mapping_metadata
from tests.unit.tables import columns, struct

NESTED = struct({"a": "1 col-1", "l": {"column": "2 col-2", "array": {"x": "3 col-3"}}})


# The headings of the API page of Delta's column mapping, in its order.
PAGE = (
    *("MIN_PROTOCOL_VERSION", "MIN_READER_VERSION", "MIN_WRITER_VERSION"),
    *("create_physical_schema", "rename_columns", "requires_new_protocol"),
    *("satisfy_column_mapping_protocol", "check_column_id_and_physical_name_assignments"),
    *("drop_column_mapping_metadata", "get_physical_name", "verify_and_update_metadata_change"),
    *("try_fix_metadata", "allow_mapping_mode_change", "supported_modes"),
    "get_column_mapping_metadata",
)


class TestPublicModule:
    def test_names_are_those_of_the_page(self) -> None:
        assert set(column_mapping.__all__) == {*PAGE, "Protocol", "TableMetadata"}
        assert all(hasattr(column_mapping, name) for name in column_mapping.__all__)

    def test_lowest_protocol_allows_column_mapping_and_older_ones_do_not(self) -> None:
        reader, writer = column_mapping.MIN_READER_VERSION, column_mapping.MIN_WRITER_VERSION
        satisfies = column_mapping.satisfy_column_mapping_protocol

        assert Protocol(reader, writer) == column_mapping.MIN_PROTOCOL_VERSION == Protocol(2, 5)
        assert satisfies(column_mapping.MIN_PROTOCOL_VERSION)
        assert not satisfies(Protocol(reader - 1, writer))
        assert not satisfies(Protocol(reader, writer - 1))

    @pytest.mark.parametrize("mode", [None, "none", "NAME", "id"])
    def test_mapped_tables_require_a_new_protocol(self, mode: str | None) -> None:
        properties = {} if mode is None else {COLUMN_MAPPING_MODE: mode}
        metadata = column_mapping.TableMetadata(schema=NESTED, configuration=properties)

        assert column_mapping.requires_new_protocol(metadata) == (mode in ("NAME", "id"))

    @pytest.mark.parametrize(
        "call",
        [
            lambda mode: column_mapping.create_physical_schema(NESTED, NESTED, mode),
            lambda mode: column_mapping.get_column_mapping_metadata(NESTED["fields"][0], mode),
            lambda mode: column_mapping.allow_mapping_mode_change(mode, "none"),
            lambda mode: column_mapping.allow_mapping_mode_change("none", mode),
        ],
    )
    def test_unknown_mode_is_refused(self, call: Callable[[str], Any]) -> None:
        with pytest.raises(UnsupportedModeError) as refusal:
            call("nom")

        assert refusal.value.params == {"mode": "nom", "supportedModes": "none, name, id"}

    def test_modes_ignore_letter_case(self) -> None:
        assert column_mapping.create_physical_schema(NESTED, NESTED, "None") is NESTED
        assert column_mapping.allow_mapping_mode_change("NONE", "Name")


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
