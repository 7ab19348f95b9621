# SPDX-License-Identifier: Apache-2.0
"""Tests when a change warns: a new name is the physical name of another column."""

from __future__ import annotations

import json
from typing import Any

import pytest

from spark_ext.process.questions import ask
from spark_ext.rules.names import name_warning
from tests.unit.tables import table, wire, wire_protocol
from tests.unit.test_cases import COMMIT

UUID = "col-5d2c6f1e-8c3f-4d55-9d8e-0c7e4a3b2f10"
RENAMED = {"town": "1 city"}
MISLED = {"town": "1 city", "city": f"2 {UUID}"}
SWAPPED = {"b": "1 a", "a": "2 b"}


def struct(inner: dict[str, str]) -> dict[str, Any]:
    return {"s": {"column": "9 s", "array": inner}}


# Maps a change to the columns before and after, and to parts of the warning.
CASES: dict[str, tuple[dict[str, Any], dict[str, Any], list[str]]] = {
    "a new table": ({}, {"a": "1 a"}, []),
    "a rename": ({"city": "1 city"}, RENAMED, []),
    "letter case alone": ({"city": "1 city"}, {"City": "1 city"}, []),
    "a column with a UUID": (RENAMED, {"town": "1 city", "fare": f"2 {UUID}"}, []),
    "the same name elsewhere": (RENAMED, {**RENAMED, **struct({"city": f"2 {UUID}"})}, []),
    "an earlier ambiguity": (MISLED, {**MISLED, "fare": f"3 {UUID}"}, []),
    "an earlier ambiguity, a rename": (MISLED, {"place": "1 city", "city": f"2 {UUID}"}, []),
    "a rename that ends it": (MISLED, {"town": "1 city", "burg": f"2 {UUID}"}, []),
    "an ADD": (RENAMED, MISLED, ["`town` under the name of the column `city`"]),
    "in another letter case": (
        RENAMED,
        {**RENAMED, "City": f"2 {UUID}"},
        ["`town` under the name of the column `City`"],
    ),
    "a RENAME": (
        {"town": "1 city", "b": "2 b"},
        {"town": "1 city", "city": "2 b"},
        ["`town` under the name of the column `city`"],
    ),
    "the second RENAME of a swap": (
        {"x": "1 a", "b": "2 b"},
        {"x": "1 a", "a": "2 b"},
        ["`x` under the name of the column `a`"],
    ),
    "the third RENAME of a swap": (
        {"x": "1 a", "a": "2 b"},
        SWAPPED,
        ["`a` under the name of the column `b`"],
    ),
    "a nested ADD": (
        struct({"b c": "1 a"}),
        struct({"b c": "1 a", "a": f"2 {UUID}"}),
        ["s.element.`b c` under the name of the column `s.element.a`"],
    ),
    "both of a swap in one change": (
        {"a": "1 a", "b": "2 b"},
        SWAPPED,
        [
            "`a` under the name of the column `b`",
            "`b` under the name of the column `a`",
        ],
    ),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("mode", ["name", "id"])
def test_name_that_another_column_has_in_files_gives_a_warning(case: str, mode: str) -> None:
    before, after, parts = CASES[case]

    warning = name_warning(old=table(before, mode, "true"), new=table(after, mode, "true"))

    assert (warning is None) == (parts == [])
    assert [part for part in parts if part not in str(warning)] == []
    assert str(warning).count(" under the name of ") == len(parts)
    assert ("align_names()" in str(warning)) == (parts != [])


def test_table_without_column_mapping_gives_no_warning() -> None:
    old, new = (table(words, "none", "true") for words in (RENAMED, MISLED))

    assert name_warning(old=old, new=new) is None


def test_warning_names_at_most_three_columns() -> None:
    pairs = {f"n{i}": f"{i} a{i}" for i in range(1, 6)}
    added = {f"a{i}": f"{i + 5} {UUID}{i}" for i in range(1, 6)}

    warning = name_warning(
        old=table(pairs, "name", "true"), new=table(pairs | added, "name", "true")
    )

    assert warning is not None
    assert warning.count(" under the name of ") == 3
    assert "`a3` and 2 more." in warning


def test_answer_contains_the_warning() -> None:
    old, new = table(RENAMED, "name", "true"), table(MISLED, "name", "true")
    request = {
        "old": wire(old),
        "proposed": wire(new),
        "assigned": wire(new),
        "commit": {**COMMIT, "protocol": wire_protocol()},
    }

    assert json.loads(ask("next_metadata", json.dumps(request)))["warning"] == name_warning(
        old=old, new=new
    )
