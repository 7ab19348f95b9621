# SPDX-License-Identifier: Apache-2.0
"""docs/for-engines.md has the checks and tables of docs/golden, and no others."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.golden_tables import GOLDEN, STATES

PAGE = (GOLDEN.parent / "for-engines.md").read_text()
# What git and whoever reads them has to carry.
LIMIT = 200_000


def asked(state: dict[str, Any]) -> Iterator[str]:
    """The checks that a table is of, by what it is, how it was made and what is next."""
    for part in (state["reads"], *state["made"], *state["writes"]):
        yield from part["checks"]


def test_every_check_of_the_page_is_asked_by_a_table() -> None:
    told = re.findall(r"^\| ([RW]\d+) \|", PAGE, re.MULTILINE)

    assert len(told) == len(set(told)) > 0
    assert set(told) == {check for state in STATES.values() for check in asked(state)}


def test_every_check_of_a_reader_names_its_tables() -> None:
    told = dict(re.findall(r"^\| (R\d+) \| .* \| (.*) \|$", PAGE, re.MULTILINE))

    for check, cell in told.items():
        tables = {name for name, state in STATES.items() if check in state["reads"]["checks"]}
        named = set(re.findall(r"`(\w+)`", cell)) & STATES.keys()
        assert named <= tables
        assert named or tables == STATES.keys()


def test_every_table_is_there_and_on_the_page() -> None:
    folders = {path.name for path in GOLDEN.iterdir() if path.is_dir()}

    assert folders == STATES.keys()
    assert set(re.findall(r"\]\(golden/(\w+)\.json\)", PAGE)) == STATES.keys()


@pytest.mark.parametrize("state", STATES.values(), ids=STATES)
def test_a_step_says_what_comes_of_it(state: dict[str, Any]) -> None:
    for step in state["writes"]:
        assert ("then" in step) != ("refused" in step)
        assert step.get("then", {}).keys() <= {*state["reads"], "files", "fileColumns", "free"}


def test_the_tables_are_small_and_without_what_no_reader_needs() -> None:
    files = [path for path in GOLDEN.rglob("*") if path.is_file()]

    assert sum(path.stat().st_size for path in files) < LIMIT
    assert [path for path in files if path.suffix not in (".json", ".parquet")] == []


def test_no_path_of_a_machine_is_in_a_log() -> None:
    text = "".join(path.read_text() for path in GOLDEN.rglob("*.json"))

    assert set(re.findall(r"file:(/+\w+/)", text)) == {"/golden/"}
