# SPDX-License-Identifier: Apache-2.0
"""Tests that REORG TABLE .. APPLY (PURGE) commits byte copies."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest
from pyspark import InheritableThread

from tests.support.delta_table import ID_MODE, NAME_MODE, TRACKED, Table, forget_logs, in_turn
from tests.support.held_statement import Step, with_conflicts
from tests.support.odd_disk import OddDisk
from tests.support.prepared import made_once
from tests.support.releases import PURGES, since_delta_4_1
from tests.support.removal import (
    COPY,
    PURGE_SETTING,
    assert_checksum_holds,
    copied,
    data_files,
    insert_one_file,
    live,
    local,
    untouched,
)
from tests.support.session_conf import session_conf
from tests.support.table_log import TableLog
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.without("auto-compact"), PURGES]

BATCH_SIZE = "spark.databricks.delta.optimize.batchSize"
ROW_TRACKING = "'delta.enableRowTracking' = 'true'"
VECTORS = "'delta.enableDeletionVectors' = 'true'"
UNREADABLE = "USAGE_TRACKING_UNREADABLE_DATA_FILE"


def purge(table: Table, where: str = "") -> Any:
    """Purges a table, and returns the one row of the statement."""
    (row,) = table.spark.sql(f"REORG TABLE {table.name} {where} APPLY (PURGE)").collect()
    return row


@made_once
def dropped(table: Table, /, *properties: str, **options: str) -> Table:
    """Makes a table of two files that contain a dropped column."""
    table.create("a INT, b STRING, d INT", *(properties or (TRACKED, NAME_MODE)), **options)
    insert_one_file(table, "(1, 'x', 7), (2, 'x', 7)")
    insert_one_file(table, "(3, 'y', 8), (4, 'y', 8)")
    table.alter("RENAME COLUMN a TO c")
    table.alter("DROP COLUMN d")
    return table


def rewrite_first_commit(table: Table, change: Callable[[dict[str, Any]], object]) -> None:
    """Changes the `add` actions of the first INSERT, as another writer might have logged them."""
    commit = table.path / "_delta_log" / f"{1:020}.json"
    actions = [json.loads(line) for line in commit.read_text().splitlines()]
    for action in actions:
        if "add" in action:
            change(action["add"])
    commit.with_name(f".{commit.name}.crc").unlink()
    commit.write_text("".join(json.dumps(action) + "\n" for action in actions))
    forget_logs(table.spark)


def added(log: TableLog) -> list[dict[str, Any]]:
    return log.actions("add")


def copies_on_disk(table: Table) -> set[str]:
    return {file.name for file in data_files(table.path) if COPY.match(file.name)}


def live_names(table: Table) -> set[str]:
    return {local(table.path, path).name for path in live(table.log)}


def columns_in_files(log: TableLog) -> set[str]:
    return {
        name
        for path in live(log)
        for name in pyarrow.parquet.read_schema(local(log.path, path)).names
    }


def shape(value: Any) -> Any:
    """Replaces the values of a row by their types."""
    if hasattr(value, "asDict"):
        return {name: shape(part) for name, part in value.asDict().items()}
    return type(value)


def test_purge_copies_files_without_the_dropped_column(table: Table) -> None:
    dropped(table)
    rows = table.selected("c, b")
    before = table.log

    with table.one_commit():
        purge(table)

    log = table.log
    assert log.operation == "REORG"
    assert (len(added(log)), copied(log)) == (2, 2)
    assert {action["dataChange"] for kind in ("add", "remove") for action in log.actions(kind)} == {
        False
    }
    assert {add["path"] for add in live(before).values()} == {
        action["path"] for action in log.actions("remove")
    }
    assert columns_in_files(log) == {"a", "b"}
    assert log.columns == before.columns
    assert log.parquet_field_ids() == {"a": 1, "b": 2}
    for add in added(log):
        stats = json.loads(add["stats"])
        assert stats["numRecords"] == 2
        assert (
            set(stats["minValues"])
            == set(stats["maxValues"])
            == set(stats["nullCount"])
            == {"a", "b"}
        )
        assert add["size"] == local(table.path, add["path"]).stat().st_size
    assert log.metadata == before.metadata
    assert_checksum_holds(log)
    assert table.selected("c, b") == rows


def test_purge_returns_and_logs_the_same_metrics_as_delta(table: Table) -> None:
    dropped(table)
    twin = Table(table.spark, table.path.with_name("by-delta"))
    shutil.copytree(table.path, twin.path)

    ours = purge(table)
    with session_conf(table.spark, {PURGE_SETTING: "rewrite"}):
        deltas = purge(twin)

    assert shape(ours) == shape(deltas)
    assert (ours.metrics.numFilesAdded, ours.metrics.numFilesRemoved) == (2, 2)
    assert ours.metrics.filesAdded.totalSize == sum(add["size"] for add in added(table.log))
    (ours_logged, deltas_logged) = (each.log.actions("commitInfo")[0] for each in (table, twin))
    assert ours_logged["operationMetrics"].keys() == deltas_logged["operationMetrics"].keys()
    assert ours_logged["operationParameters"] == deltas_logged["operationParameters"]
    assert int(ours_logged["operationMetrics"]["numAddedFiles"]) == 2


def test_second_purge_makes_no_commit(table: Table) -> None:
    dropped(table)
    purge(table)

    with table.no_commit(), session_conf(table.spark, {PURGE_SETTING: "rewrite"}):
        purge(table)
    with table.no_commit():
        purge(table)


@pytest.mark.parametrize(
    ("properties", "value", "copies"),
    [
        ((TRACKED, NAME_MODE), None, 2),
        ((TRACKED, NAME_MODE), "rewrite", 0),
        ((TRACKED, NAME_MODE), " COPY ", 2),
        ((NAME_MODE,), None, 0),
        ((NAME_MODE,), "copy", 2),
        ((TRACKED, ID_MODE), None, 2),
    ],
)
def test_setting_decides_between_copies_and_rewrite(
    table: Table, properties: tuple[str, ...], value: str | None, copies: int
) -> None:
    dropped(table, *properties)
    rows = table.selected("c, b")

    with session_conf(table.spark, {PURGE_SETTING: value} if value else {}), table.one_commit():
        purge(table)

    assert copied(table.log) == copies
    assert len(columns_in_files(table.log)) == 2
    assert table.selected("c, b") == rows


def test_purge_fails_when_the_setting_is_invalid(table: Table) -> None:
    dropped(table)

    with (
        session_conf(table.spark, {PURGE_SETTING: "quick"}),
        table.refusal("USAGE_TRACKING_INVALID_SETTING"),
    ):
        purge(table)
    assert not copies_on_disk(table)


@pytest.mark.without("row-tracking")
def test_delta_rewrites_files_with_deletion_vectors(table: Table) -> None:
    dropped(table, TRACKED, NAME_MODE, VECTORS)
    table.spark.sql(f"DELETE FROM {table.name} WHERE c = 4")
    (vector,) = [add for add in live(table.log).values() if "deletionVector" in add]

    with table.one_commit():
        row = purge(table)

    log = table.log
    assert (len(added(log)), copied(log)) == (2, 1)
    assert vector["path"] in {action["path"] for action in log.actions("remove")}
    assert row.metrics.deletionVectorStats.numDeletionVectorRowsRemoved == 1
    assert not any("deletionVector" in add for add in live(log).values())
    assert columns_in_files(log) == {"a", "b"}
    assert table.selected("c, b") == [(1, "x"), (2, "x"), (3, "y")]


@pytest.mark.without("deletion-vectors", "row-tracking")
def test_delta_rewrites_files_without_row_counts_when_iceberg_compatible(table: Table) -> None:
    compat = "'delta.enableIcebergCompatV2' = 'true'"
    dropped(table, NAME_MODE, compat, "'delta.enableDeletionVectors' = 'false'")
    rewrite_first_commit(table, lambda add: add.pop("stats"))

    with session_conf(table.spark, {PURGE_SETTING: "copy"}), table.one_commit():
        purge(table)

    log = table.log
    assert (len(added(log)), copied(log)) == (2, 1)
    assert all(json.loads(add["stats"])["numRecords"] == 2 for add in added(log))
    assert len(columns_in_files(log)) == 2
    assert table.selected("c, b") == [(1, "x"), (2, "x"), (3, "y"), (4, "y")]


@pytest.mark.without("row-tracking")
def test_drop_feature_deletion_vectors_copies_files(table: Table) -> None:
    dropped(table, TRACKED, NAME_MODE, VECTORS)
    table.spark.sql(f"DELETE FROM {table.name} WHERE c = 4")

    table.alter("DROP FEATURE deletionVectors")

    (reorg,) = (v for v in range(table.log.version + 1) if table.log.at(v).operation == "REORG")
    assert copied(table.log.at(reorg)) == 1
    assert columns_in_files(table.log) == {"a", "b"}
    assert table.selected("c, b") == [(1, "x"), (2, "x"), (3, "y")]


def test_purge_copies_only_the_partitions_of_a_predicate(table: Table) -> None:
    table.create_tracked("a INT, p STRING, d INT", partitioned_by="p")
    for value in ("one", "a%2F b=ü"):
        insert_one_file(table, f"(1, '{value}', 7)")
    table.alter("RENAME COLUMN p TO q")
    table.alter("DROP COLUMN d")

    with table.one_commit():
        purge(table, "WHERE q = 'a%2F b=ü'")

    (add,) = added(table.log)
    assert COPY.search(add["path"])
    assert add["partitionValues"] == {"p": "a%2F b=ü"}
    # Some releases also write the partition column into files.
    assert columns_in_files(table.log) - {"p"} == {"a", "d"}
    with table.one_commit():
        purge(table)
    assert columns_in_files(table.log) - {"p"} == {"a"}
    assert table.selected("a, q") == [(1, "a%2F b=ü"), (1, "one")]


def test_purge_drops_fields_at_every_level(table: Table) -> None:
    table.create_tracked(
        "a INT, s STRUCT<x: INT, y: INT>, l ARRAY<STRUCT<x: INT, y: INT>>,"
        " m MAP<STRING, STRUCT<x: INT, y: INT>>"
    )
    point = "named_struct('x', 1, 'y', 2)"
    insert_one_file(table, f"(1, {point}, array({point}), map('k', {point}))")
    for path in ("s.x", "l.element.x", "m.value.x"):
        table.alter(f"DROP COLUMN {path}")
    rows = table.selected("a, s.y, l[0].y, m['k'].y")

    with table.one_commit():
        purge(table)

    assert copied(table.log) == 1
    assert not [name for name in table.log.parquet_columns() if name.endswith(".x")]
    assert table.selected("a, s.y, l[0].y, m['k'].y") == rows == [(1, 2, 2, 2)]


def test_delta_rewrites_a_file_when_every_field_of_a_struct_was_dropped(table: Table) -> None:
    table.create_tracked("a INT, s STRUCT<x: INT>")
    insert_one_file(table, "(1, named_struct('x', 2)), (2, NULL)")
    table.alter("ADD COLUMN s.y INT")
    table.alter("DROP COLUMN s.x")
    insert_one_file(table, "(3, named_struct('y', 4))")
    table.alter("ADD COLUMN b INT")
    rows = table.selected("a, s.y, b")

    with table.one_commit():
        purge(table)

    assert (len(added(table.log)), copied(table.log)) == (1, 0)
    assert table.selected("a, s.y, b") == rows


def test_purge_keeps_row_ids(table: Table) -> None:
    dropped(table, TRACKED, NAME_MODE, ROW_TRACKING)
    columns = "_metadata.row_id, _metadata.row_commit_version, c"
    rows = table.selected(columns)

    with table.one_commit():
        purge(table)

    assert copied(table.log) == 2
    assert table.selected(columns) == rows


def test_purge_drops_the_columns_of_disabled_row_tracking(table: Table) -> None:
    table.create("a INT, d INT", TRACKED, NAME_MODE, ROW_TRACKING)
    insert_one_file(table, "(1, 7)")
    insert_one_file(table, "(2, 8)")
    table.spark.sql(f"OPTIMIZE {table.name}")
    table.alter("SET TBLPROPERTIES ('delta.enableRowTracking' = 'false')")
    table.alter("DROP COLUMN d")

    purge(table)

    assert columns_in_files(table.log) == {"a"}
    with table.no_commit():
        purge(table)


@since_delta_4_1("has VACUUM pass over the folders of `_p` once it is renamed")
def test_vacuum_removes_copies_of_a_partition_with_a_hidden_name(table: Table) -> None:
    table.create("a INT, _p STRING, d INT", TRACKED, NAME_MODE, partitioned_by="_p")
    insert_one_file(table, "(1, 'x', 7)")
    insert_one_file(table, "(2, 'y', 7)")
    table.alter("RENAME COLUMN _p TO pp")
    table.alter("DROP COLUMN d")
    purge(table)
    assert copied(table.log) == 2

    table.spark.sql(f"DELETE FROM {table.name} WHERE pp = 'x'")
    table.vacuum_at_once()

    assert {file.name for file in data_files(table.path)} == live_names(table)
    assert table.selected("a, pp") == [(2, "y")]


@pytest.mark.without("row-tracking")
def test_purge_keeps_the_tags_of_clustered_files(table: Table) -> None:
    table.spark.sql(
        f"CREATE TABLE {table.name} (a INT, b STRING, d INT) USING delta CLUSTER BY (a)"
        f" TBLPROPERTIES ({TRACKED}, {NAME_MODE})"
    )
    insert_one_file(table, "(1, 'x', 7)")
    insert_one_file(table, "(2, 'y', 8)")
    table.spark.sql(f"OPTIMIZE {table.name}")
    table.alter("DROP COLUMN d")
    (before,) = live(table.log).values()
    assert before["tags"]
    twin = Table(table.spark, table.path.with_name("by-delta"))
    shutil.copytree(table.path, twin.path)

    with table.one_commit():
        purge(table)
    with session_conf(table.spark, {PURGE_SETTING: "rewrite"}), twin.no_commit():
        purge(twin)  # Delta does not rewrite a whole cube, although it contains a dropped column

    (add,) = added(table.log)
    assert (add["tags"], add["clusteringProvider"]) == (
        before["tags"],
        before["clusteringProvider"],
    )
    assert len(columns_in_files(table.log)) == 2
    assert table.selected("a, b") == [(1, "x"), (2, "y")]


@made_once
def of_two_partitions(table: Table) -> Table:
    table.create("a INT, p STRING, d INT", TRACKED, NAME_MODE, partitioned_by="p")
    insert_one_file(table, "(1, 'x', 7), (2, 'x', 7)")
    insert_one_file(table, "(3, 'y', 8), (4, 'y', 8)")
    table.alter("DROP COLUMN d")
    return table


@pytest.mark.every_variant
@pytest.mark.parametrize("make", [of_two_partitions, dropped], ids=["two", "one"])
def test_each_batch_is_one_commit(table: Table, make: Callable[[Table], Table]) -> None:
    """Two files make two batches, in two partitions or in one."""
    make(table)
    version = table.log.version

    with session_conf(table.spark, {BATCH_SIZE: "1"}):
        purge(table)

    assert table.log.version == version + 2
    assert [copied(TableLog(table.path, version + step)) for step in (1, 2)] == [1, 1]
    assert "d" not in columns_in_files(table.log)
    assert copies_on_disk(table) == live_names(table)


@pytest.mark.every_variant
@pytest.mark.parametrize("partition", ["x", "y"])
def test_committed_batch_keeps_its_copies_when_the_other_conflicts(
    table: Table, partition: str
) -> None:
    """One of two batches conflicts: the first or the second."""
    of_two_partitions(table)

    with session_conf(table.spark, {BATCH_SIZE: "1"}):
        error = beside(table, sql(f"DELETE FROM {{t}} WHERE p = '{partition}'"))

    assert error is not None
    assert copies_on_disk(table) <= live_names(table)
    assert len(table.rows()) == 2


# Purges while other writers commit.


def beside(table: Table, *others: Callable[[Table], object]) -> Exception | None:
    """Purges a table. The others commit just before the purge commits."""
    return with_conflicts(
        table.spark, lambda: purge(table), Step.COMMIT, [lambda: in_turn(*others)(table)]
    )


def sql(text: str) -> Callable[[Table], object]:
    return lambda table: table.spark.sql(text.format(t=table.name))


@pytest.mark.parametrize(
    "other",
    [
        sql("INSERT INTO {t} VALUES (5, 'z')"),
        sql("ALTER TABLE {t} RENAME COLUMN b TO e"),
        sql("ALTER TABLE {t} ADD COLUMN e INT"),
        pytest.param(
            sql("ALTER TABLE {t} DROP COLUMN b"),
            # The copies were made before the column was dropped.
            marks=pytest.mark.broken_table("file_columns", "statistics_names"),
        ),
        sql("ALTER TABLE {t} SET TBLPROPERTIES ('k' = 'v')"),
    ],
    ids=["append", "rename", "add", "drop", "property"],
)
def test_purge_succeeds_beside_other_statements(
    table: Table, other: Callable[[Table], object]
) -> None:
    dropped(table)
    seen: list[Any] = []

    error = beside(table, other, lambda table: seen.append(table.rows()))

    assert error is None
    assert table.log.operation == "REORG"
    assert copied(table.log) == 2
    assert "d" not in columns_in_files(table.log)
    assert table.rows() == seen[0]
    assert_checksum_holds(table.log)


@pytest.mark.parametrize(
    "other",
    [
        sql("DELETE FROM {t} WHERE c = 1"),
        sql("UPDATE {t} SET b = 'z' WHERE c = 4"),
        Table.remove_mapping,
        Table.purge,
    ],
    ids=["delete", "update", "remove_mapping", "purge"],
)
def test_purge_fails_beside_other_statements(
    table: Table, other: Callable[[Table], object]
) -> None:
    dropped(table)
    seen: list[Any] = []

    error = beside(table, other, lambda table: seen.append(table.rows()))

    assert error is not None
    assert table.log.operation != "REORG" or copied(table.log) == 2
    assert table.rows() == seen[0]
    assert copies_on_disk(table) <= live_names(table)


@since_delta_4_1("cannot drop rowTracking")
def test_purge_fails_when_rows_lose_their_ids(table: Table) -> None:
    """Files of later writers would get the row ids of the copies."""
    dropped(table, TRACKED, NAME_MODE, ROW_TRACKING)

    error = beside(table, sql("ALTER TABLE {t} DROP FEATURE rowTracking"))

    assert error is not None
    assert {add.get("baseRowId") for add in live(table.log).values()} == {None}
    assert not copies_on_disk(table)


def test_purge_fails_when_restore_restored_the_column(table: Table) -> None:
    table.create_tracked("a INT, b STRING, d INT")
    insert_one_file(table, "(1, 'x', 7)")
    before = table.log.version
    table.alter("DROP COLUMN d")

    error = beside(table, lambda table: table.restore(before))

    assert "DELTA_SCHEMA_CHANGE_SINCE_ANALYSIS" in str(error)
    assert table.log.operation == "RESTORE"
    assert table.selected("a, b, d") == [(1, "x", 7)]
    assert not copies_on_disk(table)


def test_purge_removes_its_copies_when_a_retry_is_refused(
    table: Table, rules: Callable[..., str]
) -> None:
    """The rules fail before the second attempt, after another writer changed the metadata."""
    dropped(table)
    change = sql("ALTER TABLE {t} SET TBLPROPERTIES ('k' = 'v')")

    error = beside(table, change, lambda _: rules('raise RuntimeError("not now")'))

    assert "USAGE_TRACKING_RULES_UNAVAILABLE" in str(error)
    assert table.log.operation == "SET TBLPROPERTIES"
    assert not copies_on_disk(table)
    rules()
    purge(table)
    assert copied(table.log) == 2


# Failures.


def on_odd_disk(table: Table) -> Table:
    table.name = f"delta.`odd:{table.path}`"
    return dropped(table)


def missing(file: Path) -> None:
    file.unlink()


def no_parquet(file: Path) -> None:
    file.write_bytes(b"x" * file.stat().st_size)


def with_broken_pages(file: Path) -> None:
    content = file.read_bytes()
    file.write_bytes(content[:4] + b"\xff" * 90 + content[94:])
    file.with_name(f".{file.name}.crc").unlink()


@pytest.mark.every_variant
@pytest.mark.broken_table("file_missing", "file_unreadable")
@pytest.mark.parametrize("features", [(TRACKED,), ()], ids=["tracked", "untracked"])
@pytest.mark.parametrize("broken", [missing, no_parquet])
def test_purge_names_a_file_without_a_footer(
    table: Table, features: tuple[str, ...], broken: Callable[[Path], None]
) -> None:
    table.create("a INT, b STRING", NAME_MODE, *features)
    insert_one_file(table, "(1, 'x')")
    insert_one_file(table, "(2, 'y')")
    table.alter("DROP COLUMN b")
    file = local(table.path, list(live(table.log))[1])
    broken(file)

    with untouched(table), table.refusal(UNREADABLE) as refused:
        table.purge()

    assert refused.value.getMessageParameters()["path"].endswith(file.name)


@pytest.mark.every_variant
@pytest.mark.without("deletion-vectors")
@pytest.mark.parametrize("features", [(TRACKED,), ()], ids=["tracked", "untracked"])
def test_purge_names_a_file_that_delta_cannot_rewrite(
    table: Table, features: tuple[str, ...]
) -> None:
    """A file with a deletion vector is rewritten, and another file is copied if possible."""
    table.create("a INT, b STRING", NAME_MODE, VECTORS, *features)
    insert_one_file(table, "(1, 'x'), (2, 'x')")
    insert_one_file(table, "(3, 'y')")
    table.spark.sql(f"DELETE FROM {table.name} WHERE a = 1")
    table.alter("DROP COLUMN b")
    (path,) = (path for path, add in live(table.log).items() if "deletionVector" in add)
    file = local(table.path, path)
    with_broken_pages(file)

    with table.refusal(UNREADABLE) as refused:
        table.purge()

    assert refused.value.getMessageParameters()["path"].endswith(file.name)
    assert not copies_on_disk(table)


def test_purge_fails_when_a_task_fails(table: Table, disk: OddDisk) -> None:
    on_odd_disk(table)
    disk.fail()

    with table.refusal("USAGE_TRACKING_COPY_FAILED"), untouched(table):
        purge(table)

    purge(table)
    assert copied(table.log) == 2
    assert columns_in_files(table.log) == {"a", "b"}


def test_cancelled_purge_deletes_its_copies(table: Table, disk: OddDisk) -> None:
    on_odd_disk(table)
    context = table.spark.sparkContext
    errors: list[Exception] = []

    def purge_in_a_group() -> None:
        context.setJobGroup("purge", "of the test", interruptOnCancel=False)
        try:
            purge(table)
        except Exception as error:
            errors.append(error)

    disk.hold()
    with untouched(table):
        thread = InheritableThread(target=purge_in_a_group)
        thread.start()
        wait_until(lambda: disk.has_delayed, "a copy")
        context.cancelJobGroup("purge")
        disk.release()
        thread.join()

    assert "SPARK_JOB_CANCELLED" in str(*errors)


@pytest.mark.every_variant
@pytest.mark.parametrize("tags", [None, {"k": "v"}])
@pytest.mark.parametrize("act", ["purge", "removal"])
def test_copy_has_the_tags_of_its_source(
    table: Table, act: str, tags: dict[str, str] | None
) -> None:
    """The log has no empty tags, although a file without tags has an empty map in memory."""
    table.create_tracked("a INT, b INT")
    table.insert("(1, 2)")
    rewrite_first_commit(table, lambda add: add.update({} if tags is None else {"tags": tags}))
    table.alter("DROP COLUMN b")

    if act == "purge":
        purge(table)
    else:
        table.remove_mapping()

    (add,), (remove,) = table.log.actions("add"), table.log.actions("remove")
    assert add.get("tags") == tags
    assert "tags" not in remove or remove["tags"] == tags
