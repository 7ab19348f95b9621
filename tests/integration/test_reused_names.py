# SPDX-License-Identifier: Apache-2.0
"""Reused names: a new column has the physical name of a column that was dropped before a removal.

A read of one version never reads both columns. Change feeds and streams read many versions with one
schema, and would show the values of the dropped column as values of the new column.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import StreamingQueryException

from tests.integration.erasures import SHORT
from tests.integration.streams import OTHER_STREAM, Stream
from tests.support.delta_table import NAME_MODE, TRACKED, Table
from tests.support.name_changes import map_again, remove_mapping
from tests.support.prepared import made_once
from tests.support.removal import OPERATION
from tests.support.session_conf import SetConf
from tests.support.table_log import FLAG
from tests.support.variants import in_matrix

CHANGES = "'delta.enableChangeDataFeed' = 'true'"
OTHER_SCHEMA = "DELTA_CHANGE_DATA_FEED_INCOMPATIBLE_SCHEMA_CHANGE"
OTHER_DATA_SCHEMA = "DELTA_CHANGE_DATA_FEED_INCOMPATIBLE_DATA_SCHEMA"
LATEST_SCHEMA = (
    "spark.databricks.delta.changeDataFeed.defaultSchemaModeForColumnMappingTable",
    "latest",
)


@made_once
def filled(table: Table, *properties: str) -> Table:
    table.create("a INT, b INT", CHANGES, *properties)
    table.insert("(1, 111)")
    return table


@made_once
def history(table: Table, *, is_tracked: bool = True, is_mapped: bool = True) -> Table:
    """Makes a table whose column `b` was dropped, and which has a new column `b`."""
    filled(table, NAME_MODE, *([TRACKED] if is_tracked else []))
    table.alter("DROP COLUMN b")
    table.insert("(2)")
    remove_mapping(table)
    table.alter("ADD COLUMN b INT")
    table.insert("(3, 333)")
    if is_mapped:
        map_again(table)
        table.insert("(4, 444)")
    return table


def version_of(table: Table, operation: str) -> int:
    log = table.log
    return next(number for number in range(log.version) if log.at(number).operation == operation)


def changes(table: Table, start: int, end: int | None = None) -> list[tuple[Any, ...]]:
    reader = table.spark.read.format("delta").option("readChangeFeed", "true")
    reader = reader.option("startingVersion", start)
    if end is not None:
        reader = reader.option("endingVersion", end)
    rows = reader.load(str(table.path)).drop("_commit_timestamp", "_commit_version")
    return sorted(tuple(row) for row in rows.collect())


def streamed(table: Table, folder: Path, **options: str) -> list[tuple[Any, ...]]:
    """Returns all rows that a stream of the table reads."""
    return sorted((row["a"], row["b"]) for row in Stream(table, folder, **options).run())


KINDS = [
    pytest.param({"is_tracked": is_tracked, "is_mapped": is_mapped}, id=f"{tracked}-{mapped}")
    for is_tracked, tracked in [(True, "tracked"), (False, "untracked")]
    for is_mapped, mapped in [(True, "mapped again"), (False, "not mapped")]
]


@pytest.mark.every_variant
@pytest.mark.parametrize("kind", KINDS)
def test_change_feed_is_refused_when_a_dropped_name_was_used_again(
    table: Table, kind: dict[str, bool]
) -> None:
    history(table, **kind)

    with table.refusal(OTHER_SCHEMA):
        changes(table, 0)
    assert changes(table, 0, version_of(table, "DROP COLUMNS") - 1) == [(1, 111, "insert")]
    assert changes(table, version_of(table, OPERATION) + 1)[0] == (3, 333, "insert")


@pytest.mark.every_variant
@pytest.mark.parametrize(
    ("is_tracked", "operation"),
    [(True, "RESTORE"), (False, "RESTORE"), (True, "OTHER"), *in_matrix((False, ""))],
)
def test_change_feed_is_refused_when_restore_follows_a_removal(
    table: Table, tmp_path: Path, is_tracked: bool, operation: str
) -> None:
    # In an untracked table physical names equal logical names only if mapping was enabled later.
    filled(table, *([TRACKED, NAME_MODE] if is_tracked else []))
    if not is_tracked:
        map_again(table)
    good = table.log.version
    table.alter("DROP COLUMN b")
    remove_mapping(table)
    table.alter("ADD COLUMN b INT")
    start = table.log.version
    table.insert("(3, 333)")
    table.restore(good)
    table.log.rename_operation(operation)

    with table.refusal(OTHER_SCHEMA):
        changes(table, start)
    Stream(table, tmp_path, startingVersion=str(start), skipChangeCommits="true").assert_refused()


@pytest.mark.without("auto-compact")
@pytest.mark.every_variant
def test_stream_reads_no_older_snapshot_when_no_name_changed(table: Table, tmp_path: Path) -> None:
    history(table, is_mapped=False)
    table.insert("(5, 555)")
    start = table.log.version
    table.insert("(6, 666)")
    table.cut_log(start)

    assert streamed(table, tmp_path, startingVersion=str(start)) == [(5, 555), (6, 666)]


@pytest.mark.parametrize("kind", KINDS)
def test_stream_is_refused_when_a_dropped_name_was_used_again(
    table: Table, tmp_path: Path, kind: dict[str, bool]
) -> None:
    history(table, **kind)

    Stream(table, tmp_path / "c1", startingVersion="0").assert_refused()
    Stream(table, tmp_path / "c2", startingVersion="0", maxFilesPerTrigger="1").assert_refused()
    Stream(table, tmp_path / "c3", startingVersion="0", readChangeFeed="true").assert_refused()
    after = streamed(table, tmp_path / "c4", startingVersion=str(version_of(table, OPERATION) + 1))
    assert after[0] == (3, 333)
    assert streamed(table, tmp_path / "c5")[:3] == [(1, None), (2, None), (3, 333)]


def test_change_feed_with_the_newest_schema_is_refused_when_a_dropped_name_was_used_again(
    table: Table, conf: SetConf
) -> None:
    history(table)
    conf(*LATEST_SCHEMA)

    with table.refusal(OTHER_DATA_SCHEMA):
        changes(table, 0, version_of(table, "DROP COLUMNS") - 1)


def test_change_feed_of_a_deleted_row_is_refused_when_its_file_has_a_dropped_column(
    table: Table,
) -> None:
    # The first version of the range does not have the dropped column, but the deleted file does.
    filled(table, NAME_MODE, TRACKED)
    table.alter("DROP COLUMN b")
    start = table.log.version
    table.spark.sql(f"DELETE FROM {table.name} WHERE a = 1")
    remove_mapping(table)
    table.alter("ADD COLUMN b INT")
    map_again(table)

    with table.refusal(OTHER_SCHEMA):
        changes(table, start)


def test_change_feed_is_refused_when_a_nested_name_was_used_again(table: Table) -> None:
    table.create("a INT, s STRUCT<x: INT, y: INT>", NAME_MODE, CHANGES, TRACKED)
    table.insert("(1, named_struct('x', 111, 'y', 2))")
    table.alter("DROP COLUMN s.x")
    remove_mapping(table)
    table.alter("ADD COLUMN s.x INT")
    map_again(table)

    with table.refusal(OTHER_SCHEMA):
        changes(table, 0)


def test_change_feed_is_refused_when_column_mapping_was_dropped_from_the_protocol(
    table: Table,
) -> None:
    filled(table)
    map_again(table)
    table.alter("DROP COLUMN b")
    remove_mapping(table)
    table.alter("ADD COLUMN b INT")
    table.alter("DROP FEATURE columnMapping")
    assert "columnMapping" not in table.log.protocol["writerFeatures"]

    with table.refusal(OTHER_DATA_SCHEMA):
        changes(table, 0, 1)


# Settings of Delta by which the reader takes the risk.


def test_change_feed_is_read_under_the_unsafe_setting_of_delta(table: Table, conf: SetConf) -> None:
    history(table)
    conf(
        "spark.databricks.delta.changeDataFeed.unsafeBatchReadOnIncompatibleSchemaChanges.enabled",
        "true",
    )

    assert changes(table, 0)[0] == (1, 111, "insert")


def test_stream_is_read_under_the_unsafe_setting_of_delta(
    table: Table, tmp_path: Path, conf: SetConf
) -> None:
    history(table)
    conf(
        "spark.databricks.delta.streaming."
        "unsafeReadOnIncompatibleColumnMappingSchemaChanges.enabled",
        "true",
    )

    assert streamed(table, tmp_path / "c", startingVersion="0")[0] == (1, 111)


# Reads that succeed.


@pytest.mark.every_variant
@pytest.mark.parametrize("is_tracked", [True, False])
def test_same_columns_are_read_across_a_removal_and_mapping_again(
    table: Table, tmp_path: Path, is_tracked: bool
) -> None:
    filled(table, *([TRACKED] if is_tracked else []))
    map_again(table)
    remove_mapping(table)
    map_again(table)
    table.insert("(2, 222)")

    assert changes(table, 0) == [(1, 111, "insert"), (2, 222, "insert")]
    assert streamed(table, tmp_path / "c", startingVersion="0") == [(1, 111), (2, 222)]


def test_columns_added_after_a_removal_by_metadata_are_read(table: Table, tmp_path: Path) -> None:
    table.create("a INT, c INT", NAME_MODE, CHANGES, TRACKED)
    table.insert("(1, 111)")
    remove_mapping(table)
    table.alter("ADD COLUMN b INT")
    map_again(table)
    table.insert("(2, 222, 22)")
    assert table.log.flag == "false"

    assert changes(table, 0) == [(1, 111, None, "insert"), (2, 222, 22, "insert")]
    assert streamed(table, tmp_path / "c", startingVersion="0") == [(1, None), (2, 22)]


# The flag of a table without the feature.


@pytest.mark.broken_table("flag_without_feature")
def test_change_feed_is_refused_when_the_flag_is_false_without_the_feature(table: Table) -> None:
    # A shallow clone by a session without spark-ext has the property and not the feature.
    filled(table, NAME_MODE)
    table.alter("DROP COLUMN b")
    table.log.append_properties({FLAG: "false"})
    remove_mapping(table)
    table.alter("ADD COLUMN b INT")
    map_again(table)

    with table.refusal(OTHER_SCHEMA):
        changes(table, 0)


# Columns that are dropped without ids, which Delta does not see.


def dropped_before_mapping(table: Table) -> int:
    table.create("a INT", TRACKED, CHANGES)
    table.alter("ADD COLUMN b INT")
    table.insert("(1, 111)")
    table.overwrite("SELECT 9 AS a")
    map_again(table)
    return 1


def dropped_by_the_restore_that_removes_mapping(table: Table) -> int:
    table.create("a INT", TRACKED, CHANGES)
    table.insert("(1)")
    map_again(table)
    table.alter("ADD COLUMN b INT")
    table.insert("(2, 222)")
    start = table.log.version
    table.restore(1)
    return start


def dropped_after_a_removal_by_metadata(table: Table) -> int:
    table.create("a INT", TRACKED, NAME_MODE, CHANGES)
    table.alter("ADD COLUMN b INT")
    table.insert("(2, 222)")
    start = table.log.version
    remove_mapping(table)
    table.overwrite("SELECT 9 AS a")
    return start


@pytest.mark.every_variant
@pytest.mark.parametrize(
    "lose",
    [
        dropped_after_a_removal_by_metadata,  # `make test` runs the first
        dropped_before_mapping,
        dropped_by_the_restore_that_removes_mapping,
    ],
)
def test_change_feed_and_stream_are_refused_when_a_column_was_dropped_without_mapping(
    table: Table, tmp_path: Path, lose: Callable[[Table], int]
) -> None:
    start = lose(table)
    table.alter("ADD COLUMN b INT")
    table.insert("(3, 333)")
    map_again(table)

    with table.refusal(OTHER_SCHEMA):
        changes(table, start)
    Stream(table, tmp_path, startingVersion=str(start), skipChangeCommits="true").assert_refused()


@made_once
def removed_with_another_column(table: Table, *, is_mapped: bool = False) -> Table:
    """Makes an unmapped table with a new `b`. Version 1 contains the old `b`."""
    filled(table, TRACKED, *([NAME_MODE] if is_mapped else []))
    if not is_mapped:
        map_again(table)
    table.alter("DROP COLUMN b")
    table.alter("ADD COLUMN b INT")
    remove_mapping(table)
    table.insert("(2, 222)")
    return table


@pytest.mark.every_variant
def test_change_feed_is_refused_when_restore_selects_a_version_before_mapping(
    table: Table, tmp_path: Path
) -> None:
    removed_with_another_column(table)
    start = table.log.version
    table.restore(1)

    with table.refusal(OTHER_SCHEMA):
        changes(table, start)
    Stream(table, tmp_path, startingVersion=str(start), skipChangeCommits="true").assert_refused()


@pytest.mark.parametrize("is_mapped", [False, True])
def test_stale_change_feed_is_refused_when_restore_replaced_its_columns(
    table: Table, is_mapped: bool
) -> None:
    removed_with_another_column(table, is_mapped=is_mapped)
    reader = table.spark.read.format("delta").option("readChangeFeed", "true")
    held = reader.option("startingVersion", table.log.version).load(str(table.path))
    table.restore(1)

    with table.refusal(OTHER_SCHEMA):
        held.collect()


@pytest.mark.parametrize("is_mapped", [False, True])
@pytest.mark.parametrize("option", ["skipChangeCommits", "readChangeFeed"])
def test_running_stream_stops_when_restore_replaced_its_columns(
    table: Table, tmp_path: Path, is_mapped: bool, option: str
) -> None:
    removed_with_another_column(table, is_mapped=is_mapped)
    stream = Stream(table, tmp_path, **{option: "true"})
    with stream.running() as query:
        query.processAllAvailable()
        table.restore(1)
        table.insert("(5, 555)")
        with pytest.raises(StreamingQueryException) as stopped:
            query.processAllAvailable()

    assert OTHER_STREAM in str(stopped.value)
    assert 555 not in [row["b"] for row in stream.rows()]


def test_running_stream_of_a_plain_table_continues_after_restore(
    table: Table, tmp_path: Path
) -> None:
    filled(table)
    table.insert("(2, 222)")
    stream = Stream(table, tmp_path, skipChangeCommits="true")
    with stream.running() as query:
        query.processAllAvailable()
        table.restore(1)
        query.processAllAvailable()
        table.log.append_foreign({"metaData": table.log.metadata})
        table.insert("(3, 333)")
        query.processAllAvailable()

    assert sorted(row["a"] for row in stream.rows()) == [1, 2, 3]


def test_change_feed_may_end_after_the_newest_version(table: Table) -> None:
    filled(table, NAME_MODE)

    assert changes(table, 0, 99) == [(1, 111, "insert")]


@pytest.mark.parametrize("is_mapped", [False, True])
def test_running_stream_reads_on_when_its_first_commits_were_deleted(
    table: Table, tmp_path: Path, is_mapped: bool
) -> None:
    every = "'delta.checkpointInterval' = '1'"
    filled(table, *SHORT, every, *([NAME_MODE] if is_mapped else []))
    stream = Stream(table, tmp_path)
    with stream.running() as query:
        query.processAllAvailable()
        for number in (2, 3):
            table.insert(f"({number}, {number})")
        query.processAllAvailable()
        table.age_log()
        table.insert("(5, 5)")
        query.processAllAvailable()
        assert not (table.path / "_delta_log" / f"{2:020}.json").exists()
        table.alter("SET TBLPROPERTIES ('x' = 'y')")
        table.insert("(4, 4)")
        if is_mapped:
            with pytest.raises(StreamingQueryException) as stopped:
                query.processAllAvailable()
            assert "USAGE_TRACKING_STREAM_RESTART_REQUIRED" in str(stopped.value)
        else:
            query.processAllAvailable()
    stream.run()

    assert sorted(row["a"] for row in stream.rows()) == [1, 2, 3, 4, 5]


# Commits that are replaced or deleted.


@pytest.mark.every_variant
def test_change_feed_is_refused_by_the_new_commits_when_the_folder_was_replaced(
    table: Table, tmp_path: Path
) -> None:
    filled(table, NAME_MODE, TRACKED)
    shutil.copytree(table.path, tmp_path / "copy")
    for value in "uvwxyz":
        table.alter(f"SET TBLPROPERTIES ('a' = '{value}')")
    remove_mapping(table)
    map_again(table)
    changes(table, 0)
    shutil.rmtree(table.path)
    shutil.copytree(tmp_path / "copy", table.path)
    table.alter("DROP COLUMN b")
    remove_mapping(table)
    table.alter("ADD COLUMN b INT")
    table.insert("(3, 333)")
    map_again(table)

    with table.refusal(OTHER_SCHEMA):
        changes(table, 0)


@pytest.mark.without("auto-compact")
def test_change_feed_is_read_when_unneeded_commits_were_deleted(
    table: Table, tmp_path: Path
) -> None:
    table.create("a INT, b INT", TRACKED, NAME_MODE, CHANGES)
    table.insert("(1, 11)")
    table.alter("SET TBLPROPERTIES ('a' = 'b')")
    assert changes(table, 1) == [(1, 11, "insert")]  # the driver then remembers the commits
    table.insert("(2, 22)")
    table.insert("(3, 33)")
    start = table.log.version
    table.cut_log(start)
    table.alter("SET TBLPROPERTIES ('a' = 'c')")
    table.insert("(4, 44)")

    assert changes(table, start) == [(3, 33, "insert"), (4, 44, "insert")]
    assert streamed(table, tmp_path, startingVersion=str(start)) == [(3, 33), (4, 44)]
