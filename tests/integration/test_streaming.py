# SPDX-License-Identifier: Apache-2.0
"""Tests sinks that evolve the schema or create a table, and sources whose schema changes."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame

from tests.integration.streams import checkpoint_of, start_sink
from tests.support.delta_table import NAME_MODE, TRACKED, Table
from tests.support.releases import NAMES_NO_MISMATCH
from tests.support.session_conf import SetConf
from tests.support.table_log import FEATURE, UUID
from tests.support.variants import in_matrix

DEFAULTS = "spark.databricks.delta.properties.defaults"
INCOMPATIBLE_CHANGE = "DELTA_STREAMING_INCOMPATIBLE_SCHEMA_CHANGE_USE_SCHEMA_LOG"
METADATA_EVOLUTION = "DELTA_STREAMING_METADATA_EVOLUTION"
STOPPED_AT_CHANGE = "DELTA_STREAMING_CANNOT_CONTINUE_PROCESSING_POST_SCHEMA_EVOLUTION"
ALLOW_SOURCE = "spark.databricks.delta.streaming.allowSourceColumn"


def run(rows: DataFrame, target: Path, mode: str = "append", **options: str) -> None:
    start_sink(rows, target, mode, **options).awaitTermination()


def condition_of_failure(rows: DataFrame, target: Path) -> str:
    """Returns the condition of the cause; Spark's own condition is always STREAM_FAILED."""
    query = start_sink(rows, target)
    with pytest.raises(StreamingQueryException):
        query.awaitTermination()
    return query._jsq.exception().get().cause().getCondition()


def stream(table: Table, **options: str) -> DataFrame:
    return table.spark.readStream.format("delta").options(**options).load(str(table.path))


def stream_with_schema_log(table: Table, target: Table) -> DataFrame:
    """Returns a stream with a schema log. Each start needs a new one, which reads the log again."""
    return stream(table, schemaTrackingLocation=str(checkpoint_of(target.path) / "schemas"))


@pytest.fixture
def source(table: Table) -> Table:
    """Returns an untracked table that feeds a stream."""
    feed = Table(table.spark, table.path.with_name("source"))
    return feed.create("a INT, b INT, s STRUCT<x: INT, y: INT>")


@pytest.fixture
def target(table: Table) -> Table:
    return Table(table.spark, table.path.with_name("target"))


# The sink.


@NAMES_NO_MISMATCH
def test_sink_that_may_not_merge_the_schema_fails(source: Table, table: Table) -> None:
    table.create_tracked("a INT")
    source.insert("(1, 2, struct(3, 4))")

    with table.no_commit():
        assert condition_of_failure(stream(source), table.path) == "DELTA_METADATA_MISMATCH"

    assert (table.log.flag, table.log.columns) == ("false", {"a": (1, "a")})


def test_complete_sink_that_may_overwrite_the_schema_sets_the_flag(
    source: Table, table: Table
) -> None:
    table.create_tracked("a INT, b STRING")
    source.insert("(1, 2, NULL), (1, 3, NULL)")
    counted = stream(source).groupBy("a").count()
    with table.one_commit():
        run(counted, table.path, "complete", overwriteSchema="true")

    assert table.log.flag == "true"
    assert table.log.columns == {"a": (1, "a"), "count": (3, UUID)}
    assert table.log.max_column_id == 3
    assert table.log.written_columns() == ["a", UUID]
    assert table.rows() == [(1, 2)]


@pytest.mark.parametrize(
    ("mode", "columns"),
    [
        ("name", {"a": (1, "a"), "b": (2, "b")}),
        ("none", {"a": (None, None), "b": (None, None)}),
    ],
)
def test_table_that_a_sink_creates_is_tracked_by_default(
    source: Table,
    table: Table,
    conf: SetConf,
    mode: str,
    columns: dict[str, tuple[int | None, str | None]],
) -> None:
    source.insert("(1, 2, NULL)")
    conf(f"{DEFAULTS}.feature.{FEATURE}", "supported")
    conf(f"{DEFAULTS}.columnMapping.mode", mode)
    run(stream(source).select("a", "b"), table.path)

    assert (table.log.at(0).is_tracked, table.log.at(0).flag) == (True, "false")
    assert table.log.columns == columns
    assert table.log.written_columns() == ["a", "b"]
    assert table.rows() == [(1, 2)]


