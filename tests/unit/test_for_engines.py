# SPDX-License-Identifier: Apache-2.0
"""Tests that docs/for-engines.md lists exactly the checks and tables of docs/golden."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from tests.support.golden_tables import GOLDEN, STATES

PAGE = (GOLDEN.parent / "for-engines.md").read_text()
# The size limit of the golden tables in bytes.
LIMIT = 200_000


def checks_of(state: dict[str, Any]) -> Iterator[str]:
    """Yields the checks of a table: of its reads, its history and its next writes."""
    for part in (state["reads"], *state["made"], *state["writes"]):
        yield from part["checks"]


def test_every_check_of_the_page_has_a_table() -> None:
    listed = re.findall(r"^\| ([RW]\d+) \|", PAGE, re.MULTILINE)

    assert len(listed) == len(set(listed)) > 0
    assert set(listed) == {check for state in STATES.values() for check in checks_of(state)}


def test_check_of_a_reader_names_only_tables_that_have_it() -> None:
    listed = dict(re.findall(r"^\| (R\d+) \| .* \| (.*) \|$", PAGE, re.MULTILINE))

    for check, cell in listed.items():
        tables = {name for name, state in STATES.items() if check in state["reads"]["checks"]}
        named = set(re.findall(r"`(\w+)`", cell)) & STATES.keys()
        assert named <= tables
        assert named or tables == STATES.keys()


def test_every_table_exists_and_is_on_the_page() -> None:
    folders = {path.name for path in GOLDEN.iterdir() if path.is_dir()}

    assert folders == STATES.keys()
    assert set(re.findall(r"\]\(golden/(\w+)\.json\)", PAGE)) == STATES.keys()


def test_tables_are_small_and_contain_no_checksums() -> None:
    files = [path for path in GOLDEN.rglob("*") if path.is_file()]

    assert sum(path.stat().st_size for path in files) < LIMIT
    assert [path for path in files if path.suffix not in (".json", ".parquet")] == []


def test_logs_contain_no_path_of_a_machine() -> None:
    text = "".join(path.read_text() for path in GOLDEN.rglob("*.json"))

    assert set(re.findall(r"file:(/+\w+/)", text)) == {"/golden/"}
