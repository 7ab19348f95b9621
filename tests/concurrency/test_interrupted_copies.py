# SPDX-License-Identifier: Apache-2.0
"""Drivers that copy the files of a table, and are killed or find that another driver was faster.

A removal, an alignment and a call over two tables are held while they copy a file.
"""

from __future__ import annotations

from collections.abc import Callable
from multiprocessing.process import BaseProcess
from pathlib import Path
from shutil import copytree

import pytest
from pyspark.sql import SparkSession

from tests.concurrency.driver_processes import (
    COPYING,
    OUTCOME,
    hold_while_copying,
    pair,
)
from tests.concurrency.killed import (
    SetConf,
    assert_is_after,
    assert_vacuum_removes_the_copies,
    kill_when_ready,
    orphans,
    started,
    unnamed,
    wait_until_ready,
)
from tests.concurrency.statements import ALIGN, REMOVE_MAPPING, Kind, Tables
from tests.concurrency.stops import USED, Stop
from tests.support.custom_sessions import our_jar, resolved_jars
from tests.support.delta_table import Table
from tests.support.odd_disk import odd_jar
from tests.support.table_files import in_order, rows_in_files
from tests.support.waiting import wait_until

pytestmark = pytest.mark.matrix  # each driver is a JVM

STOPS = {
    what: Stop(ALIGN if what == "alignment" else REMOVE_MAPPING, None, USED) for what in COPYING
}
Killed = Callable[[str], Path]


def driver_of(spark: SparkSession, tables: Tables, home: Path, what: str) -> BaseProcess:
    """Starts a driver that makes a call on a used table and its neighbour."""
    for kind, path in zip((Kind(), USED), pair(home / "t"), strict=True):
        tables.copy(kind, path)
    jars = [*resolved_jars(spark), our_jar(), str(odd_jar(home))]
    return started(hold_while_copying, home, jars, what)


@pytest.fixture(scope="module")
def killed(spark: SparkSession, tables: Tables, tmp_path_factory: pytest.TempPathFactory) -> Killed:
    """Returns the folder of the tables of a call that was killed while it copied."""
    homes: dict[str, Path] = {}

    def home_of(what: str) -> Path:
        if what not in homes:
            homes[what] = home = tmp_path_factory.mktemp(what)
            process = driver_of(spark, tables, home, what)
            try:
                kill_when_ready(process, home)
            finally:
                process.kill()
                process.join()
            assert not (home / OUTCOME).exists()
        return homes[what]

    return home_of


@pytest.mark.every_variant
@pytest.mark.parametrize("what", COPYING)
def test_driver_killed_while_copying_changes_no_row_and_the_same_call_continues(
    spark: SparkSession, tables: Tables, tmp_path: Path, killed: Killed, what: str
) -> None:
    untouched = tables.copy(USED, tmp_path / "untouched")
    for path in pair(killed(what) / "t"):
        copytree(path, tmp_path / path.name)
    table = Table(spark, tmp_path / "t")

    commits = table.log.commits
    assert commits[: untouched.log.version + 1] == untouched.log.commits
    assert len(commits) == len(untouched.log.commits) + (what == "alignment")
    assert orphans(table)
    assert rows_in_files(table.log) == in_order(USED.state.expected_rows())

    result = COPYING[what](table)

    if what == "lakehouse":
        assert result == "ALREADY_DONE DONE"
        assert_is_after(Table(spark, tmp_path / "free"), Stop(REMOVE_MAPPING, None))
    assert_is_after(table, STOPS[what])


def test_vacuum_deletes_incomplete_copies_of_a_killed_driver(
    spark: SparkSession, tmp_path: Path, killed: Killed, conf: SetConf
) -> None:
    table = Table(spark, copytree(killed("removal") / "t", tmp_path / "t"))

    assert_vacuum_removes_the_copies(table, conf)


@pytest.mark.every_variant
@pytest.mark.parametrize(
    ("what", "expected"),
    [
        ("removal", "DELTA_METADATA_CHANGED"),
        ("alignment", "ALIGNED"),
        ("lakehouse", "DONE DONE"),
    ],
)
def test_driver_keeps_the_files_of_another_driver_that_finished_first(
    spark: SparkSession, tables: Tables, tmp_path: Path, what: str, expected: str
) -> None:
    process = driver_of(spark, tables, tmp_path, what)
    table = Table(spark, tmp_path / "t")
    try:
        wait_until_ready(process, tmp_path)
        COPYING[what](table)
        finished, files = table.log.commits, table.log.live_files
        assert unnamed(table)
        (tmp_path / "disk" / "gate").unlink()
        wait_until((tmp_path / OUTCOME).exists, "the end of the other call")
    finally:
        process.kill()
        process.join()

    assert (tmp_path / OUTCOME).read_text() == expected
    # The alignment removes column mapping once more, and copies no file again.
    assert what == "alignment" or table.log.commits == finished
    assert table.log.live_files == files
    assert not unnamed(table)
    assert_is_after(table, STOPS[what])