@pytest.mark.without("auto-compact")
def test_sink_writes_under_the_physical_names_after_a_rename(source: Table, table: Table) -> None:
    table.create_tracked("a INT, b INT")
    source.insert("(1, 2, NULL)")
    run(stream(source).select("a", "b"), table.path)
    table.alter("RENAME COLUMN b TO c")
    source.insert("(3, 4, NULL)")
    with table.one_commit():
        run(stream(source).selectExpr("a", "b AS c"), table.path)

    assert (table.log.flag, table.log.columns) == ("true", {"a": (1, "a"), "c": (2, "b")})
    assert table.log.written_columns() == ["a", "b"]
    assert table.rows() == [(1, 2), (3, 4)]


# The source. Delta decides what a stream may read, tracked or not.


@pytest.mark.parametrize(
    ("properties", "change", "values", "condition"),
    [
        ([TRACKED], "RENAME COLUMN b TO c", "(3, 4)", INCOMPATIBLE_CHANGE),
        ([TRACKED], "DROP COLUMN b", "(3)", INCOMPATIBLE_CHANGE),
        ([], "RENAME COLUMN b TO c", "(3, 4)", INCOMPATIBLE_CHANGE),
    ],
)
def test_source_across_a_schema_change_gets_deltas_condition(
    table: Table, target: Table, properties: list[str], change: str, values: str, condition: str
) -> None:
    table.create("a INT, b INT", NAME_MODE, *properties)
    table.insert("(1, 2)")
    run(stream(table), target.path)
    rows = stream(table)
    table.alter(change)
    table.insert(values)

    with target.no_commit():
        assert condition_of_failure(rows, target.path) == condition

    assert target.rows() == [(1, 2)]


@pytest.mark.parametrize(
    ("changes", "allowed", "values", "columns", "rows"),
    [
        pytest.param(
            ["RENAME COLUMN b TO c"],
            "Rename",
            "(3, 30)",
            {"a": (1, "a"), "c": (2, "b")},
            [(1, 10, None), (2, 20, None), (3, None, 30)],
            id="rename",
        ),
        pytest.param(
            ["DROP COLUMN b"],
            "Drop",
            "(3)",
            {"a": (1, "a")},
            [(1, 10), (2, 20), (3, None)],
            id="drop",
        ),
        pytest.param(
            ["RENAME COLUMN b TO c", "ADD COLUMN b INT"],
            "RenameAndDrop",
            "(3, 30, NULL), (4, 40, 4)",
            {"a": (1, "a"), "c": (2, "b"), "b": (3, UUID)},
            [(1, 10, None), (2, 20, None), (3, None, 30), (4, 4, 40)],
            id="rename and add",
        ),
    ],
)
def test_source_with_a_schema_log_reads_across_a_change(
    table: Table,
    target: Table,
    conf: SetConf,
    changes: list[str],
    allowed: str,
    values: str,
    columns: dict[str, tuple[int, str]],
    rows: list[tuple[object, ...]],
) -> None:
    table.create_tracked("a INT, b INT")
    table.insert("(1, 10)")
    run(stream_with_schema_log(table, target), target.path)
    table.insert("(2, 20)")
    before = table.log
    for change in changes:
        table.alter(change)
    table.insert(values)

    # Rows written before the change come first, with the schema of that time.
    assert condition_of_failure(stream_with_schema_log(table, target), target.path) == (
        METADATA_EVOLUTION
    )
    assert target.rows() == [(1, 10), (2, 20)]
    with target.no_commit():
        assert condition_of_failure(stream_with_schema_log(table, target), target.path) == (
            STOPPED_AT_CHANGE
        )
    conf(f"{ALLOW_SOURCE}{allowed}", "always")
    changed = stream_with_schema_log(table, target)
    run(changed, target.path, mergeSchema="true")

    assert (before.flag, before.columns) == ("false", {"a": (1, "a"), "b": (2, "b")})
    assert (table.log.flag, table.log.columns) == ("true", columns)
    assert table.log.written_columns() == sorted(name for _, name in columns.values())
    assert changed.columns == list(columns)
    assert target.rows() == rows


@pytest.mark.every_variant
@pytest.mark.parametrize(
    ("act", "flag"), [("removal", "true"), ("align", "true"), *in_matrix(("removal", "false"))]
)
def test_source_with_a_schema_log_reads_across_removal_and_align(
    table: Table, target: Table, conf: SetConf, act: str, flag: str
) -> None:
    """If a column was renamed before, the stream needs Delta's setting for renames and drops."""
    table.create_tracked("a INT, b INT")
    table.insert("(1, 10)")
    if flag == "true":
        table.alter("RENAME COLUMN b TO c")
    table.insert("(2, 20)")
    run(stream_with_schema_log(table, target), target.path)
    table.insert("(3, 30)")
    usage = table.usage
    if act == "removal":
        usage.remove_column_mapping(progress=None)
    else:
        usage.align_names(progress=None)
    table.insert("(4, 40)")

    stopped: list[str] = []
    while len(target.rows()) < 4 and len(stopped) < 6:
        query = start_sink(stream_with_schema_log(table, target), target.path)
        try:
            query.awaitTermination()
        except StreamingQueryException:
            stopped.append(query._jsq.exception().get().cause().getCondition())
            if stopped[-1] == STOPPED_AT_CHANGE:
                conf(f"{ALLOW_SOURCE}RenameAndDrop", "always")

    assert stopped.count(STOPPED_AT_CHANGE) == (flag == "true")
    assert stopped.count(METADATA_EVOLUTION) == len(stopped) - (flag == "true") > 0
    assert target.rows() == [(1, 10), (2, 20), (3, 30), (4, 40)]


