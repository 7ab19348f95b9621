# SPDX-License-Identifier: Apache-2.0
"""Tests several sessions in one JVM, after each other and beside each other."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from pyspark import SparkContext
from pyspark.sql import SparkSession

import spark_ext
from tests.support.custom_sessions import failure_of
from tests.support.processes import in_new_process, jvm_pid, rule_workers
from tests.support.sessions import small_session, with_hive_catalog
from tests.support.table_log import TableLog
from tests.ways_in.tracked import NAMES, REFUSED, SET_FLAG, assert_tracked, statements


@dataclass(frozen=True)
class Seen:
    """Contains the identity of a session, and its results on a table."""

    application: str
    jvm: int
    workers: set[int]
    names: tuple[str, ...]
    refused: str | None


def track(spark: SparkSession, path: Path) -> Seen:
    table = f"delta.`{path}`"
    for statement in statements(table=table):
        spark.sql(statement)
    failure = failure_of(lambda: spark.sql(SET_FLAG.format(t=table)))
    [names] = map(tuple, spark.sql(NAMES.format(t=table)).collect())
    jvm = jvm_pid(spark)
    return Seen(
        spark.sparkContext.applicationId,
        jvm,
        rule_workers(jvm),
        names,
        failure and failure.condition,
    )


def builder(home: Path, *, hive: bool = False) -> SparkSession.Builder:
    small = small_session(SparkSession.Builder(), home / "warehouse")
    return spark_ext.configure(with_hive_catalog(small) if hive else small)


def stopped_and_started_again(home: Path) -> list[Seen]:
    """Runs three applications after each other, the last one with another catalog."""
    found = []
    for number, hive in enumerate((False, False, True)):
        spark = builder(home, hive=hive).getOrCreate()
        found.append(track(spark, home / str(number)))
        spark.stop()
    return found


def a_context_after_a_stop(home: Path) -> list[Seen]:
    spark = builder(home).getOrCreate()
    first = track(spark, home / "0")
    conf = spark.sparkContext.getConf()
    spark.sparkContext.stop()
    # Some programs make their own context, and the session from the context.
    session = SparkSession(SparkContext(conf=conf))
    return [first, track(session, home / "1")]


def clone_of(spark: SparkSession) -> SparkSession:
    """Returns a clone of a session, as streaming queries make it; PySpark has no method for it."""
    return SparkSession(spark.sparkContext, spark._jsparkSession.cloneSession())


def beside_each_other(home: Path, *, hive: bool = False) -> list[Seen]:
    spark = builder(home, hive=hive).getOrCreate()
    sessions: list[Callable[[], Any]] = [
        lambda: spark,
        spark.newSession,
        lambda: clone_of(spark),
        lambda: clone_of(spark.newSession()),
    ]
    return [track(session(), home / str(number)) for number, session in enumerate(sessions)]


def beside_each_other_with_hive(home: Path) -> list[Seen]:
    return beside_each_other(home, hive=True)


@pytest.mark.matrix
@pytest.mark.parametrize(
    ("use", "applications"),
    [
        (stopped_and_started_again, 3),
        (a_context_after_a_stop, 2),
        (beside_each_other, 1),
        (beside_each_other_with_hive, 1),
    ],
)
def test_sessions_of_one_jvm_track_tables_by_one_rule_process(
    tmp_path: Path, use: Callable[[Path], list[Seen]], applications: int
) -> None:
    found = in_new_process(use, tmp_path)

    assert len({(seen.jvm, *seen.workers) for seen in found}) == 1
    assert len({seen.application for seen in found}) == applications
    for number, seen in enumerate(found):
        assert len(seen.workers) == 1
        assert seen.names == ("d", "a")
        assert seen.refused == REFUSED
        assert_tracked(TableLog(tmp_path / str(number)))
