# SPDX-License-Identifier: Apache-2.0
"""Tests `align_names()`: names become logical names, and ids and column mapping are kept."""

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
from spark_ext import FileCount, NameAlignment, Progress, UsageTracking
from spark_ext.errors import (
    AlignmentConflictError,
    CannotAlignNamesError,
    ModeIdLostError,
    NotMappedError,
)
from tests.support.delta_table import (
    ID_MODE,
    NAME_MODE,
    TRACKED,
    Table,
    create_like,
    forget_logs,
    refusal,
)
from tests.support.deltalake_readers import read_by_pyarrow
from tests.support.prepared import made_once
from tests.support.releases import LIKE_TAKES_PATHS
from tests.support.removal import (
    removal_of,
)
from tests.support.table_log import FLAG
from tests.support.variants import in_matrix

ALIGNING = "sparkext.columnMapping.aligning"
MAX_COLUMN_ID = "delta.columnMapping.maxColumnId"
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
    assert log.configuration["delta.columnMapping.mode"] == "name"
    assert "columnMappingUsageTracking" in log.protocol["writerFeatures"]
    assert log.flag == "false"
    assert ALIGNING not in log.configuration
    assert {path: path.split(".")[-1] for path in log.physical_names} == log.physical_names
    for file in log.live_files:
        schema = pyarrow.parquet.read_schema(table.path / file)
        assert set(schema.names) <= set(log.columns) | log.row_tracking_columns
        assert_no_other_names(schema)
    if before:
        assert ids(table) == before


def assert_no_other_names(schema: pyarrow.Schema) -> None:
    """Asserts that Spark's schema in a footer has no physical name that differs from the name."""

    def look(value: dict[str, Any]) -> dict[str, Any]:
        physical = value.get("metadata", {}).get("delta.columnMapping.physicalName")
        assert physical in (None, value.get("name"))
        return value

    written = schema.metadata or {}  # a copy of a file in mode id has no such schema
    json.loads(written.get(b"org.apache.spark.sql.parquet.row.metadata", "{}"), object_hook=look)


def done(result: NameAlignment) -> tuple[str, ...]:
    return tuple(step.statement for step in result.done)


def operations(table: Table, since: int) -> list[str]:
    log = table.log
    return [log.at(version).operation for version in range(since + 1, log.version + 1)]


# Refusals, which change nothing.


def test_table_without_column_mapping_is_refused(table: Table) -> None:
    table.create("a INT", TRACKED)

    for dry_run in (True, False):
        with table.no_commit(), pytest.raises(NotMappedError) as refused:
            align(table, dry_run=dry_run)

    assert refused.value.condition == "USAGE_TRACKING_NOT_MAPPED"
    assert str(table.path) in refused.value.params["table"]


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


@pytest.mark.broken_table("flag_without_feature")
@pytest.mark.parametrize("flag", ["false", *in_matrix("true")])
def test_untracked_table_with_a_flag_is_aligned_in_one_call(table: Table, flag: str) -> None:
    """A change of such a table makes the flag `true`, and only DROP FEATURE deletes it."""
    misled(table, NAME_MODE)
    table.log.append_properties({FLAG: flag})
    before = ids(table)

    result = align(table)

    assert result.aligned
    assert [statement.count("DROP FEATURE") for statement in done(result)].count(1) == 1
    assert_aligned(table, before)
    assert table.selected("id, town, city, s") == ROWS
    assert [count.num_files for count in (result.kept, result.copied) if count] == [0, 2]
    assert result.num_files == 2


def test_table_whose_mapping_was_removed_is_refused(table: Table) -> None:
    misled(table, TRACKED, NAME_MODE)
    table.usage.remove_column_mapping(progress=None)

    with table.no_commit(), pytest.raises(NotMappedError):
        align(table)


def test_table_in_mode_id_is_refused_without_the_option(table: Table) -> None:
    misled(table, TRACKED, ID_MODE)

    with table.no_commit(), pytest.raises(ModeIdLostError):
        align(table)


