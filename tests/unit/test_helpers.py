# SPDX-License-Identifier: Apache-2.0
"""Tests that the lists of tests name existing tests. A wrong name would run nothing."""

from __future__ import annotations

import runpy
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_matrix_names_existing_files() -> None:
    matrix = runpy.run_path(str(ROOT / "tests" / "matrix" / "__main__.py"))
    named = [matrix["CONNECT_TESTS"], matrix["HELD_TESTS"], matrix["STORE_TESTS"]]
    named += [matrix["TESTS"] / name for name in matrix["SHORT_TESTS"]]

    assert [file for file in named if not (ROOT / file).exists()] == []


def test_first_tier_names_existing_tests_of_every_folder() -> None:
    lines = (ROOT / "tests" / "first_tier.txt").read_text().splitlines()
    named = [line.partition("::") for line in lines if not line.startswith("#")]
    tested = {file.parent for file in (ROOT / "tests").rglob("test_*.py")}

    # The units run anyway. A random history, and a start of S3, take longer than a minute.
    others = {ROOT / "tests" / name for name in ("unit", "histories", "object_stores")}
    assert {(ROOT / file).parent for file, _, _ in named} == tested - others
    for file, _, test in named:
        assert not test or f"def {test.rpartition('::')[2]}" in (ROOT / file).read_text(), test
