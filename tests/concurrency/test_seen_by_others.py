# SPDX-License-Identifier: Apache-2.0
"""Tests what other writers and readers see when a table removes column mapping.

Most tests are rows of a table in docs/concurrent-writers.md. A writer may fail
once with a condition that recommends another run, which succeeds.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from delta.tables import DeltaTable
from pyspark.errors import StreamingQueryException
from pyspark.sql import Column, DataFrame
from pyspark.sql.functions import col, udf
from pyspark.sql.streaming.readwriter import DataStreamWriter

from tests.concurrency.statements import named_condition
from tests.support.delta_table import NAME_MODE, TRACKED, Table, refusal
from tests.support.deltalake_readers import read_by_datafusion, read_by_pyarrow
from tests.support.held_statement import HeldStatement, Step, with_conflicts
from tests.support.prepared import made_once
from tests.support.removal import NONE_MODE, OPERATION, insert_one_file
from tests.support.waiting import wait_until

METADATA_CHANGED = "DELTA_METADATA_CHANGED"
STALE = "DELTA_SCHEMA_CHANGE_SINCE_ANALYSIS"
OTHER_CHANGES = "DELTA_CHANGE_DATA_FEED_INCOMPATIBLE_DATA_SCHEMA"


@pytest.fixture
def used(table: Table) -> Table:
    return renamed(table)


@made_once
def renamed(table: Table) -> None:
    """Makes a table of one row, in which `b` was renamed to `c`."""
    properties = (
        "'delta.enableChangeDataFeed' = 'true'",
        "'delta.enableDeletionVectors' = 'false'",
    )
    table.create("a INT, b STRING", TRACKED, NAME_MODE, *properties)
    table.insert("(1, 'x')")
    table.alter("RENAME COLUMN b TO c")


def remove_mapping(table: Table) -> None:
    table.alter(f"SET TBLPROPERTIES ({NONE_MODE})")


def refused_once(table: Table, write: Callable[[], object]) -> None:
    """Asserts that a write fails if mapping is removed before its commit, and then succeeds."""
    error = with_conflicts(table.spark, write, Step.COMMIT, [lambda: remove_mapping(table)])

    assert error is not None
    assert named_condition(error) == METADATA_CHANGED
    assert table.log.operation == OPERATION
    write()


def test_batch_append_fails_once(used: Table) -> None:
    refused_once(used, lambda: used.insert("(2, 'y')"))

    assert used.selected() == [(1, "x"), (2, "y")]


def test_merge_fails_once(used: Table) -> None:
    refused_once(
        used,
        lambda: used.spark.sql(
            f"MERGE INTO {used.name} t USING (SELECT 1 AS k) ON a = k"
            " WHEN MATCHED THEN UPDATE SET c = 'm'"
        ),
    )

    assert used.selected() == [(1, "m")]


def test_update_fails_once(used: Table) -> None:
    refused_once(used, lambda: used.spark.sql(f"UPDATE {used.name} SET c = 'u' WHERE a = 1"))

    assert used.selected() == [(1, "u")]


@pytest.mark.parametrize("vectors", ["false", "true"])
def test_delete_fails_once(used: Table, vectors: str) -> None:
    used.alter(f"SET TBLPROPERTIES ('delta.enableDeletionVectors' = '{vectors}')")
    insert_one_file(used, "(2, 'y'), (3, 'z')")

    refused_once(used, lambda: used.spark.sql(f"DELETE FROM {used.name} WHERE a = 3"))

    assert used.selected() == [(1, "x"), (2, "y")]


def test_append_fails_once_when_the_stage_readers_drops_the_feature(used: Table) -> None:
    remove_mapping(used)

    error = with_conflicts(
        used.spark,
        lambda: used.insert("(2, 'y')"),
        Step.COMMIT,
        [lambda: used.alter("DROP FEATURE columnMapping")],
    )

    assert error is not None
    assert named_condition(error) == "DELTA_PROTOCOL_CHANGED"
    assert "checkpointProtection" in used.log.protocol["writerFeatures"]
    used.insert("(2, 'y')")
    assert used.selected() == [(1, "x"), (2, "y")]


def source_of(table: Table) -> Table:
    return Table(table.spark, table.path.with_name("source")).create("a INT, c STRING")


def written(
    table: Table, source: Table, checkpoint: Path, held: Column | None = None
) -> DataStreamWriter:
    """Returns a stream of the source's files, one file a batch; `held` replaces column `c`."""
    stream = table.spark.readStream.format("delta").option("maxFilesPerTrigger", 1)
    rows = stream.load(str(source.path))
    if held is not None:
        rows = rows.withColumn("c", held)
    return rows.writeStream.option("checkpointLocation", str(checkpoint)).trigger(availableNow=True)


