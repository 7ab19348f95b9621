# SPDX-License-Identifier: Apache-2.0
"""Holds the sentences of the pages to the rules for prose."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.prose import objections, sentences

CHECKOUT = Path(__file__).parents[2]
# The pages that follow the rules. A page joins the list when it is rewritten.
PAGES = (
    ".github/SECURITY.md",
    "README.md",
    "docs/audit.md",
    "docs/benchmarks.md",
    "docs/byte-copy.md",
    "docs/column-names.md",
    "docs/command-line.md",
    "docs/concurrent-writers.md",
    "docs/databricks.md",
    "docs/errors.md",
    "docs/first-table.md",
    "docs/for-engines.md",
    "docs/glossary.md",
    "docs/guide.md",
    "docs/history.md",
    "docs/how-it-works.md",
    "docs/install.md",
    "docs/lakehouse.md",
    "docs/limits.md",
    "docs/notebooks.md",
    "docs/nulls.md",
    "docs/object-stores.md",
    "docs/other-engines.md",
    "docs/platforms.md",
    "docs/purge.md",
    "docs/readable-names.md",
    "docs/removal.md",
    "docs/rfc.md",
    "docs/safety.md",
    "docs/settings.md",
    "docs/spark-connect.md",
    "docs/sql.md",
    "docs/streams.md",
    "docs/survey.md",
    "docs/test-matrix.md",
    "docs/thrift-server.md",
    "docs/tracking.md",
    "docs/undo.md",
    "docs/unity-catalog.md",
    "docs/upgrading.md",
    "docs/versions.md",
    "docs/when-something-fails.md",
)


@pytest.mark.parametrize("page", PAGES)
def test_page_follows_the_rules_for_prose(page: str) -> None:
    assert objections((CHECKOUT / page).read_text()) == []


def test_sentences_end_at_stops_cells_items_and_headings() -> None:
    page = "# Title\nOne `a. b` [link](y.md).\nTwo\nlines: three.\n\n- item\n- item\n\n| a | b |\n"

    assert list(sentences(page)) == [
        *("Title", "One x link.", "Two lines:", "three."),
        *("item", "item", "a", "b"),
    ]


def test_code_is_no_sentence() -> None:
    assert list(sentences("```sql\nSELECT gone\n```\n")) == []


@pytest.mark.parametrize(
    ("page", "found"),
    [
        ("word " * 25, 0),
        ("word " * 26, 1),
        ("The values are gone.", 1),
        ("`gone` is a column.", 0),
        ("Leaving column mapping costs nothing.", 2),
        ("The exit code is 1.", 0),
    ],
)
def test_objections_are_long_sentences_and_unwanted_words(page: str, found: int) -> None:
    assert len(objections(page)) == found