@pytest.mark.parametrize("name", ["a b", *in_matrix("a,b", "a;b", "a{b", "a(b", "a=b", "a\tb")])
@pytest.mark.parametrize("properties", [(TRACKED, NAME_MODE), *in_matrix(((NAME_MODE,),))])
def test_names_that_are_invalid_in_files_are_refused(
    table: Table, name: str, properties: tuple[str, ...]
) -> None:
    table.create("id INT, city STRING", *properties)
    table.alter(f"RENAME COLUMN city TO `{name}`")

    for dry_run in (True, False):
        with table.no_commit(), pytest.raises(CannotAlignNamesError) as refused:
            align(table, dry_run=dry_run)
        assert refused.value.params["reasons"].startswith("INVALID_COLUMN_NAME")
        # The error is about the alignment, not about a removal.
        assert "cannot be removed" not in str(refused.value)


@pytest.mark.without("deletion-vectors")
def test_table_is_refused_when_another_feature_requires_mapping(table: Table) -> None:
    table.create(
        "id INT, city STRING",
        NAME_MODE,
        "'delta.enableIcebergCompatV2' = 'true'",
        "'delta.enableDeletionVectors' = 'false'",
    )
    table.insert("(1, 'Rome')")
    table.alter("RENAME COLUMN city TO town")

    with table.no_commit(), pytest.raises(CannotAlignNamesError) as refused:
        align(table)

    assert (
        refused.value.params["reasons"]
        == "OTHER_FEATURE (icebergCompatV2, delta.enableIcebergCompatV2)"
    )


# The alignment.


@pytest.mark.without("auto-compact", "deletion-vectors")
@pytest.mark.every_variant
@pytest.mark.parametrize("properties", [(TRACKED, NAME_MODE), (NAME_MODE,)])
def test_align_renames_every_column_in_files_keeps_mapping_and_ids_and_reports_progress(
    table: Table, properties: tuple[str, ...]
) -> None:
    misled(table, *properties)
    before, columns, dropped = table.log.version, ids(table), table.log.max_column_id
    planned = align(table, dry_run=True)
    assert table.log.version == before
    assert (planned.aligned, planned.cost, planned.num_files) == (False, "COPY", 2)

    seen: list[Progress] = []
    result = align(table, seen.append)

    assert (result.aligned, result.mode, result.cost, result.statements) == (
        True,
        "name",
        "COPY",
        (),
    )
    assert result.copied == FileCount(result.num_files, result.size_in_bytes)
    assert (result.num_files, result.kept, result.rewritten) == (2, FileCount(), FileCount())
    versions = [(step.version_before, step.version_after) for step in result.done]
    assert versions == [(before + n, before + n + 1) for n in range(len(result.done))]
    assert done(result) == planned.statements
    assert tuple(dict.fromkeys(each.statement for each in seen)) == planned.statements
    assert tuple(each.statement for each in seen if each.finished) == planned.statements
    assert operations(table, before) == [
        "SET TBLPROPERTIES",
        "REMOVE COLUMN MAPPING",
        *["DROP FEATURE"] * (len(properties) - 1),
        "SET TBLPROPERTIES",
        "UNSET TBLPROPERTIES",
    ]
    assert dropped > max(columns[0].values())
    assert_aligned(table, columns)
    assert removal_of(table.log).parquet_field_ids() == columns[0]
    assert table.selected("id, town, city, s") == ROWS
    assert {row["town"] for row in read_by_pyarrow(table.path).to_pylist()} == {"Rome", "Oslo"}
    table.alter("ADD COLUMN fare INT")
    assert table.log.columns["fare"] == (dropped + 1, "fare")
    assert table.log.max_column_id == dropped + 1

    with table.no_commit():
        again = align(table)
    assert (again.aligned, again.done, again.cost) == (True, (), "NOTHING")


def test_table_in_mode_id_is_aligned_in_mode_name_with_the_option(table: Table) -> None:
    misled(table, TRACKED, ID_MODE)
    before = ids(table)

    result = align(table, to_name_mode=True)

    assert (result.aligned, result.mode) == (True, "name")
    assert_aligned(table, before)
    assert removal_of(table.log).parquet_field_ids() == before[0]
    assert table.selected("id, town, city, s") == ROWS


