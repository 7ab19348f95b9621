# SPDX-License-Identifier: Apache-2.0
"""Compares the history of columns and of the flag with the statements on real tables.

The tests' own code reads versions, times and operations from `_delta_log`.
"""

from __future__ import annotations

import os
import time
from datetime import datetime
from typing import Any

import pytest

from spark_ext import ColumnMappingStatus, UsageTracking
from tests.integration import routes
from tests.support.delta_table import NAME_MODE, TRACKED, Table

NESTED = (
    "id INT, s STRUCT<x: INT, y: STRING>, l ARRAY<STRUCT<z: INT>>, m MAP<STRING, STRUCT<w: INT>>"
)

KEYS = ("version", "change", "oldName", "newName")


def events(table: Table, since: int = 1) -> list[str]:
    """Returns version, change, old and new name of the events since a version."""
    return [
        " ".join(str(row[key]) for key in KEYS if row[key] is not None)
        for row in table.usage.history().collect()
        if row["version"] is None or row["version"] >= since
    ]


def versions(table: Table) -> set[str]:
    """Returns path, and the versions that added and renamed the column."""
    rows = table.usage.columns().collect()
    return {f"{row['path']} {row['addedVersion']} {row['renamedVersion']}" for row in rows}


def commit_info(table: Table, version: int) -> dict[str, Any]:
    (info,) = table.log.at(version).actions("commitInfo")
    return info


def assert_commits_are_named(table: Table) -> None:
    """Asserts that the events have the operations and times of their commits."""
    for row in table.usage.history().collect():
        file = table.path / "_delta_log" / f"{row['version']:020}.json"
        assert row["operation"] == commit_info(table, row["version"])["operation"]
        assert row["timestamp"] == datetime.fromtimestamp(int(file.stat().st_mtime * 1000) / 1000)
    rows = table.usage.columns().collect()
    assert table.log.ids.keys() == {row["path"] for row in rows}


def test_times_increase_as_in_describe_history(table: Table) -> None:
    table.create_tracked("a INT")
    table.alter("ADD COLUMN b INT")
    table.alter("ADD COLUMN c INT")
    for version, modified in enumerate((1_000_000, 999_000, 1_000_000)):
        file = table.path / "_delta_log" / f"{version:020}.json"
        os.utime(file, (modified, modified))

    shown = table.spark.sql(f"DESCRIBE HISTORY {table.name}").collect()
    events = {row["version"]: row["timestamp"] for row in table.usage.history().collect()}

    assert events == {row["version"]: row["timestamp"] for row in shown}
    assert sorted(set(events.values())) == [events[version] for version in range(3)]


# Columns.


def test_history_has_every_change_of_columns_at_every_level(table: Table) -> None:
    table.create_tracked(NESTED)
    table.alter("ADD COLUMNS (a INT, s.n STRING, l.element.n INT)")
    table.alter("RENAME COLUMN a TO aa")
    table.alter("RENAME COLUMN s TO t")
    table.alter("RENAME COLUMN t.x TO xx")
    table.alter("DROP COLUMNS (t.y, m)")
    table.insert("(1, named_struct('xx', 1, 'n', 'n'), null, 2)")
    routes.save(table, "SELECT 2 AS id, named_struct('xx', 3, 'new', 4) AS t, 5 AS b")

    assert events(table) == [
        *("1 add s.n", "1 add l.element.n", "1 add a", "2 rename a aa", "3 rename s t"),
        *("4 rename t.x t.xx", "5 drop t.y", "5 drop m", "5 drop m.value.w"),
        *("7 add t.new", "7 add b"),
    ]
    assert versions(table) == {
        *("id 0 None", "t 0 3", "t.xx 0 4", "t.n 1 None", "t.new 7 None", "l 0 None"),
        *("l.element.z 0 None", "l.element.n 1 None", "aa 1 2", "b 7 None"),
    }
    assert_commits_are_named(table)


