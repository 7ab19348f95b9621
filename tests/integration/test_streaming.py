# SPDX-License-Identifier: Apache-2.0
"""Streams: a sink that evolves the schema or creates a table, a source whose schema changes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from delta_table import NAME_MODE, TRACKED, Table
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame
from pyspark.sql.streaming import StreamingQuery
from table_log import FEATURE, UUID

DEFAULTS = "spark.databricks.delta.properties.defaults"
INCOMPATIBLE_CHANGE = "DELTA_STREAMING_INCOMPATIBLE_SCHEMA_CHANGE_USE_SCHEMA_LOG"

SetConf = Callable[[str, str], None]


def start(rows: DataFrame, target: Path, mode: str = "append", **options: str) -> StreamingQuery:
    """A stream into a table until there is no more input, with a checkpoint beside the table."""
    writer = rows.writeStream.format("delta").outputMode(mode).trigger(availableNow=True)
    checkpoint = str(target.with_name(f"{target.name}-checkpoint"))
    return writer.options(checkpointLocation=checkpoint, **options).start(str(target))


def run(rows: DataFrame, target: Path, mode: str = "append", **options: str) -> None:
    start(rows, target, mode, **options).awaitTermination()


def condition_of_failure(rows: DataFrame, target: Path) -> str:
    """The condition of what ended a stream; Spark's own is always STREAM_FAILED."""
    query = start(rows, target)
    with pytest.raises(StreamingQueryException):
        query.awaitTermination()
    return query._jsq.exception().get().cause().getCondition()


def stream(table: Table, **options: str) -> DataFrame:
    return table.spark.readStream.format("delta").options(**options).load(str(table.path))


@pytest.fixture
def source(table: Table) -> Table:
    """An untracked table that feeds a stream."""
    feed = Table(table.spark, table.path.with_name("source"))
    return feed.create("a INT, b INT, s STRUCT<x: INT, y: INT>")


# The sink.


def test_a_sink_that_may_not_merge_the_schema_is_refused(source: Table, table: Table) -> None:
    table.create_tracked("a INT")
    source.insert("(1, 2, struct(3, 4))")

    with table.no_commit():
        assert condition_of_failure(stream(source), table.path) == "DELTA_METADATA_MISMATCH"

    assert (table.log.flag, table.log.columns) == ("false", {"a": (1, "a")})


def test_new_columns_of_a_sink_have_logical_names_in_the_files_of_that_commit(
    source: Table, table: Table
) -> None:
    table.create_tracked("a INT, s STRUCT<x: INT>")
    table.insert("(0, struct(0))")
    source.insert("(1, 2, struct(3, 4))")
    with table.one_commit():
        run(stream(source), table.path, mergeSchema="true")

    assert (table.log.operation, table.log.flag) == ("STREAMING UPDATE", "false")
    assert table.log.columns == {
        "a": (1, "a"),
        "b": (5, "b"),
        "s": (2, "s"),
        "s.x": (3, "x"),
        "s.y": (4, "y"),
    }
    assert table.log.max_column_id == 5
    assert table.log.written_columns() == ["a", "b", "s.x", "s.y"]
    assert table.rows("a, b, s.x, s.y") == [(0, None, 0, None), (1, 2, 3, 4)]


def test_after_a_drop_new_columns_of_a_sink_have_uuid_names(source: Table, table: Table) -> None:
    table.create_tracked("a INT, b INT, s STRUCT<x: INT, y: INT>")
    table.insert("(0, 9, struct(0, 9))")
    table.alter("DROP COLUMN b")
    table.alter("RENAME COLUMN s.y TO z")
    source.insert("(1, 2, struct(3, 4))")
    with table.one_commit():
        run(stream(source), table.path, mergeSchema="true")

    assert table.log.flag == "true"
    assert table.log.columns["s.z"] == (5, "y")
    assert {table.log.columns["b"], table.log.columns["s.y"]} == {(6, UUID), (7, UUID)}
    assert table.log.max_column_id == 7
    assert table.log.written_columns() == ["a", UUID, f"s.{UUID}", "s.x"]
    assert table.rows("a, b, s.x, s.y, s.z") == [(0, None, 0, None, 9), (1, 2, 3, 4, None)]


def test_a_complete_sink_that_may_overwrite_the_schema_sets_the_flag(
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
    ("mode", "columns"), [("name", {"a": (1, "a"), "b": (2, "b")}), ("none", None)]
)
def test_a_table_that_a_sink_creates_is_tracked_by_default(
    source: Table,
    table: Table,
    conf: SetConf,
    mode: str,
    columns: dict[str, tuple[int, str]] | None,
) -> None:
    source.insert("(1, 2, NULL)")
    conf(f"{DEFAULTS}.feature.{FEATURE}", "supported")
    conf(f"{DEFAULTS}.columnMapping.mode", mode)
    run(stream(source).select("a", "b"), table.path)

    assert (table.log.at(0).is_tracked, table.log.at(0).flag) == (True, "false")
    assert table.log.columns == (columns or {"a": (None, None), "b": (None, None)})
    assert table.log.written_columns() == ["a", "b"]
    assert table.rows() == [(1, 2)]


def test_a_sink_writes_under_the_physical_names_after_a_rename(source: Table, table: Table) -> None:
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


# The source: Delta decides what a stream may read, tracked or not.


@pytest.mark.parametrize(
    ("properties", "change", "values", "condition"),
    [
        ([TRACKED], "RENAME COLUMN b TO c", "(3, 4)", INCOMPATIBLE_CHANGE),
        ([TRACKED], "DROP COLUMN b", "(3)", INCOMPATIBLE_CHANGE),
        ([], "RENAME COLUMN b TO c", "(3, 4)", INCOMPATIBLE_CHANGE),
    ],
)
def test_a_source_across_a_schema_change_gets_deltas_condition(
    table: Table, properties: list[str], change: str, values: str, condition: str
) -> None:
    target = Table(table.spark, table.path.with_name("target"))
    table.create("a INT, b INT", NAME_MODE, *properties)
    table.insert("(1, 2)")
    run(stream(table), target.path)
    rows = stream(table)
    table.alter(change)
    table.insert(values)

    with target.no_commit():
        assert condition_of_failure(rows, target.path) == condition

    assert target.rows() == [(1, 2)]


def test_an_add_ends_a_stream_that_runs(table: Table) -> None:
    target = Table(table.spark, table.path.with_name("target"))
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


def test_a_source_goes_on_after_an_add_once_it_is_started_anew(table: Table) -> None:
    target = Table(table.spark, table.path.with_name("target"))
    table.create_tracked("a INT, b INT")
    table.insert("(1, 2)")
    run(stream(table), target.path)
    table.alter("ADD COLUMN c INT")
    table.insert("(3, 4, 5)")

    run(stream(table), target.path, mergeSchema="true")

    assert table.log.flag == "false"
    assert target.rows() == [(1, 2, None), (3, 4, 5)]
