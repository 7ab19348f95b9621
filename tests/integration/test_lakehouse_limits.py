# SPDX-License-Identifier: Apache-2.0
"""Tests limits of a call over many tables: bytes, time, failures and signals."""

from __future__ import annotations

import os
import shutil
import signal
import threading
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import spark_ext
from spark_ext import LakehouseInterrupted
from tests.integration.lakehouse_tables import (
    ROWS,
    at,
    free,
    is_unmapped,
    outcomes,
    quiet,
    untracked,
)
from tests.support.delta_table import Table
from tests.support.odd_disk import OddDisk
from tests.support.session_conf import SetConf
from tests.support.waiting import PATIENCE, wait_until

CACHED_LOGS = 128

pytestmark = pytest.mark.without("auto-compact", "deletion-vectors", "row-tracking")


def on_disk(disk: OddDisk, spark: SparkSession, path: Path) -> Table:
    return untracked(Table(spark, path, f"delta.`odd:{path}`"))


def test_failed_copy_of_one_table_does_not_stop_the_others(
    spark: SparkSession, tmp_path: Path, disk: OddDisk
) -> None:
    tables = [on_disk(disk, spark, tmp_path / name) for name in "ab"]
    paths = [f"odd:{table.path}" for table in tables]
    disk.fail()

    with tables[0].no_commit():
        report = quiet(spark_ext.remove_column_mapping, spark, *paths, parallel=1)

    assert outcomes(report) == ["FAILED", "DONE"], report.text()
    assert "disk is odd" in str(report.tables[0].message)
    assert report.tables[0].error == "USAGE_TRACKING_COPY_FAILED"
    assert tables[0].rows() == ROWS


# Signals and cancellation.


def held(spark: SparkSession, disk: OddDisk, then: Callable[[], object]) -> threading.Thread:
    """Calls `then` while a copy is held, and releases the copy when no job is active."""
    tracker = spark.sparkContext.statusTracker()

    def wait() -> None:
        try:
            wait_until(lambda: disk.has_delayed, "a copy")
            then()
            wait_until(lambda: not tracker.getActiveJobsIds(), "the end of all jobs")
        finally:
            disk.release()

    thread = threading.Thread(target=wait)
    thread.start()
    return thread


def test_signal_cancels_running_statements_and_begins_no_table(
    spark: SparkSession, tmp_path: Path, disk: OddDisk
) -> None:
    tables = [on_disk(disk, spark, tmp_path / name) for name in "abc"]
    paths = [f"odd:{table.path}" for table in tables]
    files = set((tmp_path / "a").rglob("*.parquet"))
    disk.hold()

    waiter = held(spark, disk, lambda: os.kill(os.getpid(), signal.SIGINT))
    with tables[0].no_commit(), pytest.raises(LakehouseInterrupted) as raised:
        quiet(spark_ext.remove_column_mapping, spark, *paths, parallel=1)
    waiter.join()

    report = raised.value.report
    assert (raised.value.signal, report.interrupted) == (signal.SIGINT, "SIGINT")
    assert outcomes(report) == ["CANCELLED", "NOT_BEGUN", "NOT_BEGUN"], report.text()
    assert report.tables[1].reasons == ("INTERRUPTED",)
    assert set((tmp_path / "a").rglob("*.parquet")) == files
    assert outcomes(quiet(spark_ext.remove_column_mapping, spark, *paths)) == ["DONE"] * 3


