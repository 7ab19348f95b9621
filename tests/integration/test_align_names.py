# SPDX-License-Identifier: Apache-2.0
"""`align_names()`: every column gets its own name in the files, and mapping stays on."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pyarrow.parquet
import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

from spark_ext import FileCount, NameAlignment, Progress, UsageTracking
from spark_ext.errors import (
    AlignmentConflictError,
    CannotAlignNamesError,
    ModeIdLostError,
    NotMappedError,
)
from tests.support.delta_table import NAME_MODE, TRACKED, Table
from tests.support.deltalake_readers import read_by_pyarrow
from tests.support.releases import LIKE_TAKES_PATHS
from tests.support.removal import in_matrix

ID_MODE = "'delta.columnMapping.mode' = 'id'"
ALIGNING = "sparkext.columnMapping.aligning"
ROWS = [(1, "Rome", None, (1,)), (2, "Oslo", "X", (2,))]


class Interrupted(Exception):
    pass


def misled(table: Table, *properties: str) -> Table:
    """A column was renamed and one of its old name added; another was dropped, and one nested."""
    table.create("id INT, city STRING, gone INT, s STRUCT<x: INT, y: INT>", *properties)
    table.insert("(1, 'Rome', 7, named_struct('x', 1, 'y', 0))")
    table.alter("RENAME COLUMN city TO town")
    table.alter("ADD COLUMN city STRING AFTER town")
    table.alter("DROP COLUMN gone")
    table.alter("DROP COLUMN s.y")
    table.insert("(2, 'Oslo', 'X', named_struct('x', 2))")
    return table


def align(table: Table, **options: bool) -> NameAlignment:
    usage = UsageTracking.forPath(table.spark, str(table.path))
    return usage.align_names(progress=None, **options)


def assert_aligned(table: Table, mode: str = "name") -> None:
    log = table.log
    assert log.configuration["delta.columnMapping.mode"] == mode
    assert "columnMappingUsageTracking" in log.protocol["writerFeatures"]
    assert log.flag == "false"
    assert ALIGNING not in log.configuration
    assert {path: path.split(".")[-1] for path in log.physical_names} == log.physical_names
    for file in log.live_files:
        schema = pyarrow.parquet.ParquetFile(table.path / file).schema_arrow
        assert set(schema.names) <= set(log.columns) | log.row_tracking_columns


def done(result: NameAlignment) -> tuple[str, ...]:
    return tuple(step.statement for step in result.done)


def operations(table: Table, since: int) -> list[str]:
    log = table.log
    return [log.at(version).operation for version in range(since + 1, log.version + 1)]


# Refusals, which change nothing.


def test_a_table_without_column_mapping_is_refused(table: Table) -> None:
    table.create("a INT", TRACKED)

    for dry_run in (True, False):
        with table.no_commit(), pytest.raises(NotMappedError) as refused:
            align(table, dry_run=dry_run)

    assert refused.value.condition == "USAGE_TRACKING_NOT_MAPPED"
    assert str(table.path) in refused.value.params["table"]


def test_a_table_that_left_for_good_is_not_mapped_again(table: Table) -> None:
    misled(table, TRACKED, NAME_MODE)
    UsageTracking.forPath(table.spark, str(table.path)).remove_column_mapping(progress=None)

    with table.no_commit(), pytest.raises(NotMappedError):
        align(table)


def test_mode_id_is_not_given_up_unasked(table: Table) -> None:
    misled(table, TRACKED, ID_MODE)

    with table.no_commit(), pytest.raises(ModeIdLostError):
        align(table)


@pytest.mark.parametrize("name", ["a b", *in_matrix("a,b", "a;b", "a{b", "a(b", "a=b", "a\tb")])
@pytest.mark.parametrize("properties", [(TRACKED, NAME_MODE), *in_matrix(((NAME_MODE,),))])
def test_names_that_files_may_not_have_are_refused_before_anything_is_done(
    table: Table, name: str, properties: tuple[str, ...]
) -> None:
    table.create("id INT, city STRING", *properties)
    table.alter(f"RENAME COLUMN city TO `{name}`")

    for dry_run in (True, False):
        with table.no_commit(), pytest.raises(CannotAlignNamesError) as refused:
            align(table, dry_run=dry_run)
        assert refused.value.params["reasons"].startswith("INVALID_COLUMN_NAME")
        # Nobody wants column mapping removed.
        assert "cannot be removed" not in str(refused.value)


@pytest.mark.without("deletion-vectors")
def test_a_table_that_other_features_keep_mapped_is_refused(table: Table) -> None:
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

    assert refused.value.params["reasons"] == "OTHER_FEATURE (icebergCompatV2)"


# What it makes.


@pytest.mark.without("auto-compact", "deletion-vectors")
@pytest.mark.every_variant
@pytest.mark.parametrize("properties", [(TRACKED, NAME_MODE), (NAME_MODE,)])
def test_every_column_gets_its_own_name_and_mapping_stays_on(
    table: Table, properties: tuple[str, ...]
) -> None:
    misled(table, *properties)
    before = table.log.version
    planned = align(table, dry_run=True)
    assert table.log.version == before
    assert (planned.aligned, planned.cost, planned.num_files) == (False, "COPY", 2)

    result = align(table)

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
    assert operations(table, before) == [
        "SET TBLPROPERTIES",
        "REMOVE COLUMN MAPPING",
        *["DROP FEATURE"] * (len(properties) - 1),
        "SET TBLPROPERTIES",
        "UNSET TBLPROPERTIES",
    ]
    assert_aligned(table)
    assert table.rows("id, town, city, s") == ROWS
    assert {row["town"] for row in read_by_pyarrow(table.path).to_pylist()} == {"Rome", "Oslo"}
    table.alter("ADD COLUMN fare INT")
    assert table.log.physical_names["fare"] == "fare"

    with table.no_commit():
        again = align(table)
    assert (again.aligned, again.done, again.cost) == (True, (), "NOTHING")


def test_a_table_in_mode_id_comes_back_in_mode_name_where_that_is_asked(table: Table) -> None:
    misled(table, TRACKED, ID_MODE)

    result = align(table, to_name_mode=True)

    assert (result.aligned, result.mode) == (True, "name")
    assert_aligned(table)
    assert table.rows("id, town, city, s") == ROWS


def test_an_untracked_table_with_its_own_names_is_tracked_without_a_copy(table: Table) -> None:
    table.create("a INT")
    table.insert("(1)")
    table.alter(f"SET TBLPROPERTIES ({NAME_MODE})")
    files = table.log.live_files

    assert align(table).aligned

    assert_aligned(table)
    assert table.log.live_files == files


@pytest.mark.skipif(not LIKE_TAKES_PATHS, reason="CREATE TABLE LIKE takes no path")
def test_names_that_differ_under_a_false_flag_are_aligned(table: Table, tmp_path: Path) -> None:
    misled(table, NAME_MODE)
    like = Table(table.spark, tmp_path / "like")
    table.spark.sql(f"CREATE TABLE {like.name} LIKE {table.name}")
    like.alter(f"SET TBLPROPERTIES ({TRACKED})")
    like.insert("(1, 'Rome', NULL, named_struct('x', 1))")

    assert align(like).aligned

    assert_aligned(like)
    assert like.rows("id, town, city, s") == ROWS[:1]


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
def test_tables_with_other_features_come_back(table: Table, kind: str, properties: str) -> None:
    table.spark.sql(KINDS[kind].format(t=table.name, p=properties))
    for number in range(3):
        table.insert(f"({number}, 'Rome', 7), ({number + 10}, 'Oslo', 8)")
    if kind != "append only":
        table.spark.sql(f"DELETE FROM {table.name} WHERE id = 11")
    table.alter("RENAME COLUMN city TO town")
    table.alter("DROP COLUMN gone")
    table.alter("ADD COLUMN city STRING")
    rows = table.rows()
    properties_before = dict(table.log.configuration)

    assert align(table).aligned

    assert_aligned(table)
    assert table.rows() == rows
    kept = {key: value for key, value in properties_before.items() if "columnMapping" not in key}
    assert kept.items() <= table.log.configuration.items()
    table.alter("RENAME COLUMN town TO place")
    table.insert("(99, 'Bern', 'X')")
    assert len(table.rows()) == len(rows) + 1


def test_a_name_of_the_catalog_is_found(spark: SparkSession, named_table: Table) -> None:
    misled(named_table, TRACKED, NAME_MODE)

    assert UsageTracking.forName(spark, "named").align_names(progress=None).aligned

    assert_aligned(named_table)


@pytest.mark.parametrize("folder", ["${spark.app.name}", *in_matrix("it's `so`", "a\\b", "é ; ü")])
def test_a_path_may_have_any_characters(spark: SparkSession, tmp_path: Path, folder: str) -> None:
    table = misled(Table(spark, tmp_path / "t"), TRACKED, NAME_MODE)
    moved = Table(spark, table.path.rename(tmp_path / folder))

    assert align(moved).aligned

    assert_aligned(moved)


def test_progress_is_told_of_each_statement(table: Table) -> None:
    misled(table, TRACKED, NAME_MODE)
    seen: list[Progress] = []

    usage = UsageTracking.forPath(table.spark, str(table.path))
    result = usage.align_names(progress=seen.append)

    assert tuple(dict.fromkeys(each.statement for each in seen)) == done(result)
    assert tuple(each.statement for each in seen if each.finished) == done(result)


# Interruptions.


def stopping_before(number: int) -> Callable[[Progress], None]:
    """Ends the call before its statement of this number begins."""
    begun: list[str] = []

    def stop(progress: Progress) -> None:
        if progress.statement not in begun:
            begun.append(progress.statement)
            if len(begun) > number:
                raise Interrupted

    return stop


@pytest.mark.parametrize("number", [2, *in_matrix(0, 1, 3, 4)])
@pytest.mark.parametrize(
    "properties", [(TRACKED, NAME_MODE), *in_matrix(((NAME_MODE,),), ((TRACKED, ID_MODE),))]
)
def test_a_call_that_was_interrupted_goes_on(
    table: Table, properties: tuple[str, ...], number: int
) -> None:
    misled(table, *properties)
    usage = UsageTracking.forPath(table.spark, str(table.path))
    planned = align(table, dry_run=True, to_name_mode=True).statements
    with suppress(Interrupted):
        usage.align_names(to_name_mode=True, progress=stopping_before(number))

    left = align(table, dry_run=True, to_name_mode=True)
    assert left.statements == planned[number:]
    rest = align(table, to_name_mode=True)

    assert done(rest) == planned[number:]
    assert_aligned(table)
    assert table.rows("id, town, city, s") == ROWS


def untrack(table: Table) -> None:
    table.alter("DROP FEATURE columnMappingUsageTracking")


@pytest.mark.every_variant
@pytest.mark.parametrize(
    ("number", "other"),
    [(1, align), (2, untrack), *in_matrix(*((number, align) for number in (0, 2, 3, 4)))],
)
def test_a_step_that_another_call_has_made_is_no_failure(
    table: Table, number: int, other: Callable[[Table], object]
) -> None:
    """The other one runs when this one has decided on its statement of this number."""
    misled(table, TRACKED, NAME_MODE)
    begun: list[str] = []

    def beside(progress: Progress) -> None:
        if progress.statement not in begun:
            begun.append(progress.statement)
            if len(begun) == number + 1:
                other(table)

    usage = UsageTracking.forPath(table.spark, str(table.path))
    with suppress(AlignmentConflictError):
        usage.align_names(progress=beside)

    assert align(table).aligned
    assert_aligned(table)
    assert table.rows("id, town, city, s") == ROWS


def test_what_kept_it_from_leaving_is_mended_and_it_goes_on(table: Table) -> None:
    misled(table, TRACKED, NAME_MODE)
    file = table.path / min(table.log.live_files)
    hidden = file.rename(file.with_suffix(".hidden"))
    version = table.log.version
    with pytest.raises(AnalysisException) as refused:
        align(table)
    assert refused.value.getCondition() == "USAGE_TRACKING_UNREADABLE_DATA_FILE"
    assert table.log.version == version + 1
    assert table.log.configuration["delta.columnMapping.mode"] == "name"

    hidden.rename(file)
    align(table)

    assert_aligned(table)
    assert table.rows("id, town, city, s") == ROWS


@pytest.mark.without("auto-compact")
def test_what_kept_it_from_being_mapped_again_is_mended_and_it_goes_on(
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
    table.insert("(3, NULL, NULL, NULL)")  # any writer may, meanwhile
    align(table)

    assert operations(table, version) == ["WRITE", "SET TBLPROPERTIES", "UNSET TBLPROPERTIES"]
    assert_aligned(table)
    assert table.rows("id, town, city, s") == [*ROWS, (3, None, None, None)]


def test_a_restore_on_the_way_ends_it(table: Table) -> None:
    misled(table, TRACKED, NAME_MODE)
    mapped = table.log.version
    usage = UsageTracking.forPath(table.spark, str(table.path))
    with suppress(Interrupted):
        usage.align_names(progress=stopping_before(2))
    table.spark.sql(f"RESTORE TABLE {table.name} TO VERSION AS OF {mapped}")
    assert ALIGNING not in table.log.configuration

    assert align(table).aligned

    assert_aligned(table)
    assert table.rows("id, town, city, s") == ROWS
