# SPDX-License-Identifier: Apache-2.0
"""Tests statements of several threads of one session on one table."""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from pathlib import Path
from threading import Barrier

from delta.exceptions import MetadataChangedException
from pyspark import InheritableThread
from pyspark.sql import SparkSession

from tests.support.delta_table import Table
from tests.support.waiting import wait_until

THREADS = 5


def test_alter_in_conflict_with_another_thread_fails_as_in_delta(table: Table) -> None:
    """PySpark finds no condition, because delta-spark makes the error from the text alone."""
    table.create_tracked(", ".join(f"r{thread} INT" for thread in range(THREADS)))
    together = Barrier(THREADS)

    def run(thread: int) -> list[MetadataChangedException]:
        conflicts = []
        together.wait()
        for change in (
            f"ADD COLUMN a{thread} INT",
            f"RENAME COLUMN r{thread} TO s{thread}",
            f"SET TBLPROPERTIES ('k{thread}' = 'v')",
            f"ADD COLUMN b{thread} INT",
        ):
            try:
                table.alter(change)
            except MetadataChangedException as error:
                conflicts.append(error)
        return conflicts

    with ThreadPoolExecutor(THREADS) as threads:
        conflicts = [error for errors in threads.map(run, range(THREADS)) for error in errors]

    assert conflicts
    assert table.log.version + len(conflicts) == 4 * THREADS
    assert all("[DELTA_METADATA_CHANGED]" in str(error) for error in conflicts)
    assert {error.getCondition() for error in conflicts} == {None}


def test_other_threads_query_while_a_table_function_reads(table: Table, tmp_path: Path) -> None:
    """Spark 4.0 and 4.1 resolve a function under a lock that every query needs."""
    spark, group = table.spark, "an audit that waits"
    table.create_tracked()
    table.insert("(1, 'x')")

    def audit() -> int:
        spark.sparkContext.setJobGroup(group, "of the test")
        return spark.sql(f"SELECT * FROM column_mapping_audit('{table.name}')").count()

    with ThreadPoolExecutor(2) as threads, no_core_left(spark, tmp_path / "gate"):
        findings = threads.submit(audit)
        wait_until(lambda: has_job(spark, group), "a job of the audit")
        others = threads.submit(lambda: spark.sql("SELECT * FROM range(3)").columns)
        wait([others], timeout=60)
        went_on = others.done()

    assert went_on
    assert others.result() == ["id"]
    assert findings.result() == 0


@contextmanager
def no_core_left(spark: SparkSession, gate: Path) -> Iterator[None]:
    """Runs a job that uses every core until the body ends."""
    cores = spark.sparkContext.defaultParallelism
    group = "holds every core"

    def wait_for_the_gate(_: int) -> None:
        while not gate.exists():
            time.sleep(0.02)

    def hold() -> None:
        spark.sparkContext.setJobGroup(group, "of the test")
        spark.sparkContext.parallelize(range(cores), cores).foreach(wait_for_the_gate)

    holder = InheritableThread(target=hold)
    holder.start()
    try:
        wait_until(lambda: has_job(spark, group), "the job that holds")
        yield
    finally:
        gate.touch()
        holder.join()


def has_job(spark: SparkSession, group: str) -> bool:
    return bool(spark.sparkContext.statusTracker().getJobIdsForGroup(group))
