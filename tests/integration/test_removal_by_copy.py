# SPDX-License-Identifier: Apache-2.0
"""Tests removals of column mapping by byte copy: the statements and the settings."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tests.support.delta_table import NAME_MODE, TRACKED, Table
from tests.support.prepared import made_once
from tests.support.removal import (
    NONE_MODE,
    SETTING,
    WAYS,
    by_unset,
    counts,
    insert_one_file,
    metrics,
    newest_adds,
    removal_of,
    setting,
    unmap,
    untouched,
)
from tests.support.session_conf import SetConf, session_conf
from tests.support.table_files import rows_in_files
from tests.support.table_log import TableLog
from tests.support.variants import in_matrix

Removal = Callable[[Table], object]


@made_once
def renamed(table: Table, *properties: str) -> Table:
    """Makes a table of two files. Both contain a renamed column and a dropped column."""
    table.create("a INT, b STRING, d INT", TRACKED, NAME_MODE, *properties)
    table.insert("(1, 'x', 7)")
    table.alter("RENAME COLUMN a TO c")
    table.insert("(2, 'y', 8)")
    table.alter("DROP COLUMN d")
    return table


def test_job_without_files_broadcasts_nothing(spark: SparkSession) -> None:
    jvm: Any = spark._jvm
    context: Any = spark.sparkContext._jsc
    first = context.broadcast("x").id()

    hadoop = context.hadoopConfiguration()
    job = jvm.sparkext.copy.CopyJob(context.sc(), hadoop, None, False, None)

    assert list(job.run(jvm.java.util.ArrayList())) == []
    assert context.broadcast("x").id() == first + 1


# The statements.


@pytest.mark.without("auto-compact")
@pytest.mark.every_variant
@WAYS
def test_every_way_copies_the_files_of_a_used_table(
    table: Table, remove_mapping: Removal, mode: str | None
) -> None:
    renamed(table)

    remove_mapping(table)

    commit = removal_of(table.log)
    assert counts(commit) == (0, 2, 0)
    assert commit.parquet_columns() == ["b", "c"]
    assert commit.parquet_field_ids() == {}
    assert set(commit.ids.values()) == set(commit.physical_names.values()) == {None}
    assert (table.log.is_tracked, table.log.flag) == (True, "true")
    assert commit.configuration.get("delta.columnMapping.mode") == mode
    assert "delta.columnMapping.maxColumnId" not in commit.configuration
    assert ("columnMapping" in table.log.writer_features) == (remove_mapping in (unmap, by_unset))
    assert rows_in_files(table.log) == [{"c": 1, "b": "x"}, {"c": 2, "b": "y"}]
    assert table.selected("c, b") == [(1, "x"), (2, "y")]


@pytest.mark.without("auto-compact")
def test_files_are_copied_and_rewritten_in_one_commit(table: Table) -> None:
    table.create_tracked("a INT, s STRUCT<x: INT, y: INT>")
    insert_one_file(table, "(1, NULL), (2, named_struct('x', 2, 'y', 3))")
    table.alter("DROP COLUMN s.x")
    insert_one_file(table, "(3, NULL), (4, named_struct('y', 4))")
    table.alter("ADD COLUMN s.z INT")
    table.alter("DROP COLUMN s.y")
    # The first two files contain only dropped fields of the struct.
    table.spark.sql(f"ALTER TABLE {table.name} ADD COLUMN b INT")
    table.insert("(5, named_struct('z', 6), 7)")
    table.alter("RENAME COLUMN b TO c")
    (late,) = (action for action in table.log.at(table.log.version - 1).actions("add"))
    # Releases of Spark differ: a struct without a field in the file may be null.
    rows = table.selected("a, s.z, s IS NULL, c")
    assert [row[0] for row in rows] == [1, 2, 3, 4, 5]
    assert rows[-1] == (5, 6, False, 7)

    log = unmap(table)

    assert counts(log) == (0, 1, 2)
    assert late["path"] in {action["path"] for action in log.actions("remove")}
    assert table.selected("a, s.z, s IS NULL, c") == rows


@pytest.mark.without("auto-compact")
def test_removal_keeps_files_with_logical_names_only(table: Table) -> None:
    table.create_tracked("a INT")
    table.insert("(1)")
    table.alter("ADD COLUMN b INT")
    table.insert("(2, 2)")
    table.alter("DROP COLUMN b")
    before = newest_adds(table.log)
    clean = {path for path, add in before.items() if "b" not in add["stats"]}

    log = unmap(table)

    assert log.flag == "true"
    assert counts(log) == (1, 1, 0)
    assert clean < set(log.live_files)
    assert not clean & {action["path"] for action in log.actions("add")}
    assert table.selected() == [(1,), (2,)]


def test_removal_keeps_all_files_when_their_names_are_logical(table: Table) -> None:
    table.create_tracked("a INT, b STRING")
    table.insert("(1, 'x')")
    table.alter("RENAME COLUMN a TO c")
    table.alter("RENAME COLUMN c TO a")

    log = unmap(table)

    assert counts(log) == (1, 0, 0)
    assert log.actions("add") == log.actions("remove") == []
    assert table.selected() == [(1, "x")]


def test_file_with_statistics_of_an_unknown_column_is_copied(table: Table) -> None:
    table.create_tracked("a INT, b INT")
    table.insert("(1, NULL)")
    (add,) = table.log.actions("add")
    foreign = '{"numRecords":1,"minValues":{"a":1,"gone":5},"maxValues":{"a":1,"gone":5}}'
    table.log.append_foreign({"add": {**add, "stats": foreign}})
    table.alter("RENAME COLUMN a TO c")
    table.alter("RENAME COLUMN c TO a")

    log = unmap(table)

    assert counts(log) == (0, 1, 0)
    (copy,) = log.actions("add")
    assert copy["stats"] == '{"numRecords":1,"minValues":{"a":1},"maxValues":{"a":1}}'
    assert table.selected() == [(1, None)]


def test_file_with_statistics_formatted_by_another_writer_is_kept(table: Table) -> None:
    table.create_tracked("a INT, b STRING")
    insert_one_file(table, "(1, 'ä')")
    (add,) = table.log.actions("add")
    spaced = json.dumps(json.loads(add["stats"]), indent=1)  # this also escapes the letter
    assert spaced != add["stats"]
    table.log.append_foreign({"add": {**add, "stats": spaced, "dataChange": False}})
    table.alter("RENAME COLUMN a TO c")
    table.alter("RENAME COLUMN c TO a")

    log = unmap(table)

    assert counts(log) == (1, 0, 0)
    assert log.actions("add") == []


def test_drop_feature_succeeds_when_files_lack_a_renamed_column(table: Table) -> None:
    """Delta's checksum would count the file twice if it were added again with new statistics."""
    table.create_tracked("a INT, b INT")
    table.spark.sql("SELECT 1 AS a").write.format("delta").mode("append").save(str(table.path))
    table.alter("RENAME COLUMN b TO c")

    unmap(table)
    table.alter("DROP FEATURE columnMapping")

    assert "columnMapping" not in table.log.writer_features
    assert table.selected("a, c") == [(1, None)]