@pytest.mark.matrix
def test_source_with_a_schema_log_reads_across_an_add(table: Table, target: Table) -> None:
    table.create_tracked("a INT")
    table.insert("(1)")
    run(stream_with_schema_log(table, target), target.path)
    table.alter("ADD COLUMN b INT")
    table.insert("(2, 20)")

    assert condition_of_failure(stream_with_schema_log(table, target), target.path) == (
        METADATA_EVOLUTION
    )
    run(stream_with_schema_log(table, target), target.path, mergeSchema="true")

    assert (table.log.flag, table.log.columns) == ("false", {"a": (1, "a"), "b": (2, "b")})
    assert table.log.written_columns() == ["a", "b"]
    assert target.rows() == [(1, None), (2, 20)]


@pytest.mark.matrix
def test_stream_that_begins_after_a_change_reads_old_files_under_the_new_names(
    table: Table,
    target: Table,
) -> None:
    table.create_tracked("a INT, b INT, d INT")
    table.insert("(1, 10, 100)")
    table.alter("RENAME COLUMN b TO c")
    table.alter("DROP COLUMN d")
    table.spark.sql(f"ALTER TABLE {table.name} ADD COLUMNS (b INT, d INT)")
    table.insert("(2, 20, 21, 22)")
    run(stream(table), target.path)

    assert table.log.flag == "true"
    assert table.log.columns == {"a": (1, "a"), "c": (2, "b"), "b": (4, UUID), "d": (5, UUID)}
    assert table.log.written_columns() == ["a", "b", UUID, UUID]
    assert target.selected("a, c, b, d") == [(1, 10, None, None), (2, 20, 21, 22)]


@pytest.mark.matrix
def test_stream_of_changes_across_a_rename_gets_deltas_condition(
    table: Table, target: Table
) -> None:
    table.create("a INT, b INT", TRACKED, NAME_MODE, "'delta.enableChangeDataFeed' = 'true'")
    table.insert("(1, 10)")

    def changes() -> DataFrame:
        return stream(table, readChangeFeed="true").drop("_commit_version", "_commit_timestamp")

    run(changes(), target.path)
    behind = changes()
    table.spark.sql(f"UPDATE {table.name} SET b = 11")
    table.alter("RENAME COLUMN b TO c")
    table.spark.sql(f"UPDATE {table.name} SET c = 12")

    with target.no_commit():
        assert condition_of_failure(behind, target.path) == INCOMPATIBLE_CHANGE
        assert condition_of_failure(changes(), target.path) == INCOMPATIBLE_CHANGE

    assert (table.log.flag, table.log.columns) == ("true", {"a": (1, "a"), "c": (2, "b")})
    assert target.rows() == [(1, 10, "insert")]


def test_add_column_fails_a_running_stream(table: Table, target: Table) -> None:
    table.create_tracked("a INT")
    table.insert("(1)")
    checkpoint = str(table.path.with_name("checkpoint"))
    writer = stream(table).writeStream.format("delta").option("checkpointLocation", checkpoint)
    query = writer.start(str(target.path))
    try:
        query.processAllAvailable()
        table.alter("ADD COLUMN b INT")
        table.insert("(2, 20)")
        with target.no_commit(), pytest.raises(StreamingQueryException):
            query.processAllAvailable()
        condition = query._jsq.exception().get().cause().getCondition()
    finally:
        query.stop()

    assert condition == "DELTA_SCHEMA_CHANGED_WITH_VERSION"
    assert table.log.columns == {"a": (1, "a"), "b": (2, "b")}
    assert target.rows() == [(1,)]


def test_restarted_source_continues_after_an_add(table: Table, target: Table) -> None:
    table.create_tracked("a INT, b INT")
    table.insert("(1, 2)")
    run(stream(table), target.path)
    table.alter("ADD COLUMN c INT")
    table.insert("(3, 4, 5)")

    run(stream(table), target.path, mergeSchema="true")

    assert table.log.flag == "false"
    assert target.rows() == [(1, 2, None), (3, 4, 5)]
