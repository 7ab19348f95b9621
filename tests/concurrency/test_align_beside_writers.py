# SPDX-License-Identifier: Apache-2.0
"""Tests `align_names()` while another writer commits just before each of its commits."""

from __future__ import annotations

from itertools import count

from spark_ext import UsageTracking
from tests.support.delta_table import NAME_MODE, TRACKED, Table
from tests.support.held_statement import Step, with_conflicts


def test_append_before_each_commit_is_kept(table: Table) -> None:
    table.create("a INT, b INT", TRACKED, NAME_MODE)
    table.insert("(0, 0)")
    table.alter("RENAME COLUMN b TO c")
    usage = UsageTracking.forPath(table.spark, str(table.path))
    planned = usage.align_names(dry_run=True).statements
    numbers = count(1)

    def append() -> None:
        number = next(numbers)
        table.insert(f"({number}, {number})")

    error = with_conflicts(
        table.spark,
        lambda: usage.align_names(progress=None),
        Step.COMMIT,
        [append] * len(planned),
    )

    assert error is None
    assert table.log.flag == "false"
    assert table.log.physical_names == {"a": "a", "c": "c"}
    assert table.rows() == [(number, number) for number in range(len(planned) + 1)]
