# SPDX-License-Identifier: Apache-2.0
"""Tests one call for many tables of all kinds: outcomes, waiting and reports."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import spark_ext
from spark_ext import FileCount, LakehouseReport, TableResult
from tests.integration.lakehouse_tables import (
    BROKEN,
    HEALTHY,
    ROWS,
    at,
    free,
    is_unmapped,
    operations,
    outcomes,
    plain,
    quiet,
    tables_of_all_kinds,
    untracked,
)
from tests.support.delta_table import Table
from tests.support.session_conf import SetConf

pytestmark = pytest.mark.without("auto-compact", "deletion-vectors", "row-tracking")

SCHEMA = "lakehouse"


@pytest.fixture(scope="module")
def tables(spark: SparkSession) -> Iterator[dict[str, Table]]:
    yield tables_of_all_kinds(spark, SCHEMA)
    spark.sql(f"DROP SCHEMA {SCHEMA} CASCADE")


@pytest.mark.broken_table("unreadable_schema", "log_without_start")
def test_removal_of_a_schema_reaches_every_table_that_can(
    spark: SparkSession, tables: dict[str, Table]
) -> None:
    before = {name: (table.log, table.selected()) for name, table in healthy(tables).items()}
    planned = by_name(quiet(spark_ext.remove_column_mapping, spark, SCHEMA, dry_run=True))
    assert {name: table.log.version for name, table in healthy(tables).items()} == {
        name: log.version for name, (log, _) in before.items()
    }

    report = quiet(spark_ext.remove_column_mapping, spark, SCHEMA)

    found = by_name(report)
    assert {name: each.error for name, each in found.items() if each.error is not None} == {
        name: error for name, (_, error) in BROKEN.items()
    }
    assert {found[name].outcome for name in BROKEN} == {"UNREADABLE"}
    assert found["blocked"].reasons == ("unmapped: INVALID_COLUMN_NAME (`b c`, blank)",)
    assert "RENAME COLUMN" in str(found["blocked"].unblocking)
    sizes: list[int] = []
    for name, table in healthy(tables).items():
        each, (log, rows), (*_, expected) = found[name], before[name], HEALTHY[name]
        is_done, is_copied = each.outcome == "DONE", expected == "DONE, copied"
        assert each.outcome == expected.removesuffix(", copied")
        assert planned[name].outcome == ("PLANNED" if is_done else each.outcome)
        assert table.log.version == log.version + is_done
        assert table.selected() == rows
        if is_done:
            assert (each.version_before, each.version_after) == (log.version, table.log.version)
            assert each.after is not None
            assert (each.after.mode, is_unmapped(table.log)) == ("none", True)
            commit = table.log.commits[-1]
            removed = [action["remove"]["size"] for action in commit if "remove" in action]
            assert each.copied == FileCount(len(removed), sum(removed))
            assert bool(removed) == is_copied
            sizes += removed
    (sums,) = [each for each in report.sums if each.outcome == "DONE"]
    assert (sums.num_tables, sums.num_files, sums.size_in_bytes) == (5, len(sizes), sum(sizes))
    assert not report.complete

    again = by_name(quiet(spark_ext.remove_column_mapping, spark, SCHEMA, until="readers"))
    assert again["vectors"].outcome == "BLOCKED"
    assert "DROP FEATURE deletionVectors" in str(again["vectors"].unblocking)
    for name in ("clean", "dropped", "renamed", "untracked"):
        assert again[name].outcome == "DONE"
        assert tables[name].log.protocol["minReaderVersion"] == 1


def healthy(tables: dict[str, Table]) -> dict[str, Table]:
    return {name: tables[name] for name in HEALTHY}


def by_name(report: LakehouseReport) -> dict[str, TableResult]:
    return {each.table.split(".")[-1]: each for each in report.tables}


def test_table_with_two_names_runs_once(
    spark: SparkSession, named_table: Table, tmp_path: Path
) -> None:
    table = untracked(at(spark, tmp_path, "t"))
    spark.sql(f"CREATE TABLE named USING delta LOCATION '{table.path}'")

    report = quiet(spark_ext.remove_column_mapping, spark, "named", table.path, parallel=2)

    assert [(each.table, each.outcome) for each in report.tables] == [
        ("spark_catalog.default.named", "DONE")
    ]
    assert operations(table).count("REMOVE COLUMN MAPPING") == 1


# Waiting.


def test_writers_wait_for_the_retention_period_and_finish_later(
    spark: SparkSession, tmp_path: Path
) -> None:
    table = free(at(spark, tmp_path, "t"))

    first = quiet(spark_ext.remove_column_mapping, spark, table.path, until="writers")
    dropped = int(table.log.configuration["delta.requireCheckpointProtectionBeforeVersion"])
    commit = table.path / "_delta_log" / f"{dropped:020}.json"
    expected = datetime.fromtimestamp(commit.stat().st_mtime).astimezone() + timedelta(days=1)
    with table.no_commit():
        second = quiet(spark_ext.remove_column_mapping, spark, table.path, until="writers")
    table.age_log()
    third = quiet(spark_ext.remove_column_mapping, spark, table.path, until="writers")

    assert (outcomes(first), outcomes(second), outcomes(third)) == (
        ["WAITING"],
        ["WAITING"],
        ["DONE"],
    )
    assert first.tables[0].come_back == second.tables[0].come_back == first.come_back
    assert first.come_back is not None
    assert timedelta() <= first.come_back - expected < timedelta(minutes=1)
    assert first.come_back.second == 0
    assert third.complete
    assert table.log.writer_features <= {"appendOnly", "invariants"}
    assert not {"checkpointProtection", "columnMapping"} & table.log.writer_features
    assert table.selected() == ROWS


@pytest.mark.without("deletion-vectors")
def test_readers_wait_when_delta_does_not_drop_features_fast(
    spark: SparkSession, tmp_path: Path, conf: SetConf
) -> None:
    conf("spark.databricks.delta.tableFeatures.fastDropFeature.enabled", "false")
    table = free(at(spark, tmp_path, "t"))

    report = quiet(spark_ext.remove_column_mapping, spark, table.path, until="readers")

    assert outcomes(report) == ["WAITING"], report.text()
    assert is_unmapped(table.log)
    assert "columnMapping" in table.log.writer_features


# Reports.


def test_report_is_a_frame_with_a_fixed_schema(spark: SparkSession, tmp_path: Path) -> None:
    tables = [free(at(spark, tmp_path, "t")), plain(at(spark, tmp_path, "u"))]
    report = quiet(spark_ext.remove_column_mapping, spark, *(each.path for each in tables))

    frame = report.to_df(spark)
    rows = frame.collect()

    assert [(row.table, row.outcome) for row in rows] == [
        (each.table, each.outcome) for each in report.tables
    ]
    assert rows[0].statements[0].versionAfter == tables[0].log.version
    assert rows[0].after.mode == "none"
    assert dict(frame.dtypes)["comeBack"] == "timestamp"
    empty = LakehouseReport("g", (), ()).to_df(spark)
    assert empty.schema == frame.schema
