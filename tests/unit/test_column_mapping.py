# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest

from spark_ext.errors import (
    UnsupportedModeError,
)
from spark_ext.model.column_mapping import (
    SUPPORTED_MODES,
    column_id,
    find_max_column_id,
    has_column_id,
    has_physical_name,
    mode_of,
    physical_name,
    satisfy_column_mapping_protocol,
    schema_has_column_mapping_metadata,
    with_physical_name,
)
from spark_ext.model.keys import (
    COLUMN_MAPPING_MODE,
    NESTED_COLUMN_IDS,
)
from spark_ext.model.metadata import Protocol
from spark_ext.model.physical_schema import drop_column_mapping_metadata
from tests.unit.tables import columns, struct

NESTED = struct({"a": "1 col-1", "l": {"column": "2 col-2", "array": {"x": "3 col-3"}}})


class TestModeOf:
    def test_unknown_mode_is_refused(self) -> None:
        with pytest.raises(UnsupportedModeError) as refusal:
            mode_of({COLUMN_MAPPING_MODE: "Nom"})

        assert refusal.value.condition == "DELTA_MODE_NOT_SUPPORTED"
        assert refusal.value.params == {"mode": "Nom", "supportedModes": "none, name, id"}

    @pytest.mark.parametrize("mode", SUPPORTED_MODES)
    def test_mode_ignores_letter_case(self, mode: str) -> None:
        assert mode_of({COLUMN_MAPPING_MODE: mode.upper()}) == mode

    def test_default_mode_is_none(self) -> None:
        assert mode_of({}) == "none"


BOTH = frozenset({"columnMapping"})


@pytest.mark.parametrize(
    ("protocol", "satisfies"),
    [
        (Protocol(2, 5), True),
        (Protocol(2, 6), True),
        (Protocol(1, 5), False),
        (Protocol(2, 4), False),
        (Protocol(3, 7, BOTH, BOTH), True),
        (Protocol(2, 7, None, BOTH), True),
        (Protocol(1, 7, None, BOTH), False),
        (Protocol(3, 7, BOTH, frozenset()), False),
        (Protocol(3, 7, frozenset(), BOTH), False),
        (Protocol(3, 7), False),
    ],
)
def test_protocol_allows_column_mapping(protocol: Protocol, satisfies: bool) -> None:
    assert satisfy_column_mapping_protocol(protocol) == satisfies


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


class TestFindMaxColumnId:
    def test_highest_id_may_belong_to_a_nested_field(self) -> None:
        assert find_max_column_id(NESTED) == 3

    def test_highest_id_may_belong_to_an_element(self) -> None:
        words = {"column": "2 l", "metadata": {NESTED_COLUMN_IDS: {"l.element": 9}}}

        assert find_max_column_id(struct({"l": words})) == 9

    def test_highest_id_is_zero_without_ids(self) -> None:
        assert find_max_column_id(struct({"a": ""})) == 0


class TestSchemas:
    def test_dropped_mapping_metadata_keeps_other_metadata(self) -> None:
        schema = struct({"a": {"column": "1 col-1", "metadata": {"comment": "why"}}})

        dropped = drop_column_mapping_metadata(schema)

        assert columns(dropped) == {"a": {"column": "", "metadata": {"comment": "why"}}}
        assert not schema_has_column_mapping_metadata(dropped)
        assert schema_has_column_mapping_metadata(schema)
