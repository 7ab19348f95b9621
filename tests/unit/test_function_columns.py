# SPDX-License-Identifier: Apache-2.0
"""Tests that the pages describe the table functions and their columns."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from spark_ext.model.rows import ddl
from spark_ext.process.table_functions import FUNCTIONS

CHECKOUT = Path(__file__).parents[2]
PAGE = (CHECKOUT / "docs" / "sql.md").read_text()
NESTED = re.compile(r"<[^<>]*(?:<[^<>]*>[^<>]*)*>")


def test_page_lists_every_table_function() -> None:
    section = PAGE.split("\n## Table functions\n")[1].split("\n### ")[0]

    listed = set(re.findall(r"^\| `(\w+)\(", section, re.MULTILINE))
    # Only Python functions of spark_ext call this function.
    assert listed >= FUNCTIONS.keys() - {"column_mapping_verdict"}


@pytest.mark.parametrize(
    ("function", "page", "heading"),
    [
        ("column_mapping", "sql", "### column_mapping"),
        ("column_mapping_removal", "sql", "### column_mapping_removal"),
        ("column_mapping_history", "audit", "### Columns of the history"),
        ("column_mapping_dropped", "erasure", "## Columns of a row"),
        ("column_mapping_survey", "lakehouse", "### Columns of a row"),
    ],
)
def test_page_lists_the_columns_in_order(function: str, page: str, heading: str) -> None:
    row, _ = FUNCTIONS[function]()
    text = (CHECKOUT / "docs" / f"{page}.md").read_text()

    table = text.split(f"\n{heading}\n")[1].split("\n|---")[1].split("\n\n")[0]
    cells = [line.split("|")[1] for line in table.splitlines() if line.startswith("| `")]
    assert re.findall(r"`(\w+)`", " ".join(cells)) == re.findall(
        r"`(\w+)` [A-Z]", NESTED.sub("", ddl(row))
    )
