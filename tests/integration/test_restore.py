# SPDX-License-Identifier: Apache-2.0
"""Tests RESTORE to versions before tracking, a rename, an add, or column mapping, and back."""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import datetime, timedelta

import pytest
from chispa.dataframe_comparer import assert_df_equality

from tests.support.delta_table import NAME_MODE, TRACKED, Table
from tests.support.session_conf import SetConf
from tests.support.table_log import UUID
from tests.support.variants import in_matrix

DOWNGRADE = "spark.databricks.delta.restore.protocolDowngradeAllowed"

Restore = Callable[[Table, int], None]


def restore_by_builder(table: Table, version: int) -> None:
    table.delta_table.restoreToVersion(version)


EVERY_WAY = pytest.mark.parametrize("restore_by", [Table.restore, restore_by_builder])


# Refusals.


def test_restore_of_a_missing_version_is_refused(table: Table) -> None:
    table.create_tracked("a INT")

    with table.refusal("DELTA_CANNOT_RESTORE_TABLE_VERSION"):
        table.restore(7)

    assert (table.log.flag, table.log.columns) == ("false", {"a": (1, "a")})


def test_restore_is_refused_when_the_rules_are_unavailable(
    table: Table, driver_conf: SetConf
) -> None:
    table.create_tracked("a INT")
    table.alter("ADD COLUMN b INT")
    driver_conf("spark.sparkext.worker.python", "/nowhere/python")

    with table.refusal("USAGE_TRACKING_RULES_UNAVAILABLE"):
        table.restore(0)

    assert table.log.columns == {"a": (1, "a"), "b": (2, "b")}


# Versions with the same columns.


@EVERY_WAY
def test_restore_restores_rows_and_keeps_the_flag_false(table: Table, restore_by: Restore) -> None:
    table.create_tracked("a INT")
    table.insert("(1)")
    table.insert("(2)")
    with table.one_commit():
        restore_by(table, 1)

    assert (table.log.operation, table.log.flag) == ("RESTORE", "false")
    assert (table.log.columns, table.log.max_column_id) == ({"a": (1, "a")}, 1)
    assert table.rows() == [(1,)]


# Versions before a change of columns.


@pytest.mark.matrix
def test_restore_to_a_timestamp_before_an_add_sets_the_flag(table: Table) -> None:
    table.create_tracked("a INT")
    table.insert("(1)")
    table.alter("ADD COLUMN b INT")
    today = datetime.now().replace(microsecond=0)
    commits = sorted((table.path / "_delta_log").glob("*.json"))
    for days_ago, commit in zip((3, 2, 1), commits, strict=True):
        day = (today - timedelta(days=days_ago)).timestamp()
        os.utime(commit, (day, day))
    before_the_add = today - timedelta(days=2) + timedelta(hours=1)
    with table.one_commit():
        table.spark.sql(f"RESTORE TABLE {table.name} TO TIMESTAMP AS OF '{before_the_add}'")

    assert (table.log.is_tracked, table.log.flag) == (True, "true")
    assert (table.log.columns, table.log.max_column_id) == ({"a": (1, "a")}, 2)
    assert table.rows() == [(1,)]


@EVERY_WAY
@pytest.mark.parametrize("mode", ["name", *in_matrix("id")])
def test_restore_to_before_an_add_sets_the_flag(
    table: Table, restore_by: Restore, mode: str
) -> None:
    table.create("a INT", TRACKED, f"'delta.columnMapping.mode' = '{mode}'")
    table.insert("(1)")
    table.alter("ADD COLUMN b INT")
    table.insert("(2, 20)")
    with table.one_commit():
        restore_by(table, 1)
    restored = table.log
    table.alter("ADD COLUMN b INT")
    added = table.log
    table.insert("(3, 30)")

    assert restored.configuration["delta.columnMapping.mode"] == mode
    assert (restored.is_tracked, restored.flag) == (True, "true")
    assert (restored.columns, restored.max_column_id) == ({"a": (1, "a")}, 2)
    assert (added.flag, added.columns["b"]) == ("true", (3, UUID))
    assert set(table.log.parquet_field_ids().values()) == {1, 3}
    assert table.log.written_columns() == ["a", UUID]
    assert table.rows() == [(1, None), (3, 30)]


