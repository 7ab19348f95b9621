# SPDX-License-Identifier: Apache-2.0
"""Tests the deletion vectors of a shallow clone that removes column mapping beside writers."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.concurrency.test_removal_beside_writers import (
    CONFLICT,
    TIMEOUT,
    WRITERS,
    SetConf,
    remove_beside,
    restore,
    sql,
    used,
)
from tests.support import vectors
from tests.support.delta_table import Table, in_turn, refusal
from tests.support.prepared import made_once
from tests.support.removal import insert_one_file, live, metrics

pytestmark = pytest.mark.without("auto-compact", "deletion-vectors", "row-tracking")


@pytest.fixture
def source(table: Table, tmp_path: Path) -> Table:
    """Returns the source of the clone `table`: five files, two of them with a deletion vector."""
    source = with_vectors(Table(table.spark, tmp_path / "original"))
    source.spark.sql(f"CREATE TABLE {table.name} SHALLOW CLONE {source.name}")
    return source


@made_once
def with_vectors(table: Table) -> None:
    used(table)
    insert_one_file(table, "(20, 'p', 0), (21, 'q', 0), (22, 'r', 0)")
    table.spark.sql(f"DELETE FROM {table.name} WHERE a IN (0, 20)")


def vector_files(table: Table) -> set[Path]:
    return set(table.path.rglob("deletion_vector_*.bin"))


def assert_needs_nothing_of(source: Table, table: Table, rows: list[tuple[object, ...]]) -> None:
    """Asserts that commits name all vectors of the clone, and that its rows need no source."""
    named = {
        vectors.file_of(table.path, action["add"]["deletionVector"])
        for commit in table.log.commits
        for action in commit
        if "add" in action and "deletionVector" in action["add"]
    }
    assert vector_files(table) <= named
    for add in live(table.log).values():
        assert (add.get("deletionVector") or {}).get("storageType") in (None, "u")
        assert vectors.problem(table.path, add.get("deletionVector")) is None
    source.path.rename(source.path.with_name("elsewhere"))
    assert table.rows() == rows


def test_deletion_vector_changed_during_removal_is_not_copied(source: Table, table: Table) -> None:
    delete = sql("DELETE FROM {t} WHERE a = 21")
    seen: list[list[tuple[object, ...]]] = []

    error = remove_beside(table, in_turn(delete, lambda table: seen.append(table.rows())))

    assert error is None
    assert metrics(table.log)["numRounds"] == 1
    assert len(vector_files(table)) == 2
    assert_needs_nothing_of(source, table, seen[0])


def test_restored_deletion_vector_is_copied_again(source: Table, table: Table) -> None:
    rows = table.rows()

    error = remove_beside(table, sql("DELETE FROM {t} WHERE a = 21"), restore)

    assert error is None
    assert metrics(table.log)["numRounds"] == 2
    assert_needs_nothing_of(source, table, rows)


def test_deleted_copies_of_deletion_vectors_are_made_again(source: Table, table: Table) -> None:
    rows = table.rows()

    def remove(table: Table) -> None:
        assert vector_files(table)
        for file in vector_files(table):
            file.unlink()

    error = remove_beside(table, in_turn(remove, WRITERS["append"]))

    assert error is None
    assert_needs_nothing_of(source, table, sorted([*rows, (50, "z", 1)], key=repr))


def test_removal_that_times_out_deletes_its_copies_of_deletion_vectors(
    source: Table, table: Table, conf: SetConf
) -> None:
    conf(TIMEOUT, "0s")
    seen: list[set[Path]] = []

    def append(table: Table) -> None:
        seen.append(vector_files(table))
        WRITERS["append"](table)

    with refusal(CONFLICT):
        error = remove_beside(table, append)
        assert error is not None
        raise error

    assert len(seen[0]) == 2
    assert not vector_files(table)
    assert source.rows()
