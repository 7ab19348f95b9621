# SPDX-License-Identifier: Apache-2.0
"""Tests what `align_names()` reports, and interruptions and other writers between its statements.

`statements/align.txt` has the tables of one writer.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

import spark_ext
from spark_ext import FileCount, NameAlignment, Progress
from spark_ext.errors import AlignmentConflictError
from tests.support.delta_table import ID_MODE, NAME_MODE, TRACKED, Table, forget_logs, refusal
from tests.support.deltalake_readers import read_by_pyarrow
from tests.support.prepared import made_once
from tests.support.removal import removal_of
from tests.support.variants import in_matrix

ALIGNING = "sparkext.columnMapping.aligning"
ROWS = [(1, "Rome", None, (1,)), (2, "Oslo", "X", (2,))]


class Interrupted(Exception):
    pass


@made_once
def misled(table: Table, *properties: str) -> Table:
    """Makes a table with dropped columns, and a renamed column whose old name a new column has."""
    table.create(
        "id INT, city STRING, gone INT, s STRUCT<x: INT, y: INT>, l ARRAY<STRUCT<z: INT>>",
        *properties,
    )
    table.insert("(1, 'Rome', 7, named_struct('x', 1, 'y', 0), array(named_struct('z', 5)))")
    table.alter("RENAME COLUMN city TO town")
    table.alter("ADD COLUMN city STRING AFTER town")
    table.alter("DROP COLUMN gone")
    table.alter("DROP COLUMN s.y")
    table.alter("ADD COLUMN last INT")
    table.alter("DROP COLUMN last")
    table.insert("(2, 'Oslo', 'X', named_struct('x', 2), NULL)")
    return table


def align(
    table: Table, progress: Callable[[Progress], None] | None = None, **options: bool
) -> NameAlignment:
    return table.usage.align_names(progress=progress, **options)


def ids(table: Table) -> tuple[dict[str, Any], int]:
    """Returns the id of each column, and the highest id that was assigned."""
    return table.log.ids, table.log.max_column_id


def assert_aligned(table: Table, before: tuple[dict[str, Any], int] | None = None) -> None:
    log = table.log
    assert (log.is_tracked, log.flag) == (True, "false")
    assert log.configuration["delta.columnMapping.mode"] == "name"
    assert ALIGNING not in log.configuration
    assert {path: path.split(".")[-1] for path in log.physical_names} == log.physical_names
    assert before in (None, ids(table))
    rows = table.spark.read.format("delta").load(str(table.path)).orderBy("id").collect()
    assert [tuple(row[:4]) for row in rows[:2]] == ROWS


def assert_no_other_names(schema: pyarrow.Schema) -> None:
    """Asserts that Spark's schema in a footer has no physical name that differs from the name."""

    def look(value: dict[str, Any]) -> dict[str, Any]:
        physical = value.get("metadata", {}).get("delta.columnMapping.physicalName")
        assert physical in (None, value.get("name"))
        return value

    json.loads(schema.metadata[b"org.apache.spark.sql.parquet.row.metadata"], object_hook=look)


def done(result: NameAlignment) -> tuple[str, ...]:
    return tuple(step.statement for step in result.done)


def operations(table: Table, since: int) -> list[str]:
    log = table.log
    return [log.at(version).operation for version in range(since + 1, log.version + 1)]


