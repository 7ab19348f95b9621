# SPDX-License-Identifier: Apache-2.0
"""Two statements in exact interleavings: one is held inside its transaction, the other commits.

Either the held statement commits on top, rightly, or it loses with the condition that Delta has
for it and leaves no trace; in both cases no row is lost and the log keeps every promise.
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
    DISABLE_MAPPING,
    DROP,
    ENABLE_MAPPING,
    ENABLE_TRACKING,
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
    """Why the held statement must lose; None where it may commit on top.

    Source:
        Delta 4.4.0, ConflictChecker.scala; OptimisticTransaction.scala, `commitLarge`.
    """
    if held in (RESTORE, CLONE_OVER):
        return CONCURRENT_WRITE  # these look at no conflict: any commit is one
    if held is DISABLE_MAPPING and kind.is_tracked and winner not in (DISABLE_MAPPING, REPLACE):
        return None  # it goes on with what it has
    if winner is APPEND:
        return CONCURRENT_APPEND if held is REPLACE else None  # that one reads the whole table
    if (held, winner) == (APPEND, ENABLE_MAPPING):
        return None  # the names in the files are those that mapping takes
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
    """A table of a kind, with the source beside it that a clone takes."""

    def prepared(kind: Kind) -> Table:
        if kind.is_empty:
            tables.copy(Kind(kind.is_tracked, kind.is_mapped), tmp_path / "t-source")
        return tables.copy(kind, tmp_path / "t")

    return prepared


def pairs(statements: Sequence[Statement], share: int) -> list[Any]:
    """Returns every pair; each run takes one in `share` of each statement, held and as winner."""
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
def test_conflicting_statement_commits_on_top_or_fails_without_a_trace(
    race: Race, held: Statement, winner: Statement
) -> None:
    assert_commits_on_top_or_loses(race, held, winner, kind_for(held, winner))


# These statements keep a true flag; removing column mapping copies files here.

KEEP_THE_FLAG = [DISABLE_MAPPING, RESTORE, REPLACE, CLONE_OVER]


@pytest.mark.parametrize(("held", "winner"), pairs([*KEEP_THE_FLAG, ADD], share=3))
def test_conflicting_statement_on_a_used_table_commits_on_top_or_fails_without_a_trace(
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


def test_removal_that_fails_by_a_conflict_deletes_its_copies_and_rewrites(
    spark: SparkSession, tmp_path: Path
) -> None:
    table = Table(spark, tmp_path / "t")
    table.create_tracked("a INT, s STRUCT<x: INT>")
    table.insert("(1, named_struct('x', 2))")
    table.alter("ADD COLUMN s.y INT")
    table.alter("DROP COLUMN s.x")  # of the struct nothing is left in the file: it is rewritten
    table.insert("(3, named_struct('y', 4))")
    before = data_files(table.path)

    with HeldStatement(spark, lambda: DISABLE_MAPPING.run(table, True), Step.COMMIT) as disable:
        written = data_files(table.path) - before
        DISABLE_MAPPING.run(table, True)
        after = data_files(table.path) - written
        error = disable.release()

    assert_lost(error, METADATA_CHANGED)
    assert len(written) == 2
    assert data_files(table.path) == after
    assert table.rows("a, s.y") == [(1, None), (3, 4)]


def test_pairs_are_all_pairs() -> None:
    assert len(STATEMENTS) == 11
    assert len(set(STATEMENTS)) == len(set(map(str, STATEMENTS))) == 11


# Switching column mapping off, at the phases that the pairs above leave out.

RACING_WITH_DISABLE = [APPEND, APPEND_WITH_NEW_COLUMN, RENAME, ADD, DROP, DISABLE_MAPPING]


@pytest.mark.parametrize("winner", RACING_WITH_DISABLE, ids=str)
@pytest.mark.parametrize("step", [Step.START, Step.PREPARE])
def test_removal_after_a_conflict_decides_by_the_newer_table(
    race: Race, step: Step, winner: Statement
) -> None:
    table = race(Kind())

    with HeldStatement(table.spark, lambda: DISABLE_MAPPING.run(table, True), step) as disable:
        winner.run(table, True)
        files = table.log.live_files
        error = disable.release()

    state = winner.effect(Kind().state)
    if winner is DISABLE_MAPPING:
        assert_lost(error, METADATA_CHANGED)
    else:
        # All files have the renamed column, one the dropped one.
        copied = {RENAME: len(files), DROP: 1}.get(winner, 0)
        assert error is None
        assert table.log.operation == "REMOVE COLUMN MAPPING"
        assert len(table.log.live_files) == len(files)
        assert len(files.keys() - table.log.live_files.keys()) == copied
        state = DISABLE_MAPPING.effect(state)
    assert_is(table, state)
    assert_reads(table, state)


@pytest.mark.parametrize("step", [Step.START, Step.PREPARE, Step.COMMIT])
def test_append_in_conflict_with_a_removal_is_committed_or_fails(race: Race, step: Step) -> None:
    table = race(Kind())

    with HeldStatement(table.spark, lambda: APPEND.run(table, True), step) as append:
        DISABLE_MAPPING.run(table, True)
        error = append.release()
    if step is not Step.START:
        assert_lost(error, METADATA_CHANGED)
        assert_is(table, DISABLE_MAPPING.effect(Kind().state))
        APPEND.run(table, False)

    state = APPEND.effect(DISABLE_MAPPING.effect(Kind().state))
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
