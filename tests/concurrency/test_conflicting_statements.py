# SPDX-License-Identifier: Apache-2.0
"""Tests two statements on one table: the first is held in its transaction, the second commits.

The held statement commits on top or fails with Delta's condition for the conflict. No row is lost,
and the log is valid.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import delta.exceptions
import pytest
from pyspark.sql import SparkSession

from tests.concurrency.statements import (
    ADD,
    APPEND,
    APPEND_WITH_NEW_COLUMN,
    CLONE_OVER,
    DROP,
    ENABLE_MAPPING,
    ENABLE_TRACKING,
    REMOVE_MAPPING,
    RENAME,
    REPLACE,
    RESTORE,
    STATEMENTS,
    Kind,
    Statement,
    Tables,
    kind_for,
    named_condition,
)
from tests.support.delta_table import NAME_MODE, TRACKED, Table
from tests.support.flat_tables import differences
from tests.support.held_statement import HeldStatement, Step
from tests.support.reference_model import State
from tests.support.removal import data_files
from tests.support.table_files import in_order, rows_in_files, rows_in_table

Race = Callable[[Kind], Table]

METADATA_CHANGED = "DELTA_METADATA_CHANGED"
PROTOCOL_CHANGED = "DELTA_PROTOCOL_CHANGED"
CONCURRENT_WRITE = "DELTA_CONCURRENT_WRITE"
CONCURRENT_APPEND = "DELTA_CONCURRENT_APPEND"

EXCEPTIONS = {
    METADATA_CHANGED: delta.exceptions.MetadataChangedException,
    PROTOCOL_CHANGED: delta.exceptions.ProtocolChangedException,
    CONCURRENT_WRITE: delta.exceptions.ConcurrentWriteException,
    CONCURRENT_APPEND: delta.exceptions.ConcurrentAppendException,
}


def conflict(held: Statement, winner: Statement, kind: Kind) -> str | None:
    """Returns the condition with which the held statement must fail; None if it may commit.

    Source:
        Delta 4.4.0, ConflictChecker.scala; OptimisticTransaction.scala, `commitLarge`.
    """
    if held in (RESTORE, CLONE_OVER):
        return CONCURRENT_WRITE  # these statements treat every commit as a conflict
    if held is REMOVE_MAPPING and kind.is_tracked and winner not in (REMOVE_MAPPING, REPLACE):
        return None  # the removal tries again
    if winner is APPEND:
        return CONCURRENT_APPEND if held is REPLACE else None  # REPLACE reads the whole table
    if (held, winner) == (APPEND, ENABLE_MAPPING):
        return None  # the file has the names that column mapping assigns
    upgrades = {ENABLE_TRACKING} if kind.is_mapped else {ENABLE_TRACKING, ENABLE_MAPPING}
    if held in upgrades and winner in {*upgrades, RESTORE, CLONE_OVER}:
        return PROTOCOL_CHANGED
    return METADATA_CHANGED


def assert_lost(error: Exception | None, condition: str) -> None:
    assert isinstance(error, EXCEPTIONS[condition])
    assert named_condition(error) == condition


def assert_is(table: Table, expected: State) -> None:
    assert not list(differences(expected, table.log, rows_in_files(table.log)))


def assert_reads(table: Table, expected: State) -> None:
    read = table.spark.read.format("delta").load(str(table.path))
    assert rows_in_table(read.collect()) == in_order(expected.expected_rows())


@pytest.fixture
def race(tables: Tables, tmp_path: Path) -> Race:
    """Returns a function that makes a table of a kind, and the source of a clone if needed."""

    def prepared(kind: Kind) -> Table:
        if kind.is_empty:
            tables.copy(Kind(kind.is_tracked, kind.is_mapped), tmp_path / "t-source")
        return tables.copy(kind, tmp_path / "t")

    return prepared


def pairs(statements: Sequence[Statement], share: int) -> list[Any]:
    """Returns all pairs. A run without the matrix has one in `share` pairs."""
    return [
        pytest.param(
            held,
            winner,
            id=f"{winner}-{held}",
            marks=() if (row + 2 * column) % share == 0 else pytest.mark.matrix,
        )
        for row, held in enumerate(statements)
        for column, winner in enumerate(statements)
    ]


@pytest.mark.parametrize(("held", "winner"), pairs(STATEMENTS, share=6))
def test_conflicting_statement_commits_on_top_or_fails_without_a_commit(
    race: Race, held: Statement, winner: Statement
) -> None:
    assert_commits_on_top_or_loses(race, held, winner, kind_for(held, winner))


# These statements keep a true flag. On such a table, a removal of column mapping copies files.

KEEP_THE_FLAG = [REMOVE_MAPPING, RESTORE, REPLACE, CLONE_OVER]


@pytest.mark.parametrize(("held", "winner"), pairs([*KEEP_THE_FLAG, ADD], share=3))
def test_conflicting_statement_on_a_used_table_commits_on_top_or_fails_without_a_commit(
    race: Race, held: Statement, winner: Statement
) -> None:
    kind = replace(kind_for(held, winner), is_used=True)

    assert kind.state.flag
    assert_commits_on_top_or_loses(race, held, winner, kind)


def assert_commits_on_top_or_loses(
    race: Race, held: Statement, winner: Statement, kind: Kind
) -> None:
    table = race(kind)
    reason = conflict(held, winner, kind)

    with HeldStatement(table.spark, lambda: held.run(table, kind.is_mapped), Step.COMMIT) as first:
        with table.one_commit():
            winner.run(table, kind.is_mapped)
        winning_version = table.log.version
        error = first.release()

    state = winner.effect(kind.state)
    if reason is None:
        assert error is None
        assert table.log.version == winning_version + 1
        state = held.effect(state)
        assert_reads(table, state)
    else:
        assert_lost(error, reason)
        assert table.log.version == winning_version
    assert_is(table, state)


def test_removal_that_fails_by_a_conflict_deletes_copied_and_rewritten_files(
    spark: SparkSession, tmp_path: Path
) -> None:
    table = Table(spark, tmp_path / "t")
    table.create_tracked("a INT, s STRUCT<x: INT>")
    table.insert("(1, named_struct('x', 2))")
    table.alter("ADD COLUMN s.y INT")
    # The file has no other field of the struct, so Delta rewrites it
    table.alter("DROP COLUMN s.x")
    table.insert("(3, named_struct('y', 4))")
    before = data_files(table.path)

    with HeldStatement(spark, lambda: REMOVE_MAPPING.run(table, True), Step.COMMIT) as removal:
        written = data_files(table.path) - before
        REMOVE_MAPPING.run(table, True)
        after = data_files(table.path) - written
        error = removal.release()

    assert_lost(error, METADATA_CHANGED)
    assert len(written) == 2
    assert data_files(table.path) == after
    assert table.selected("a, s.y") == [(1, None), (3, 4)]


def test_statements_have_unique_names() -> None:
    assert len(STATEMENTS) == 11
    assert len(set(STATEMENTS)) == len(set(map(str, STATEMENTS))) == 11


# Removal of column mapping, at the steps that the pairs above omit.

RACING_WITH_REMOVAL = [APPEND, APPEND_WITH_NEW_COLUMN, RENAME, ADD, DROP, REMOVE_MAPPING]


@pytest.mark.parametrize("winner", RACING_WITH_REMOVAL, ids=str)
@pytest.mark.parametrize("step", [Step.START, Step.PREPARE])
def test_removal_after_a_conflict_decides_by_the_newer_table(
    race: Race, step: Step, winner: Statement
) -> None:
    table = race(Kind())

    with HeldStatement(table.spark, lambda: REMOVE_MAPPING.run(table, True), step) as removal:
        winner.run(table, True)
        files = table.log.live_files
        error = removal.release()

    state = winner.effect(Kind().state)
    if winner is REMOVE_MAPPING:
        assert_lost(error, METADATA_CHANGED)
    else:
        # All files contain the renamed column, and one contains the dropped column.
        copied = {RENAME: len(files), DROP: 1}.get(winner, 0)
        assert error is None
        assert table.log.operation == "REMOVE COLUMN MAPPING"
        assert len(table.log.live_files) == len(files)
        assert len(files.keys() - table.log.live_files.keys()) == copied
        state = REMOVE_MAPPING.effect(state)
    assert_is(table, state)
    assert_reads(table, state)


@pytest.mark.parametrize("step", [Step.START, Step.PREPARE, Step.COMMIT])
def test_append_in_conflict_with_a_removal_is_committed_or_fails(race: Race, step: Step) -> None:
    table = race(Kind())

    with HeldStatement(table.spark, lambda: APPEND.run(table, True), step) as append:
        REMOVE_MAPPING.run(table, True)
        error = append.release()
    if step is not Step.START:
        assert_lost(error, METADATA_CHANGED)
        assert_is(table, REMOVE_MAPPING.effect(Kind().state))
        APPEND.run(table, False)

    state = APPEND.effect(REMOVE_MAPPING.effect(Kind().state))
    assert_is(table, state)
    assert_reads(table, state)


def test_only_one_of_two_concurrent_creates_succeeds(table: Table) -> None:
    def create(column: str) -> None:
        table.create(f"{column} INT", TRACKED, NAME_MODE)

    with HeldStatement(table.spark, lambda: create("a"), Step.PREPARE) as first:
        create("b")
        error = first.release()

    assert_lost(error, PROTOCOL_CHANGED)
    assert table.log.version == 0
    assert table.log.physical_names == {"b": "b"}
