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


def assert_whole(seen: Seen, path: Path) -> None:
    assert len(seen.workers) == 1
    assert seen.names == ("d", "a")
    assert seen.refused == REFUSED
    assert_tracked(TableLog(path))


def builder(home: Path, *, hive: bool = False) -> SparkSession.Builder:
    small = small_session(SparkSession.Builder(), home / "warehouse")
    return spark_ext.configure(with_hive_catalog(small) if hive else small)


# Sessions after each other.


def stopped_and_started_again(home: Path) -> list[Seen]:
    found = []
    for name, hive in (("first", False), ("second", False), ("hive", True)):
        spark = builder(home, hive=hive).getOrCreate()
        found.append(track(spark, home / name))
        spark.stop()
    return found


@pytest.mark.matrix
def test_sessions_track_tables_after_a_stop(tmp_path: Path) -> None:
    """The last of three applications in one JVM has another catalog."""
    first, second, hive = in_new_process(stopped_and_started_again, tmp_path)

    assert first.jvm == second.jvm == hive.jvm
    assert len({seen.application for seen in (first, second, hive)}) == 3
    assert first.workers == second.workers == hive.workers
    for seen, name in ((first, "first"), (second, "second"), (hive, "hive")):
        assert_whole(seen, tmp_path / name)


def a_context_after_a_stop(home: Path) -> list[Seen]:
    spark = builder(home).getOrCreate()
    first = track(spark, home / "first")
    conf = spark.sparkContext.getConf()
    spark.sparkContext.stop()
    # Some programs make their own context, and the session from the context.
    session = SparkSession(SparkContext(conf=conf))
    return [first, track(session, home / "second")]


@pytest.mark.matrix
def test_session_of_a_second_context_tracks_a_table(tmp_path: Path) -> None:
    first, second = in_new_process(a_context_after_a_stop, tmp_path)

    assert (first.jvm, first.workers) == (second.jvm, second.workers)
    assert first.application != second.application
    assert_whole(first, tmp_path / "first")
    assert_whole(second, tmp_path / "second")


# Sessions beside each other.


def clone_of(spark: SparkSession) -> SparkSession:
    """Returns a clone of a session, as streaming queries make it; PySpark has no method for it."""
    return SparkSession(spark.sparkContext, spark._jsparkSession.cloneSession())


def several_sessions(home: Path, hive: bool) -> list[Seen]:
    spark = builder(home, hive=hive).getOrCreate()
    sessions: list[Callable[[], Any]] = [
        lambda: spark,
        spark.newSession,
        lambda: clone_of(spark),
        lambda: clone_of(spark.newSession()),
    ]
    return [track(session(), home / str(number)) for number, session in enumerate(sessions)]


@pytest.mark.matrix
@pytest.mark.parametrize("hive", [False, True], ids=["in memory", "hive"])
def test_several_sessions_track_tables(tmp_path: Path, hive: bool) -> None:
    found = in_new_process(several_sessions, tmp_path, hive)

    assert len(found) == 4
    assert len({(seen.jvm, *seen.workers) for seen in found}) == 1
    for number, seen in enumerate(found):
        assert_whole(seen, tmp_path / str(number))
