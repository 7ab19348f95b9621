# SPDX-License-Identifier: Apache-2.0
"""`kill -9` of the driver at each step of a statement: the table is before it or after it."""

from __future__ import annotations

import os
import signal
from multiprocessing import get_context
from pathlib import Path

import pytest
from custom_sessions import our_jar, resolved_jars
from delta_table import Table
from driver_processes import IN_THE_RULE_CALL, READY, hold_at_every_step, wait_until
from held_statement import Step
from pyspark.sql import SparkSession
from sound_log import assert_sound, in_order, is_mapped, rows_in_files, rows_in_table
from statements import APPEND, DISABLE_MAPPING, RENAME, Kind, Statement, Tables

KILLED = [RENAME, DISABLE_MAPPING]
BEFORE = [Step.START.name, IN_THE_RULE_CALL, Step.PREPARE.name, Step.COMMIT.name]
AFTER = [Step.WRITTEN.name, Step.AFTERWARDS.name]


@pytest.fixture(scope="module")
def killed(
    spark: SparkSession, tables: Tables, tmp_path_factory: pytest.TempPathFactory
) -> dict[Statement, Path]:
    """The folders of tables that a driver for each statement was writing when it was killed."""
    jars = [*resolved_jars(spark), our_jar()]
    homes = {statement: tmp_path_factory.mktemp("killed") for statement in KILLED}
    drivers = []
    for statement, home in homes.items():
        for step in [*BEFORE, *AFTER]:
            tables.copy(Kind(), home / step)
        driver = get_context("spawn").Process(
            target=hold_at_every_step, args=(home, jars, statement.name), daemon=True
        )
        driver.start()
        drivers.append(driver)
    try:
        for driver, home in zip(drivers, homes.values(), strict=True):
            wait_until(lambda d=driver, h=home: (h / READY).exists() or not d.is_alive(), "held")
            assert driver.is_alive()
            os.kill(int((home / READY).read_text()), signal.SIGKILL)
    finally:
        for driver in drivers:
            driver.kill()
            driver.join()
    return homes


def open_table(spark: SparkSession, path: Path) -> Table:
    assert_sound(path)
    return Table(spark, path)


@pytest.mark.parametrize("step", BEFORE)
@pytest.mark.parametrize("statement", KILLED, ids=str)
def test_a_driver_killed_before_the_log_entry_leaves_the_table_as_it_was(
    spark: SparkSession,
    tables: Tables,
    tmp_path: Path,
    killed: dict[Statement, Path],
    statement: Statement,
    step: str,
) -> None:
    untouched = tables.copy(Kind(), tmp_path / "untouched")
    table = open_table(spark, killed[statement] / step)

    assert table.log.version == untouched.log.version
    assert rows_in_files(table.log) == in_order(Kind().state.rows)

    statement.run(table, True)

    assert_is_after(table, statement)


@pytest.mark.parametrize("step", AFTER)
@pytest.mark.parametrize("statement", KILLED, ids=str)
def test_a_driver_killed_after_the_log_entry_leaves_the_table_changed(
    spark: SparkSession,
    tables: Tables,
    tmp_path: Path,
    killed: dict[Statement, Path],
    statement: Statement,
    step: str,
) -> None:
    untouched = tables.copy(Kind(), tmp_path / "untouched")
    table = open_table(spark, killed[statement] / step)

    assert table.log.version == untouched.log.version + 1
    assert_is_after(table, statement)


def assert_is_after(table: Table, statement: Statement) -> None:
    """Changed as the statement does it, and the next session goes on."""
    changed = statement.effect(Kind().state)
    assert table.log.flag == changed.flag
    assert is_mapped(table.log) == changed.is_mapped
    assert tuple(table.log.ids) == changed.columns

    APPEND.run(table, changed.is_mapped)

    assert_sound(table.path)
    rows = in_order([*changed.rows, dict(zip(changed.columns, (9, "w", 90), strict=True))])
    assert rows_in_files(table.log) == rows
    read = table.spark.read.format("delta").load(str(table.path))
    assert rows_in_table(read.collect()) == rows
