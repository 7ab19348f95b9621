# SPDX-License-Identifier: Apache-2.0
"""Compares removals by byte copy with Delta's rewrite on generated tables."""

from __future__ import annotations

import pytest
from chispa.dataframe_comparer import assert_df_equality

from tests.integration.generated_tables import DROPPED, generated
from tests.support.delta_table import Table
from tests.support.parquet_file import BLOOM, COLUMN_INDEX, OFFSET_INDEX, ParquetFile, problems
from tests.support.removal import (
    by_delta,
    counts,
    data_files,
    local,
    pairs,
    unmap,
)
from tests.support.session_conf import session_conf
from tests.support.table_log import TableLog


@pytest.mark.without("auto-compact")
def test_generated_table_is_the_same_as_after_deltas_rewrite(table: Table) -> None:
    log = assert_same_as_by_delta(generated(table, 0))

    # The table of the first seed has everything that makes a copy difficult.
    copies = [
        tuple(ParquetFile.of(local(log.path, action["path"])) for action in pair)
        for pair in pairs(log)
    ]
    hard = [
        copy
        for source, copy in copies
        if len(source.row_groups) > 1 and DROPPED.encode() in source.body
    ]
    assert hard
    for copy in hard:
        assert all(OFFSET_INDEX in chunk and COLUMN_INDEX in chunk for chunk in copy.chunks)
        assert any(BLOOM in column for column in copy.columns)


@pytest.mark.matrix
@pytest.mark.parametrize("seed", range(1, 40))
def test_many_generated_tables_are_the_same_as_after_deltas_rewrite(
    table: Table, seed: int
) -> None:
    assert_same_as_by_delta(generated(table, seed))


def assert_same_as_by_delta(table: Table) -> TableLog:
    """Compares the table with Delta's rewrite by each reader of Spark, and returns the log."""
    twin = by_delta(table)
    before = table.log.version

    log = unmap(table)

    kept, copied, rewritten = counts(log)
    assert kept + copied > rewritten
    assert log.fields == twin.log.fields
    was = table.frame(before).orderBy("id")
    assert_df_equality(table.frame().orderBy("id"), was, allow_nan_equality=True)
    for vectorized in ("true", "false"):
        with session_conf(table.spark, {"spark.sql.parquet.enableVectorizedReader": vectorized}):
            ours, theirs = (frame.orderBy("id") for frame in (table.frame(), twin.frame()))
            assert_df_equality(ours, theirs, allow_nan_equality=True)
            assert_statistics_hold(table)
    assert_nothing_is_wrong_with_its_files(log)
    return log


def assert_nothing_is_wrong_with_its_files(log: TableLog) -> None:
    """Asserts that files are valid, and that files and actions contain no dropped data."""
    for action in log.actions("add"):
        file = local(log.path, action["path"])
        assert list(problems(ParquetFile.of(file), whole=True)) == []
        assert DROPPED.encode() not in file.read_bytes()
        assert DROPPED not in str(action)


def assert_statistics_hold(table: Table) -> None:
    """Asserts that filters, which skip files by statistics, find all rows."""
    rows = table.frame().collect()
    for column in ("id", "whole"):
        values = {row[column] for row in rows if column in row.asDict()}
        for value in sorted(v for v in values if v is not None)[:3]:
            found = table.frame().where(f"`{column}` = {value}").count()
            assert found == sum(row[column] == value for row in rows)
    assert data_files(table.path) >= {local(table.path, path) for path in table.log.live_files}