def test_untracked_table_with_logical_names_is_tracked_without_copies(table: Table) -> None:
    table.create("a INT")
    table.insert("(1)")
    table.alter(f"SET TBLPROPERTIES ({NAME_MODE})")
    files = table.log.live_files

    assert align(table).aligned

    assert_aligned(table)
    assert table.log.live_files == files


@pytest.mark.skipif(not LIKE_TAKES_PATHS, reason="CREATE TABLE LIKE accepts no path")
def test_names_that_differ_under_a_false_flag_are_aligned(table: Table, tmp_path: Path) -> None:
    misled(table, NAME_MODE)
    like = Table(table.spark, tmp_path / "like")
    create_like(table.spark, like.name, table.name)
    like.alter(f"SET TBLPROPERTIES ({TRACKED})")
    like.insert("(1, 'Rome', NULL, named_struct('x', 1), NULL)")

    assert align(like).aligned

    assert_aligned(like)
    assert like.selected("id, town, city, s") == ROWS[:1]


KINDS = {
    "change feed, vectors and row tracking": (
        "CREATE TABLE {t} (id INT, city STRING, gone INT) USING delta TBLPROPERTIES ({p},"
        " 'delta.enableChangeDataFeed' = 'true', 'delta.enableRowTracking' = 'true',"
        " 'delta.enableDeletionVectors' = 'true', 'delta.enableInCommitTimestamps' = 'true',"
        " 'delta.enableTypeWidening' = 'true', 'delta.checkpointPolicy' = 'v2')"
    ),
    "partitions": (
        "CREATE TABLE {t} (id INT, city STRING, gone INT) USING delta PARTITIONED BY (city)"
        " TBLPROPERTIES ({p})"
    ),
    "clustering": (
        "CREATE TABLE {t} (id INT, city STRING, gone INT) USING delta CLUSTER BY (city)"
        " TBLPROPERTIES ({p})"
    ),
    "append only": (
        "CREATE TABLE {t} (id INT NOT NULL, city STRING, gone INT) USING delta"
        " TBLPROPERTIES ({p}, 'delta.appendOnly' = 'true')"
    ),
}


@pytest.mark.without("auto-compact")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("properties", [f"{TRACKED}, {NAME_MODE}", NAME_MODE])
def test_align_keeps_rows_and_properties_of_tables_with_other_features(
    table: Table, kind: str, properties: str
) -> None:
    table.spark.sql(KINDS[kind].format(t=table.name, p=properties))
    for number in range(2):
        table.insert(f"({number}, 'Rome', 7), ({number + 10}, 'Oslo', 8)")
    if kind != "append only":
        table.spark.sql(f"DELETE FROM {table.name} WHERE id = 11")
    table.alter("RENAME COLUMN city TO town")
    table.alter("DROP COLUMN gone")
    table.alter("ADD COLUMN city STRING")
    rows = table.selected()
    properties_before = dict(table.log.configuration)

    assert align(table).aligned

    assert_aligned(table)
    assert table.selected() == rows
    kept = {key: value for key, value in properties_before.items() if "columnMapping" not in key}
    assert kept.items() <= table.log.configuration.items()
    table.alter("RENAME COLUMN town TO place")
    table.insert("(99, 'Bern', 'X')")
    assert len(table.selected()) == len(rows) + 1


def test_align_accepts_a_name_of_the_catalog(spark: SparkSession, named_table: Table) -> None:
    named_table.create_tracked()
    named_table.insert("(1, 'x')")
    named_table.alter("RENAME COLUMN b TO c")

    assert UsageTracking.forName(spark, "named").align_names(progress=None).aligned

    assert_aligned(named_table)


@pytest.mark.parametrize("folder", ["${spark.app.name}", *in_matrix("it's `so`", "a\\b", "é ; ü")])
def test_align_accepts_a_path_with_any_characters(
    spark: SparkSession, tmp_path: Path, folder: str
) -> None:
    table = misled(Table(spark, tmp_path / "t"), TRACKED, NAME_MODE)
    moved = Table(spark, table.path.rename(tmp_path / folder))

    assert align(moved).aligned

    assert_aligned(moved)


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
    assert table.selected("id, town, city, s") == ROWS


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
    assert table.selected("id, town, city, s") == ROWS