def test_second_signal_does_not_wait_for_cancelled_statements(
    spark: SparkSession, tmp_path: Path, disk: OddDisk
) -> None:
    tables = [on_disk(disk, spark, tmp_path / name) for name in "ab"]
    paths = [f"odd:{table.path}" for table in tables]
    files = set((tmp_path / "a").rglob("*.parquet"))
    tracker = spark.sparkContext.statusTracker()
    has_ended = threading.Event()
    disk.hold()

    def signal_twice() -> None:
        try:
            wait_until(lambda: disk.has_delayed, "a copy")
            os.kill(os.getpid(), signal.SIGTERM)
            wait_until(lambda: not tracker.getActiveJobsIds(), "the end of all jobs")
            os.kill(os.getpid(), signal.SIGINT)
            # The task of the cancelled copy waits for the disk until the call has ended.
            has_ended.wait(PATIENCE)
        finally:
            disk.release()

    waiter = threading.Thread(target=signal_twice)
    waiter.start()
    with pytest.raises(LakehouseInterrupted) as raised:
        quiet(spark_ext.remove_column_mapping, spark, *paths, parallel=1)
    has_ended.set()
    waiter.join()

    report = raised.value.report
    assert (raised.value.signal, report.interrupted) == (signal.SIGTERM, "SIGTERM")
    assert [(each.outcome, each.reasons) for each in report.tables] == [
        ("FAILED", ("UNKNOWN",)),
        ("NOT_BEGUN", ("INTERRUPTED",)),
    ]
    wait_until(
        lambda: not any("spark-ext-lakehouse" in each.name for each in threading.enumerate()),
        "the end of the cancelled statement",
    )
    assert set((tmp_path / "a").rglob("*.parquet")) == files
    assert not any(is_unmapped(table.log) for table in tables)
    again = quiet(spark_ext.remove_column_mapping, spark, *paths)
    assert outcomes(again) == ["DONE", "DONE"]


def test_jobs_of_a_table_have_its_description_a_pool_and_the_group_of_the_caller(
    spark: SparkSession, tmp_path: Path
) -> None:
    table = untracked(at(spark, tmp_path, "t"))
    context = spark.sparkContext
    group = f"of the user {uuid.uuid4()}"
    context.setJobGroup(group, "my job")
    keys = ("spark.jobGroup.id", "spark.job.description", "spark.scheduler.pool", "spark.job.tags")
    before = {key: context.getLocalProperty(key) for key in keys}
    try:
        report = quiet(spark_ext.remove_column_mapping, spark, table.path, until="readers")
        after = {key: context.getLocalProperty(key) for key in keys}
    finally:
        for key in keys:
            context.setLocalProperty(key, None)  # type: ignore[arg-type]

    assert outcomes(report) == ["DONE"]
    assert after == before
    tracker, store = context.statusTracker(), context._jsc.sc().statusStore()
    # Jobs without such a tag belong to the surveys before and after the run.
    tagged = [job for job in jobs_of(spark, group) if "spark-ext-" in str(job.jobTags())]
    descriptions = {str(job.description().get()) for job in tagged}
    expected = f"spark-ext remove column mapping until readers: {report.tables[0].table} (1 of 1)"
    # Copies have a description of their own, and Delta adds its words.
    assert any(expected in each for each in descriptions), descriptions
    assert all(expected in each or "Column mapping of" in each for each in descriptions)
    infos = [info for job in tagged if (info := tracker.getJobInfo(job.jobId())) is not None]
    # Skipped stages have the default pool, or no attempt.
    known = [stage for info in infos for stage in info.stageIds if tracker.getStageInfo(stage)]
    stages = map(store.lastStageAttempt, known)
    ran = [stage for stage in stages if str(stage.status()) == "COMPLETE"]
    assert {str(stage.schedulingPool()) for stage in ran} == {"spark-ext-1"}


def jobs_of(spark: SparkSession, group: str) -> list[Any]:
    context = spark.sparkContext
    store = context._jsc.sc().statusStore()
    return [store.job(job) for job in context.statusTracker().getJobIdsForGroup(group)]


@pytest.mark.matrix
def test_deltas_cache_keeps_few_logs_of_many_tables(
    spark: SparkSession, tmp_path: Path, conf: SetConf
) -> None:
    first = free(at(spark, tmp_path, "t0"))
    paths = [first.path, *(tmp_path / f"t{number}" for number in range(1, 2 * CACHED_LOGS))]
    for path in paths[1:]:
        shutil.copytree(first.path, path)
    jvm: Any = spark._jvm
    logs = getattr(getattr(jvm.org.apache.spark.sql.delta, "DeltaLog$"), "MODULE$")
    conf("spark.databricks.delta.delta.log.cacheSize", "10000")
    logs.unsetCache()  # the next cache has this size
    try:
        spark_ext.survey(spark, *paths, progress=None)
        after_survey = logs.cacheSize()
        report = quiet(spark_ext.remove_column_mapping, spark, *paths)
        after_removal = logs.cacheSize()
    finally:
        logs.unsetCache()

    assert after_survey == CACHED_LOGS
    assert after_removal == CACHED_LOGS
    assert report.complete
