# SPDX-License-Identifier: Apache-2.0
"""Tests one call for many tables of all kinds: outcomes, waiting and reports."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import spark_ext
from spark_ext import LakehouseReport, TableResult
from tests.integration.lakehouse_tables import (
    ROWS,
    at,
    free,
    is_unmapped,
    operations,
    outcomes,
    plain,
    quiet,
    untracked,
)
from tests.support.delta_table import NAME_MODE, TRACKED, Table, forget_logs
from tests.support.session_conf import SetConf
from tests.support.sessions import warehouse_of

pytestmark = [
    pytest.mark.without("auto-compact", "deletion-vectors", "row-tracking"),
    # After the first test, the audit finds the broken table of the schema.
    pytest.mark.broken_table("unreadable_schema"),
]

SCHEMA = "lakehouse"


# A schema with tables of all kinds.


@pytest.fixture(scope="module")
def schema(spark: SparkSession) -> Iterator[dict[str, Table]]:
    """Yields the Delta tables of a schema that has other tables, too."""
    home = warehouse_of(spark) / f"{SCHEMA}.db"
    spark.sql(f"CREATE SCHEMA {SCHEMA}")

    def named(name: str) -> Table:
        return Table(spark, home / name.strip("`"), f"{SCHEMA}.{name}")

    tables = {"free": free(named("free")), "`1d`": plain(named("`1d`"))}
    tables["untracked"] = untracked(named("untracked"))
    tables["renamed"] = free(named("renamed"))
    tables["renamed"].alter("RENAME COLUMN a TO c")
    tables["blocked"] = free(named("blocked"))
    tables["blocked"].alter("ADD COLUMN `b c` INT")
    tables["vectors"] = named("vectors").create(
        "a INT, b STRING", TRACKED, NAME_MODE, "'delta.enableDeletionVectors' = 'true'"
    )
    tables["broken"] = plain(named("broken"))
    log = home / "broken" / "_delta_log" / f"{0:020}.json"
    log.write_text(log.read_text().replace('"schemaString":"{', '"schemaString":"'))
    for checksum in log.parent.glob("*.crc"):
        checksum.unlink()
    forget_logs(spark)
    spark.sql(f"CREATE VIEW {SCHEMA}.view AS SELECT 1 AS a")
    spark.sql(f"CREATE TABLE {SCHEMA}.parquet (a INT) USING parquet")
    yield tables
    spark.sql(f"DROP SCHEMA {SCHEMA} CASCADE")


def by_name(report: LakehouseReport) -> dict[str, TableResult]:
    return {each.table.split(".")[-1]: each for each in report.tables}


def test_removal_of_a_schema_reaches_every_table_that_can(
    spark: SparkSession, schema: dict[str, Table]
) -> None:
    before = {name: table.log for name, table in schema.items()}
    planned = by_name(quiet(spark_ext.remove_column_mapping, spark, SCHEMA, dry_run=True))
    assert {name: table.log.version for name, table in schema.items()} == {
        name: log.version for name, log in before.items()
    }

    report = quiet(spark_ext.remove_column_mapping, spark, SCHEMA)

    found = by_name(report)
    assert {name: each.outcome for name, each in found.items()} == {
        "`1d`": "ALREADY_DONE",
        "blocked": "BLOCKED",
        "broken": "UNREADABLE",
        "free": "DONE",
        "renamed": "DONE",
        "untracked": "DONE",
        "vectors": "DONE",
    }
    assert found["broken"].error == planned["broken"].error == "INVALID_JSON_DATA_TYPE"
    assert found["blocked"].reasons == ("unmapped: INVALID_COLUMN_NAME (`b c`, blank)",)
    assert "RENAME COLUMN" in str(found["blocked"].unblocking)
    for name, each in found.items():
        is_done, log = each.outcome == "DONE", schema[name].log
        assert planned[name].outcome == ("PLANNED" if is_done else each.outcome)
        assert log.version == before[name].version + is_done
        if is_done:
            assert (each.version_before, each.version_after) == (before[name].version, log.version)
            assert each.after is not None
            assert (each.after.mode, is_unmapped(log)) == ("none", True)
            copied = [action["add"] for action in log.commits[-1] if "add" in action]
            assert each.copied is not None
            assert len(copied) == each.copied.num_files == (name in ("renamed", "untracked"))
            assert schema[name].selected() == (ROWS if name != "vectors" else [])
    (sums,) = [each for each in report.sums if each.outcome == "DONE"]
    sizes = [sum(before[name].live_files.values()) for name in ("renamed", "untracked")]
    assert (sums.num_tables, sums.num_files, sums.size_in_bytes) == (4, 2, sum(sizes))
    assert not report.complete

    again = by_name(quiet(spark_ext.remove_column_mapping, spark, SCHEMA, until="readers"))
    assert again["vectors"].outcome == "BLOCKED"
    assert "DROP FEATURE deletionVectors" in str(again["vectors"].unblocking)
    for name in ("free", "renamed", "untracked"):
        assert again[name].outcome == "DONE"
        assert schema[name].log.protocol["minReaderVersion"] == 1


def test_table_with_two_names_runs_once(
    spark: SparkSession, schema: dict[str, Table], tmp_path: Path
) -> None:
    table = untracked(at(spark, tmp_path, "t"))
    spark.sql(f"CREATE TABLE {SCHEMA}.named USING delta LOCATION '{table.path}'")
    try:
        report = quiet(
            spark_ext.remove_column_mapping, spark, f"{SCHEMA}.named", table.path, parallel=2
        )
    finally:
        spark.sql(f"DROP TABLE {SCHEMA}.named")

    assert [(each.table, each.outcome) for each in report.tables] == [
        (f"spark_catalog.{SCHEMA}.named", "DONE")
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