@pytest.mark.matrix
def test_restore_to_before_a_rename_and_its_reversal_keeps_the_flag_true(table: Table) -> None:
    # Both versions have the same columns, so only the earlier true flag can keep the flag true.
    table.create_tracked("a INT, b INT")
    table.alter("RENAME COLUMN b TO c")
    table.alter("RENAME COLUMN c TO b")
    with table.one_commit():
        table.restore(0)

    assert (table.log.is_tracked, table.log.flag) == (True, "true")
    assert table.log.columns == {"a": (1, "a"), "b": (2, "b")}


@pytest.mark.parametrize(
    ("change", "columns"),
    [
        ("RENAME COLUMN b TO c", {"a": (1, "a"), "b": (2, "b")}),
        ("DROP COLUMN b", {"a": (1, "a"), "b": (2, "b")}),
    ],
)
def test_restore_to_before_a_rename_or_drop_keeps_the_flag_true(
    table: Table, change: str, columns: dict[str, tuple[int, str]]
) -> None:
    table.create_tracked("a INT, b INT")
    table.insert("(1, 10)")
    table.alter(change)
    table.alter("ADD COLUMN d INT")
    with table.one_commit():
        table.restore(1)
    restored = table.log
    table.alter("ADD COLUMN d INT")
    table.insert("(2, 20, 200)")

    assert (restored.is_tracked, restored.flag) == (True, "true")
    assert (restored.columns, restored.max_column_id) == (columns, 3)
    assert (table.log.flag, table.log.columns["d"]) == ("true", (4, UUID))
    assert table.log.written_columns() == ["a", "b", UUID]
    assert table.rows() == [(1, 10, None), (2, 20, 200)]


def test_restore_to_a_later_version_restores_ids_and_names(table: Table) -> None:
    table.create_tracked("a INT, s STRUCT<x: INT>")
    table.insert("(1, struct(2))")
    table.alter("ADD COLUMN s.y INT")
    table.alter("RENAME COLUMN a TO b")
    table.insert("(3, struct(4, 5))")
    newest = table.log
    table.restore(1)
    back = table.log
    with table.one_commit():
        table.restore(newest.version)

    assert (back.flag, set(back.columns)) == ("true", {"a", "s", "s.x"})
    assert back.max_column_id == newest.max_column_id == 4
    assert (table.log.flag, table.log.columns) == ("true", newest.columns)
    assert table.log.max_column_id == 4
    assert table.selected("b, s.x, s.y") == [(1, 2, None), (3, 4, 5)]


@pytest.mark.matrix
def test_restore_to_before_a_replacement_restores_its_columns(table: Table) -> None:
    table.create_tracked("a INT, b INT")
    table.insert("(1, 10)")
    table.spark.sql(
        f"REPLACE TABLE {table.name} USING delta TBLPROPERTIES ({NAME_MODE})"
        " AS SELECT 'x' AS a, 2 AS c"
    )
    with table.one_commit():
        table.restore(1)

    assert (table.log.flag, table.log.columns) == ("true", {"a": (1, "a"), "b": (2, "b")})
    assert table.log.max_column_id == 4
    assert table.rows() == [(1, 10)]


# Versions before tracking or before column mapping.


def test_restore_to_before_tracking_of_a_mapped_table_keeps_tracking(table: Table) -> None:
    table.create("a INT", NAME_MODE)
    table.insert("(1)")
    created = table.log
    table.alter(f"SET TBLPROPERTIES ({TRACKED})")
    with table.one_commit():
        table.restore(1)
    restored = table.log
    table.alter("ADD COLUMN b INT")

    assert (restored.is_tracked, restored.flag) == (True, "true")
    assert restored.columns == created.columns == {"a": (1, UUID)}
    assert (table.log.columns["b"], table.log.max_column_id) == ((2, UUID), 2)
    assert table.rows() == [(1, None)]


@pytest.mark.broken_table("feature_lost", "flag_without_feature")
def test_flag_is_true_after_a_protocol_downgrade_lost_the_feature(
    table: Table, conf: SetConf
) -> None:
    # Delta commits the older protocol after the rules have run.
    table.create("a INT", NAME_MODE)
    table.alter(f"SET TBLPROPERTIES ({TRACKED})")
    conf(DOWNGRADE, "true")

    table.restore(0)
    assert not table.log.is_tracked

    table.alter(f"SET TBLPROPERTIES ({TRACKED})")
    assert table.log.flag == "true"