@pytest.mark.broken_table("partition_values", "values_changed")
@pytest.mark.parametrize(
    ("written", "read"),
    [
        ({"q": "1"}, None),
        *in_matrix(({"p": "1", "q": "9"}, 1), ({"p": "1", "gone": "9"}, 1), ({}, None)),
    ],
)
def test_partition_values_under_unknown_keys_are_not_read_after_removal(
    table: Table, written: dict[str, str], read: int | None
) -> None:
    """Partition values have physical names as keys. No reader knows another writer's other keys."""
    table.create_tracked("a INT, p INT", partitioned_by="p")
    insert_one_file(table, "(5, 1)")
    (add,) = table.log.actions("add")
    table.alter("RENAME COLUMN p TO q")
    table.log.append_foreign({"add": {**add, "partitionValues": written, "dataChange": False}})
    assert table.selected("a, q") == [(5, read)]

    unmap(table)

    assert table.selected("a, q") == [(5, read)]


def test_file_with_unreadable_statistics_is_rewritten(table: Table) -> None:
    table.create_tracked("a INT, b STRING")
    insert_one_file(table, "(1, 'x')")
    (add,) = table.log.actions("add")
    table.alter("RENAME COLUMN a TO c")
    table.log.append_foreign({"add": {**add, "stats": "null", "dataChange": False}})

    log = unmap(table)

    assert counts(log) == (0, 0, 1)
    assert table.selected() == [(1, "x")]


def test_removal_from_an_empty_table_succeeds(table: Table) -> None:
    table.create_tracked("a INT, b INT")
    table.alter("DROP COLUMN b")

    assert counts(unmap(table)) == (0, 0, 0)
    assert table.selected() == []
    table.insert("(1)")
    assert table.selected() == [(1,)]


