# SPDX-License-Identifier: Apache-2.0
"""Tests that a table is unchanged or complete after `kill -9` of the driver in a statement."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from multiprocessing import get_context
from multiprocessing.process import BaseProcess
from pathlib import Path
from shutil import copytree
from typing import Any
from urllib.parse import unquote

import pytest
from pyspark.sql import SparkSession

from tests.concurrency.driver_processes import (
    READY,
    hold_at_every_stop,
    hold_while_copying,
)
from tests.concurrency.statements import REMOVE_MAPPING, Tables, create_as_select
from tests.concurrency.stops import CREATES, DROPS, STOPS, USED, Stop, drivers
from tests.support.custom_sessions import our_jar, resolved_jars
from tests.support.delta_table import Table, refusal
from tests.support.held_statement import Step
from tests.support.odd_disk import odd_jar
from tests.support.removal import data_files
from tests.support.table_files import in_order, rows_in_files, rows_in_table
from tests.support.waiting import PATIENCE, wait_until

pytestmark = pytest.mark.matrix  # each driver is a JVM

SetConf = Callable[[str, str], None]

ONE_COMMIT = [stop for stop in STOPS if stop not in (*CREATES, *DROPS)]
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


def started(target: Callable[..., None], *arguments: object) -> BaseProcess:
    process = get_context("spawn").Process(target=target, args=arguments, daemon=True)
    process.start()
    return process


def kill_when_ready(process: BaseProcess, home: Path) -> None:
    """Kills the JVM of a process when all its statements are held."""
    wait_until(
        lambda: (home / READY).exists() or not process.is_alive(),
        "all statements held",
        3 * PATIENCE,
    )
    assert process.is_alive()
    os.kill(int((home / READY).read_text()), signal.SIGKILL)


def orphans(table: Table) -> set[str]:
    """Returns the data files that are not live."""
    files = {file.relative_to(table.path) for file in table.path.rglob("*.parquet")}
    data_files = {str(file) for file in files if file.parts[0] != "_delta_log"}
    return data_files - {unquote(file) for file in table.log.live_files}


@pytest.mark.parametrize("stop", BEFORE, ids=str)
def test_driver_killed_before_the_log_entry_does_not_change_the_table(
    spark: SparkSession, tables: Tables, tmp_path: Path, killed: dict[Stop, Path], stop: Stop
) -> None:
    untouched = tables.copy(stop.kind, tmp_path / "untouched")
    table = Table(spark, killed[stop])

    assert table.log.commits == untouched.log.commits
    assert bool(orphans(table)) == stop.has_written_files
    assert rows_in_files(table.log) == in_order(stop.kind.state.rows)

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


@pytest.mark.parametrize("stop", DROPS, ids=str)
def test_drop_of_the_mapping_feature_killed_at_any_commit_succeeds_when_repeated(
    spark: SparkSession, tables: Tables, tmp_path: Path, killed: dict[Stop, Path], stop: Stop
) -> None:
    untouched = tables.copy(stop.kind, tmp_path / "untouched")
    table = Table(spark, killed[stop])

    assert table.log.version == untouched.log.version + stop.nth - 1
    assert table.log.is_mapped == (stop.nth == 1)
    assert "columnMapping" in table.log.writer_features
    assert rows_in_files(table.log) == in_order(stop.kind.state.rows)

    stop.statement.run(table, True)

    assert table.log.operation == "DROP FEATURE"
    assert "columnMapping" not in table.log.writer_features
    assert table.log.protocol["minReaderVersion"] == 1
    assert_is_after(table, stop)


def test_drop_of_the_mapping_feature_makes_as_many_commits_as_the_list_of_stops(
    tables: Tables, tmp_path: Path
) -> None:
    table = tables.copy(DROPS[0].kind, tmp_path / "t")
    version = table.log.version

    DROPS[0].statement.run(table, True)

    assert table.log.version == version + len(DROPS)


@pytest.fixture(scope="module")
def killed_while_it_copies(
    spark: SparkSession, tables: Tables, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """Returns a table with an incomplete copy."""
    home = tmp_path_factory.mktemp("copies")
    table = tables.copy(USED, home / "t")
    jars = [*resolved_jars(spark), our_jar(), str(odd_jar(home))]
    process = started(hold_while_copying, home, jars)
    try:
        kill_when_ready(process, home)
    finally:
        process.kill()
        process.join()
    return table.path


def test_driver_killed_while_copying_does_not_change_the_table(
    spark: SparkSession, tables: Tables, tmp_path: Path, killed_while_it_copies: Path
) -> None:
    stop = Stop(REMOVE_MAPPING, None, USED)
    untouched = tables.copy(USED, tmp_path / "untouched")
    table = Table(spark, copytree(killed_while_it_copies, tmp_path / "t"))

    assert table.log.commits == untouched.log.commits
    assert orphans(table)
    assert rows_in_files(table.log) == in_order(USED.state.rows)

    REMOVE_MAPPING.run(table, True)

    assert_is_after(table, stop)


def test_vacuum_deletes_incomplete_copies_of_a_killed_driver(
    spark: SparkSession, tmp_path: Path, killed_while_it_copies: Path, conf: SetConf
) -> None:
    table = Table(spark, copytree(killed_while_it_copies, tmp_path / "t"))

    assert_vacuum_removes_the_copies(table, conf)


@pytest.mark.parametrize("stop", [Stop(REMOVE_MAPPING, Step.COMMIT, USED)], ids=str)
def test_vacuum_deletes_complete_copies_of_a_killed_driver(
    spark: SparkSession, tmp_path: Path, killed: dict[Stop, Path], stop: Stop, conf: SetConf
) -> None:
    table = Table(spark, copytree(killed[stop], tmp_path / "t"))

    assert_vacuum_removes_the_copies(table, conf)


def assert_vacuum_removes_the_copies(table: Table, conf: SetConf) -> None:
    assert orphans(table)
    conf("spark.databricks.delta.retentionDurationCheck.enabled", "false")

    table.spark.sql(f"VACUUM {table.name} RETAIN 0 HOURS")

    live = {table.path / unquote(file) for file in table.log.live_files}
    checksums = {file.with_name(f".{file.name}.crc") for file in live}  # of Hadoop
    assert live <= data_files(table.path) <= live | checksums
    assert rows_in_files(table.log) == in_order(USED.state.rows)
    assert table.log.operation == "VACUUM END"


def assert_is_after(table: Table, stop: Stop) -> None:
    """Asserts that the statement is complete, and that another session can write the table."""
    changed = stop.statement.effect(stop.kind.state)
    assert table.log.is_tracked
    assert table.log.flag == changed.flag
    assert table.log.is_mapped == changed.is_mapped
    assert tuple(table.log.ids) == changed.columns
    assert rows_in_files(table.log) == in_order(changed.rows)

    new = dict(zip(changed.columns, (9, "w", 90, 900), strict=False))
    table.insert(str(tuple(new.values())))

    rows = in_order([*changed.rows, new])
    assert rows_in_files(table.log) == rows
    read = table.spark.read.format("delta").load(str(table.path))
    assert rows_in_table(read.collect()) == rows
