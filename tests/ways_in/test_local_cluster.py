# SPDX-License-Identifier: Apache-2.0
"""Tests a cluster whose executors are separate JVMs."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import spark_ext
from tests.support.custom_sessions import DELTA, failure_of, session
from tests.support.processes import in_new_process
from tests.support.removal import counts
from tests.support.sessions import small_session
from tests.support.table_log import TableLog
from tests.ways_in.tracked import NAMES, REFUSED, SET_FLAG, assert_tracked, statements

UNMAP = "ALTER TABLE {t} SET TBLPROPERTIES ('delta.columnMapping.mode' = 'none')"
STAGES = "SELECT `stage`, reached FROM column_mapping_removal('{t}')"


@dataclass(frozen=True)
class Seen:
    names: tuple[str, ...]
    refused: str | None
    stages: dict[str, bool]
    rows: list[tuple[object, ...]]


def use_a_cluster(home: Path, spark_home: str) -> Seen:
    # Workers of the cluster keep their folders here.
    os.environ["SPARK_HOME"] = spark_home
    builder = small_session(SparkSession.Builder(), home / "warehouse")
    builder = spark_ext.configure(builder.master("local-cluster[2,1,1024]"))
    spark = builder.config("spark.executor.memory", "512m").getOrCreate()

    kept, unmapped = (f"delta.`{home / name}`" for name in ("kept", "unmapped"))
    for table in (kept, unmapped):
        for statement in statements(table=table):
            spark.sql(statement)
    failure = failure_of(lambda: spark.sql(SET_FLAG.format(t=kept)))
    [names] = map(tuple, spark.sql(NAMES.format(t=kept)).collect())
    spark.sql(f"INSERT INTO {unmapped} VALUES (2, 'y', 3, 4)")
    spark.sql(UNMAP.format(t=unmapped))
    stages = {row[0]: row[1] for row in spark.sql(STAGES.format(t=unmapped)).collect()}
    rows = sorted(tuple(row) for row in spark.table(unmapped).collect())
    spark.stop()
    return Seen(names, failure and failure.condition, stages, rows)


@pytest.mark.matrix
def test_separate_executors_copy_files(tmp_path: Path, spark_home: Callable[..., str]) -> None:
    """`configure` gives executors our jar by path, and Delta's jars by name."""
    home = spark_home()
    seen = in_new_process(use_a_cluster, tmp_path, home)

    assert (seen.names, seen.refused) == (("d", "a"), REFUSED)
    assert_tracked(TableLog(tmp_path / "kept"))
    assert list(Path(home).glob("work/app-*/*/spark-ext.jar"))
    # The flag is true, so executors copy the files.
    assert counts(TableLog(tmp_path / "unmapped")) == (0, 2, 0)
    assert seen.rows == [(1, "x", 2, None), (2, "y", 3, 4)]
    assert seen.stages["unmapped"]


def attach_to_a_cluster(home: Path, spark_home: str, delta: list[str]) -> list[tuple[object, ...]]:
    os.environ["SPARK_HOME"] = spark_home
    builder = session(home, delta, extensions=[DELTA]).master("local-cluster[1,1,1024]")
    spark = builder.config("spark.executor.memory", "512m").getOrCreate()
    assert spark.range(3).count() == 3  # the executor runs before our jar is added

    path = home / "unmapped"
    spark_ext.attach(spark)
    for statement in statements(table=f"delta.`{path}`"):
        spark.sql(statement)
    spark_ext.UsageTracking.forPath(spark, path).remove_column_mapping(progress=None)
    rows = [tuple(row) for row in spark.read.format("delta").load(str(path)).collect()]
    spark.stop()
    return rows


@pytest.mark.matrix
def test_executors_of_an_attached_session_copy_files(
    tmp_path: Path, spark_home: Callable[..., str], delta_jars: list[Path]
) -> None:
    """`attach` sends our classes to the executors, which copy files with the renamed column."""
    home = spark_home()

    rows = in_new_process(attach_to_a_cluster, tmp_path, home, [*map(str, delta_jars)])

    assert list(Path(home).glob("work/app-*/*/spark-ext.jar"))
    assert counts(TableLog(tmp_path / "unmapped")) == (0, 1, 0)
    assert rows == [(1, "x", 2, None)]
