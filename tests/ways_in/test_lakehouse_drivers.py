# SPDX-License-Identifier: Apache-2.0
"""Tests runs over a lakehouse in separate drivers: killed, interrupted, and two at once."""

from __future__ import annotations

import random
import signal
from collections.abc import Callable

import pytest
from pyspark.sql import SparkSession

import spark_ext
from spark_ext import LakehouseProgress
from tests.support.waiting import wait_until
from tests.ways_in.drivers import Drivers, Running
from tests.ways_in.lakehouses import (
    Lakehouse,
    assert_all_removed,
    expected_outcomes,
    name_of,
    removals,
)

pytestmark = pytest.mark.broken_table("log_without_start")


def test_two_runs_at_once_do_each_table_once(
    spark: SparkSession, small_lakehouse: Lakehouse, driver: Drivers
) -> None:
    lakehouse = small_lakehouse
    files = lakehouse.num_files()
    others: list[Running] = []

    def begin_the_other(report: LakehouseProgress) -> None:
        """Lets the other run plan and begin after this one has planned."""
        if report.phase == "run" and not others:
            others.append(driver.remove(lakehouse))
            wait_until(lambda: others[0].ended or lakehouse.num_files() > files, "a new file")

    ours = spark_ext.remove_column_mapping(spark, *lakehouse.where, progress=begin_the_other)

    (other,) = others
    assert other.wait() == 1, other.shown
    assert_all_removed(lakehouse)
    both = [
        {each.table: each.outcome for each in ours.tables},
        {each["table"]: each["outcome"] for each in other.rows()},
    ]
    for name, outcome in expected_outcomes(lakehouse).items():
        found = sorted(rows[name] for rows in both)
        if outcome == "DONE":
            assert found in (["ALREADY_DONE", "DONE"], ["DONE", "DONE"]), name
        else:
            assert found == [outcome, outcome], name
    assert lakehouse.orphans() == set()


def assert_stopped_in_order(lakehouse: Lakehouse, running: Running, code: int, name: str) -> None:
    """Asserts that each table is unchanged or done as in the report, without other files."""
    assert running.wait() == code, running.shown
    assert "Traceback" not in running.shown
    assert running.sums()["interrupted"] == name
    rows = {each["table"]: each["outcome"] for each in running.rows()}
    assert rows.keys() == expected_outcomes(lakehouse).keys()
    assert "NOT_BEGUN" in rows.values()
    for place, log in lakehouse.logs().items():
        assert removals(log) == (rows[name_of(place)] == "DONE"), place
    assert lakehouse.orphans() == set()


def test_ctrl_c_ends_a_run_in_order(small_lakehouse: Lakehouse, driver: Drivers) -> None:
    lakehouse = small_lakehouse
    files = lakehouse.num_files()
    running = driver.remove(lakehouse, parallel=1)

    wait_until(lambda: running.ended or lakehouse.num_files() > files, "a new file")
    running.send_to_all(signal.SIGINT)

    assert_stopped_in_order(lakehouse, running, 130, "SIGINT")
    assert "interrupted by:" in running.shown


@pytest.mark.matrix
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signal_ends_a_command_in_order(
    small_lakehouse: Lakehouse, driver: Drivers, number: signal.Signals
) -> None:
    lakehouse = small_lakehouse
    files = lakehouse.num_files()
    running = driver.remove(lakehouse, parallel=1)

    wait_until(lambda: running.ended or lakehouse.num_files() > files, "a new file")
    running.send(number)

    assert_stopped_in_order(lakehouse, running, 128 + number, number.name)


@pytest.mark.matrix
@pytest.mark.parametrize(
    ("end", "code", "sums"),
    [
        # Airflow signals the process group, in which the driver's JVM is.
        (
            lambda running: running.send_to_all(signal.SIGTERM),
            128 + signal.SIGTERM,
            {"interrupted": "SIGTERM"},
        ),
        (Running.kill_jvm, 1, {"nextCall": "the same call again"}),
    ],
    ids=["signal to all processes", "killed JVM"],
)
def test_report_is_written_when_the_jvm_has_ended(
    spark: SparkSession,
    small_lakehouse: Lakehouse,
    driver: Drivers,
    end: Callable[[Running], None],
    code: int,
    sums: dict[str, str],
) -> None:
    lakehouse = small_lakehouse
    files = lakehouse.num_files()
    running = driver.remove(lakehouse, parallel=1)

    wait_until(lambda: running.ended or lakehouse.num_files() > files, "a new file")
    end(running)

    assert running.wait() == code, running.shown
    assert sums.items() <= running.sums().items()
    rows = {each["table"]: each["outcome"] for each in running.rows()}
    assert rows.keys() == expected_outcomes(lakehouse).keys()
    assert code != 1 or "FAILED" in rows.values()
    for place, log in lakehouse.logs().items():
        # A removal may commit before the JVM ends, and the run may not read the table again.
        assert removals(log) or rows[name_of(place)] != "DONE", place
    spark_ext.remove_column_mapping(spark, *lakehouse.where, progress=None)
    assert_all_removed(lakehouse)


@pytest.mark.parametrize(
    ("seed", "kills"),
    [(1, 1), *(pytest.param(seed, 3, marks=pytest.mark.matrix) for seed in range(2, 9))],
)
def test_run_after_killed_runs_completes_the_removal(
    spark: SparkSession, small_lakehouse: Lakehouse, driver: Drivers, seed: int, kills: int
) -> None:
    lakehouse = small_lakehouse
    killed = 0
    rng = random.Random(seed)
    for number in (rng.randint(1, 12) for _ in range(kills)):  # of new files before the kill
        files = lakehouse.num_files()
        running = driver.remove(lakehouse)
        wait_until(
            lambda: running.ended or lakehouse.num_files() >= files + number,  # noqa: B023
            f"{number} new files",
        )
        killed += running.kill()
    orphans = lakehouse.orphans()
    last = spark_ext.remove_column_mapping(spark, *lakehouse.where, progress=None)

    assert killed > 0
    assert_all_removed(lakehouse)
    assert lakehouse.orphans() == orphans
    paths = {name_of(place): lakehouse.path(place) for place in lakehouse.kinds}
    for row in last.of("DONE"):
        if row.cost == "COPY" and row.num_files:
            copies = [file for file in orphans if paths[row.table] in file.parents]
            assert row.leftovers is not None
            assert row.leftovers.num_files == len(copies), row.table
            assert ("VACUUM" in (row.removed_by or "")) == bool(copies)
