# SPDX-License-Identifier: Apache-2.0
"""Tests removals that used to harm values or tables, most of them beside a change of the table.

A review of the copy rounds found the defects: they lost values or a whole table without an error.
"""

from __future__ import annotations

import json
import shutil

import pytest

from tests.concurrency.statements import named_condition
from tests.concurrency.test_removal_beside_writers import (
    TIMEOUT,
    SetConf,
    assert_removed,
    copies,
    remove_beside,
    remove_mapping,
    restore,
    used,
    with_rewrites,
)
from tests.support.delta_table import NAME_MODE, TRACKED, Table
from tests.support.held_statement import HeldStatement, Step
from tests.support.removal import (
    insert_one_file,
    live,
    metrics,
)
from tests.support.variants import in_matrix

CHANGED = "DELTA_SCHEMA_CHANGE_SINCE_ANALYSIS"
ROW_TRACKING = "'delta.feature.rowTracking' = 'supported'"


@pytest.mark.every_variant
@pytest.mark.parametrize(
    ("columns", "values", "dropped"),
    [
        ("a INT, b STRING", "(1, 'x')", "b"),
        *in_matrix(
            ("a INT, s ARRAY<STRUCT<x: INT, y: INT>>", "(1, array((2, 3)))", "s.element.x"),
            ("a INT, s STRUCT<x: INT, y: INT>", "(1, named_struct('x', 2, 'y', 3))", "s.x"),
        ),
    ],
    ids=["top", "array", "struct"],
)
def test_dropped_column_restored_during_removal_has_its_values(
    table: Table, columns: str, values: str, dropped: str
) -> None:
    table.create(columns, TRACKED, NAME_MODE)
    table.insert(values)
    rows = table.rows()
    table.alter(f"DROP COLUMN {dropped}")

    error = remove_beside(table, restore)

    assert error is None
    assert_removed(table, rows)


def test_row_ids_enabled_during_removal_are_kept(table: Table) -> None:
    with_rewrites(table, ROW_TRACKING)
    columns = "a, _metadata.row_id"
    seen = []

    def enable_row_tracking(_: Table) -> None:
        table.alter("SET TBLPROPERTIES ('delta.enableRowTracking' = 'true')")
        seen.append(table.selected(columns))

    error = remove_beside(table, enable_row_tracking)

    assert error is None
    assert table.selected(columns) == seen[0]


def test_files_without_row_ids_and_counts_are_rewritten(table: Table, conf: SetConf) -> None:
    conf("spark.databricks.delta.stats.collect", "false")
    used(table)
    rows = table.rows()
    table.alter(f"SET TBLPROPERTIES ({ROW_TRACKING})")
    assert all("baseRowId" not in add and "stats" not in add for add in live(table.log).values())
    conf("spark.databricks.delta.stats.collect", "true")

    remove_mapping(table)

    assert_removed(table, rows)
    assert metrics(table.log)["numRewrittenFiles"] == 4


def test_file_without_row_id_and_with_broken_statistics_is_rewritten(
    table: Table, conf: SetConf
) -> None:
    conf("spark.databricks.delta.stats.collect", "false")
    used(table)
    rows = table.rows()
    table.alter(f"SET TBLPROPERTIES ({ROW_TRACKING})")
    add = next(iter(live(table.log).values()))
    table.log.append_foreign({"add": {**add, "stats": "NaN"}})
    conf("spark.databricks.delta.stats.collect", "true")

    remove_mapping(table)

    assert_removed(table, rows)
    assert metrics(table.log)["numRewrittenFiles"] == 4


@pytest.mark.every_variant
@pytest.mark.parametrize("is_short", [True, False])
def test_removal_fails_when_the_table_at_the_path_is_created_again(
    table: Table, is_short: bool
) -> None:
    with_rewrites(table)

    # Delta would refuse a table with a shorter log. With a longer log, it would write wrong rows.
    with HeldStatement(table.spark, lambda: remove_mapping(table), Step.START, nth=2) as held:
        before = table.log.version
        shutil.rmtree(table.path)
        table.create("a INT, b STRING", NAME_MODE)
        table.alter("RENAME COLUMN b TO c")
        while table.log.version < (2 if is_short else before + 3):
            table.insert("(7, 'new')")
        version, rows = table.log.version, table.rows()
        error = held.release()

    assert error is not None
    assert named_condition(error) == CHANGED
    assert table.log.version == version
    assert table.rows() == rows
    assert not copies(table)


def test_file_removed_under_another_spelling_of_its_path_is_not_restored(table: Table) -> None:
    used(table)
    rows = table.rows()

    def remove(_: Table) -> None:
        path = next(iter(live(table.log)))
        action = {"path": f"./{path}", "deletionTimestamp": 1, "dataChange": True}
        lines = [{"commitInfo": {"timestamp": 1, "operation": "DELETE"}}, {"remove": action}]
        log = table.path / "_delta_log" / f"{table.log.version + 1:020}.json"
        log.write_text("\n".join(map(json.dumps, lines)) + "\n")

    error = remove_beside(table, remove)

    assert error is None
    assert len(table.rows()) == len(rows) - 2
    assert metrics(table.log)["numCopiedFiles"] == 3


def test_removal_ignores_missing_files_to_rewrite_that_are_no_longer_live(table: Table) -> None:
    with_rewrites(table)

    with HeldStatement(table.spark, lambda: remove_mapping(table), Step.START, nth=2) as held:
        removed = list(live(table.log))
        table.spark.sql(f"INSERT OVERWRITE {table.name} VALUES (60, named_struct('y', 6))")
        for path in removed:
            (table.path / path).unlink()
        error = held.release()

    assert error is None
    assert_removed(table, table.rows())
    assert table.selected("a, s.y") == [(60, 6)]


@pytest.mark.broken_table("file_unreadable")
def test_unreadable_file_is_reported_before_the_timeout(table: Table, conf: SetConf) -> None:
    used(table)
    conf(TIMEOUT, "0s")
    (table.path / next(iter(live(table.log)))).write_bytes(b"no Parquet")

    with table.refusal("USAGE_TRACKING_UNREADABLE_DATA_FILE"):
        remove_mapping(table)


def test_partition_values_too_long_for_a_path_are_kept(table: Table) -> None:
    columns = ", ".join(f"p{number} STRING" for number in range(5))
    names = ", ".join(f"p{number}" for number in range(5))
    table.create(f"a INT, b STRING, {columns}", TRACKED, NAME_MODE, partitioned_by=names)
    insert_one_file(table, f"(1, 'x', {', '.join([repr('v' * 240)] * 5)})")
    table.alter("RENAME COLUMN b TO c")
    rows = table.rows()

    remove_mapping(table)

    assert_removed(table, rows)
    assert max(len(path) for path in live(table.log)) < 200