@pytest.mark.parametrize("mode", [[], [NAME_MODE]], ids=["plain since", "mapped since"])
@pytest.mark.matrix
def test_restore_to_before_tracking_of_an_unmapped_table_keeps_the_flag_false(
    table: Table, mode: list[str]
) -> None:
    table.create("a INT")
    table.insert("(1)")
    table.alter(f"SET TBLPROPERTIES ({', '.join([TRACKED, *mode])})")
    table.insert("(2)")
    with table.one_commit():
        table.restore(1)
    restored = table.log
    table.alter(f"SET TBLPROPERTIES ({NAME_MODE})")
    table.alter("ADD COLUMN b INT")
    table.insert("(3, 30)")

    assert (restored.operation, restored.is_tracked, restored.flag) == ("RESTORE", True, "false")
    assert restored.columns == {"a": (None, None)}
    assert (table.log.is_tracked, table.log.flag) == (True, "false")
    assert table.log.columns == {"a": (1, "a"), "b": (2, "b")}
    assert table.log.written_columns() == ["a", "b"]
    assert table.rows() == [(1, None), (3, 30)]


@pytest.mark.parametrize("change", ["ADD COLUMN b INT", "RENAME COLUMN a TO b"])
def test_restore_to_before_tracking_and_a_change_of_columns_sets_the_flag(
    table: Table, change: str
) -> None:
    table.create("a INT")
    table.insert("(1)")
    table.alter(f"SET TBLPROPERTIES ({TRACKED}, {NAME_MODE})")
    table.alter(change)
    with table.one_commit():
        table.restore(1)
    restored = table.log
    table.alter(f"SET TBLPROPERTIES ({NAME_MODE})")
    table.alter("ADD COLUMN c INT")
    table.insert("(2, 20)")

    assert (restored.is_tracked, restored.flag) == (True, "true")
    assert restored.columns == {"a": (None, None)}
    assert (table.log.flag, table.log.columns["a"]) == ("true", (1, "a"))
    assert table.log.columns["c"][1] == UUID
    assert table.log.written_columns() == ["a", UUID]
    assert table.rows() == [(1, None), (2, 20)]


@pytest.mark.matrix
def test_restore_to_before_mapping_and_to_a_later_version_keeps_the_flag(table: Table) -> None:
    table.create("a INT, b INT", TRACKED)
    table.insert("(1, 10)")
    table.alter(f"SET TBLPROPERTIES ({NAME_MODE})")
    table.alter("DROP COLUMN b")
    table.insert("(2)")
    newest = table.log
    with table.one_commit():
        table.restore(1)
    before_mapping, rows_before_mapping = table.log, table.rows()
    table.insert("(3, 30)")
    inserted, rows_with_it = table.log, table.rows()
    with table.one_commit():
        table.restore(newest.version)

    assert (before_mapping.is_tracked, before_mapping.flag) == (True, "true")
    assert set(before_mapping.columns.values()) == {(None, None)}
    assert rows_before_mapping == [(1, 10)]
    assert inserted.written_columns() == ["a", "b"]
    assert rows_with_it == [(1, 10), (3, 30)]
    assert (table.log.flag, table.log.columns) == ("true", newest.columns)
    assert table.rows() == [(1,), (2,)]
    assert_df_equality(table.frame(), table.frame(version=newest.version), ignore_row_order=True)

    table.alter("ADD COLUMN b INT")
    table.insert("(4, 40)")

    assert table.log.columns["b"][1] == UUID
    assert table.log.written_columns() == ["a", UUID]
    assert table.rows() == [(1, None), (2, None), (4, 40)]


def test_restore_to_before_a_removal_keeps_the_flag_false(table: Table) -> None:
    table.create_tracked("a INT, b INT")
    table.insert("(1, 10)")
    table.remove_mapping()
    with table.one_commit():
        table.restore(1)
    restored = table.log
    table.alter("ADD COLUMN c INT")

    assert (restored.is_tracked, restored.flag) == (True, "false")
    assert restored.columns == {"a": (1, "a"), "b": (2, "b")}
    assert (table.log.flag, table.log.columns["c"]) == ("false", (3, "c"))
    assert table.rows() == [(1, 10, None)]
