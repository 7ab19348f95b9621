# SPDX-License-Identifier: Apache-2.0
"""Tests streams that continue with their checkpoints after their table removed column mapping."""

from __future__ import annotations

from collections.abc import Callable
from operator import itemgetter
from pathlib import Path

import pyarrow.parquet
import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame

from tests.integration.streams import (
    OLD,
    Row,
    Stream,
    numbered,
    removal_in,
    sorted_rows,
    used,
)
from tests.support.delta_table import NAME_MODE, TRACKED, Table
from tests.support.name_changes import map_again, remove_mapping
from tests.support.variants import in_matrix

RESTART = "USAGE_TRACKING_STREAM_RESTART_REQUIRED"
CHANGES = "'delta.enableChangeDataFeed' = 'true'"

pytestmark = pytest.mark.without("auto-compact")


def align(table: Table) -> None:
    table.usage.align_names(progress=None)


def rewrite(table: Table) -> None:
    remove_mapping(table, "rewrite")


def drop_feature(table: Table) -> None:
    table.usage.remove_column_mapping(until="readers", progress=None)


WAYS = pytest.mark.parametrize(
    "remove", [remove_mapping, align, *in_matrix(rewrite), *in_matrix(drop_feature)]
)


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


def test_stream_of_identities_continues(table: Table, tmp_path: Path) -> None:
    """Each insert changes the metadata."""
    table.create("a INT, i BIGINT GENERATED ALWAYS AS IDENTITY", TRACKED, NAME_MODE)
    table.spark.sql(f"INSERT INTO {table.name} (a) VALUES (1)")
    table.alter("RENAME COLUMN a TO k")
    stream = Stream(table, tmp_path / "s")
    stream.run()
    table.spark.sql(f"INSERT INTO {table.name} (k) VALUES (2)")
    remove_mapping(table)
    for k in (3, 4):
        table.spark.sql(f"INSERT INTO {table.name} (k) VALUES ({k})")

    assert [row["k"] for row in stream.run()] == [1, 2, 3, 4]


@WAYS
@pytest.mark.parametrize("options", [{"maxFilesPerTrigger": "1"}, {}])
def test_streams_at_different_versions_read_each_row_once(
    table: Table, tmp_path: Path, remove: Callable[[Table], None], options: dict[str, str]
) -> None:
    used(table)
    streams = [Stream(table, tmp_path / f"s{i}", **options) for i in range(3)]
    for i, stream in enumerate(streams[:2]):
        stream.run()
        table.insert(f"({3 + i}, {30 + i})")
    remove(table)
    table.insert("(6, 60)")
    table.insert("(7, 70)")
    new = [*({"k": 3 + i, "b": 30 + i} for i in range(2)), {"k": 6, "b": 60}, {"k": 7, "b": 70}]

    for stream in streams:
        assert stream.run() == sorted_rows(*OLD, *new)
    for stream in streams[:2]:
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

    assert stream.run() == [*OLD, *numbered(3, 4, 5)]


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


