# SPDX-License-Identifier: Apache-2.0
"""Tests calls over many tables while other drivers change the tables or are killed."""

from __future__ import annotations

import shutil
import threading
import uuid
from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import spark_ext
from spark_ext import LakehouseReport, TableResult, UsageTracking
from tests.integration.lakehouse_tables import (
    ROWS,
    at,
    free,
    is_unmapped,
    operations,
    outcomes,
    quiet,
    untracked,
)
from tests.support.delta_table import Table
from tests.support.odd_disk import OddDisk
from tests.support.session_conf import SetConf

pytestmark = pytest.mark.without("auto-compact", "deletion-vectors", "row-tracking")


def assert_done_once(table: Table) -> int:
    """Asserts that one commit removed column mapping, and returns how many files it copied."""
    assert is_unmapped(table.log)
    assert table.rows() == ROWS
    (commit,) = (
        commit
        for commit, operation in zip(table.log.commits, operations(table), strict=True)
        if operation == "REMOVE COLUMN MAPPING"
    )
    copied = sum("add" in action for action in commit)
    assert copied == (0 if table.log.is_tracked else 1)
    return copied


def files_copied(row: TableResult) -> int:
    return 0 if row.copied is None else row.copied.num_files


def test_table_dropped_by_another_session_has_the_outcome_gone(
    spark: SparkSession, tmp_path: Path
) -> None:
    tables = [free(at(spark, tmp_path, name)) for name in "ab"]

    def drop(row: spark_ext.SurveyedTable) -> bool:
        shutil.rmtree(tables[0].path, ignore_errors=True)
        return True

    report = quiet(
        spark_ext.remove_column_mapping, spark, *(table.path for table in tables), only=drop
    )

    assert outcomes(report) == ["GONE", "DONE"], report.text()
    assert not report.complete  # the table may exist under another name


def test_storage_that_lacks_a_class_does_not_stop_the_other_tables(
    spark: SparkSession, tmp_path: Path, disk: OddDisk
) -> None:
    table = free(at(spark, tmp_path, "t"))
    lost = f"odd:{tmp_path}/lost-class/t"

    report = quiet(spark_ext.remove_column_mapping, spark, lost, table.path)

    assert [(each.outcome, each.error) for each in report.tables] == [
        ("UNREADABLE", "java.lang.NoClassDefFoundError"),
        ("DONE", None),
    ], report.text()
    assert is_unmapped(table.log)


@pytest.mark.parametrize("kind", [free, untracked])
def test_table_that_another_driver_does_first_is_not_changed_again(
    spark: SparkSession, tmp_path: Path, kind: Callable[[Table], Table]
) -> None:
    tables = [kind(at(spark, tmp_path, name)) for name in "abc"]

    def other(row: spark_ext.SurveyedTable) -> bool:
        for table in tables[:2]:
            if not is_unmapped(table.log):
                UsageTracking.forPath(spark, table.path).remove_column_mapping(progress=None)
        return True

    report = quiet(
        spark_ext.remove_column_mapping,
        spark,
        *(table.path for table in tables),
        only=other,
        parallel=1,
    )

    assert outcomes(report) == ["DONE", "DONE", "DONE"], report.text()
    assert report.complete
    # The report counts no file that the other driver copied.
    copied = [*map(files_copied, report.tables)]
    assert copied == [0, 0, assert_done_once(tables[2])]
    for table in tables[:2]:
        assert_done_once(table)


def test_removal_beside_another_writer_is_done_when_commits_have_no_metrics(
    spark: SparkSession, tmp_path: Path, conf: SetConf
) -> None:
    conf("spark.databricks.delta.history.metricsEnabled", "false")
    table = free(at(spark, tmp_path, "t"))

    def write(row: spark_ext.SurveyedTable) -> bool:
        table.insert("(3, 'z')")
        return True

    report = quiet(spark_ext.remove_column_mapping, spark, table.path, only=write)

    (row,) = report.tables
    assert (row.outcome, row.error, row.copied) == ("DONE", None, None), report.text()
    assert operations(table)[-2:] == ["WRITE", "REMOVE COLUMN MAPPING"]
    assert table.rows() == [*ROWS, (3, "z")]


