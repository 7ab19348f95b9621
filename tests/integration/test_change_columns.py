# SPDX-License-Identifier: Apache-2.0
"""Tests ALTER TABLE ALTER COLUMN, CHANGE COLUMN and REPLACE COLUMNS."""

from __future__ import annotations

import pytest

from tests.support.delta_table import NAME_MODE, TRACKED, Table
from tests.support.session_conf import SetConf
from tests.support.table_log import is_uuid_name

COLUMNS = "a INT NOT NULL, b STRING, s STRUCT<x: INT, y: INT>"
ROW = "(1, 'x', struct(2, 3))"

REPLACE_REFUSED = "DELTA_UNSUPPORTED_ALTER_TABLE_REPLACE_COL_OP"

# Refusals.


def test_replace_columns_in_another_letter_case_is_refused_where_case_matters(
    table: Table, conf: SetConf
) -> None:
    table.create_tracked("a INT, b INT")
    conf("spark.sql.caseSensitive", "true")

    with table.refusal(REPLACE_REFUSED):
        table.alter("REPLACE COLUMNS (A INT, b INT)")

    assert table.log.flag == "false"


# Changes that neither drop nor rename.


@pytest.mark.parametrize("flag", ["false", "true"])
def test_changes_of_a_column_keep_the_flag_the_names_and_the_ids(table: Table, flag: str) -> None:
    table.create(
        f"{COLUMNS}, gone INT",
        TRACKED,
        NAME_MODE,
        "'delta.enableTypeWidening' = 'true'",
        "'delta.feature.allowColumnDefaults' = 'supported'",
    )
    table.insert(f"{ROW[:-1]}, 4)")
    if flag == "true":
        table.alter("DROP COLUMN gone")
    before = table.log

    for change in (
        "ALTER COLUMN a COMMENT 'hello'",
        "ALTER COLUMN s.x COMMENT 'hello'",
        "ALTER COLUMN a DROP NOT NULL",
        "ALTER COLUMN b FIRST",
        "ALTER COLUMN s.x AFTER y",
        "ALTER COLUMN a TYPE BIGINT",
        "ALTER COLUMN s.y TYPE BIGINT",
        "ALTER COLUMN b SET DEFAULT 'd'",
        "ALTER COLUMN b DROP DEFAULT",
        "CHANGE COLUMN a a BIGINT COMMENT 'again'",
        "CHANGE COLUMN a A BIGINT COMMENT 'the name keeps its letter case'",
    ):
        with table.one_commit():
            table.alter(change)
        assert table.log.operation == "CHANGE COLUMN"
        assert table.log.flag == before.flag == flag, change
        assert table.log.physical_names == before.physical_names, change
        assert table.log.ids == before.ids, change
        assert table.log.max_column_id == before.max_column_id, change

    assert table.selected("b, a, s.y, s.x") == [("x", 1, 3, 2)]


def test_new_column_has_its_logical_name_after_a_change(table: Table) -> None:
    table.create_tracked(COLUMNS)
    table.insert(ROW)
    table.alter("ALTER COLUMN b FIRST")

    table.alter("ADD COLUMN c INT")

    assert table.log.flag == "false"
    assert table.log.physical_names["c"] == "c"
    assert table.selected("b, a, c") == [("x", 1, None)]


def test_cluster_by_keeps_the_flag_false(table: Table) -> None:
    table.spark.sql(
        f"CREATE TABLE {table.name} (a INT, b INT) USING delta CLUSTER BY (a)"
        f" TBLPROPERTIES ({TRACKED}, {NAME_MODE})"
    )

    with table.one_commit():
        table.alter("CLUSTER BY (b)")

    assert table.log.flag == "false"
    assert table.log.physical_names == {"a": "a", "b": "b"}
    (clustering,) = table.log.actions("domainMetadata")
    assert '[["b"]]' in clustering["configuration"]


# REPLACE COLUMNS.


@pytest.mark.parametrize(
    "columns",
    [
        "a INT, b STRING, s STRUCT<x: INT, y: INT>",
        "s STRUCT<y: INT, x: INT>, b STRING, a INT",
        "a INT COMMENT 'hello', b STRING, s STRUCT<x: INT, y: INT>",
        "A INT, b STRING, s STRUCT<X: INT, y: INT>",  # the names keep their letter case
    ],
)
def test_replace_columns_by_the_same_keeps_the_flag_false(table: Table, columns: str) -> None:
    table.create_tracked(COLUMNS)
    table.insert(ROW)
    before = table.log

    with table.one_commit():
        table.alter(f"REPLACE COLUMNS ({columns})")

    assert table.log.operation == "REPLACE COLUMNS"
    assert table.log.flag == "false"
    assert table.log.physical_names == before.physical_names
    assert table.log.ids == before.ids
    assert table.selected("a, b, s.x, s.y") == [(1, "x", 2, 3)]


def test_replace_columns_by_more_gives_logical_names(table: Table) -> None:
    table.create_tracked(COLUMNS)
    table.insert(ROW)

    with table.one_commit():
        table.alter("REPLACE COLUMNS (a INT, c INT, b STRING, s STRUCT<x: INT, z: INT, y: INT>)")

    assert table.log.flag == "false"
    assert table.log.physical_names["c"] == "c"
    assert table.log.physical_names["s.z"] == "z"
    assert table.selected() == [(1, None, "x", (2, None, 3))]


@pytest.mark.parametrize(
    ("columns", "rows"),
    [
        ("a INT, s STRUCT<x: INT, y: INT>", [(1, (2, 3))]),
        ("a INT, b STRING, s STRUCT<y: INT>", [(1, "x", (3,))]),
    ],
)
def test_replace_columns_by_fewer_sets_the_flag_in_that_commit(
    table: Table, columns: str, rows: list[tuple[object, ...]]
) -> None:
    table.create_tracked(COLUMNS)
    table.insert(ROW)
    before = table.log

    with table.one_commit():
        table.alter(f"REPLACE COLUMNS ({columns})")

    assert table.log.flag == "true"
    assert table.log.physical_names.items() < before.physical_names.items()
    assert table.log.max_column_id == before.max_column_id
    assert table.selected() == rows


@pytest.mark.parametrize(
    ("columns", "new", "rows"),
    [
        ("a INT, s STRUCT<x: INT, y: INT, b: STRING>", "s.b", [(1, (2, 3, None))]),
        ("a INT, b STRING, s STRUCT<x: INT>, y INT", "y", [(1, "x", (2,), None)]),
    ],
)
def test_column_added_in_the_commit_that_drops_one_has_a_uuid_name(
    table: Table, columns: str, new: str, rows: list[tuple[object, ...]]
) -> None:
    table.create_tracked(COLUMNS)
    table.insert(ROW)

    with table.one_commit():
        table.alter(f"REPLACE COLUMNS ({columns})")

    assert table.log.flag == "true"
    assert is_uuid_name(table.log.physical_names[new])
    assert table.log.ids[new] == 6
    assert table.selected() == rows
