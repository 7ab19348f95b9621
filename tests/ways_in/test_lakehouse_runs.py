# SPDX-License-Identifier: Apache-2.0
"""Tests runs over a lakehouse of all kinds of tables in one session: reports, plans, budgets."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import spark_ext
from spark_ext import LakehouseReport
from spark_ext.__main__ import main
from tests.support.pages import commands
from tests.support.table_log import TableLog
from tests.ways_in.lakehouses import (
    CATALOG,
    Lakehouse,
    Prototypes,
    assert_all_removed,
    expected_outcomes,
    name_of,
)

pytestmark = pytest.mark.broken_table("log_without_start")


@pytest.fixture
def schema(spark: SparkSession, prototypes: Prototypes) -> Iterator[str]:
    """Yields a schema of the session's catalog, with a view and a table of another format."""
    spark.sql("CREATE SCHEMA viewed")
    path = prototypes.home.parent / "registered"
    shutil.copytree(prototypes.home / "untracked", path)
    spark.sql(f"CREATE TABLE viewed.t USING delta LOCATION '{path}'")
    spark.sql("CREATE TABLE viewed.other (a INT) USING parquet")
    spark.sql("CREATE VIEW viewed.v AS SELECT a FROM viewed.t")
    yield "viewed"
    spark.sql("DROP SCHEMA viewed CASCADE")
    shutil.rmtree(path)


def remove(spark: SparkSession, lakehouse: Lakehouse, **options: Any) -> LakehouseReport:
    return spark_ext.remove_column_mapping(spark, *lakehouse.where, **{"progress": None, **options})


def test_report_equals_an_independent_reading_of_all_logs(
    spark: SparkSession, lakehouse: Lakehouse, schema: str
) -> None:
    before = lakehouse.logs()

    report = spark_ext.remove_column_mapping(spark, schema, *lakehouse.where, progress=None)

    registered, *_ = found = {each.table: each for each in report.tables}
    assert registered == "spark_catalog.viewed.t"
    assert found.pop(registered).outcome == "DONE"
    assert {name: each.outcome for name, each in found.items()} == expected_outcomes(lakehouse)
    assert not report.complete
    for place, after in lakehouse.logs().items():
        assert_row_equals_the_logs(found[name_of(place)], before[place], after)
    assert_all_removed(lakehouse)
    assert lakehouse.orphans() == set()
    num_files = lakehouse.num_files()
    again = remove(spark, lakehouse)
    assert {each.outcome for each in again.tables} == {"ALREADY_DONE", "BLOCKED", "UNREADABLE"}
    assert lakehouse.num_files() == num_files


def assert_row_equals_the_logs(row: Any, before: TableLog, after: TableLog) -> None:
    assert row.version_before == before.version
    assert row.before.mode == before.configuration.get("delta.columnMapping.mode", "none")
    assert row.before.tracked == before.is_tracked
    assert (row.before.num_files, row.before.size_in_bytes) == (
        len(before.live_files),
        sum(before.live_files.values()),
    )
    if row.outcome != "DONE":
        assert after.version == before.version
        return
    assert row.version_after == after.version == before.version + 1
    assert row.after.mode == "none"
    assert row.seconds > 0
    assert row.error is None
    kept = before.live_files.keys() & after.live_files.keys()
    removed = before.live_files.keys() - kept
    if row.cost == "METADATA":  # the removal reads no file, so it counts no kept file
        assert (removed, row.kept.num_files) == (set(), 0)
    else:
        assert row.kept.num_files == len(kept)
        assert row.kept.size_in_bytes == sum(before.live_files[file] for file in kept)
        assert row.copied.num_files + row.rewritten.num_files == len(removed)
        assert row.changed.size_in_bytes == sum(before.live_files[file] for file in removed)
    assert (row.num_files == 0) == (row.cost == "METADATA" or not before.live_files)


def test_plan_changes_nothing_and_has_outcomes_and_free_space(
    spark: SparkSession, lakehouse: Lakehouse
) -> None:
    files = lakehouse.num_files()

    plan = remove(spark, lakehouse, dry_run=True)

    assert lakehouse.num_files() == files
    expected = expected_outcomes(lakehouse)
    assert {each.table: each.outcome for each in plan.tables} == {
        name: "PLANNED" if outcome == "DONE" else outcome for name, outcome in expected.items()
    }
    copied = [each for each in plan.tables if each.cost == "COPY"]
    live = {name_of(place): log.live_files for place, log in lakehouse.logs().items()}
    assert {each.table: each.free_space for each in copied} == {
        each.table: sum(live[each.table].values()) for each in copied
    }
    blocked = [each for each in plan.tables if each.outcome == "BLOCKED"]
    assert all("b c" in " ".join(each.reasons) for each in blocked)
    assert all(each.unblocking for each in blocked)


# The command.


def run(*arguments: str) -> int:
    return main([*arguments, "--progress", "none"])


def test_exit_code_is_0_when_every_table_has_reached_the_goal_or_is_planned(
    lakehouse: Lakehouse, capsys: pytest.CaptureFixture[str]
) -> None:
    schema = f"{CATALOG}.sales.deep"
    without_blocked = [schema, "--exclude", "BLOCKED"]

    assert run("remove", schema, "--dry-run") == 1
    assert run("remove", *without_blocked, "--dry-run") == 0
    assert run("remove", *without_blocked, "--max-bytes", "0B") == 1
    assert run("remove", *without_blocked) == 0
    assert run("remove", *without_blocked, "--include", "*.deep.*") == 0
    assert run("remove", schema) == 1
    assert run("remove", f"{CATALOG}.broken") == 1
    assert capsys.readouterr().err == ""
    assert run("remove", f"{CATALOG}.nothing") == 2
    assert capsys.readouterr().err.startswith("[SCHEMA_NOT_FOUND] ")


def test_tables_are_tracked_aligned_and_untracked(lakehouse: Lakehouse) -> None:
    schema = f"{CATALOG}.sales"
    chosen = [schema, *("--exclude", "blocked", "--exclude", "ids")]

    assert run("align", *chosen) == 0
    aligned = logs_of(lakehouse, "sales/")
    assert run("align", schema) == 1  # mode id needs --to-name-mode
    assert run("track", schema) == 0
    tracked = logs_of(lakehouse, "sales/")
    assert run("untrack", schema) == 0

    for place, log in aligned.items():
        kind = lakehouse.kinds[place]
        if kind not in ("blocked", "ids", "unmapped"):
            assert log.flag == "false", place
            assert all(name == path.split(".")[-1] for path, name in log.physical_names.items())
    assert all(log.is_tracked for log in tracked.values())
    assert not any(log.is_tracked for log in logs_of(lakehouse, "sales/").values())


def logs_of(lakehouse: Lakehouse, start: str) -> dict[str, TableLog]:
    return {place: log for place, log in lakehouse.logs().items() if place.startswith(start)}


@pytest.mark.usefixtures("few_tables")
def test_commands_of_the_page_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names = {
        "sales": f"{CATALOG}.sales.deep",
        "main.hr": f"{CATALOG}.broken",
        "spark_catalog": CATALOG,
    }

    codes = [
        main([names.get(word, word) for word in words])
        for words in commands("docs/lakehouse.md", "On a command line")
    ]

    # Each call includes tables that are blocked or broken.
    assert codes == [1] * len(codes) != []
    assert {file.name for file in tmp_path.iterdir()} == {"out.html", "out.json"}
