# SPDX-License-Identifier: Apache-2.0
"""REPLACE and CREATE OR REPLACE: SQL, with and without AS SELECT, both writers and the builder."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from delta.tables import DeltaTable

from tests.support.delta_table import NAME_MODE, TRACKED, Table, refusal
from tests.support.releases import NAMES_NO_MISMATCH, REPLACED_COLUMNS_ARE_NEW
from tests.support.table_log import UUID

NO_MODE = "'delta.columnMapping.mode' = 'none'"
ID_MODE = "'delta.columnMapping.mode' = 'id'"
DOWNGRADE = "spark.databricks.delta.replace.protocolDowngradeAllowed"

SetConf = Callable[[str, str], None]
Replace = Callable[[Table, dict[str, object]], None]


def select(values: dict[str, object]) -> str:
    return "SELECT " + ", ".join(f"{value} AS {name}" for name, value in values.items())


def replace_as_select(table: Table, values: dict[str, object], properties: str = NAME_MODE) -> None:
    table.spark.sql(
        f"REPLACE TABLE {table.name} USING delta TBLPROPERTIES ({properties}) AS {select(values)}"
    )


def replace(table: Table, values: dict[str, object], properties: str = NAME_MODE) -> None:
    columns = table.spark.sql(select(values)).schema
    listed = ", ".join(f"{field.name} {field.dataType.simpleString()}" for field in columns)
    table.spark.sql(
        f"REPLACE TABLE {table.name} ({listed}) USING delta TBLPROPERTIES ({properties})"
    )


def create_or_replace(table: Table, values: dict[str, object]) -> None:
    columns = table.spark.sql(select(values)).schema
    listed = ", ".join(f"{field.name} {field.dataType.simpleString()}" for field in columns)
    table.spark.sql(
        f"CREATE OR REPLACE TABLE {table.name} ({listed}) USING delta TBLPROPERTIES ({NAME_MODE})"
    )


def create_or_replace_as_select(table: Table, values: dict[str, object]) -> None:
    table.spark.sql(
        f"CREATE OR REPLACE TABLE {table.name} USING delta TBLPROPERTIES ({NAME_MODE})"
        f" AS {select(values)}"
    )


def save_as_table(table: Table, values: dict[str, object]) -> None:
    writer = table.spark.sql(select(values)).write.format("delta").mode("overwrite")
    writer.option("overwriteSchema", "true").saveAsTable(table.name)


def writer_v2_replace(table: Table, values: dict[str, object]) -> None:
    writer = table.spark.sql(select(values)).writeTo(table.name).using("delta")
    writer.tableProperty("delta.columnMapping.mode", "name").replace()


def writer_v2_create_or_replace(table: Table, values: dict[str, object]) -> None:
    writer = table.spark.sql(select(values)).writeTo(table.name).using("delta")
    writer.tableProperty("delta.columnMapping.mode", "name").createOrReplace()


def builder(table: Table, values: dict[str, object]) -> None:
    columns = table.spark.sql(select(values)).schema
    replacing = DeltaTable.replace(table.spark).tableName(table.name).addColumns(columns)
    replacing.property("delta.columnMapping.mode", "name").execute()


WITH_ROWS = [
    replace_as_select,
    create_or_replace_as_select,
    save_as_table,
    writer_v2_replace,
    writer_v2_create_or_replace,
]
EVERY_WAY = pytest.mark.parametrize("replace_by", [*WITH_ROWS, replace, create_or_replace, builder])


def assert_row_is_under(
    table: Table, names: list[str], replace_by: Replace, row: tuple[object, ...]
) -> None:
    """The row reads back from files with these names; a way that has no rows is given it now."""
    if replace_by not in WITH_ROWS:
        assert table.log.actions("add") == []
        assert table.rows() == []
        table.insert(str(row))
    assert table.log.written_columns() == sorted(names)
    assert table.rows() == [row]


@pytest.fixture
def replaced(named_table: Table) -> Table:
    """A tracked table with a row, about to be replaced."""
    named_table.create_tracked("a INT, b STRING")
    named_table.insert("(1, 'x')")
    return named_table


# Refusals.


@pytest.mark.parametrize(
    ("statement", "condition"),
    [
        ("REPLACE TABLE {t} (a INT, A INT) USING delta", "COLUMN_ALREADY_EXISTS"),
        (
            "REPLACE TABLE {t} USING delta AS SELECT 1 AS `a b`",
            "DELTA_INVALID_CHARACTERS_IN_COLUMN_NAMES",
        ),
    ],
)
def test_a_refused_replacement_leaves_the_table(
    replaced: Table, statement: str, condition: str
) -> None:
    with replaced.refusal(condition):
        replaced.spark.sql(statement.format(t=replaced.name))

    assert replaced.log.flag == "false"
    assert replaced.rows() == [(1, "x")]


@NAMES_NO_MISMATCH
def test_save_as_table_that_may_not_overwrite_the_schema_leaves_the_table(replaced: Table) -> None:
    writer = replaced.spark.sql("SELECT 2 AS a").write.format("delta").mode("overwrite")
    other = replaced.spark.sql("SELECT 2 AS a, 3 AS c").write.format("delta").mode("overwrite")

    with replaced.refusal("DELTA_METADATA_MISMATCH"):
        other.saveAsTable(replaced.name)
    with replaced.one_commit():
        writer.saveAsTable(replaced.name)

    assert (replaced.log.flag, replaced.log.columns) == ("false", {"a": (1, "a"), "b": (2, "b")})
    assert replaced.rows() == [(2, None)]


def test_a_table_that_is_not_there_can_not_be_replaced(named_table: Table) -> None:
    with refusal("TABLE_OR_VIEW_NOT_FOUND"):
        replace(named_table, {"a": 1})

    assert not named_table.path.exists()


# Column mapping stays on.


@REPLACED_COLUMNS_ARE_NEW
@EVERY_WAY
def test_the_same_columns_keep_their_ids_and_names_and_the_flag_false(
    replaced: Table, replace_by: Replace
) -> None:
    with replaced.one_commit():
        replace_by(replaced, {"b": "'y'", "a": 2})

    assert (replaced.log.is_tracked, replaced.log.flag) == (True, "false")
    assert replaced.log.columns == {"b": (2, "b"), "a": (1, "a")}
    assert replaced.log.max_column_id == 2
    assert_row_is_under(replaced, ["a", "b"], replace_by, ("y", 2))


@REPLACED_COLUMNS_ARE_NEW
@EVERY_WAY
def test_more_columns_have_logical_names(replaced: Table, replace_by: Replace) -> None:
    with replaced.one_commit():
        replace_by(replaced, {"a": 2, "b": "'y'", "c": 3})

    assert (replaced.log.is_tracked, replaced.log.flag) == (True, "false")
    assert replaced.log.columns == {"a": (1, "a"), "b": (2, "b"), "c": (3, "c")}
    assert replaced.log.max_column_id == 3
    assert_row_is_under(replaced, ["a", "b", "c"], replace_by, (2, "y", 3))


@REPLACED_COLUMNS_ARE_NEW
@EVERY_WAY
@pytest.mark.parametrize(
    ("values", "columns", "max_column_id"),
    [
        pytest.param({"a": 2, "c": 3}, {"a": (1, "a"), "c": (3, UUID)}, 3, id="fewer"),
        pytest.param(
            {"a": "2L", "b": "'y'"}, {"a": (3, UUID), "b": (2, "b")}, 3, id="type changed"
        ),
        pytest.param({"A": 2, "b": "'y'"}, {"A": (1, "a"), "b": (2, "b")}, 2, id="case changed"),
    ],
)
def test_a_column_that_goes_or_changes_sets_the_flag_in_that_commit(
    replaced: Table,
    replace_by: Replace,
    values: dict[str, object],
    columns: dict[str, tuple[int, str]],
    max_column_id: int,
) -> None:
    with replaced.one_commit():
        replace_by(replaced, values)

    assert (replaced.log.is_tracked, replaced.log.flag) == (True, "true")
    assert replaced.log.columns == columns
    assert replaced.log.max_column_id == max_column_id
    [row] = map(tuple, replaced.spark.sql(select(values)).collect())
    assert_row_is_under(replaced, [name for _, name in columns.values()], replace_by, row)


@REPLACED_COLUMNS_ARE_NEW
def test_nested_fields_are_columns_too(table: Table) -> None:
    table.create_tracked("s STRUCT<x: INT, y: INT>, r ARRAY<STRUCT<x: INT>>")
    with table.one_commit():
        replace_as_select(
            table, {"s": "named_struct('x', 1, 'y', 2)", "r": "array(named_struct('x', 3))"}
        )
    same = table.log
    with table.one_commit():
        replace_as_select(table, {"s": "named_struct('x', 4)", "r": "array(named_struct('x', 5))"})

    assert same.flag == "false"
    assert same.physical_names == {
        "s": "s",
        "s.x": "x",
        "s.y": "y",
        "r": "r",
        "r.element.x": "x",
    }
    assert table.log.flag == "true"
    assert table.log.max_column_id > same.max_column_id
    assert table.rows("s.x, r[0].x") == [(4, 5)]


@REPLACED_COLUMNS_ARE_NEW
@EVERY_WAY
def test_the_flag_stays_true(replaced: Table, replace_by: Replace) -> None:
    replaced.alter("DROP COLUMN b")

    with replaced.one_commit():
        replace_by(replaced, {"a": 2, "b": "'y'"})

    assert (replaced.log.is_tracked, replaced.log.flag) == (True, "true")
    assert replaced.log.columns == {"a": (1, "a"), "b": (3, UUID)}
    assert replaced.log.max_column_id == 3
    assert_row_is_under(replaced, ["a", UUID], replace_by, (2, "y"))


@REPLACED_COLUMNS_ARE_NEW
def test_a_partitioning_that_changes_is_no_drop(replaced: Table) -> None:
    with replaced.one_commit():
        replaced.spark.sql(
            f"REPLACE TABLE {replaced.name} USING delta PARTITIONED BY (b)"
            f" TBLPROPERTIES ({NAME_MODE}) AS SELECT 2 AS a, 'y' AS b"
        )

    assert replaced.log.metadata["partitionColumns"] == ["b"]
    assert (replaced.log.flag, replaced.log.columns) == ("false", {"a": (1, "a"), "b": (2, "b")})
    assert replaced.log.actions("add")[0]["partitionValues"] == {"b": "y"}
    assert replaced.rows() == [(2, "y")]


# The mode changes.


@pytest.mark.parametrize(
    ("properties", "values", "flag"),
    [
        (NO_MODE, {"a": 2, "b": "'y'", "c": 3}, "false"),
        ("'delta.appendOnly' = 'false'", {"a": 2, "b": "'y'"}, "false"),
        (NO_MODE, {"a": 2}, "true"),
        (NO_MODE, {"A": 2, "b": "'y'"}, "true"),
    ],
)
def test_a_replacement_without_mapping_stays_tracked(
    replaced: Table, properties: str, values: dict[str, object], flag: str
) -> None:
    with replaced.one_commit():
        replace_as_select(replaced, values, properties)
    without = replaced.log
    replaced.alter(f"SET TBLPROPERTIES ({NAME_MODE})")
    replaced.alter("ADD COLUMN d INT")

    assert (without.is_tracked, without.flag) == (True, flag)
    assert set(without.columns.values()) == {(None, None)}
    assert without.written_columns() == sorted(values)
    assert (replaced.log.is_tracked, replaced.log.flag) == (True, flag)
    assert replaced.log.physical_names.items() >= {name: name for name in values}.items()
    assert replaced.log.columns["d"][1] == {"false": "d", "true": UUID}[flag]
    [row] = map(tuple, replaced.spark.sql(select(values)).collect())
    assert replaced.rows() == [(*row, None)]


def test_a_replacement_in_the_other_mode_has_new_columns_only(replaced: Table) -> None:
    with replaced.one_commit():
        replace_as_select(replaced, {"a": 2, "b": "'y'"}, ID_MODE)

    names = [column.physical_name for column in replaced.log.fields.values()]
    assert replaced.log.configuration["delta.columnMapping.mode"] == "id"
    assert replaced.log.flag == "true"
    assert replaced.log.columns == {"a": (3, UUID), "b": (4, UUID)}
    assert replaced.log.parquet_field_ids() == dict(zip(names, [3, 4], strict=True))
    assert replaced.rows() == [(2, "y")]


# Tracking starts with the replacement.


@pytest.mark.parametrize(
    ("properties", "flag", "columns"),
    [
        pytest.param([], "false", {"a": (1, "a"), "c": (2, "c")}, id="plain"),
        pytest.param([NAME_MODE], "true", {"a": (1, UUID), "c": (3, UUID)}, id="mapped"),
    ],
)
def test_a_replacement_that_asks_for_tracking_starts_it(
    table: Table, properties: list[str], flag: str, columns: dict[str, tuple[int, str]]
) -> None:
    table.create("a INT, b STRING", *properties)
    with table.one_commit():
        replace_as_select(table, {"a": 2, "c": 3}, f"{TRACKED}, {NAME_MODE}")

    assert (table.log.is_tracked, table.log.flag) == (True, flag)
    assert table.log.columns == columns
    assert table.log.max_column_id == max(id for id, _ in columns.values())
    assert table.log.written_columns() == sorted(name for _, name in columns.values())
    assert table.rows() == [(2, 3)]


@REPLACED_COLUMNS_ARE_NEW
def test_an_untracked_table_stays_untracked(table: Table) -> None:
    table.create("a INT, b STRING", NAME_MODE)
    with table.one_commit():
        replace_as_select(table, {"a": 2})

    assert (table.log.is_tracked, table.log.flag) == (False, None)
    assert table.log.columns == {"a": (1, UUID)}


@pytest.mark.parametrize("mode", [NAME_MODE, NO_MODE])
def test_a_protocol_that_may_go_down_keeps_the_feature(
    replaced: Table, conf: SetConf, mode: str
) -> None:
    replaced.alter("SET TBLPROPERTIES ('delta.enableChangeDataFeed' = 'true')")
    conf(DOWNGRADE, "true")

    with replaced.one_commit():
        replace_as_select(replaced, {"a": 2}, mode)

    assert "changeDataFeed" not in replaced.log.writer_features
    assert (replaced.log.is_tracked, replaced.log.flag) == (True, "true")
    assert replaced.rows() == [(2,)]
