# SPDX-License-Identifier: Apache-2.0
"""Reused names: reads that run while the names change, and logs that are replaced or cut.

`statements/reused_names.txt` has the reads after the changes.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame

from tests.integration.erasures import SHORT
from tests.integration.streams import OTHER_STREAM, Stream
from tests.support.delta_table import NAME_MODE, TRACKED, Table
from tests.support.name_changes import map_again, remove_mapping
from tests.support.prepared import made_once

CHANGES = "'delta.enableChangeDataFeed' = 'true'"
OTHER_SCHEMA = "DELTA_CHANGE_DATA_FEED_INCOMPATIBLE_SCHEMA_CHANGE"


@made_once
def filled(table: Table, *properties: str) -> Table:
    table.create("a INT, b INT", CHANGES, *properties)
    table.insert("(1, 111)")
    return table


def change_feed(table: Table, start: int) -> DataFrame:
    reader = table.spark.read.format("delta").option("readChangeFeed", "true")
    return reader.option("startingVersion", start).load(str(table.path))


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


@pytest.mark.parametrize("is_mapped", [False, True])
def test_stale_change_feed_is_refused_when_restore_replaced_its_columns(
    table: Table, is_mapped: bool
) -> None:
    removed_with_another_column(table, is_mapped=is_mapped)
    held = change_feed(table, table.log.version)
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
    change_feed(table, 0).collect()
    shutil.rmtree(table.path)
    shutil.copytree(tmp_path / "copy", table.path)
    table.alter("DROP COLUMN b")
    remove_mapping(table)
    table.alter("ADD COLUMN b INT")
    table.insert("(3, 333)")
    map_again(table)

    with table.refusal(OTHER_SCHEMA):
        change_feed(table, 0).collect()
