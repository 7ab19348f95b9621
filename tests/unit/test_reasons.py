# SPDX-License-Identifier: Apache-2.0
"""Tests the reasons to change files, and the answer that the JVM receives."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from spark_ext.model.keys import MAX_COLUMN_ID
from spark_ext.model.metadata import TableMetadata
from spark_ext.process import questions
from spark_ext.process.questions import ask
from spark_ext.removal.reasons import Reason, rewrite_reasons
from tests.unit.tables import TRACKED, protocol, table, wire, wire_protocol, without

NAMES_AGREE: dict[str, Any] = {
    "a": "1 a",
    "s": {"column": "2 s", "struct": {"x": "3 x"}},
    "l": {"column": "4 l", "array": {"x": "5 x"}},
    "m": {"column": "6 m", "map": {"x": "7 x"}},
}


def reasons(metadata: TableMetadata, features: tuple[str, ...] = TRACKED) -> list[Reason]:
    found = rewrite_reasons(table=metadata, protocol=protocol(features))
    assert answer(metadata, features)["free"] is not bool(found)
    return list(found)


def answer(metadata: TableMetadata, features: tuple[str, ...]) -> Mapping[str, Any]:
    by_features = wire_protocol(writer_features=features)
    request = {"table": wire(metadata), "protocol": by_features, "copies": True}
    answered: Mapping[str, Any] = json.loads(ask("removal", json.dumps(request)))
    return answered


def test_removal_is_metadata_only_when_the_flag_is_false_and_all_names_agree() -> None:
    assert reasons(table(NAMES_AGREE, "name", "false")) == []


def test_mode_id_requires_reading_footers_unless_another_reason_exists() -> None:
    by_id = table(NAMES_AGREE, "id", "false")

    assert reasons(by_id) == [Reason("FILES_READ_BY_ID")]
    assert reasons(table(NAMES_AGREE, "ID", "true")) == [Reason("HAS_DROPPED_OR_RENAMED")]


def test_removal_is_metadata_only_when_the_table_is_unmapped() -> None:
    assert reasons(table({"a": ""}, "none", "false")) == []


def test_removal_of_an_untracked_table_is_not_metadata_only() -> None:
    untracked = table(NAMES_AGREE, "name", "false")

    assert reasons(untracked, ("columnMapping",)) == [Reason("NOT_TRACKED")]


@pytest.mark.parametrize("flag", ["true", "TRUE", "perhaps", "", None])
def test_removal_is_not_metadata_only_when_the_flag_is_not_false(flag: str | None) -> None:
    expected = [Reason("HAS_DROPPED_OR_RENAMED")]

    assert reasons(table(NAMES_AGREE, "name", flag)) == expected


@pytest.mark.parametrize(
    ("columns", "path", "physical_name"),
    [
        ({"a": "1 b"}, "a", "b"),
        ({"A": "1 a"}, "A", "a"),
        ({"s": {"column": "1 s", "struct": {"x": "2 y"}}}, "s.x", "y"),
        ({"l": {"column": "1 l", "array": {"x": "2 y"}}}, "l.element.x", "y"),
        ({"m": {"column": "1 m", "map": {"x": "2 y"}}}, "m.value.x", "y"),
    ],
)
def test_removal_is_not_metadata_only_when_a_name_differs(
    columns: dict[str, Any], path: str, physical_name: str
) -> None:
    expected = [Reason("PHYSICAL_NAME_DIFFERS", path, physical_name)]

    assert reasons(table(columns, "name", "false")) == expected


def test_all_reasons_are_returned() -> None:
    found = reasons(table({"a": "1 x", "b": "2 y"}, "name", "true"))

    assert [reason.reason for reason in found] == [
        "HAS_DROPPED_OR_RENAMED",
        "PHYSICAL_NAME_DIFFERS",
        "PHYSICAL_NAME_DIFFERS",
    ]


def test_malformed_request_gets_an_error_answer() -> None:
    answer = json.loads(ask("removal", "{}"))

    assert answer["error"]["condition"] == "USAGE_TRACKING_MALFORMED_MESSAGE"


@pytest.mark.parametrize(
    ("columns", "column", "name"),
    [
        ({"__is_cdc": "1 col-1"}, "__is_cdc", "__is_cdc"),
        ({"__IS_CDC": "1 __IS_CDC"}, "__IS_CDC", "__IS_CDC"),
        ({"a": "1 _TMP_metadata_row_index"}, "a", "_TMP_metadata_row_index"),
    ],
)
@pytest.mark.parametrize("flag", ["false", "true"])
def test_reserved_column_name_is_refused(
    columns: dict[str, Any], column: str, name: str, flag: str
) -> None:
    refused = answer(table(columns, "name", flag), TRACKED)["error"]

    assert refused["condition"] == "USAGE_TRACKING_RESERVED_COLUMN_NAME"
    assert refused["parameters"] == {"column": column, "name": name}


@pytest.mark.parametrize(
    "columns",
    [
        {"s": {"column": "1 s", "struct": {"__is_cdc": "2 __is_cdc"}}},
        {"_change_type": "1 _change_type"},
    ],
)
def test_internal_name_that_no_reader_confuses_is_accepted(columns: dict[str, Any]) -> None:
    assert reasons(table(columns, "name", "false")) == []


def test_reserved_name_is_accepted_without_mapping() -> None:
    assert reasons(table({"__is_cdc": ""}, "none", "false")) == []


@pytest.mark.parametrize("flag", ["true", "false"])
def test_second_removal_changes_no_file(flag: str) -> None:
    unmapped, mapped = table({"a": ""}, "none", flag), table({"a": "1 b"}, "name", flag)

    assert questions.removal(unmapped, protocol(), True) == {"free": True, "plan": None}
    assert questions.removal(mapped, protocol(), True)["free"] is False


@pytest.mark.parametrize(
    "remains",
    [
        table({"a": ""}, "none", "true", {MAX_COLUMN_ID: "2"}),
        without(table({"a": "1 a"}, "none", "true"), MAX_COLUMN_ID),
    ],
)
def test_removal_is_not_free_when_column_mapping_was_only_partly_removed(
    remains: TableMetadata,
) -> None:
    assert questions.removal(remains, protocol(), True) == {"free": False, "plan": None}