def at_once(
    spark: SparkSession, call: Callable[..., LakehouseReport], tables: list[Table]
) -> list[LakehouseReport]:
    """Returns the reports of two calls that plan before either runs."""
    paths = [table.path for table in tables]
    ready = threading.Barrier(2)
    reports: list[LakehouseReport] = []

    def run(session: SparkSession) -> None:
        def wait(row: spark_ext.SurveyedTable) -> bool:
            if row.table.endswith(f"/{paths[0].name}`"):
                ready.wait(120)
            return True

        reports.append(quiet(call, session, *paths, only=wait))

    threads = [threading.Thread(target=run, args=(each,)) for each in (spark, spark.newSession())]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return reports


def renamed(table: Table) -> Table:
    free(table).alter("RENAME COLUMN a TO c")
    return table


@pytest.mark.every_variant
@pytest.mark.parametrize(
    ("call", "make", "flag", "mode"),
    [
        (spark_ext.remove_column_mapping, free, "false", None),
        (spark_ext.remove_column_mapping, untracked, None, None),
        (spark_ext.align_names, renamed, "false", "name"),
        (spark_ext.track, untracked, "true", "name"),
        (spark_ext.untrack, free, None, "name"),
    ],
)
def test_two_calls_at_once_reach_the_goal(
    spark: SparkSession,
    tmp_path: Path,
    call: Callable[..., LakehouseReport],
    make: Callable[[Table], Table],
    flag: str | None,
    mode: str | None,
) -> None:
    tables = [make(at(spark, tmp_path, name)) for name in "abc"]

    reports = at_once(spark, call, tables)

    # An alignment may report CONFLICT if the other one drops the feature that was just added.
    done = {"DONE", "ALREADY_DONE"}
    rows = [row for report in reports for row in report.tables if row.outcome not in done]
    undone = {("FAILED", None, ("CONFLICT",))} if call is spark_ext.align_names else set()
    found = {(row.outcome, row.error, row.reasons) for row in rows}
    assert found <= undone, [report.text() for report in reports]
    assert not rows or quiet(call, spark, *(table.path for table in tables)).complete
    for table, *both in zip(tables, *(report.tables for report in reports), strict=True):
        assert table.log.flag == flag
        assert table.log.configuration.get("delta.columnMapping.mode", "none") == (mode or "none")
        assert table.rows() == ROWS
        if mode is None:
            # A call that begins the table just after the other one's commit counts it too.
            assert assert_done_once(table) in map(files_copied, both)


def test_copies_of_a_killed_driver_are_named_with_the_statement_that_removes_them(
    spark: SparkSession, tmp_path: Path, conf: SetConf
) -> None:
    conf("spark.sql.ansi.enabled", "true")
    conf("spark.sql.ansi.enforceReservedKeywords", "true")
    table, clean = untracked(at(spark, tmp_path, "t")), untracked(at(spark, tmp_path, "clean"))
    (live,) = table.path.rglob("*.parquet")
    folder = table.path / "b=1"
    folder.mkdir()
    for place in (table.path, folder):
        shutil.copy(live, place / f"part-00000-{uuid.uuid4()}-17.snappy.parquet")
    shutil.copy(live, table.path / f"part-00000-{uuid.uuid4()}-c000.snappy.parquet")
    size = live.stat().st_size

    report = quiet(spark_ext.remove_column_mapping, spark, table.path, clean.path)
    again = quiet(spark_ext.remove_column_mapping, spark, table.path, clean.path)

    found, other = report.tables
    assert outcomes(report) == ["DONE", "DONE"]
    assert found.leftovers is not None
    assert other.leftovers is not None
    assert (found.leftovers.num_files, found.leftovers.size_in_bytes) == (2, 2 * size)
    assert str(found.removed_by).startswith(f"VACUUM {found.table} removes 2 copies")
    assert (other.leftovers.num_files, other.removed_by) == (0, None)
    assert [each.leftovers for each in again.tables] == [None, None]