def test_running_stream_fails_until_a_restart_and_then_reads_each_row_once(
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


def test_removal_within_a_batch_changes_no_row_of_the_batch(table: Table, tmp_path: Path) -> None:
    stream = Stream(used(table), tmp_path / "s")

    def remove() -> None:
        remove_mapping(table)
        table.insert("(3, 30)")

    with pytest.raises(StreamingQueryException) as stopped:
        stream.run(during=(0, remove))

    assert f"[{RESTART}]" in str(stopped.value)
    assert stream.rows() == OLD
    assert stream.run() == [*OLD, {"k": 3, "b": 30}]


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


@pytest.mark.matrix
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


@pytest.mark.matrix
def test_trigger_once_needs_a_run_for_each_side(table: Table, tmp_path: Path) -> None:
    stream = Stream(used(table), tmp_path / "s")
    stream.run()
    table.insert("(3, 30)")
    remove_mapping(table)
    table.insert("(4, 40)")

    assert stream.run(once=True) == [*OLD, {"k": 3, "b": 30}]
    assert stream.run(once=True) == [*OLD, {"k": 3, "b": 30}, {"k": 4, "b": 40}]


@pytest.mark.parametrize("is_read", [False, True])
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


def test_change_feed_has_null_in_older_rows_for_a_column_added_after_the_removal(
    table: Table, tmp_path: Path
) -> None:
    stream = Stream(used(table, CHANGES), tmp_path / "s", readChangeFeed="true")
    stream.run()
    table.insert("(3, 30)")
    remove_mapping(table)
    table.alter("ADD COLUMN a INT FIRST")
    table.insert("(44, 4, 40)")

    found = [(row.get("a"), row["k"], row["b"], row["_change_type"]) for row in stream.run()]
    assert sorted(found, key=itemgetter(1)) == [
        (None, 1, None, "insert"),
        (None, 2, 20, "insert"),
        (None, 3, 30, "insert"),
        (44, 4, 40, "insert"),
    ]


def test_stream_of_a_renamed_partition_column_continues(table: Table, tmp_path: Path) -> None:
    stream = Stream(used(table, partitioned_by="a"), tmp_path / "s")
    stream.run()
    table.insert("(3, 30)")
    remove_mapping(table)
    table.insert("(4, 40)")

    rows = [{"k": row["k"], "b": row["b"]} for row in stream.run()]
    assert sorted_rows(*rows) == [*OLD, {"k": 3, "b": 30}, {"k": 4, "b": 40}]


@pytest.mark.matrix
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


@pytest.mark.matrix
def test_stream_of_a_table_with_readable_names_continues(table: Table, tmp_path: Path) -> None:
    table.create_tracked("k INT, b INT")
    table.insert("(1, 10)")
    stream = Stream(table, tmp_path / "s")
    stream.run()
    table.insert("(2, 20)")
    remove_mapping(table)
    table.insert("(3, 30)")

    assert stream.run() == numbered(1, 2, 3)


def test_stream_continues_when_mapping_was_enabled_and_removed_without_changing_names(
    table: Table, tmp_path: Path
) -> None:
    table.create("k INT, b INT", TRACKED)
    table.insert("(1, 10)")
    stream = Stream(table, tmp_path / "s")
    query = stream.start(processingTime="0 seconds")
    try:
        query.processAllAvailable()
        map_again(table)
        remove_mapping(table)
        table.insert("(2, 20)")
        query.processAllAvailable()
    finally:
        query.stop()
    assert stream.rows() == numbered(1, 2)
    table.insert("(3, 30)")

    assert stream.run() == numbered(1, 2, 3)


def test_committed_batch_across_a_removal_that_changed_no_name_is_planned_again(
    table: Table, tmp_path: Path
) -> None:
    """Delta itself allows such a batch. A stream plans its last batch again when it starts."""
    table.create_tracked("k INT, b INT")
    stream = Stream(table, tmp_path / "s", startingVersion="0")
    table.insert("(1, 10)")
    remove_mapping(table)
    map_again(table)
    table.insert("(2, 20)")
    stream.run()
    assert len(stream.offsets()) == 1
    table.insert("(3, 30)")

    assert stream.run() == numbered(1, 2, 3)


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

    assert stream.run() == numbered(1, 2, 3)


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


def test_column_with_the_name_of_a_dropped_column_is_null_before(
    table: Table, tmp_path: Path
) -> None:
    """The removal keeps the name of `k`. Older files contain the dropped column as `c`."""
    table.create_tracked("k INT, c INT")
    table.insert("(1, 111)")
    table.insert("(2, 222)")
    table.alter("DROP COLUMN c")
    stream = Stream(table, tmp_path / "s", maxFilesPerTrigger="1")
    stream.fail_in(batch=1)
    remove_mapping(table)
    table.alter("ADD COLUMN c INT")
    table.insert("(3, 3)")

    assert stream.run() == sorted_rows({"k": 1}, {"k": 2, "c": None}, {"k": 3, "c": 3})


@pytest.mark.parametrize("added", ["a", "c"])
def test_two_removals_with_an_added_column_in_between_are_crossed(
    table: Table, tmp_path: Path, added: str
) -> None:
    """Older files contain the name `a` as the physical name of `k`."""
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


def test_two_alignments_are_crossed(table: Table, tmp_path: Path) -> None:
    stream = Stream(used(table), tmp_path / "s")
    stream.run()
    table.insert("(3, 30)")
    align(table)
    first = removal_in(table)
    table.insert("(4, 40)")
    table.alter("DROP FEATURE columnMappingUsageTracking")
    table.alter("ADD COLUMN c INT")
    assert table.log.physical_names["c"] != "c"
    table.insert("(5, 50, 500)")
    align(table)
    assert table.log.physical_names["c"] == "c"
    table.insert("(6, 60, 600)")

    rows = [{"k": k, "b": 10 * k, "c": 100 * k if k > 4 else None} for k in range(3, 7)]
    assert stream.run() == sorted_rows(*OLD, *rows)
    assert {first, removal_in(table)} <= {version for version, _ in stream.offsets()}
