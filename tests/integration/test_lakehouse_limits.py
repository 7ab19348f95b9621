# SPDX-License-Identifier: Apache-2.0
"""Tests limits of a call over many tables: bytes, time, failures and signals."""

from __future__ import annotations

import os
import shutil
import signal
import threading
import uuid
from collections.abc import Callable
from datetime import timedelta
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


def test_table_that_exceeds_the_bytes_does_not_begin(spark: SparkSession, tmp_path: Path) -> None:
    sizes = {"large": 9_000, "small": 1, "middle": 3_000}
    tables = {name: untracked(at(spark, tmp_path, name), size) for name, size in sizes.items()}
    tables["free"] = free(at(spark, tmp_path, "free"))
    bytes_of = {name: sum(table.log.live_files.values()) for name, table in tables.items()}
    # Parquet compresses the texts, so files may have another order of sizes than the texts.
    *smaller, largest = sorted(sizes, key=bytes_of.__getitem__)
    limit = sum(bytes_of[name] for name in sizes) - 1

    report = quiet(
        spark_ext.remove_column_mapping,
        spark,
        *(table.path for table in tables.values()),
        max_bytes=limit,
    )

    found = dict(zip(tables, report.tables, strict=True))
    assert {name for name, each in found.items() if each.outcome == "NOT_BEGUN"} == {largest}
    assert {found[name].outcome for name in (*smaller, "free")} == {"DONE"}
    assert found[largest].reasons == ("BUDGET_OF_BYTES",)
    assert not is_unmapped(tables[largest].log)
    for name in smaller:
        assert found[name].changed.size_in_bytes == bytes_of[name]
    assert not report.complete


def test_no_table_begins_after_the_time(spark: SparkSession, tmp_path: Path) -> None:
    tables = [free(at(spark, tmp_path, name)) for name in "ab"]

    report = quiet(
        spark_ext.remove_column_mapping,
        spark,
        *(table.path for table in tables),
        max_time=timedelta(),
    )

    assert outcomes(report) == ["NOT_BEGUN", "NOT_BEGUN"]
    assert {each.reasons for each in report.tables} == {("BUDGET_OF_TIME",)}
    assert not any(is_unmapped(table.log) for table in tables)


def test_small_tables_do_not_predict_how_long_a_large_one_takes(
    spark: SparkSession, tmp_path: Path
) -> None:
    small, large = (untracked(at(spark, tmp_path, name)) for name in ("small", "large"))
    large.spark.sql(f"INSERT INTO {large.name} SELECT id, sha2(string(id), 256) FROM range(50000)")
    # A copy of kilobytes takes as long as one of megabytes, most of it in Spark.
    assert sum(large.log.live_files.values()) > 1000 * sum(small.log.live_files.values())

    paths = (small.path, large.path)
    report = quiet(spark_ext.remove_column_mapping, spark, *paths, parallel=1, max_time=60)

    assert outcomes(report) == ["DONE", "DONE"], report.text()


def test_limit_of_bytes_holds_when_another_writer_renames_a_column(
    spark: SparkSession, tmp_path: Path
) -> None:
    tables = [free(at(spark, tmp_path, name)) for name in "ab"]

    def rename(row: spark_ext.SurveyedTable) -> bool:
        if tables[0].log.flag == "false":
            tables[0].alter("RENAME COLUMN a TO c")
        return True

    paths = [table.path for table in tables]
    report = quiet(spark_ext.remove_column_mapping, spark, *paths, max_bytes=0, only=rename)

    assert outcomes(report) == ["NOT_BEGUN", "DONE"], report.text()
    assert report.tables[0].reasons == ("BUDGET_OF_BYTES",)
    assert report.tables[0].size_in_bytes == sum(tables[0].log.live_files.values())
    assert [is_unmapped(table.log) for table in tables] == [False, True]


def on_disk(disk: OddDisk, spark: SparkSession, path: Path) -> Table:
    table = untracked(Table(spark, path, f"delta.`odd:{path}`"))
    return table


@pytest.mark.parametrize(
    ("on_error", "expected"),
    [(1, ["FAILED", "NOT_BEGUN", "NOT_BEGUN"]), ("continue", ["FAILED", "DONE", "DONE"])],
)
def test_on_error_decides_whether_tables_begin_after_a_failure(
    spark: SparkSession, tmp_path: Path, disk: OddDisk, on_error: Any, expected: list[str]
) -> None:
    tables = [on_disk(disk, spark, tmp_path / name) for name in "abc"]
    disk.fail()

    with tables[0].no_commit():
        report = quiet(
            spark_ext.remove_column_mapping,
            spark,
            *(f"odd:{table.path}" for table in tables),
            parallel=1,
            on_error=on_error,
        )

    assert outcomes(report) == expected, report.text()
    limited = [each.reasons for each in report.of("NOT_BEGUN")]
    assert limited == [("BUDGET_OF_ERRORS",)] * expected.count("NOT_BEGUN")
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


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signal_cancels_running_statements_and_begins_no_table(
    spark: SparkSession, tmp_path: Path, disk: OddDisk, number: signal.Signals
) -> None:
    tables = [on_disk(disk, spark, tmp_path / name) for name in "abc"]
    handlers = [signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM)]
    files = set((tmp_path / "a").rglob("*.parquet"))
    disk.hold()

    waiter = held(spark, disk, lambda: os.kill(os.getpid(), number))
    with tables[0].no_commit(), pytest.raises(LakehouseInterrupted) as raised:
        quiet(
            spark_ext.remove_column_mapping,
            spark,
            *(f"odd:{table.path}" for table in tables),
            parallel=1,
        )
    waiter.join()

    report = raised.value.report
    assert raised.value.signal == number
    assert report.interrupted == number.name
    assert outcomes(report) == ["CANCELLED", "NOT_BEGUN", "NOT_BEGUN"], report.text()
    assert report.tables[1].reasons == ("INTERRUPTED",)
    assert set((tmp_path / "a").rglob("*.parquet")) == files
    assert [signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM)] == handlers
    assert (
        outcomes(
            quiet(spark_ext.remove_column_mapping, spark, *(f"odd:{each.path}" for each in tables))
        )
        == ["DONE"] * 3
    )


def test_second_signal_does_not_wait_for_cancelled_statements(
    spark: SparkSession, tmp_path: Path, disk: OddDisk
) -> None:
    tables = [on_disk(disk, spark, tmp_path / name) for name in "ab"]
    paths = [f"odd:{table.path}" for table in tables]
    files = set((tmp_path / "a").rglob("*.parquet"))
    handlers = [signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM)]
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
    assert [signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM)] == handlers

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
