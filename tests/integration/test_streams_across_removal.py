# SPDX-License-Identifier: Apache-2.0
"""Streams that read a table across a removal of column mapping, with their own checkpoints.

The table has a file with a column `b` that was dropped, and a later column `b`. Read with the names
of another version, this file shows null for `k`, and the dropped values for `b`.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame

from spark_ext import UsageTracking
from tests.support.delta_table import NAME_MODE, TRACKED, Table
from tests.support.name_changes import map_again, remove_mapping
from tests.support.prepared import made_once
from tests.support.removal import OPERATION
from tests.support.variants import in_matrix

OTHER_STREAM = "DELTA_STREAMING_INCOMPATIBLE_SCHEMA_CHANGE_USE_SCHEMA_LOG"
RESTART = "USAGE_TRACKING_STREAM_RESTART_REQUIRED"
CHANGES = "'delta.enableChangeDataFeed' = 'true'"
OLD = [{"k": 1, "b": None}, {"k": 2, "b": 20}]

pytestmark = pytest.mark.without("auto-compact")

Row = dict[str, Any]


@made_once
def used(table: Table, *properties: str, partitioned_by: str = "") -> Table:
    table.create("a INT, b INT", TRACKED, NAME_MODE, *properties, partitioned_by=partitioned_by)
    table.insert("(1, 100)")
    table.alter("DROP COLUMN b")
    table.alter("ADD COLUMN b INT")
    table.alter("RENAME COLUMN a TO k")
    table.insert("(2, 20)")
    return table


def align(table: Table) -> None:
    UsageTracking.forPath(table.spark, table.path).align_names(progress=None)


def rewrite(table: Table) -> None:
    remove_mapping(table, "rewrite")


def drop_feature(table: Table) -> None:
    UsageTracking.forPath(table.spark, table.path).remove_column_mapping(
        until="readers", progress=None
    )


WAYS = pytest.mark.parametrize(
    "remove", [remove_mapping, align, *in_matrix(rewrite), *in_matrix(drop_feature)]
)


class Stream:
    """A stream from a table, whose sink keeps each batch in a JSON file."""

    def __init__(self, table: Table, folder: Path, **options: str) -> None:
        self.table = table
        self.checkpoint = folder / "checkpoint"
        self.out = folder / "out"
        self.out.mkdir(parents=True)
        self.options = options

    def frame(self) -> DataFrame:
        rows = self.table.spark.readStream.format("delta").options(**self.options)
        return rows.load(str(self.table.path)).drop("_commit_timestamp")

    def start(self, *, failing: int = -1, **trigger: Any) -> Any:
        def keep(rows: DataFrame, batch: int) -> None:
            if batch == failing:
                raise RuntimeError("the sink fails")
            values = [row.asDict(recursive=True) for row in rows.collect()]
            (self.out / f"{batch}.json").write_text(json.dumps(values))

        return (
            self.frame()
            .writeStream.foreachBatch(keep)
            .option("checkpointLocation", str(self.checkpoint))
            .trigger(**(trigger or {"availableNow": True}))
            .start()
        )

    def run(self, **options: Any) -> list[Row]:
        """Reads all rows that there are, and returns all rows that the sink has."""
        self.start(**options).awaitTermination()
        return self.rows()

    def fail_in(self, batch: int) -> None:
        """Lets the sink fail, so that the batch is planned and not committed."""
        with pytest.raises(StreamingQueryException, match="the sink fails"):
            self.run(failing=batch)

    def assert_refused(self, condition: str = OTHER_STREAM) -> None:
        """Asserts that the stream reads nothing."""
        before = self.rows()
        with pytest.raises(StreamingQueryException) as stopped:
            self.run()
        assert f"[{condition}" in str(stopped.value)
        assert self.rows() == before

    def rows(self) -> list[Row]:
        batches = [json.loads(file.read_text()) for file in self.out.glob("*.json")]
        return sorted((row for batch in batches for row in batch), key=json.dumps)

    def offsets(self) -> list[tuple[int, int]]:
        """The version and the index at which each batch ends."""
        files = sorted((self.checkpoint / "offsets").glob("[0-9]*"), key=_number)
        ends = [json.loads(file.read_text().splitlines()[-1]) for file in files]
        return [(end["reservoirVersion"], end["index"]) for end in ends]

    def forget_planned(self) -> None:
        """Deletes the plan of a batch that was not committed, as if the run had ended before."""
        planned = {file.name for file in (self.checkpoint / "offsets").glob("[0-9]*")}
        done = {file.name for file in (self.checkpoint / "commits").glob("[0-9]*")}
        (left,) = planned - done
        (self.checkpoint / "offsets" / left).unlink()
        (self.checkpoint / "offsets" / f".{left}.crc").unlink(missing_ok=True)


def _number(file: Path) -> int:
    return int(file.name)


def removal_in(table: Table) -> int:
    """The newest version that removed column mapping."""
    log = table.log
    return max(v for v in range(log.version + 1) if log.at(v).operation == OPERATION)


def sorted_rows(*rows: Row) -> list[Row]:
    return sorted(rows, key=json.dumps)


# Streams that continue.


@pytest.mark.every_variant
@WAYS
def test_stream_that_read_everything_continues(
    table: Table, tmp_path: Path, remove: Callable[[Table], None]
) -> None:
    stream = Stream(used(table), tmp_path / "s")
    assert stream.run() == OLD
    remove(table)
    table.insert("(3, 30)")
    assert stream.run() == [*OLD, {"k": 3, "b": 30}]
    assert stream.run() == [*OLD, {"k": 3, "b": 30}]
    table.insert("(4, 40)")

    assert stream.run() == [*OLD, {"k": 3, "b": 30}, {"k": 4, "b": 40}]


@pytest.mark.every_variant
@WAYS
@pytest.mark.parametrize("options", [{}, {"maxFilesPerTrigger": "1"}])
def test_streams_at_different_versions_read_each_row_once(
    table: Table, tmp_path: Path, remove: Callable[[Table], None], options: dict[str, str]
) -> None:
    used(table)
    streams = [Stream(table, tmp_path / f"s{i}", **options) for i in range(4)]
    for i, stream in enumerate(streams[:3]):
        stream.run()
        table.insert(f"({3 + i}, {30 + i})")
    remove(table)
    table.insert("(6, 60)")
    table.insert("(7, 70)")
    new = [*({"k": 3 + i, "b": 30 + i} for i in range(3)), {"k": 6, "b": 60}, {"k": 7, "b": 70}]

    for stream in streams:
        assert stream.run() == sorted_rows(*OLD, *new)
    for stream in streams[:3]:
        assert removal_in(table) in [version for version, index in stream.offsets() if index < 0]


@pytest.mark.parametrize("is_planned", [True, False])
def test_stream_within_its_first_snapshot_continues(
    table: Table, tmp_path: Path, is_planned: bool
) -> None:
    used(table).insert("(3, 30)")
    stream = Stream(table, tmp_path / "s", maxFilesPerTrigger="1")
    stream.fail_in(batch=1)
    if not is_planned:
        stream.forget_planned()
    table.insert("(4, 40)")
    remove_mapping(table)
    table.insert("(5, 50)")

    new = [{"k": number, "b": 10 * number} for number in (3, 4, 5)]
    assert stream.run() == [*OLD, *new]


def test_batch_that_was_planned_before_the_removal_is_read_once(
    table: Table, tmp_path: Path
) -> None:
    stream = Stream(used(table), tmp_path / "s")
    stream.fail_in(batch=0)
    remove_mapping(table)
    table.insert("(3, 30)")

    assert stream.run() == [*OLD, {"k": 3, "b": 30}]


def test_stream_within_a_version_of_many_files_continues(table: Table, tmp_path: Path) -> None:
    stream = Stream(used(table), tmp_path / "s", maxFilesPerTrigger="1")
    stream.run()
    table.spark.range(10, 14, 1, 4).selectExpr("CAST(id AS INT) k", "10 b").write.format(
        "delta"
    ).mode("append").save(str(table.path))
    stream.fail_in(batch=len(stream.offsets()) + 1)
    stream.forget_planned()
    assert stream.offsets()[-1][1] == 0
    remove_mapping(table)
    table.insert("(3, 30)")

    assert stream.run() == sorted_rows(
        *OLD, {"k": 3, "b": 30}, *({"k": k, "b": 10} for k in range(10, 14))
    )


def test_running_stream_asks_for_a_restart_and_then_reads_each_row_once(
    table: Table, tmp_path: Path
) -> None:
    stream = Stream(used(table), tmp_path / "s")
    query = stream.start(processingTime="0 seconds")
    try:
        query.processAllAvailable()
        table.insert("(3, 30)")
        query.processAllAvailable()
        remove_mapping(table)
        table.insert("(4, 40)")
        with pytest.raises(StreamingQueryException) as stopped:
            query.processAllAvailable()
        cause = query._jsq.exception().get().cause()
    finally:
        query.stop()

    assert f"[{RESTART}]" in str(stopped.value)
    assert (cause.getCondition(), cause.getSqlState()) == (RESTART, "55000")
    assert cause.getMessageParameters()["version"] == str(removal_in(table))
    assert stream.rows() == [*OLD, {"k": 3, "b": 30}]
    assert stream.run() == [*OLD, {"k": 3, "b": 30}, {"k": 4, "b": 40}]


def test_file_sink_has_each_row_once(table: Table, tmp_path: Path) -> None:
    def run() -> list[Row]:
        rows = table.spark.readStream.format("delta").load(str(table.path))
        writer = rows.writeStream.format("parquet").trigger(availableNow=True)
        writer.option("checkpointLocation", str(tmp_path / "c")).start(
            str(tmp_path / "out")
        ).awaitTermination()
        files = sorted((tmp_path / "out").glob("*.parquet"))
        tables = [pyarrow.parquet.ParquetFile(file).read() for file in files]
        return sorted_rows(*(row for each in tables for row in each.to_pylist()))

    used(table)
    assert run() == OLD
    table.insert("(3, 30)")
    remove_mapping(table)
    table.insert("(4, 40)")

    assert run() == [*OLD, {"k": 3, "b": 30}, {"k": 4, "b": 40}]


def test_two_sources_of_one_query_continue(table: Table, tmp_path: Path) -> None:
    class Twice(Stream):
        def frame(self) -> DataFrame:
            return super().frame().union(super().frame().selectExpr("k + 100", "b"))

    stream = Twice(used(table), tmp_path / "s")
    stream.run()
    table.insert("(3, 30)")
    remove_mapping(table)
    table.insert("(4, 40)")

    rows = [*OLD, {"k": 3, "b": 30}, {"k": 4, "b": 40}]
    assert stream.run() == sorted_rows(*rows, *({**row, "k": row["k"] + 100} for row in rows))


def test_trigger_once_needs_a_run_for_each_side(table: Table, tmp_path: Path) -> None:
    stream = Stream(used(table), tmp_path / "s")
    stream.run()
    table.insert("(3, 30)")
    remove_mapping(table)
    table.insert("(4, 40)")

    assert stream.run(once=True) == [*OLD, {"k": 3, "b": 30}]
    assert stream.run(once=True) == [*OLD, {"k": 3, "b": 30}, {"k": 4, "b": 40}]


@pytest.mark.parametrize("is_read", [True, False])
def test_change_feed_continues(table: Table, tmp_path: Path, is_read: bool) -> None:
    stream = Stream(used(table, CHANGES), tmp_path / "s", readChangeFeed="true")
    stream.run()
    table.spark.sql(f"UPDATE {table.name} SET b = 21 WHERE k = 2")
    if is_read:
        stream.run()
    remove_mapping(table)
    table.spark.sql(f"DELETE FROM {table.name} WHERE k = 1")
    table.insert("(3, 30)")

    assert [
        (row["k"], row["b"], row["_change_type"])
        for row in sorted(stream.run(), key=lambda row: (row["_commit_version"], str(row)))
    ] == [
        (1, None, "insert"),
        (2, 20, "insert"),
        (2, 20, "update_preimage"),
        (2, 21, "update_postimage"),
        (1, None, "delete"),
        (3, 30, "insert"),
    ]


def test_stream_of_a_renamed_partition_column_continues(table: Table, tmp_path: Path) -> None:
    stream = Stream(used(table, partitioned_by="a"), tmp_path / "s")
    stream.run()
    table.insert("(3, 30)")
    remove_mapping(table)
    table.insert("(4, 40)")

    rows = [{"k": row["k"], "b": row["b"]} for row in stream.run()]
    assert sorted_rows(*rows) == [*OLD, {"k": 3, "b": 30}, {"k": 4, "b": 40}]


def test_stream_with_deletion_vectors_continues(table: Table, tmp_path: Path) -> None:
    used(table, "'delta.enableDeletionVectors' = 'true'")
    table.spark.sql(
        f"INSERT INTO {table.name} SELECT /*+ COALESCE(1) */ * FROM VALUES (3, 30), (4, 40)"
    )
    stream = Stream(table, tmp_path / "s", skipChangeCommits="true", maxFilesPerTrigger="1")
    table.spark.sql(f"DELETE FROM {table.name} WHERE k = 3")
    stream.fail_in(batch=1)
    remove_mapping(table)
    table.insert("(5, 50)")

    assert stream.run() == [*OLD, {"k": 4, "b": 40}, {"k": 5, "b": 50}]


def test_stream_of_a_table_with_readable_names_continues(table: Table, tmp_path: Path) -> None:
    table.create_tracked("k INT, b INT")
    table.insert("(1, 10)")
    stream = Stream(table, tmp_path / "s")
    stream.run()
    table.insert("(2, 20)")
    remove_mapping(table)
    table.insert("(3, 30)")

    assert stream.run() == [{"k": number, "b": 10 * number} for number in (1, 2, 3)]


@pytest.mark.matrix
def test_stream_of_a_table_in_mode_id_continues(table: Table, tmp_path: Path) -> None:
    table.create("a INT, b INT", TRACKED, "'delta.columnMapping.mode' = 'id'")
    table.insert("(1, 10)")
    table.alter("RENAME COLUMN a TO k")
    stream = Stream(table, tmp_path / "s")
    stream.run()
    table.insert("(2, 20)")
    remove_mapping(table)
    table.insert("(3, 30)")

    assert stream.run() == [{"k": number, "b": 10 * number} for number in (1, 2, 3)]


def test_new_stream_from_an_earlier_version_reads_each_row_once(
    table: Table, tmp_path: Path
) -> None:
    start = used(table).log.version
    remove_mapping(table)
    table.insert("(3, 30)")
    stream = Stream(table, tmp_path / "s", startingVersion=str(start))

    assert stream.run() == [{"k": 2, "b": 20}, {"k": 3, "b": 30}]


# Added columns.


def test_column_that_was_added_after_the_removal_is_null_before(
    table: Table, tmp_path: Path
) -> None:
    used(table)
    drained, behind = (Stream(table, tmp_path / name) for name in "ab")
    behind.run()
    table.insert("(3, 30)")
    drained.run()
    remove_mapping(table)
    table.alter("ADD COLUMN a INT FIRST")
    table.insert("(4, 44, 40)")

    new = {"a": 4, "k": 44, "b": 40}
    assert drained.run() == sorted_rows(*OLD, {"k": 3, "b": 30}, new)
    assert behind.run() == sorted_rows(*OLD, {"a": None, "k": 3, "b": 30}, new)


@pytest.mark.every_variant
@pytest.mark.parametrize("added", ["a", "c"])
def test_two_removals_with_an_added_column_in_between_are_crossed(
    table: Table, tmp_path: Path, added: str
) -> None:
    """The name `a` is in older files, as the physical name of `k`."""
    stream = Stream(used(table), tmp_path / "s")
    stream.run()
    table.insert("(3, 30)")
    first = table.log.version + 1
    remove_mapping(table)
    map_again(table)
    table.insert("(4, 40)")
    table.alter(f"ADD COLUMN {added} INT")
    assert table.log.physical_names[added] != added
    table.insert("(5, 50, 500)")
    remove_mapping(table)
    table.insert("(6, 60, 600)")

    def row(number: int, value: int | None = None) -> Row:
        return {"k": number, "b": 10 * number, added: value}

    assert stream.run() == sorted_rows(*OLD, row(3), row(4), row(5, 500), row(6, 600))
    assert {first, removal_in(table)} <= {version for version, _ in stream.offsets()}


# Streams that stay refused.


def test_batch_from_both_sides_is_refused(table: Table, tmp_path: Path) -> None:
    """A program without spark-ext and with Delta's unsafe setting may have planned such a batch."""
    stream = Stream(used(table), tmp_path / "s")
    stream.run()
    table.insert("(3, 30)")
    stream.fail_in(batch=1)
    remove_mapping(table)
    table.insert("(4, 40)")
    planned = stream.checkpoint / "offsets" / "1"
    *head, end = planned.read_text().splitlines()
    later = json.dumps(json.loads(end) | {"reservoirVersion": table.log.version + 1})
    planned.write_text("\n".join([*head, later]))
    planned.with_name(".1.crc").unlink()

    stream.assert_refused()


