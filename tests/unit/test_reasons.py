# SPDX-License-Identifier: Apache-2.0
"""Tests the reasons to change files, and the answer that the JVM receives."""

from __future__ import annotations

import json
from typing import Any

import pytest

from spark_ext.process import questions
from spark_ext.process.questions import ask
from spark_ext.removal.reasons import rewrite_reasons
from tests.unit.case_files import table_of
from tests.unit.tables import protocol, wire, wire_protocol, without

AGREE = (
    "{a: 1 a, s: {column: 2 s, struct: {x: 3 x}}, l: {column: 4 l, array: {x: 5 x}},"
    " m: {column: 6 m, map: {x: 7 x}}}"
)
FLAG = "HAS_DROPPED_OR_RENAMED"
# A table, and the reasons with name and detail; without a reason, the removal is free.
REASONS = [
    (f"name false {AGREE}", []),
    (f"id false {AGREE}", ["FILES_READ_BY_ID"]),
    (f"true {AGREE} {{delta.columnMapping.mode: ID}}", [FLAG]),
    (f"untracked name false {AGREE}", ["NOT_TRACKED"]),
    *((f"name {flag} {AGREE}", [FLAG]) for flag in ("true", "TRUE", "perhaps", '""', "")),
    ("name false {a: 1 b}", ["PHYSICAL_NAME_DIFFERS a b"]),
    ("name false {A: 1 a}", ["PHYSICAL_NAME_DIFFERS A a"]),
    ("name false {s: {column: 1 s, struct: {x: 2 y}}}", ["PHYSICAL_NAME_DIFFERS s.x y"]),
    ("name false {l: {column: 1 l, array: {x: 2 y}}}", ["PHYSICAL_NAME_DIFFERS l.element.x y"]),
    ("name false {m: {column: 1 m, map: {x: 2 y}}}", ["PHYSICAL_NAME_DIFFERS m.value.x y"]),
    ("name true {a: 1 x, b: 2 b}", [FLAG, "PHYSICAL_NAME_DIFFERS a x"]),
    # No reader confuses these names with its own.
    ("name false {s: {column: 1 s, struct: {__is_cdc: 2 __is_cdc}}}", []),
    ("name false {_change_type: 1 _change_type}", []),
    ("none false {__is_cdc}", []),
    # A second removal changes no file.
    ("none false {a}", []),
]


def answer(text: str) -> Any:
    features = ("columnMapping",) if text.startswith("untracked") else protocol().writer_features
    request = {
        "table": wire(table_of(text.removeprefix("untracked "))),
        "protocol": wire_protocol(writer_features=sorted(features or ())),
        "copies": True,
    }
    return json.loads(ask("removal", json.dumps(request)))


@pytest.mark.parametrize(("text", "expected"), REASONS)
def test_removal_changes_files_for_these_reasons(text: str, expected: list[str]) -> None:
    metadata = table_of(text.removeprefix("untracked "))
    features = protocol(("columnMapping",)) if text.startswith("untracked") else protocol()

    found = rewrite_reasons(table=metadata, protocol=features)

    assert [" ".join(filter(None, (w.reason, w.name, w.detail))) for w in found] == expected
    assert answer(text)["free"] is not bool(expected)


@pytest.mark.parametrize(
    ("columns", "column", "name"),
    [
        ("{__is_cdc: 1 col-1}", "__is_cdc", "__is_cdc"),
        ("{__IS_CDC: 1 __IS_CDC}", "__IS_CDC", "__IS_CDC"),
        ("{a: 1 _TMP_metadata_row_index}", "a", "_TMP_metadata_row_index"),
    ],
)
@pytest.mark.parametrize("flag", ["false", "true"])
def test_reserved_column_name_is_refused(columns: str, column: str, name: str, flag: str) -> None:
    refused = answer(f"name {flag} {columns}")["error"]

    assert refused["condition"] == "USAGE_TRACKING_RESERVED_COLUMN_NAME"
    assert refused["parameters"] == {"column": column, "name": name}


def test_malformed_request_gets_an_error_answer() -> None:
    answer = json.loads(ask("removal", "{}"))

    assert answer["error"]["condition"] == "USAGE_TRACKING_MALFORMED_MESSAGE"


def test_removal_is_not_free_when_column_mapping_was_only_partly_removed() -> None:
    highest = "delta.columnMapping.maxColumnId"
    for remains in (
        table_of(f'none true {{a}} {{{highest}: "2"}}'),
        without(table_of("none true {a: 1 a}"), highest),
    ):
        assert questions.removal(remains, protocol(), True) == {"free": False, "plan": None}
    assert questions.removal(table_of("none true {a}"), protocol(), True) == {
        "free": True,
        "plan": None,
    }