def run(writer: DataStreamWriter, target: Path | None = None) -> None:
    query = writer.format("delta").start(str(target)) if target else writer.start()
    query.awaitTermination()


def condition_of(writer: DataStreamWriter, target: Path | None = None) -> str:
    with pytest.raises(StreamingQueryException) as stopped:
        run(writer, target)
    return named_in(stopped.value)


def named_in(error: StreamingQueryException) -> str:
    [condition, *_] = re.findall(r"\[(DELTA_[A-Z_]+)", str(error))
    return condition


class Gate:
    """Holds a task: the task reads a pipe until the test opens the gate."""

    def __init__(self, pipe: Path) -> None:
        os.mkfifo(pipe)
        self._pipe = str(pipe)
        self._end = -1

    def hold(self, column: str) -> Column:
        pipe = self._pipe
        return udf(lambda value: open(pipe).read() or value)(col(column))

    @property
    def is_reached(self) -> bool:
        try:
            self._end = os.open(self._pipe, os.O_WRONLY | os.O_NONBLOCK)
        except OSError:
            return False  # no task reads the pipe
        return True

    def open(self) -> None:
        os.close(self._end)


def test_streaming_sink_fails_once_and_writes_its_batch_once(
    used: Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The transaction runs on a thread of the stream, so the test holds a task."""
    monkeypatch.setattr(used.spark.sparkContext, "pythonExec", sys.executable)
    source = source_of(used)
    source.insert("(2, 'y')")
    checkpoint = tmp_path / "checkpoint"
    gate = Gate(tmp_path / "gate")

    query = written(used, source, checkpoint, gate.hold("c")).format("delta").start(str(used.path))
    wait_until(lambda: gate.is_reached, "a batch that is computed")
    remove_mapping(used)
    gate.open()

    with pytest.raises(StreamingQueryException) as stopped:
        query.awaitTermination()
    assert named_in(stopped.value) == METADATA_CHANGED
    assert used.log.operation == OPERATION
    with used.one_commit():
        run(written(used, source, checkpoint), used.path)
    with used.no_commit():
        run(written(used, source, checkpoint), used.path)
    assert used.log.operation == "STREAMING UPDATE"
    assert [transaction["version"] for transaction in used.log.actions("txn")] == [0]
    assert used.selected() == [(1, "x"), (2, "y")]


def test_foreach_batch_continues_with_a_new_delta_table(used: Table, tmp_path: Path) -> None:
    source = source_of(used)
    source.insert("(1, 'm')")
    source.insert("(2, 'y')")
    batches: list[int] = []

    def merge_into(target: DeltaTable) -> DataStreamWriter:
        def merge(rows: DataFrame, number: int) -> None:
            batches.append(number)
            if batches == [0, 1]:
                remove_mapping(used)
            into = target.alias("t").merge(rows.alias("s"), "t.a = s.a")
            into.whenMatchedUpdateAll().whenNotMatchedInsertAll().execute()

        return written(used, source, tmp_path / "checkpoint").foreachBatch(merge)

    before = DeltaTable.forPath(used.spark, str(used.path))
    assert condition_of(merge_into(before)) == STALE
    assert used.log.operation == OPERATION
    assert used.selected() == [(1, "m")]
    run(merge_into(DeltaTable.forPath(used.spark, str(used.path))))

    assert batches == [0, 1, 1]
    assert used.selected() == [(1, "m"), (2, "y")]


def test_sink_started_after_the_removal_continues(used: Table, tmp_path: Path) -> None:
    source = source_of(used)
    source.insert("(2, 'y')")
    run(written(used, source, tmp_path / "checkpoint"), used.path)
    remove_mapping(used)
    source.insert("(3, 'z')")

    run(written(used, source, tmp_path / "checkpoint"), used.path)

    assert used.selected() == [(1, "x"), (2, "y"), (3, "z")]


# Readers.


def stream_from(table: Table, checkpoint: Path, **options: int) -> DataStreamWriter:
    rows = table.spark.readStream.format("delta").options(**options).load(str(table.path))
    return rows.writeStream.option("checkpointLocation", str(checkpoint)).trigger(availableNow=True)


def test_stream_from_the_table_continues_with_its_checkpoint(used: Table, tmp_path: Path) -> None:
    target, checkpoint = tmp_path / "target", tmp_path / "checkpoint"
    run(stream_from(used, checkpoint), target)
    remove_mapping(used)
    used.insert("(2, 'y')")

    run(stream_from(used, checkpoint), target)

    assert Table(used.spark, target).selected() == [(1, "x"), (2, "y")]


def test_new_checkpoint_with_a_starting_version_reads_later_rows(
    used: Table, tmp_path: Path
) -> None:
    target = tmp_path / "target"
    run(stream_from(used, tmp_path / "checkpoint"), target)
    remove_mapping(used)
    removal = used.log.version
    used.insert("(2, 'y')")
    used.insert("(3, 'z')")

    run(stream_from(used, tmp_path / "fresh", startingVersion=removal + 1), target)

    assert Table(used.spark, target).selected() == [(1, "x"), (2, "y"), (3, "z")]


def test_change_feed_is_read_in_two_parts(used: Table) -> None:
    remove_mapping(used)
    removal = used.log.version
    used.insert("(2, 'y')")

    def changes(start: int, end: int) -> list[tuple[object, ...]]:
        rows = (
            used.spark.read.format("delta")
            .option("readChangeFeed", "true")
            .option("startingVersion", start)
            .option("endingVersion", end)
            .load(str(used.path))
        )
        return [tuple(row) for row in rows.select("a", "c", "_change_type").collect()]

    with used.refusal(OTHER_CHANGES):
        changes(2, removal + 1)
    assert changes(2, removal - 1) == []
    assert changes(removal, removal + 1) == [(2, "y", "insert")]


def test_running_query_continues_and_a_join_with_its_stale_frame_is_refused(used: Table) -> None:
    rows = used.frame()
    planned = rows._jdf.queryExecution().executedPlan()
    remove_mapping(used)

    assert [row.get(0) for row in planned.executeCollectPublic()] == [1]
    with refusal(STALE):
        used.spark.read.format("delta").load(str(used.path)).join(rows, "a").collect()


def test_deltalake_reads_the_values_after_the_removal(used: Table) -> None:
    assert read_by_pyarrow(used.path).to_pylist() == [{"a": 1, "c": None}]
    assert read_by_datafusion(used.path).to_pylist() == [{"a": 1, "c": "x"}]

    remove_mapping(used)

    assert read_by_pyarrow(used.path).to_pylist() == [{"a": 1, "c": "x"}]
    assert read_by_datafusion(used.path).to_pylist() == [{"a": 1, "c": "x"}]


def test_statement_commits_when_its_transaction_starts_after_a_removal(used: Table) -> None:
    with HeldStatement(used.spark, lambda: used.insert("(2, 'y')"), Step.START) as held:
        remove_mapping(used)
        assert held.release() is None

    assert used.selected() == [(1, "x"), (2, "y")]