def restore(table: Table) -> None:
    version = table.log.version
    remove_mapping(table)
    table.spark.sql(f"RESTORE {table.name} TO VERSION AS OF {version}")


def removed_and(change: str) -> Callable[[Table], None]:
    def act(table: Table) -> None:
        remove_mapping(table)
        map_again(table)
        table.alter(change)

    return act


def add_nested(table: Table) -> None:
    table.alter("ADD COLUMN s STRUCT<x: INT>")
    remove_mapping(table)
    table.alter("ADD COLUMN s.y INT")


def replace(table: Table) -> None:
    remove_mapping(table)
    table.spark.sql(f"REPLACE TABLE {table.name} (k INT, b INT) USING delta")


def rename_first(table: Table) -> None:
    table.alter("RENAME COLUMN b TO c")
    remove_mapping(table)


def drop_and_add_first(table: Table) -> None:
    table.alter("DROP COLUMN b")
    table.alter("ADD COLUMN b INT")
    remove_mapping(table)


@pytest.mark.every_variant
@pytest.mark.parametrize(
    "change",
    [
        restore,
        rename_first,
        drop_and_add_first,
        *in_matrix(removed_and("RENAME COLUMN b TO c")),
        *in_matrix(removed_and("DROP COLUMN b")),
        *in_matrix(add_nested),
        *in_matrix(replace),
    ],
)
@pytest.mark.parametrize("is_behind", [True, False])
def test_stream_is_refused_when_other_columns_changed_too(
    table: Table, tmp_path: Path, change: Callable[[Table], None], is_behind: bool
) -> None:
    stream = Stream(used(table), tmp_path / "s", skipChangeCommits="true")
    stream.run()
    if is_behind:
        table.insert("(3, 30)")
    change(table)

    stream.assert_refused()


def test_stream_is_refused_when_its_version_is_not_in_the_log(table: Table, tmp_path: Path) -> None:
    stream = Stream(used(table), tmp_path / "s")
    stream.run()
    remove_mapping(table)
    table.insert("(3, 30)")
    table.cut_log(table.log.version)

    with pytest.raises(StreamingQueryException, match=r"\[DELTA_"):
        stream.run()
    assert stream.rows() == OLD