def test_align_continues_after_a_failed_removal_is_repaired(table: Table) -> None:
    misled(table, TRACKED, NAME_MODE)
    file = table.path / min(table.log.live_files)
    hidden = file.rename(file.with_suffix(".hidden"))
    with table.one_commit(), refusal("USAGE_TRACKING_UNREADABLE_DATA_FILE"):
        align(table)
    assert table.log.configuration["delta.columnMapping.mode"] == "name"

    hidden.rename(file)
    align(table)

    assert_aligned(table)
    assert table.selected("id, town, city, s") == ROWS


@pytest.mark.without("auto-compact")
def test_align_continues_after_a_failed_mapping_is_repaired(
    table: Table, rules: Callable[..., str]
) -> None:
    misled(table, TRACKED, NAME_MODE)
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
    assert_aligned(table)
    assert table.selected("id, town, city, s") == [*ROWS, (3, None, None, None)]


def test_restore_between_statements_cancels_the_alignment(table: Table) -> None:
    misled(table, TRACKED, NAME_MODE)
    mapped = table.log.version
    with suppress(Interrupted):
        align(table, at_statement(2, interrupt))
    table.restore(mapped)
    assert ALIGNING not in table.log.configuration

    assert align(table).aligned

    assert_aligned(table)
    assert table.selected("id, town, city, s") == ROWS


# Column ids.


@pytest.mark.without("auto-compact", "deletion-vectors")
def test_align_keeps_ids_when_files_are_kept(table: Table) -> None:
    table.create("a INT, b INT", TRACKED, NAME_MODE)
    table.insert("(1, 2)")
    files = table.log.live_files
    table.alter("ADD COLUMN c INT")
    table.alter("DROP COLUMN c")
    table.alter("ADD COLUMN d INT")
    before, most = ids(table)

    align(table)

    assert table.log.live_files == files
    assert (
        (table.log.ids, table.log.max_column_id) == (before, most) == ({"a": 1, "b": 2, "d": 4}, 4)
    )
    assert table.log.at(1).parquet_field_ids() == {"a": 1, "b": 2}


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


@pytest.mark.parametrize("number", [2, *in_matrix(3)])
def test_column_added_during_alignment_gets_an_unused_id(table: Table, number: int) -> None:
    misled(table, TRACKED, NAME_MODE)
    before, most = ids(table)

    align(table, at_statement(number, lambda: table.alter("ADD COLUMN fare INT FIRST")))

    assert table.log.ids == {"fare": most + 1, **before}
    assert table.log.max_column_id == most + 1


def test_id_follows_a_column_renamed_just_before_the_removal(table: Table) -> None:
    misled(table, TRACKED, NAME_MODE)
    before, most = ids(table)

    def rename() -> None:
        table.alter("RENAME COLUMN id TO number")
        table.alter("ADD COLUMN id INT")

    align(table, at_statement(1, rename))

    before["number"] = before.pop("id")
    assert table.log.ids == {**before, "id": most + 1}
    assert table.log.max_column_id == most + 1


def test_column_that_replaces_one_of_another_type_gets_a_new_id(table: Table) -> None:
    table.create("a INT, b INT", TRACKED, NAME_MODE)
    table.insert("(1, 2)")
    table.alter("RENAME COLUMN b TO c")

    align(table, at_statement(2, lambda: table.overwrite("SELECT 'x' AS a, 3 AS c")))

    assert table.log.ids == {"a": 3, "c": 2}
    assert table.selected() == [("x", 3)]


def test_ids_used_after_a_restored_version_are_not_reused(
    table: Table,
) -> None:
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


def test_removal_without_alignment_numbers_columns_again(table: Table) -> None:
    misled(table, TRACKED, NAME_MODE)
    table.usage.remove_column_mapping(progress=None)
    assert MAX_COLUMN_ID not in table.log.configuration

    table.alter(f"SET TBLPROPERTIES ({NAME_MODE})")

    assert sorted(table.log.ids.values()) == list(range(1, len(table.log.ids) + 1))
