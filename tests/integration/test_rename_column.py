# SPDX-License-Identifier: Apache-2.0
"""Tests ALTER TABLE RENAME COLUMN."""

from __future__ import annotations

import pytest

from tests.support.delta_table import Table
from tests.support.session_conf import SetConf
from tests.support.table_log import is_uuid_name


def test_rename_sets_the_flag_in_the_commit_of_the_rename(table: Table) -> None:
    table.create_tracked("a INT, b STRING")
    table.insert("(1, 'x')")

    table.alter("RENAME COLUMN a TO c")

    assert table.log.operation == "RENAME COLUMN"
    assert table.log.flag == "true"
    assert table.log.physical_names == {"c": "a", "b": "b"}
    assert table.selected() == [(1, "x")]


def test_new_column_with_the_name_of_a_renamed_one_shows_no_old_data(
    table: Table,
) -> None:
    table.create_tracked("a INT, b STRING")
    table.insert("(1, 'x')")
    table.alter("RENAME COLUMN a TO c")

    table.alter("ADD COLUMN a INT")

    assert is_uuid_name(table.log.physical_names["a"])
    assert table.log.flag == "true"
    assert table.selected() == [(1, "x", None)]


@pytest.mark.parametrize(
    ("columns", "renamed"),
    [
        ("s STRUCT<x: INT, y: INT>", "s.x"),
        ("s ARRAY<STRUCT<x: INT, y: INT>>", "s.element.x"),
        ("s MAP<STRUCT<x: INT, y: INT>, INT>", "s.key.x"),
        ("s MAP<INT, STRUCT<x: INT, y: INT>>", "s.value.x"),
        ("s STRUCT<t: ARRAY<STRUCT<x: INT, y: INT>>>", "s.t.element.x"),
    ],
)
def test_rename_of_a_nested_field_sets_the_flag(table: Table, columns: str, renamed: str) -> None:
    table.create_tracked(f"a INT, {columns}")
    before = table.log

    table.alter(f"RENAME COLUMN {renamed} TO z")

    new_path = renamed.rsplit(".", 1)[0] + ".z"
    assert before.flag == "false"
    assert table.log.flag == "true"
    assert table.log.physical_names[new_path] == "x"
    assert table.log.ids[new_path] == before.ids[renamed]


def test_change_of_letter_case_is_a_rename(table: Table, conf: SetConf) -> None:
    table.create_tracked("a INT, b STRING")
    conf("spark.sql.caseSensitive", "true")

    table.alter("RENAME COLUMN a TO A")

    assert table.log.flag == "true"
    assert table.log.physical_names == {"A": "a", "b": "b"}
