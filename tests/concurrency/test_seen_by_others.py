# SPDX-License-Identifier: Apache-2.0
"""What each kind of writer and reader sees at the moment in which a table leaves column mapping.

Each test is a row of the table in docs/leaving.md. A writer may fail once, with a condition that
says to run it again, and is right then.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from delta_table import NAME_MODE, TRACKED, Table, refusal
from deltalake_readers import read_by_datafusion, read_by_pyarrow
from held_statement import HeldStatement, Step, overtaken
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame
from pyspark.sql.streaming import DataStreamWriter
from removal import NONE_MODE
from statements import named_condition

METADATA_CHANGED = "DELTA_METADATA_CHANGED"
OTHER_STREAM = "DELTA_STREAMING_INCOMPATIBLE_SCHEMA_CHANGE_USE_SCHEMA_LOG"
OTHER_CHANGES = "DELTA_CHANGE_DATA_FEED_INCOMPATIBLE_DATA_SCHEMA"


@pytest.fixture
def used(table: Table) -> Table:
    """A table of one row, in which `c` has another name."""
    properties = (
        "'delta.enableChangeDataFeed' = 'true'",
        "'delta.enableDeletionVectors' = 'false'",
    )
    table.create("a INT, b STRING", TRACKED, NAME_MODE, *properties)
    table.insert("(1, 'x')")
    table.alter("RENAME COLUMN b TO c")
    return table


def leave(table: Table) -> None:
    table.alter(f"SET TBLPROPERTIES ({NONE_MODE})")


def refused_once(table: Table, write: Callable[[], object]) -> None:
    """The writer has written its files when the table is left."""
    error = overtaken(table.spark, write, Step.COMMIT, [lambda: leave(table)])

    assert error is not None
    assert named_condition(error) == METADATA_CHANGED
    write()


def test_a_batch_append_fails_once(used: Table) -> None:
    refused_once(used, lambda: used.insert("(2, 'y')"))

    assert used.rows() == [(1, "x"), (2, "y")]


def test_a_merge_fails_once(used: Table) -> None:
    refused_once(
        used,
        lambda: used.spark.sql(
            f"MERGE INTO {used.name} t USING (SELECT 1 AS k) ON a = k"
            " WHEN MATCHED THEN UPDATE SET c = 'm'"
        ),
    )

    assert used.rows() == [(1, "m")]


def test_an_update_and_a_delete_fail_once(used: Table) -> None:
    refused_once(used, lambda: used.spark.sql(f"UPDATE {used.name} SET c = 'u' WHERE a = 1"))

    assert used.rows() == [(1, "u")]


def source_of(table: Table) -> Table:
    return Table(table.spark, table.path.with_name("source")).create("a INT, c STRING")


def written(table: Table, source: Table, checkpoint: Path) -> DataStreamWriter:
    rows = table.spark.readStream.format("delta").load(str(source.path))
    return rows.writeStream.option("checkpointLocation", str(checkpoint)).trigger(availableNow=True)


def run(writer: DataStreamWriter, target: Path | None = None) -> None:
    query = writer.format("delta").start(str(target)) if target else writer.start()
    query.awaitTermination()


def condition_of(writer: DataStreamWriter, target: Path | None = None) -> str:
    with pytest.raises(StreamingQueryException) as stopped:
        run(writer, target)
    [condition, *_] = re.findall(r"\[(DELTA_[A-Z_]+)", str(stopped.value))
    return condition


def test_a_streaming_sink_ends_once_and_loses_nothing_when_it_is_started_again(
    used: Table, tmp_path: Path
) -> None:
    source = source_of(used)
    source.insert("(2, 'y')")
    is_left = False

    # The sink's own transaction is on a thread of the stream's, which nobody can hold: the table is
    # left while the batch is computed, and its plan is older than the names.
    def batch(rows: DataFrame, number: int) -> None:
        nonlocal is_left
        late = [] if is_left else [lambda: leave(used)]
        is_left = True
        error = overtaken(
            used.spark,
            lambda: (
                rows.write.format("delta")
                .mode("append")
                .option("txnAppId", "sink")
                .option("txnVersion", number)
                .save(str(used.path))
            ),
            Step.COMMIT,
            late,
        )
        if error:
            raise error

    checkpoint = tmp_path / "checkpoint"
    assert condition_of(written(used, source, checkpoint).foreachBatch(batch)) == METADATA_CHANGED
    run(written(used, source, checkpoint).foreachBatch(batch))

    assert used.rows() == [(1, "x"), (2, "y")]


def test_a_sink_that_is_started_after_it_goes_on(used: Table, tmp_path: Path) -> None:
    source = source_of(used)
    source.insert("(2, 'y')")
    run(written(used, source, tmp_path / "checkpoint"), used.path)
    leave(used)
    source.insert("(3, 'z')")

    run(written(used, source, tmp_path / "checkpoint"), used.path)

    assert used.rows() == [(1, "x"), (2, "y"), (3, "z")]


# Readers.


def stream_from(table: Table, target: Path, checkpoint: Path) -> DataStreamWriter:
    rows = table.spark.readStream.format("delta").load(str(table.path))
    return rows.writeStream.option("checkpointLocation", str(checkpoint)).trigger(availableNow=True)


def test_a_stream_from_the_table_ends_and_is_started_with_a_new_checkpoint(
    used: Table, tmp_path: Path
) -> None:
    target, checkpoint = tmp_path / "target", tmp_path / "checkpoint"
    run(stream_from(used, target, checkpoint), target)
    leave(used)
    used.insert("(2, 'y')")

    condition = condition_of(stream_from(used, target, checkpoint), target)

    assert condition == OTHER_STREAM
    assert Table(used.spark, target).rows() == [(1, "x")]
    fresh = stream_from(used, target, tmp_path / "fresh")
    run(fresh, tmp_path / "whole")
    assert Table(used.spark, tmp_path / "whole").rows() == [(1, "x"), (2, "y")]


def test_a_change_feed_is_read_in_two_parts(used: Table) -> None:
    leave(used)
    left = used.log.version
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
        changes(2, left + 1)
    assert changes(2, left - 1) == []
    assert changes(left, left + 1) == [(2, "y", "insert")]


def test_a_query_that_runs_reads_the_version_that_it_began_with(used: Table) -> None:
    rows = used.frame()
    planned = rows._jdf.queryExecution().executedPlan()
    leave(used)

    assert [row.get(0) for row in planned.executeCollectPublic()] == [1]
    with refusal("DELTA_SCHEMA_CHANGE_SINCE_ANALYSIS"):
        used.spark.read.format("delta").load(str(used.path)).join(rows, "a").collect()


def test_deltalake_reads_the_values_from_then_on(used: Table) -> None:
    assert read_by_pyarrow(used.path).to_pylist() == [{"a": 1, "c": None}]
    assert read_by_datafusion(used.path).to_pylist() == [{"a": 1, "c": "x"}]

    leave(used)

    assert read_by_pyarrow(used.path).to_pylist() == [{"a": 1, "c": "x"}]
    assert read_by_datafusion(used.path).to_pylist() == [{"a": 1, "c": "x"}]


def test_a_statement_that_has_not_begun_is_refused_or_right(used: Table) -> None:
    with HeldStatement(used.spark, lambda: used.insert("(2, 'y')"), Step.START) as held:
        leave(used)
        assert held.release() is None

    assert used.rows() == [(1, "x"), (2, "y")]