def test_next_step_is_decided_by_one_query(table: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    """Other writers may commit between two queries. The first query is for the name alone."""
    misled(table, TRACKED, NAME_MODE)
    usage = table.usage
    queries: list[str] = []
    sql = type(table.spark).sql

    def recorded(spark: SparkSession, query: str, *arguments: Any) -> Any:
        queries.append(query)
        return sql(spark, query, *arguments)

    monkeypatch.setattr(type(table.spark), "sql", recorded)

    assert usage.align_names(dry_run=True, progress=None).statements
    asked = [re.findall(r"column_mapping_\w+", query) for query in queries]
    assert asked == [["column_mapping_survey"]]


def test_unreadable_table_is_refused_with_the_error_of_delta(table: Table) -> None:
    table.create("a INT", TRACKED, NAME_MODE)
    usage = table.usage
    shutil.rmtree(table.path)
    forget_logs(table.spark)

    with refusal("DELTA_MISSING_DELTA_TABLE") as refused:
        usage.align_names(progress=None)

    assert str(refused.value).count("[DELTA_MISSING_DELTA_TABLE]") == 1
    assert str(table.path) in str(refused.value)


def test_table_whose_name_delta_reserves_is_aligned(spark: SparkSession, tmp_path: Path) -> None:
    """Delta reads DROP FEATURE, and Spark the other statements."""
    table = Table(spark, tmp_path / "t", "`where`")
    spark.sql(
        f"CREATE TABLE {table.name} (a INT) USING delta LOCATION '{table.path}'"
        f" TBLPROPERTIES ({TRACKED}, {NAME_MODE})"
    )
    try:
        table.alter("RENAME COLUMN a TO b")
        aligned = spark_ext.align_names(spark, "default.`where`", progress=None)
        untracked = spark_ext.untrack(spark, "default.`where`", progress=None)
    finally:
        spark.sql(f"DROP TABLE {table.name}")

    results = [*aligned.tables, *untracked.tables]
    assert [(each.outcome, each.error) for each in results] == [("DONE", None)] * 2


@pytest.mark.without("auto-compact", "deletion-vectors")
def test_align_reports_its_statements_and_progress(table: Table) -> None:
    misled(table, TRACKED, NAME_MODE)
    before, columns = table.log.version, ids(table)
    with table.no_commit():
        planned = align(table, dry_run=True)
    assert (planned.aligned, planned.cost, planned.num_files) == (False, "COPY", 2)

    seen: list[Progress] = []
    result = align(table, seen.append)

    assert (result.aligned, result.mode, result.cost) == (True, "name", "COPY")
    assert result.copied == FileCount(result.num_files, result.size_in_bytes)
    assert (result.num_files, result.kept, result.rewritten) == (2, FileCount(), FileCount())
    versions = [(step.version_before, step.version_after) for step in result.done]
    assert versions == [(before + n, before + n + 1) for n in range(5)]
    assert done(result) == planned.statements
    assert tuple(dict.fromkeys(each.statement for each in seen)) == planned.statements
    assert tuple(each.statement for each in seen if each.finished) == planned.statements
    assert_aligned(table, columns)
    assert removal_of(table.log).parquet_field_ids() == columns[0]
    for file in table.log.live_files:
        assert_no_other_names(pyarrow.parquet.read_schema(table.path / file))
    assert {row["town"] for row in read_by_pyarrow(table.path).to_pylist()} == {"Rome", "Oslo"}

    again = align(table)
    assert (again.aligned, again.done, again.cost) == (True, (), "NOTHING")


@pytest.mark.parametrize("folder", ["${spark.app.name}", *in_matrix("it's `so`", "a\\b", "é ; ü")])
def test_align_accepts_a_path_with_any_characters(
    spark: SparkSession, tmp_path: Path, folder: str
) -> None:
    table = misled(Table(spark, tmp_path / "t"), TRACKED, NAME_MODE)
    moved = Table(spark, table.path.rename(tmp_path / folder))
    before = ids(moved)

    assert align(moved).aligned

    assert_aligned(moved, before)


# Interruptions.


def at_statement(number: int, act: Callable[[], object]) -> Callable[[Progress], None]:
    """Returns a callback that acts just before the statement of this number begins."""
    begun: list[str] = []

    def watch(progress: Progress) -> None:
        if progress.statement not in begun:
            begun.append(progress.statement)
            if len(begun) == number + 1:
                act()

    return watch


def interrupt() -> None:
    raise Interrupted


@pytest.mark.parametrize("number", [2, *in_matrix(0, 1, 3, 4)])
@pytest.mark.parametrize(
    "properties", [(TRACKED, NAME_MODE), *in_matrix(((NAME_MODE,),), ((TRACKED, ID_MODE),))]
)
def test_interrupted_alignment_continues_and_keeps_ids(
    table: Table, properties: tuple[str, ...], number: int
) -> None:
    misled(table, *properties)
    before = ids(table)
    planned = align(table, dry_run=True, to_name_mode=True).statements
    with suppress(Interrupted):
        align(table, at_statement(number, interrupt), to_name_mode=True)

    planned_again = align(table, dry_run=True, to_name_mode=True)
    assert planned_again.statements == planned[number:]
    rest = align(table, to_name_mode=True)

    assert done(rest) == planned[number:]
    assert_aligned(table, before)


def untrack(table: Table) -> None:
    table.alter("DROP FEATURE columnMappingUsageTracking")


@pytest.mark.every_variant
@pytest.mark.parametrize(
    ("number", "other"),
    [(1, align), (2, untrack), *in_matrix(*((number, align) for number in (0, 2, 3, 4)))],
)
def test_align_continues_when_another_call_runs_a_step(
    table: Table, number: int, other: Callable[[Table], object]
) -> None:
    """The other call runs just before the statement of this number."""
    misled(table, TRACKED, NAME_MODE)

    with suppress(AlignmentConflictError):
        align(table, at_statement(number, lambda: other(table)))

    assert align(table).aligned
    assert_aligned(table)


def test_align_continues_after_a_failed_removal_is_repaired(table: Table) -> None:
    misled(table, TRACKED, NAME_MODE)
    before = ids(table)
    file = table.path / min(table.log.live_files)
    hidden = file.rename(file.with_suffix(".hidden"))
    with table.one_commit(), refusal("USAGE_TRACKING_UNREADABLE_DATA_FILE"):
        align(table)
    assert table.log.configuration["delta.columnMapping.mode"] == "name"

    hidden.rename(file)
    align(table)

    assert_aligned(table, before)


@pytest.mark.without("auto-compact")
def test_align_continues_after_a_failed_mapping_is_repaired(
    table: Table, rules: Callable[..., str]
) -> None:
    misled(table, TRACKED, NAME_MODE)
    before = ids(table)
    rules(
        """
        if "delta.feature.columnmappingusagetracking" in request:
            raise RuntimeError("not now")
        return super().ask(question, request)
        """
    )
    with pytest.raises(AnalysisException):
        align(table)
    assert table.log.operation == "DROP FEATURE"
    version = table.log.version

    rules()
    table.insert("(3, NULL, NULL, NULL, NULL)")  # any writer may write here
    align(table)

    assert operations(table, version) == ["WRITE", "SET TBLPROPERTIES", "UNSET TBLPROPERTIES"]
    assert_aligned(table, before)
    assert table.selected("id")[2:] == [(3,)]


def test_restore_between_statements_cancels_the_alignment(table: Table) -> None:
    misled(table, TRACKED, NAME_MODE)
    mapped, before = table.log.version, ids(table)
    with suppress(Interrupted):
        align(table, at_statement(2, interrupt))
    table.restore(mapped)
    assert ALIGNING not in table.log.configuration

    assert align(table).aligned

    assert_aligned(table, before)


# Column ids.


def test_restore_within_an_aligned_table_keeps_the_flag(table: Table) -> None:
    misled(table, TRACKED, NAME_MODE)
    align(table)
    version, before = table.log.version, ids(table)
    table.spark.sql(f"DELETE FROM {table.name}")
    history = table.spark.sql(f"DESCRIBE HISTORY {table.name}").where(f"version = {version}")
    [(time,)] = history.selectExpr("CAST(timestamp AS STRING)").collect()

    table.restore(version)
    assert (table.log.flag, ids(table)) == ("false", before)
    table.spark.sql(f"RESTORE TABLE {table.name} TO TIMESTAMP AS OF '{time}'")

    assert (table.log.flag, ids(table)) == ("false", before)
    assert table.selected("id, town, city, s") == ROWS


@pytest.mark.every_variant
@pytest.mark.parametrize(
    ("number", "changes", "names"),
    [
        (2, ["ADD COLUMN fare INT FIRST"], {"fare": "fare"}),
        *in_matrix((3, ["ADD COLUMN fare INT FIRST"], {"fare": "fare"})),
        (1, ["RENAME COLUMN id TO n", "ADD COLUMN id INT"], {"id": "n", "fare": "id"}),
    ],
)
def test_ids_follow_columns_that_change_during_alignment(
    table: Table, number: int, changes: list[str], names: dict[str, str]
) -> None:
    misled(table, TRACKED, NAME_MODE)
    before, most = ids(table)

    def change() -> None:
        for each in changes:
            table.alter(each)

    align(table, at_statement(number, change))

    former = {**before, "fare": most + 1}
    assert table.log.ids == {names.get(path, path): id for path, id in former.items()}
    assert table.log.max_column_id == most + 1


def test_column_that_replaces_one_of_another_type_gets_a_new_id(table: Table) -> None:
    table.create("a INT, b INT", TRACKED, NAME_MODE)
    table.insert("(1, 2)")
    table.alter("RENAME COLUMN b TO c")

    align(table, at_statement(2, lambda: table.overwrite("SELECT 'x' AS a, 3 AS c")))

    assert table.log.ids == {"a": 3, "c": 2}
    assert table.selected() == [("x", 3)]


def test_ids_used_after_a_restored_version_are_not_reused(table: Table) -> None:
    misled(table, TRACKED, NAME_MODE)
    before, most = ids(table)
    with suppress(Interrupted):
        align(table, at_statement(2, interrupt))
    removed = table.log.version
    align(table)
    table.alter("ADD COLUMN fare INT")
    assert table.log.ids["fare"] == most + 1
    table.restore(removed)

    align(table)

    assert ids(table) == (before, most + 1)
