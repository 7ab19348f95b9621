# SPDX-License-Identifier: Apache-2.0
"""Tests REORG TABLE .. APPLY (PURGE) beside other writers, and what it reports.

`statements/purge.txt` has the tables of one writer.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from typing import Any

import pytest

from tests.support.delta_table import NAME_MODE, TRACKED, Table, in_turn
from tests.support.held_statement import Step, with_conflicts
from tests.support.prepared import made_once
from tests.support.releases import PURGES, since_delta_4_1
from tests.support.removal import (
    COPY,
    PURGE_SETTING,
    assert_checksum_holds,
    copied,
    data_files,
    files_of,
    insert_one_file,
    live,
    local,
)
from tests.support.session_conf import session_conf

pytestmark = [pytest.mark.without("auto-compact"), PURGES]

ROW_TRACKING = "'delta.enableRowTracking' = 'true'"


def purge(table: Table) -> Any:
    """Purges a table, and returns the one row of the statement."""
    (row,) = table.spark.sql(f"REORG TABLE {table.name} APPLY (PURGE)").collect()
    return row


@made_once
def dropped(table: Table, /, *properties: str, **options: str) -> Table:
    """Makes a table of two files that contain a dropped column."""
    table.create("a INT, b STRING, d INT", TRACKED, NAME_MODE, *properties, **options)
    insert_one_file(table, "(1, 'x', 7), (2, 'x', 7)")
    insert_one_file(table, "(3, 'y', 8), (4, 'y', 8)")
    table.alter("RENAME COLUMN a TO c")
    table.alter("DROP COLUMN d")
    return table


def copies_on_disk(table: Table) -> set[str]:
    return {file.name for file in data_files(table.path) if COPY.match(file.name)}


def live_names(table: Table) -> set[str]:
    return {local(table.path, path).name for path in live(table.log)}


def shape(value: Any) -> Any:
    """Replaces the values of a row by their types."""
    if hasattr(value, "asDict"):
        return {name: shape(part) for name, part in value.asDict().items()}
    return type(value)


def test_purge_returns_and_logs_the_same_metrics_as_delta(table: Table) -> None:
    dropped(table)
    twin = Table(table.spark, table.path.with_name("by-delta"))
    shutil.copytree(table.path, twin.path)

    ours = purge(table)
    with session_conf(table.spark, {PURGE_SETTING: "rewrite"}):
        deltas = purge(twin)

    assert shape(ours) == shape(deltas)
    assert (ours.metrics.numFilesAdded, ours.metrics.numFilesRemoved) == (2, 2)
    assert ours.metrics.filesAdded.totalSize == sum(a["size"] for a in table.log.actions("add"))
    (ours_logged, deltas_logged) = (each.log.actions("commitInfo")[0] for each in (table, twin))
    assert ours_logged["operationMetrics"].keys() == deltas_logged["operationMetrics"].keys()
    assert ours_logged["operationParameters"] == deltas_logged["operationParameters"]
    assert int(ours_logged["operationMetrics"]["numAddedFiles"]) == 2
    assert_checksum_holds(table.log)


# Batches, each of which is a commit, of two partitions or of one.


@pytest.mark.every_variant
@pytest.mark.parametrize("partitioned_by", ["b", ""])
def test_each_batch_is_one_commit(table: Table, partitioned_by: str) -> None:
    dropped(table, partitioned_by=partitioned_by)
    version = table.log.version

    with session_conf(table.spark, {"spark.databricks.delta.optimize.batchSize": "1"}):
        purge(table)

    assert table.log.version == version + 2
    assert [files_of(table.log.at(version + step)) for step in (1, 2)] == ["1 1 0"] * 2
    assert copies_on_disk(table) == live_names(table)


@pytest.mark.every_variant
@pytest.mark.parametrize("partition", ["x", "y"])
def test_committed_batch_keeps_its_copies_when_the_other_conflicts(
    table: Table, partition: str
) -> None:
    """One of two batches conflicts: the first or the second."""
    dropped(table, partitioned_by="b")

    with session_conf(table.spark, {"spark.databricks.delta.optimize.batchSize": "1"}):
        error = beside(table, sql(f"DELETE FROM {{t}} WHERE b = '{partition}'"))

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
        "INSERT INTO {t} VALUES (5, 'z')",
        "ALTER TABLE {t} RENAME COLUMN b TO e",
        "ALTER TABLE {t} ADD COLUMN e INT",
        pytest.param(
            "ALTER TABLE {t} DROP COLUMN b",
            # The copies were made before the column was dropped.
            marks=pytest.mark.broken_table("file_columns", "statistics_names"),
        ),
        "ALTER TABLE {t} SET TBLPROPERTIES ('k' = 'v')",
    ],
    ids=["append", "rename", "add", "drop", "property"],
)
def test_purge_succeeds_beside_other_statements(table: Table, other: str) -> None:
    dropped(table)

    assert beside(table, sql(other)) is None

    assert table.log.operation == "REORG"
    assert copied(table.log) == len(table.log.actions("remove")) == 2
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
    dropped(table, ROW_TRACKING)

    error = beside(table, sql("ALTER TABLE {t} DROP FEATURE rowTracking"))

    assert error is not None
    assert {add.get("baseRowId") for add in live(table.log).values()} == {None}
    assert not copies_on_disk(table)


def test_purge_fails_when_restore_restored_the_column(table: Table) -> None:
    dropped(table)

    error = beside(table, lambda table: table.restore(3))

    assert "DELTA_SCHEMA_CHANGE_SINCE_ANALYSIS" in str(error)
    assert table.log.operation == "RESTORE"
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