def test_history_has_changes_of_statements_that_replace_the_schema(table: Table) -> None:
    table.create_tracked("a INT, b STRING, c INT, d INT")
    table.alter("RENAME COLUMN d TO e")
    table.alter("DROP COLUMN c")
    table.restore(0)
    table.overwrite("SELECT 1 AS a, 2L AS b, 3 AS e")

    assert events(table, since=2) == [
        *("2 drop c", "3 rename e d", "3 add c"),
        *("4 drop b", "4 drop c", "4 drop d", "4 add b", "4 add e"),
    ]
    assert versions(table) == {"a 0 None", "b 4 None", "e 4 None"}
    assert_commits_are_named(table)


# The status.


def test_status_names_the_commit_that_set_the_flag(table: Table) -> None:
    table.create_tracked("a INT, b INT, c INT")
    table.insert("(1, 2, 3)")
    table.alter("ADD COLUMN d INT")
    table.alter("RENAME COLUMN b TO e")
    table.alter("DROP COLUMN c")

    found = table.usage.status()
    info = commit_info(table, 3)
    assert (found.mode, found.tracked, found.has_dropped_or_renamed) == ("name", True, True)
    assert found.true_since is not None
    assert (found.true_since.version, found.true_since.operation) == (3, info["operation"])
    assert found.true_since.operation == "RENAME COLUMN"
    changed = [
        (event.version, event.change, event.old_name, event.new_name, event.id)
        for event in found.dropped_or_renamed
    ]
    assert changed == [(3, "rename", "b", "e", 2), (4, "drop", "c", None, 3)]
    protocol = table.log.protocol
    assert found.min_reader_version == protocol["minReaderVersion"]
    assert found.min_writer_version == protocol["minWriterVersion"]
    assert set(found.reader_features) == set(protocol.get("readerFeatures", []))
    assert set(found.writer_features) == set(protocol["writerFeatures"])
    assert table.usage._repr_html_() == found._repr_html_()


@pytest.mark.without("auto-compact")
def test_history_starts_at_the_oldest_checkpoint_after_log_cleanup(table: Table) -> None:
    table.create(
        "a INT, b INT",
        TRACKED,
        NAME_MODE,
        "'delta.checkpointInterval' = '3'",
        "'delta.logRetentionDuration' = 'interval 1 days'",
        "'delta.deletedFileRetentionDuration' = 'interval 1 days'",
    )
    table.alter("RENAME COLUMN b TO c")
    for _ in range(2):
        table.insert("(1, 2)")
    whole = events(table, since=0)
    make_older(table)
    for _ in range(3):
        table.insert("(1, 2)")
    table.alter("DROP COLUMN a")

    found = table.usage.status()
    # On Delta 4.0.0, log cleanup keeps some commits before the oldest checkpoint. The history
    # does not include them.
    first_state = min((table.path / "_delta_log").glob("[0-9]*.checkpoint.parquet"))
    assert whole == ["0 add a", "0 add b", "1 rename b c"]
    assert found.history_from == int(first_state.name[:20]) >= 3
    assert events(table) == ["add a", "add c", "7 drop a"]
    assert versions(table) == {"c None None"}
    assert (found.has_dropped_or_renamed, found.true_since) == (True, None)
    assert "since a version that the log no longer has" in repr(found)


def make_older(table: Table) -> None:
    """Makes the log three days older. Versions are a second apart, as log cleanup requires."""
    for file in (table.path / "_delta_log").glob("[0-9]*"):
        when = time.time() - 3 * 24 * 3600 + int(file.name[:20])
        os.utime(file, (when, when))


# SQL and errors.


def test_sql_returns_the_same_as_python(named_table: Table) -> None:
    spark = named_table.spark
    named_table.create_tracked("a INT")
    named_table.alter("RENAME COLUMN a TO b")
    (row,) = spark.sql(
        "SELECT version, change, oldName, newName FROM column_mapping_history('default.named')"
        " WHERE change = 'rename'"
    ).collect()

    assert tuple(row) == (1, "rename", "a", "b")
    found = UsageTracking.forName(spark, "named").status()
    assert isinstance(found, ColumnMappingStatus)
    assert found.table == "`spark_catalog`.`default`.`named`"
