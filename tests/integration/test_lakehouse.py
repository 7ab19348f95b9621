# SPDX-License-Identifier: Apache-2.0
"""Tests one call for many tables of all kinds: outcomes, goals, names, progress and reports."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

import spark_ext
from spark_ext import LakehouseProgress, LakehouseReport
from spark_ext.errors import ProgressFailedError
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
from tests.support.table_log import TableLog

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


def test_removal_of_a_schema_reaches_every_table_that_can(
    spark: SparkSession, schema: dict[str, Table]
) -> None:
    versions = {name: table.log.version for name, table in schema.items()}
    plan = quiet(spark_ext.remove_column_mapping, spark, SCHEMA, dry_run=True)
    assert {name: table.log.version for name, table in schema.items()} == versions

    report = quiet(spark_ext.remove_column_mapping, spark, SCHEMA)

    found = {each.table.split(".")[-1]: each for each in report.tables}
    assert {name: each.outcome for name, each in found.items()} == {
        "`1d`": "ALREADY_DONE",
        "blocked": "BLOCKED",
        "broken": "UNREADABLE",
        "free": "DONE",
        "renamed": "DONE",
        "untracked": "DONE",
        "vectors": "DONE",
    }
    planned = {each.table.split(".")[-1]: each for each in plan.tables}
    for name, each in found.items():
        table, log = schema[name], schema[name].log
        assert planned[name].outcome == ("PLANNED" if each.outcome == "DONE" else each.outcome)
        if name == "broken":
            assert each.error == planned[name].error == "INVALID_JSON_DATA_TYPE"
            continue
        assert (each.version_before, table.log.version) == (versions[name], log.version)
        assert is_unmapped(log) == (each.outcome in ("DONE", "ALREADY_DONE"))
        if each.outcome != "DONE":
            assert log.version == versions[name]
            continue
        assert each.version_after == log.version == versions[name] + 1
        assert each.after is not None
        assert (each.after.mode, each.after.unmapped) == ("none", "NOTHING")
        assert each.kept is not None
        assert each.copied is not None
        assert each.rewritten is not None
        copied = [action["add"] for action in log.commits[-1] if "add" in action]
        assert len(copied) == each.copied.num_files == (name in ("renamed", "untracked"))
        assert [done.statement for done in each.statements] == [
            f"ALTER TABLE {each.statements[0].statement.split()[2]} SET TBLPROPERTIES"
            " ('delta.columnMapping.mode' = 'none')"
        ]
        if name != "vectors":
            assert table.selected() == ROWS
    assert found["blocked"].reasons == ("unmapped: INVALID_COLUMN_NAME (`b c`, blank)",)
    assert "RENAME COLUMN" in str(found["blocked"].unblocking)
    sums = {each.outcome: each for each in report.sums}
    sizes = [
        sum(schema[name].log.at(versions[name]).live_files.values())
        for name in ("renamed", "untracked")
    ]
    assert (sums["DONE"].num_tables, sums["DONE"].num_files) == (4, 2)
    assert sums["DONE"].size_in_bytes == sum(sizes)
    assert not report.complete

    again = quiet(spark_ext.remove_column_mapping, spark, SCHEMA, until="readers")
    found = {each.table.split(".")[-1]: each for each in again.tables}
    assert found["vectors"].outcome == "BLOCKED"
    assert "DROP FEATURE deletionVectors" in str(found["vectors"].unblocking)
    for name in ("free", "renamed", "untracked"):
        assert found[name].outcome == "DONE"
        assert schema[name].log.protocol["minReaderVersion"] == 1


def test_patterns_and_the_predicate_choose_tables(
    spark: SparkSession, schema: dict[str, Table]
) -> None:
    report = quiet(
        spark_ext.track,
        spark,
        SCHEMA,
        include=["*E*", "1d"],
        exclude="spark_catalog.lakehouse.B*",
        only=lambda row: row.table != "spark_catalog.lakehouse.renamed",
        dry_run=True,
    )

    # Catalogs list their tables in different orders.
    assert {each.table.split(".")[-1] for each in report.tables} == {
        *("`1d`", "free", "untracked", "vectors"),
    }


def test_call_of_an_unknown_schema_raises_before_any_table(
    spark: SparkSession, tmp_path: Path
) -> None:
    table = free(at(spark, tmp_path, "t"))

    with table.no_commit(), pytest.raises(AnalysisException) as raised:
        quiet(spark_ext.remove_column_mapping, spark, table.path, "no_such_schema")

    assert raised.value.getCondition() == "SCHEMA_NOT_FOUND"


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


# Other goals.


def test_align_names_of_many_tables(spark: SparkSession, tmp_path: Path) -> None:
    tables = [free(at(spark, tmp_path, "aligned")), free(at(spark, tmp_path, "renamed"))]
    tables.append(plain(at(spark, tmp_path, "plain")))
    tables.append(at(spark, tmp_path, "id").create("a INT", "'delta.columnMapping.mode' = 'id'"))
    tables[1].alter("RENAME COLUMN a TO c")
    paths = [table.path for table in tables]

    report = quiet(spark_ext.align_names, spark, *paths)
    again = quiet(spark_ext.align_names, spark, *paths[:3])

    assert outcomes(report) == ["ALREADY_DONE", "DONE", "ALREADY_DONE", "BLOCKED"]
    assert "to_name_mode=True" in str(report.tables[3].unblocking)
    log = tables[1].log
    assert (log.flag, log.configuration["delta.columnMapping.mode"]) == ("false", "name")
    assert all(path.split(".")[-1] == name for path, name in log.physical_names.items())
    assert tables[1].selected() == ROWS
    assert outcomes(again) == ["ALREADY_DONE"] * 3
    assert again.complete


def test_tables_are_tracked_and_untracked(spark: SparkSession, tmp_path: Path) -> None:
    tables = [free(at(spark, tmp_path, "free")), untracked(at(spark, tmp_path, "untracked"))]
    paths = [table.path for table in tables]

    report = quiet(spark_ext.track, spark, *paths)
    tracked = [table.log.is_tracked for table in tables]
    back = quiet(spark_ext.untrack, spark, *paths)

    assert (outcomes(report), tracked) == (["ALREADY_DONE", "DONE"], [True, True])
    assert outcomes(back) == ["DONE", "DONE"]
    assert [table.log.is_tracked for table in tables] == [False, False]
    assert [table.log.flag for table in tables] == [None, None]


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


def test_variable_in_a_path_is_not_substituted(spark: SparkSession, tmp_path: Path) -> None:
    made = free(at(spark, tmp_path, "made"))
    plain(at(spark, tmp_path, "t1"))
    path = tmp_path / "t${lake.x}"
    shutil.move(made.path, path)
    spark.conf.set("lake.x", "1")
    try:
        report = quiet(spark_ext.remove_column_mapping, spark, path, until="writers")
    finally:
        spark.conf.unset("lake.x")

    assert outcomes(report) == ["WAITING"], report.text()
    assert report.come_back is not None
    assert is_unmapped(TableLog(path))


# Reports and progress.


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


def test_progress_counts_tables_and_bytes(spark: SparkSession, tmp_path: Path) -> None:
    tables = [untracked(at(spark, tmp_path, "t")), free(at(spark, tmp_path, "u"))]
    size = sum(tables[0].log.live_files.values())
    seen: list[LakehouseProgress] = []

    spark_ext.remove_column_mapping(spark, *(each.path for each in tables), progress=seen.append)

    survey, run = ([each for each in seen if each.phase == phase] for phase in ("survey", "run"))
    assert (survey[0].tables_done, survey[0].tables) == (0, 2)
    assert (run[0].tables_done, run[0].tables, run[0].bytes) == (0, 2, size)
    assert (run[-1].tables_done, run[-1].bytes_done, run[-1].finished) == (2, size, True)
    assert (survey[-1].tables_done, survey[-1].finished) == (2, True)
    assert (run[0].rate, run[0].seconds_left) == (None, None)
    assert (run[-1].rate or 0) * (run[-1].seconds - survey[-1].seconds) >= size
    assert run[-1].seconds_left == 0
    assert run[-1].running == ()


def test_error_of_progress_contains_the_report(spark: SparkSession, tmp_path: Path) -> None:
    table = free(at(spark, tmp_path, "t"))

    def fail(progress: LakehouseProgress) -> None:
        raise RuntimeError("no terminal")

    with table.no_commit(), pytest.raises(ProgressFailedError) as raised:
        spark_ext.remove_column_mapping(spark, table.path, progress=fail)

    report: LakehouseReport = raised.value.report  # type: ignore[attr-defined]
    assert outcomes(report) == ["NOT_BEGUN"]
