# SPDX-License-Identifier: Apache-2.0
"""Tests ALTER TABLE DROP COLUMN and DROP COLUMNS."""

from __future__ import annotations

import pytest

from tests.support.delta_table import TRACKED, Table

# Drops.


@pytest.mark.parametrize("mode", ["name", "id"])
def test_drop_sets_the_flag_in_the_commit_of_the_drop(table: Table, mode: str) -> None:
    table.create("a INT, b STRING", TRACKED, f"'delta.columnMapping.mode' = '{mode}'")
    table.insert("(1, 'x')")
    before = table.log

    with table.one_commit():
        table.alter("DROP COLUMN b")

    assert before.flag == "false"
    assert table.log.operation == "DROP COLUMNS"
    assert table.log.flag == "true"
    assert table.log.physical_names == {"a": "a"}
    assert table.log.actions("add") == table.log.actions("remove") == []
    assert table.selected() == [(1,)]
    assert table.spark.sql(f"SELECT b FROM {table.name} VERSION AS OF 1").collect() == [("x",)]


def test_drop_of_several_columns_sets_the_flag_in_one_commit(table: Table) -> None:
    table.create_tracked("a INT, b INT, c INT, s STRUCT<x: INT, y: INT>")
    table.insert("(1, 2, 3, struct(4, 5))")

    with table.one_commit():
        table.alter("DROP COLUMNS (a, c, s.x)")

    assert table.log.flag == "true"
    assert table.log.physical_names == {"b": "b", "s": "s", "s.y": "y"}
    assert table.selected() == [(2, (5,))]


@pytest.mark.parametrize(
    ("columns", "dropped"),
    [
        ("s STRUCT<x: INT, y: INT>", "s.x"),
        ("s STRUCT<t: STRUCT<x: INT, y: INT>>", "s.t.x"),
        ("s ARRAY<STRUCT<x: INT, y: INT>>", "s.element.x"),
        ("s MAP<STRUCT<x: INT, y: INT>, INT>", "s.key.x"),
        ("s MAP<INT, STRUCT<x: INT, y: INT>>", "s.value.x"),
    ],
)
def test_drop_of_a_nested_field_sets_the_flag(table: Table, columns: str, dropped: str) -> None:
    table.create_tracked(f"a INT, {columns}")
    before = table.log

    with table.one_commit():
        table.alter(f"DROP COLUMN {dropped}")

    assert before.flag == "false"
    assert table.log.flag == "true"
    assert table.log.physical_names == {
        path: name for path, name in before.physical_names.items() if path != dropped
    }
    assert table.selected() == []


def test_flag_is_true_after_further_drops(table: Table) -> None:
    table.create_tracked("a INT, b INT, c INT")

    for column in ("b", "c"):
        with table.one_commit():
            table.alter(f"DROP COLUMN {column}")
        assert table.log.flag == "true"

    assert table.log.physical_names == {"a": "a"}


def test_drop_of_a_column_that_no_file_has_sets_the_flag(table: Table) -> None:
    table.create_tracked("a INT")
    table.insert("(1)")
    table.alter("ADD COLUMN b INT")

    with table.one_commit():
        table.alter("DROP COLUMN b")

    assert table.log.flag == "true"
    assert table.selected() == [(1,)]
