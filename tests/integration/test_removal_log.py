# SPDX-License-Identifier: Apache-2.0
"""Tests the actions of copied files: all values of the original actions, under other names."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest
from chispa.dataframe_comparer import assert_df_equality
from py4j.protocol import Py4JJavaError

from tests.support.delta_table import NAME_MODE, TRACKED, Table, forget_logs
from tests.support.prepared import made_once
from tests.support.releases import since_delta_4_1
from tests.support.removal import (
    Action,
    by_delta,
    counts,
    insert_one_file,
    local,
    newest_adds,
    pairs,
    setting,
    unmap,
    with_inline_vectors,
)
from tests.support.table_log import TableLog
from tests.support.variants import in_matrix

VECTORS = "'delta.enableDeletionVectors' = 'true'"
ROW_TRACKING = "'delta.enableRowTracking' = 'true'"
MATRIX = pytest.mark.matrix
CHANGING = {"path", "size", "modificationTime", "partitionValues", "stats", "dataChange"}


def exact(text: str) -> Any:
    """Returns JSON with its numbers as they are written."""
    return json.loads(text, parse_float=str, parse_int=str)


def readd(table: Table, **changes: object) -> Action:
    """Commits a changed action of the last file, as another engine may."""
    add = {**table.log.actions("add")[-1], "dataChange": False, **changes}
    table.log.append_foreign({"add": {k: v for k, v in add.items() if v is not None}})
    return add


def assert_all_else_is_kept(log: TableLog) -> None:
    """Asserts that each copy's action differs from its file's action only in keys of `CHANGING`."""
    assert pairs(log)
    for old, new in pairs(log):
        for key in (old.keys() | new.keys()) - CHANGING:
            assert (old.get(key) or None) == (new.get(key) or None), key
        assert new["dataChange"] is False
        assert new["path"] != old["path"]
    for action in log.actions("remove"):
        assert action["dataChange"] is False


# Statistics.


@pytest.mark.broken_table("statistics_values")
def test_statistics_keep_every_digit(table: Table) -> None:
    table.create_tracked(
        "i BIGINT, d DECIMAL(38, 18), f DOUBLE, t TIMESTAMP,"
        " s STRUCT<x: STRING, y: STRUCT<z: INT>>, l ARRAY<INT>, gone INT"
    )
    insert_one_file(table, "(1, 2, 3, now(), NULL, NULL, 4)")
    values = (
        '{"i":9223372036854775807,"d":12345678901234567890.123456789012345678,"f":-0.0,'
        '"t":"2024-02-29T01:02:03.004Z","s":{"x":"\\u00e4\\"\\\\\\n","y":{"z":-1}},"gone":4}'
    )
    more = values.replace("-0.0", "1.0E-300").replace('"gone":4', '"gone":1e400')
    stats = (
        '{"numRecords":1,"tightBounds":true,"minValues":' + values + ',"maxValues":' + more + ","
        '"nullCount":{"i":0,"d":0,"f":0,"t":0,"s":{"x":0,"y":{"z":0}},"l":1,"gone":0}}'
    )
    readd(table, stats=stats)
    for old, new in {"i": "I2", "d": "D2", "f": "F2", "t": "T2", "s.x": "X2", "l": "L2"}.items():
        table.alter(f"RENAME COLUMN {old} TO {new}")
    table.alter("RENAME COLUMN s.y.z TO Z2")
    table.alter("RENAME COLUMN s TO S2")
    table.alter("DROP COLUMN gone")

    log = unmap(table)

    (add,) = log.actions("add")
    expected = stats.replace(',"gone":4', "").replace(',"gone":1e400', "").replace(',"gone":0', "")
    for name in "idftsxzl":
        expected = expected.replace(f'"{name}":', f'"{name.upper()}2":')
    assert exact(add["stats"]) == exact(expected)
    numbers = ("9223372036854775807", "12345678901234567890.123456789012345678", "-0.0", "1.0E-300")
    assert all(f":{number}," in add["stats"] for number in numbers)


def test_statistics_of_every_type_as_spark_writes_them_are_renamed(table: Table) -> None:
    table.create_tracked(
        "a DOUBLE, b FLOAT, c STRING, d DATE, e TIMESTAMP, f DECIMAL(20, 5), g BOOLEAN, h BINARY,"
        " i MAP<STRING, INT>, k STRUCT<x: INT, y: STRING>"
    )
    insert_one_file(
        table,
        "(double('NaN'), float('-0.0'), repeat('ä', 100), date'1000-01-01',"
        " timestamp'2024-01-01 00:00:00.123456', 1.00001, true, X'00', map('a', 1),"
        " named_struct('x', NULL, 'y', repeat('\\uffff', 50))), (-1.5, NULL, NULL, NULL, NULL,"
        " NULL, NULL, NULL, NULL, NULL)",
    )
    (before,) = table.log.actions("add")
    for name in "abcdefghi":
        table.alter(f"RENAME COLUMN {name} TO {name}1")
    table.alter("RENAME COLUMN k.y TO y1")

    (after,) = unmap(table).actions("add")

    expected = before["stats"]
    for name in "abcdefghiy":
        expected = expected.replace(f'"{name}":', f'"{name}1":')
    assert after["stats"] == expected
    assert table.frame().where("a1 = -1.5").count() == 1
    assert table.frame().where("c1 = repeat('ä', 100)").count() == 1


@pytest.mark.without("auto-compact")
def test_dropped_column_and_a_new_column_of_its_name_are_distinguished(table: Table) -> None:
    table.create_tracked("a INT, s STRUCT<x: INT, y: INT>")
    insert_one_file(table, "(1, named_struct('x', 2, 'y', 3))")
    table.alter("DROP COLUMN a")
    table.alter("ADD COLUMN a INT")
    table.alter("DROP COLUMN s.x")
    table.alter("ADD COLUMN s.x INT")
    insert_one_file(table, "(named_struct('y', 5, 'x', 6), 7)")

    log = unmap(table)

    lowest = [exact(add["stats"])["minValues"] for add in log.actions("add")]
    assert sorted(lowest, key=len) == [{"s": {"y": "3"}}, {"s": {"y": "5", "x": "6"}, "a": "7"}]
    assert table.selected("a, s.x, s.y") == [(7, 6, 5), (None, None, 3)]


@pytest.mark.parametrize("stats", [None, *in_matrix("", "{}")])
def test_missing_statistics_are_not_added(table: Table, stats: str | None) -> None:
    table.create_tracked("a INT")
    table.insert("(1)")
    readd(table, stats=stats)
    table.alter("RENAME COLUMN a TO b")

    (add,) = unmap(table).actions("add")

    assert (add.get("stats") or None) == (stats or None)
    assert table.rows() == [(1,)]


@pytest.mark.without("deletion-vectors")
@since_delta_4_1("ignores statistics that are stored only as structs")
@pytest.mark.parametrize(
    "properties",
    [
        ("'delta.checkpointPolicy' = 'classic'",),
        pytest.param(("'delta.checkpointPolicy' = 'v2'",), marks=MATRIX),
    ],
)
def test_statistics_in_a_checkpoint_only_are_renamed(
    table: Table, properties: tuple[str, ...]
) -> None:
    table.create(
        "a INT, b STRING, s STRUCT<x: DECIMAL(10, 2)>",
        TRACKED,
        NAME_MODE,
        "'delta.checkpoint.writeStatsAsJson' = 'false'",
        "'delta.checkpoint.writeStatsAsStruct' = 'true'",
        *properties,
    )
    insert_one_file(table, "(1, 'x', named_struct('x', 1.25)), (2, NULL, NULL)")
    for old, new in {"a": "c", "s.x": "y"}.items():
        table.alter(f"RENAME COLUMN {old} TO {new}")
    table.cut_log(table.log.version)

    table.remove_mapping()

    (add,) = table.log.actions("add")
    assert exact(add["stats"]) == exact(
        '{"numRecords":2,"minValues":{"c":1,"b":"x","s":{"y":1.25}},'
        '"maxValues":{"c":2,"b":"x","s":{"y":1.25}},'
        '"nullCount":{"c":0,"b":1,"s":{"y":1}}}'
    )
    assert table.selected("c, b, s.y")[1] == (2, None, None)


def test_partition_values_as_a_struct_in_a_checkpoint_are_renamed(table: Table) -> None:
    table.create(
        "a INT, p INT",
        TRACKED,
        NAME_MODE,
        "'delta.checkpoint.writeStatsAsStruct' = 'true'",
        "'delta.checkpointInterval' = '1'",
        partitioned_by="p",
    )
    insert_one_file(table, "(1, 7)")
    table.alter("RENAME COLUMN p TO q")
    renamed = partition_values_as_structs(table)
    forget_logs(table.spark)

    table.remove_mapping()
    forget_logs(table.spark)

    assert (renamed, partition_values_as_structs(table)) == ([{"p": 7}], [{"q": 7}])
    assert [add["partitionValues"] for add in table.log.actions("add")] == [{"q": "7"}]
    assert table.spark.sql(f"SELECT a FROM {table.name} WHERE q = 7").collect() == [(1,)]


def partition_values_as_structs(table: Table) -> list[Action]:
    """Returns `partitionValues_parsed` of each added file in the newest checkpoint."""
    file = table.path / "_delta_log" / f"{table.log.version:020}.checkpoint.parquet"
    adds = pyarrow.parquet.read_table(file).column("add").to_pylist()
    return [add["partitionValues_parsed"] for add in adds if add]


# Deletion vectors.


@made_once
def with_vector(table: Table, *properties: str) -> Table:
    """Makes a file of three rows, of which one was deleted, and renames a column."""
    table.create("a INT, b STRING", TRACKED, NAME_MODE, VECTORS, *properties)
    insert_one_file(table, "(1, 'x'), (2, 'y'), (3, 'z')")
    table.spark.sql(f"DELETE FROM {table.name} WHERE a = 2")
    table.alter("RENAME COLUMN a TO c")
    return table


def vector(log: TableLog) -> Action:
    (add,) = log.actions("add")
    found: Action = add["deletionVector"]
    return found


def test_deletion_vector_is_kept(table: Table) -> None:
    with_vector(table)
    before = newest_adds(table.log)

    log = unmap(table)

    assert counts(log) == (0, 1, 0)
    assert_all_else_is_kept(log)
    assert vector(log)["storageType"] == "u"
    assert vector(log) in [add.get("deletionVector") for add in before.values()]
    (removed,) = log.actions("remove")
    assert removed["deletionVector"] == vector(log)
    (add,) = log.actions("add")
    assert exact(add["stats"])["tightBounds"] is False
    assert exact(add["stats"])["numRecords"] == "3"
    assert table.rows() == [(1, "x"), (3, "z")]


@pytest.mark.matrix
def test_copy_of_a_file_with_logical_names_keeps_its_deletion_vector(table: Table) -> None:
    with_vector(table)
    table.alter("RENAME COLUMN c TO a")
    (old,) = (a for a in newest_adds(table.log).values() if "deletionVector" in a)
    stats = old["stats"].replace('"maxValues":{', '"maxValues":{"gone":1,')
    table.log.append_foreign({"add": {**old, "stats": stats, "dataChange": False}})

    log = unmap(table)

    assert counts(log) == (0, 1, 0)
    (add,) = log.actions("add")
    assert add["deletionVector"] == old["deletionVector"]
    assert "gone" not in add["stats"]
    assert table.rows() == [(1, "x"), (3, "z")]


@pytest.mark.matrix
def test_deletion_vector_is_kept_when_the_table_makes_no_new_vectors(table: Table) -> None:
    with_vector(table)
    table.alter("SET TBLPROPERTIES ('delta.enableDeletionVectors' = 'false')")

    log = unmap(table)

    assert counts(log) == (0, 1, 0)
    assert vector(log)["cardinality"] == 1
    assert table.rows() == [(1, "x"), (3, "z")]


@MATRIX
def test_deletion_vector_beside_tight_bounds_is_kept(table: Table) -> None:
    with_vector(table)
    (old,) = (a for a in newest_adds(table.log).values() if "deletionVector" in a)
    tight = old["stats"].replace('"tightBounds":false', '"tightBounds":true')
    assert tight != old["stats"]
    table.log.append_foreign({"add": {**old, "stats": tight, "dataChange": False}})

    log = unmap(table)

    assert exact(log.actions("add")[0]["stats"])["tightBounds"] is True
    assert table.rows() == [(1, "x"), (3, "z")]


@pytest.mark.matrix
def test_file_with_a_deletion_vector_but_no_row_count_is_rewritten(table: Table) -> None:
    with_vector(table)
    (old,) = (a for a in newest_adds(table.log).values() if "deletionVector" in a)
    table.log.append_foreign({"add": {**old, "stats": "{}", "dataChange": False}})

    log = unmap(table)

    assert counts(log) == (0, 0, 1)
    assert "deletionVector" not in log.actions("add")[0]
    assert table.rows() == [(1, "x"), (3, "z")]


def test_inline_deletion_vector_is_kept(table: Table) -> None:
    with_vector(table)
    (inline,) = with_inline_vectors(table)
    (file,) = table.path.rglob("deletion_vector_*.bin")
    file.unlink()

    log = unmap(table)

    assert vector(log) == inline
    assert table.rows() == [(1, "x"), (3, "z")]


# Row tracking, tags and clustering.


def row_ids(table: Table) -> list[tuple[object, ...]]:
    return table.selected("*, _metadata.row_id, _metadata.row_commit_version")


@pytest.mark.without("auto-compact")
def test_rows_keep_their_ids_and_versions(table: Table) -> None:
    table.create(
        "a INT, b STRING, p INT", TRACKED, NAME_MODE, VECTORS, ROW_TRACKING, partitioned_by="p"
    )
    insert_one_file(table, "(1, 'x', 1), (2, 'y', 1), (3, 'z', 1)")
    insert_one_file(table, "(4, 'v', 1), (5, 'w', 2)")
    table.spark.sql(f"UPDATE {table.name} SET b = 'u' WHERE a = 2")
    table.spark.sql(f"OPTIMIZE {table.name} WHERE p = 1")
    insert_one_file(table, "(6, 'u', 1)")
    table.alter("RENAME COLUMN a TO c")
    table.alter("DROP COLUMN b")
    before = row_ids(table)

    log = unmap(table)

    _, copied, rewritten = counts(log)
    assert (copied, rewritten) == (3, 0)
    assert row_ids(table) == before
    assert len({ids[-2] for ids in before}) == 6
    assert_all_else_is_kept(log)
    assert all(
        "baseRowId" in add and "defaultRowCommitVersion" in add for add in log.actions("add")
    )
    assert log.actions("commitInfo")[0]["tags"]["delta.rowTracking.preserved"] == "true"
    assert any("row-id-col" in column for column in log.parquet_columns())
    table.spark.sql(f"UPDATE {table.name} SET p = 3 WHERE c = 6")
    insert_one_file(table, "(7, 1)")
    after = row_ids(table)
    assert len({ids[-2] for ids in after}) == 7
    assert {ids[-2] for ids in before} < {ids[-2] for ids in after}


def test_tags_are_kept(table: Table) -> None:
    table.create_tracked("a INT")
    table.insert("(1)")
    tags = {"ZCUBE_ID": "abc", "ZCUBE_ZORDER_BY": '["a"]', "ä": '{"x":1}', "INSERTION_TIME": "1"}
    readd(table, tags=tags, clusteringProvider="liquid")
    table.alter("RENAME COLUMN a TO b")

    log = unmap(table)

    (add,) = log.actions("add")
    assert (add["tags"], add["clusteringProvider"]) == (tags, "liquid")


def clustered(table: Table, *by: str) -> Table:
    table.spark.sql(
        f"CREATE TABLE {table.name} (a INT, b STRING, s STRUCT<x: INT, y: INT>) USING delta"
        f" CLUSTER BY ({', '.join(by)}) TBLPROPERTIES ({TRACKED}, {NAME_MODE})"
    )
    return table


def clustering(log: TableLog) -> list[list[str]] | None:
    for action in log.actions("domainMetadata"):
        if action["domain"] == "delta.clustering":
            columns: list[list[str]] = json.loads(action["configuration"])["clusteringColumns"]
            return columns
    return None


def detail(table: Table) -> list[str]:
    [row] = table.spark.sql(f"DESCRIBE DETAIL {table.name}").collect()
    return list(row["clusteringColumns"])


def test_clustering_columns_are_renamed_in_the_same_commit(table: Table) -> None:
    clustered(table, "a", "s.x")
    insert_one_file(table, "(1, 'x', named_struct('x', 1, 'y', 1)), (2, 'y', NULL)")
    table.spark.sql(f"OPTIMIZE {table.name}")
    table.alter("RENAME COLUMN a TO c")
    table.alter("RENAME COLUMN s.x TO z")
    table.alter("RENAME COLUMN s TO t")
    insert_one_file(table, "(3, 'z', named_struct('z', 3, 'y', 3))")
    assert detail(table) == ["c", "t.z"]

    log = unmap(table)

    assert clustering(log) == [["c"], ["t", "z"]]
    assert_all_else_is_kept(log)
    assert detail(table) == ["c", "t.z"]
    rows = table.selected("c, b, t.z")
    table.spark.sql(f"OPTIMIZE {table.name} FULL")
    assert table.log.operation == "OPTIMIZE"
    assert table.selected("c, b, t.z") == rows
    (add,) = table.log.actions("add")
    assert json.loads(add["tags"]["ZCUBE_ZORDER_BY"]) == ["c", "t.z"]


@pytest.mark.matrix
def test_deltas_own_removal_keeps_the_clustering_domain(table: Table) -> None:
    """No column has the names in the clustering domain, so Delta cannot describe the table."""
    clustered(table, "a")
    table.insert("(1, 'x', NULL)")
    table.alter("RENAME COLUMN a TO c")

    with setting(table, "rewrite"):
        log = unmap(table)

    assert clustering(log) is None
    with pytest.raises(Py4JJavaError, match="NoSuchElementException"):
        detail(table)


@MATRIX
def test_empty_clustering_domain_is_kept(table: Table) -> None:
    clustered(table, "a")
    table.insert("(1, 'x', NULL)")
    table.alter("CLUSTER BY NONE")
    table.alter("RENAME COLUMN a TO c")

    log = unmap(table)

    assert clustering(log) in (None, [])
    assert not detail(table)


@MATRIX
def test_other_domains_are_kept(table: Table) -> None:
    clustered(table, "a")
    table.insert("(1, 'x', NULL)")
    domain = {"domain": "my.app", "configuration": '{"a": [1, 2.50]}', "removed": False}
    table.log.append_foreign({"domainMetadata": domain})
    table.alter("RENAME COLUMN a TO c")

    log = unmap(table)

    assert {action["domain"] for action in log.actions("domainMetadata")} == {"delta.clustering"}


# The commit.


def test_commit_has_the_actions_of_deltas_own_removal(table: Table) -> None:
    """Compares commit info, metadata and protocol. Files, row ids, times and metrics may differ."""
    table.create("a INT, b STRING", TRACKED, NAME_MODE, VECTORS, ROW_TRACKING)
    table.insert("(1, 'x')")
    table.alter("RENAME COLUMN a TO c")
    twin = by_delta(table)

    log = unmap(table)

    def commit_of(of: TableLog) -> Any:
        info = of.actions("commitInfo")[0]
        for own in ("timestamp", "txnId", "operationMetrics"):
            info.pop(own)
        return info, of.actions("metaData"), of.actions("protocol")

    assert commit_of(log) == commit_of(twin.log)


@MATRIX
def test_change_data_feed_has_no_change(table: Table) -> None:
    table.create("a INT, b STRING", TRACKED, NAME_MODE, "'delta.enableChangeDataFeed' = 'true'")
    table.insert("(1, 'x')")
    table.alter("RENAME COLUMN a TO c")

    log = unmap(table)

    assert log.actions("cdc") == []
    assert not (table.path / "_change_data").exists()
    changes = table.spark.sql(
        f"SELECT * FROM table_changes_by_path('{table.path}', {log.version}, {log.version})"
    )
    assert changes.collect() == []


@MATRIX
def test_commit_timestamps_in_the_log_grow(table: Table) -> None:
    table.create("a INT", TRACKED, NAME_MODE, "'delta.enableInCommitTimestamps' = 'true'")
    table.insert("(1)")
    table.alter("RENAME COLUMN a TO b")
    before = table.log.actions("commitInfo")[0]["inCommitTimestamp"]

    log = unmap(table)

    assert log.actions("commitInfo")[0]["inCommitTimestamp"] > before
    assert next(iter(log.commits[-1][0])) == "commitInfo"


@pytest.mark.matrix
def test_older_versions_are_readable_and_restorable_after_removal_by_copy(table: Table) -> None:
    table.create("a INT, b STRING", TRACKED, NAME_MODE, VECTORS)
    insert_one_file(table, "(1, 'x'), (2, 'y')")
    table.alter("RENAME COLUMN a TO c")
    table.spark.sql(f"DELETE FROM {table.name} WHERE c = 1")
    before = table.log.version
    unmap(table)

    assert_df_equality(table.frame(before), table.frame())
    table.restore(before)

    assert table.selected("c, b") == [(2, "y")]
    assert table.log.physical_names == {"c": "a", "b": "b"}
    assert counts(unmap(table)) == (0, 1, 0)
    assert table.selected("c, b") == [(2, "y")]


@pytest.mark.matrix
def test_vacuum_deletes_the_old_files_only(table: Table) -> None:
    with_vector(table)
    old = set(table.log.live_files)
    log = unmap(table)

    table.vacuum_at_once()

    assert not any(local(table.path, path).exists() for path in old)
    assert all(local(table.path, path).exists() for path in log.live_files)
    assert list(table.path.rglob("deletion_vector_*.bin"))
    assert table.rows() == [(1, "x"), (3, "z")]


@MATRIX
def test_copied_table_can_be_moved(table: Table, tmp_path: Path) -> None:
    with_vector(table)
    unmap(table)

    shutil.move(table.path, tmp_path / "moved")

    assert Table(table.spark, tmp_path / "moved").rows() == [(1, "x"), (3, "z")]
