# SPDX-License-Identifier: Apache-2.0
"""Tests tables after `kill -9` of the driver in a statement: each commit is complete or absent."""

from __future__ import annotations

from pathlib import Path
from shutil import copytree
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tests.concurrency.driver_processes import hold_at_every_stop
from tests.concurrency.killed import (
    SetConf,
    assert_is_after,
    assert_vacuum_removes_the_copies,
    kill_when_ready,
    orphans,
    started,
)
from tests.concurrency.statements import (
    ALIGN,
    REMOVE_MAPPING,
    Statement,
    Tables,
    create_as_select,
)
from tests.concurrency.stops import COMMITS, CREATES, PARTS, STOPS, USED, Stop, drivers
from tests.support.custom_sessions import our_jar, resolved_jars
from tests.support.delta_table import Table, refusal
from tests.support.held_statement import Step
from tests.support.table_files import in_order, rows_in_files

pytestmark = pytest.mark.matrix  # each driver is a JVM

ONE_COMMIT = [stop for stop in STOPS if stop not in (*CREATES, *PARTS)]
BEFORE = [stop for stop in ONE_COMMIT if stop.is_before_the_log_entry]
AFTER = [stop for stop in ONE_COMMIT if not stop.is_before_the_log_entry]


@pytest.fixture(scope="module")
def killed(
    spark: SparkSession,
    tables: Tables,
    tmp_path_factory: pytest.TempPathFactory,
    request: pytest.FixtureRequest,
) -> dict[Stop, Path]:
    """Returns the tables whose drivers were killed, for the stops of the selected tests."""
    jars = [*resolved_jars(spark), our_jar()]
    wanted: set[Any] = {
        item.callspec.params["stop"]
        for item in request.session.items
        if isinstance(item, pytest.Function)
        and item.path == request.path
        and "killed" in item.fixturenames
    }
    shares = [(stops, tmp_path_factory.mktemp("killed")) for stops in drivers(wanted)]
    processes = []
    for stops, home in shares:
        for stop in stops:
            if stop not in CREATES:
                tables.copy(stop.kind, home / str(stop))
        processes.append(started(hold_at_every_stop, home, jars, [str(stop) for stop in stops]))
    try:
        for process, (_, home) in zip(processes, shares, strict=True):
            kill_when_ready(process, home)
    finally:
        for process in processes:
            process.kill()
            process.join()
    return {stop: home / str(stop) for stops, home in shares for stop in stops}


@pytest.mark.parametrize("stop", BEFORE, ids=str)
def test_driver_killed_before_the_log_entry_does_not_change_the_table(
    spark: SparkSession, tables: Tables, tmp_path: Path, killed: dict[Stop, Path], stop: Stop
) -> None:
    untouched = tables.copy(stop.kind, tmp_path / "untouched")
    table = Table(spark, killed[stop])

    assert table.log.commits == untouched.log.commits
    assert bool(orphans(table)) == stop.has_written_files
    assert rows_in_files(table.log) == in_order(stop.kind.state.expected_rows())

    stop.statement.run(table, stop.kind.is_mapped)

    assert_is_after(table, stop)


@pytest.mark.parametrize("stop", AFTER, ids=str)
def test_driver_killed_after_the_log_entry_has_changed_the_table(
    spark: SparkSession, tables: Tables, tmp_path: Path, killed: dict[Stop, Path], stop: Stop
) -> None:
    untouched = tables.copy(stop.kind, tmp_path / "untouched")
    table = Table(spark, killed[stop])

    assert table.log.version == untouched.log.version + 1
    assert_is_after(table, stop)


@pytest.mark.parametrize("stop", CREATES, ids=str)
def test_table_whose_creator_was_killed_is_created_by_create_or_replace(
    spark: SparkSession, killed: dict[Stop, Path], stop: Stop
) -> None:
    table = Table(spark, killed[stop])
    left_behind = orphans(table)
    assert left_behind
    assert not table.log.commits

    # Delta takes a folder with `_delta_log` for a table, even if the log is empty.
    with refusal("TABLE_OR_VIEW_ALREADY_EXISTS"):
        create_as_select(table)
    assert not table.log.commits
    create_as_select(table, "CREATE OR REPLACE")

    assert table.log.version == 0
    assert left_behind.isdisjoint(table.log.live_files)
    assert_is_after(table, stop)


@pytest.mark.parametrize("stop", PARTS, ids=str)
def test_statement_killed_at_any_of_its_commits_succeeds_when_repeated(
    spark: SparkSession, tables: Tables, tmp_path: Path, killed: dict[Stop, Path], stop: Stop
) -> None:
    untouched = tables.copy(stop.kind, tmp_path / "untouched")
    table = Table(spark, killed[stop])

    assert table.log.version == untouched.log.version + stop.nth - 1
    assert "columnMapping" in table.log.writer_features
    assert rows_in_files(table.log) == in_order(stop.kind.state.expected_rows())

    stop.statement.run(table, True)

    if stop.statement is ALIGN:
        assert table.log.ids == untouched.log.ids
        assert table.log.physical_names == {name: name for name in untouched.log.ids}
    else:
        assert table.log.operation == "DROP FEATURE"
        assert "columnMapping" not in table.log.writer_features
        assert table.log.protocol["minReaderVersion"] == 1
    assert_is_after(table, stop)


@pytest.mark.parametrize("statement", COMMITS, ids=str)
def test_statement_makes_the_commits_at_which_it_is_killed(
    tables: Tables, tmp_path: Path, statement: Statement
) -> None:
    table = tables.copy(USED, tmp_path / "t")
    version = table.log.version

    statement.run(table, True)

    assert table.log.version == version + COMMITS[statement]


@pytest.mark.parametrize("stop", [Stop(REMOVE_MAPPING, Step.COMMIT, USED)], ids=str)
def test_vacuum_deletes_complete_copies_of_a_killed_driver(
    spark: SparkSession, tmp_path: Path, killed: dict[Stop, Path], stop: Stop, conf: SetConf
) -> None:
    table = Table(spark, copytree(killed[stop], tmp_path / "t"))

    assert_vacuum_removes_the_copies(table, conf)