def test_file_without_rows_is_copied(table: Table) -> None:
    table.create_tracked("a INT, b INT")
    table.insert("(1, 2)")
    (add,) = table.log.actions("add")
    empty = table.spark.range(0).selectExpr("CAST(id AS INT) a", "CAST(id AS INT) b")
    empty.coalesce(1).write.parquet(str(table.path / "empty"))
    (file,) = (table.path / "empty").glob("*.parquet")
    table.log.append_foreign(
        {
            "add": {
                **add,
                "path": f"empty/{file.name}",
                "size": file.stat().st_size,
                "stats": '{"numRecords":0}',
            }
        }
    )
    table.alter("RENAME COLUMN a TO c")

    log = unmap(table)

    assert counts(log) == (0, 2, 0)
    assert '{"numRecords":0}' in {action["stats"] for action in log.actions("add")}
    assert table.selected() == [(1, 2)]


@pytest.mark.matrix
def test_file_whose_columns_were_all_dropped_keeps_its_rows(table: Table) -> None:
    table.create_tracked("a INT")
    insert_one_file(table, "(1), (2)")
    table.alter("ADD COLUMN b INT")
    table.alter("DROP COLUMN a")

    log = unmap(table)

    assert counts(log) == (0, 0, 1)
    assert table.selected() == [(None,), (None,)]


# The settings.


def assert_by_delta(log: TableLog) -> None:
    """Asserts that Delta's rewrite replaced every file."""
    assert "numCopiedFiles" not in metrics(log)
    before = log.at(log.version - 1).live_files
    assert {action["path"] for action in log.actions("remove")} == set(before)
    assert not set(before) & set(log.live_files)


def test_removal_is_refused_when_a_setting_is_invalid(table: Table, tmp_path: Path) -> None:
    renamed(table)
    untracked = Table(table.spark, tmp_path / "untracked").create("a INT", NAME_MODE)
    timeout, store_copy = f"{SETTING}.timeout", f"{SETTING}.storeCopy"

    for removed, key, value in [
        (table, SETTING, "move"),
        (untracked, SETTING, "move"),
        (table, timeout, "soon"),
        (table, timeout, "-1s"),
        (table, store_copy, "perhaps"),
    ]:
        with (
            session_conf(table.spark, {key: value}),
            untouched(removed),
            removed.refusal("USAGE_TRACKING_INVALID_SETTING") as refused,
        ):
            unmap(removed)
        assert refused.value.getMessageParameters()["setting"] == key


def test_tracked_table_is_rewritten_when_the_setting_is_rewrite(table: Table) -> None:
    renamed(table)

    with setting(table, "Rewrite"):
        log = unmap(table)

    assert_by_delta(log)
    assert table.selected("c, b") == [(1, "x"), (2, "y")]


def test_untracked_table_is_copied_when_the_setting_is_copy(table: Table) -> None:
    table.create("a INT, b STRING", NAME_MODE)
    table.insert("(1, 'x')")

    with setting(table, " COPY "):
        log = unmap(table)

    assert counts(log) == (0, 1, 0)
    assert log.flag is None
    assert not log.is_tracked
    assert log.parquet_columns() == ["a", "b"]
    assert table.selected() == [(1, "x")]


def test_untracked_table_is_rewritten_by_delta(table: Table) -> None:
    table.create("a INT, b STRING", NAME_MODE, "'delta.enableDeletionVectors' = 'true'")
    insert_one_file(table, "(1, 'x'), (2, 'y')")
    table.spark.sql(f"DELETE FROM {table.name} WHERE a = 1")

    log = unmap(table)

    assert_by_delta(log)
    (add,) = log.actions("add")
    assert "deletionVector" not in add
    assert len(log.actions("remove")) == 1
    assert table.selected() == [(2, "y")]


@pytest.mark.matrix
def test_setting_has_no_effect_on_a_metadata_only_removal(table: Table, tmp_path: Path) -> None:
    table.create_tracked()
    table.insert("(1, 'x')")

    with setting(table, "copy"):
        log = unmap(table)

    assert log.flag == "false"
    assert log.actions("add") == log.actions("remove") == []
    assert NONE_MODE.split("'")[1] in log.configuration


@pytest.mark.every_variant
@pytest.mark.parametrize("features", [[TRACKED], []], ids=["tracked", "untracked"])
def test_second_removal_changes_no_file(table: Table, conf: SetConf, features: list[str]) -> None:
    conf(SETTING, "copy")
    table.create("a INT, b STRING", NAME_MODE, *features)
    table.insert("(1, 'x')")
    table.alter("RENAME COLUMN b TO c")
    unmap(table)
    files = table.log.live_files

    table.remove_mapping()

    assert table.log.live_files == files
    assert table.selected() == [(1, "x")]
