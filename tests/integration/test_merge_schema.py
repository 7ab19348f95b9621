# SPDX-License-Identifier: Apache-2.0
"""Appends that may evolve the schema: `mergeSchema`, and the session's schema.autoMerge."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from pyspark.sql import DataFrame

from tests.support.delta_table import NAME_MODE, TRACKED, Table
from tests.support.releases import CASTS_EVOLVING_INSERTS, NAMES_NO_MISMATCH
from tests.support.table_log import UUID

AUTO_MERGE = "spark.databricks.delta.schema.autoMerge.enabled"

SetConf = Callable[[str, str], None]
Append = Callable[[Table, DataFrame], None]


def save(table: Table, rows: DataFrame) -> None:
    writer = rows.write.format("delta").mode("append").option("mergeSchema", "true")
    writer.save(str(table.path))


def save_as_table(table: Table, rows: DataFrame) -> None:
    writer = rows.write.format("delta").mode("append").option("mergeSchema", "true")
    writer.saveAsTable(table.name)


def writer_v2_append(table: Table, rows: DataFrame) -> None:
    rows.writeTo(table.name).option("mergeSchema", "true").append()


def insert_by_name(table: Table, rows: DataFrame) -> None:
    rows.createOrReplaceTempView("new_rows")
    try:
        rows.sparkSession.conf.set(AUTO_MERGE, "true")
        table.spark.sql(f"INSERT INTO {table.name} BY NAME SELECT * FROM new_rows")
    finally:
        rows.sparkSession.conf.unset(AUTO_MERGE)
        rows.sparkSession.catalog.dropTempView("new_rows")


EVERY_WAY = pytest.mark.parametrize(
    "append", [save, save_as_table, writer_v2_append, insert_by_name]
)


# Refusals.


@NAMES_NO_MISMATCH
def test_an_append_that_may_not_merge_the_schema_is_refused(table: Table) -> None:
    table.create_tracked("a INT")
    rows = table.spark.sql("SELECT 1 AS a, 2 AS b")

    with table.refusal("DELTA_METADATA_MISMATCH"):
        rows.write.format("delta").mode("append").save(str(table.path))

    assert (table.log.flag, table.log.columns) == ("false", {"a": (1, "a")})


@EVERY_WAY
def test_a_type_that_can_not_be_merged_is_refused(table: Table, append: Append) -> None:
    table.create_tracked("a INT")
    rows = table.spark.sql("SELECT named_struct('x', 1) AS a, 2 AS b")

    # Spark casts to the table's types first, except for the rows of a file-based writer.
    casts = "DATATYPE_MISMATCH.CAST_WITHOUT_SUGGESTION"
    condition = "DELTA_FAILED_TO_MERGE_FIELDS" if append is save else casts
    if not CASTS_EVOLVING_INSERTS:
        too_many = "INSERT_COLUMN_ARITY_MISMATCH.TOO_MANY_DATA_COLUMNS"
        condition = too_many if append is insert_by_name else "DELTA_FAILED_TO_MERGE_FIELDS"
    with table.refusal(condition):
        append(table, rows)

    assert (table.log.flag, table.log.columns) == ("false", {"a": (1, "a")})


# While nothing was dropped or renamed.


@pytest.mark.without("auto-compact")
@EVERY_WAY
def test_a_new_column_has_its_logical_name_in_the_log_and_in_the_files_of_that_commit(
    table: Table, append: Append
) -> None:
    table.create_tracked("a INT")
    table.insert("(1)")
    with table.one_commit():
        append(table, table.spark.sql("SELECT 2 AS a, 3 AS `b c`"))

    assert table.log.flag == "false"
    assert table.log.columns == {"a": (1, "a"), "b c": (2, "b c")}
    assert table.log.max_column_id == 2
    assert table.log.written_columns() == ["a", "b c"]
    assert table.rows() == [(1, None), (2, 3)]


@pytest.mark.without("auto-compact")
@EVERY_WAY
def test_new_nested_fields_have_their_logical_names(table: Table, append: Append) -> None:
    table.create_tracked("s STRUCT<x: INT>, r ARRAY<STRUCT<x: INT>>")
    table.insert("(struct(1), array(struct(2)))")
    with table.one_commit():
        append(
            table,
            table.spark.sql(
                "SELECT named_struct('x', 3, 'y', named_struct('z', 4)) AS s,"
                " array(named_struct('x', 5, 'y', 6)) AS r"
            ),
        )

    assert table.log.flag == "false"
    assert table.log.physical_names == {
        "s": "s",
        "s.x": "x",
        "s.y": "y",
        "s.y.z": "z",
        "r": "r",
        "r.element.x": "x",
        "r.element.y": "y",
    }
    assert sorted(table.log.ids.values()) == list(range(1, 8))
    assert table.log.max_column_id == 7
    assert table.log.written_columns() == ["r.element.x", "r.element.y", "s.x", "s.y.z"]
    assert table.rows("s.x, s.y.z, r[0].x, r[0].y") == [(1, None, 2, None), (3, 4, 5, 6)]


def test_fewer_columns_and_another_letter_case_change_nothing(table: Table) -> None:
    table.create_tracked("a INT, b INT")
    before = table.log
    with table.one_commit():
        save(table, table.spark.sql("SELECT 1 AS A"))

    assert table.log.actions("metaData") == []
    assert (table.log.flag, table.log.columns) == ("false", before.columns)
    assert table.rows() == [(1, None)]


def test_in_id_mode_files_carry_the_logical_names_and_the_ids(table: Table) -> None:
    table.create("a INT", TRACKED, "'delta.columnMapping.mode' = 'id'")
    with table.one_commit():
        save(table, table.spark.sql("SELECT 1 AS a, 2 AS b"))

    assert table.log.flag == "false"
    assert table.log.parquet_field_ids() == {"a": 1, "b": 2}
    assert table.rows() == [(1, 2)]


@pytest.mark.without("auto-compact")
def test_a_type_that_widens_keeps_name_id_and_flag(table: Table) -> None:
    table.create(
        "a INT, s STRUCT<x: SMALLINT>", TRACKED, NAME_MODE, "'delta.enableTypeWidening' = 'true'"
    )
    table.insert("(1, struct(2))")
    before = table.log
    with table.one_commit():
        save(
            table,
            table.spark.sql(
                "SELECT 3000000000 AS a, named_struct('x', 70000, 'y', 1) AS s, 5 AS b"
            ),
        )

    assert table.log.flag == "false"
    assert table.log.columns == {**before.columns, "s.y": (4, "y"), "b": (5, "b")}
    assert (table.log.fields["a"].type, table.log.fields["s.x"].type) == ("long", "integer")
    assert table.log.max_column_id == 5
    assert table.log.written_columns() == ["a", "b", "s.x", "s.y"]
    assert table.rows("a, s.x, s.y, b") == [(1, 2, None, None), (3000000000, 70000, 1, 5)]


# After a drop or rename.


@pytest.mark.without("auto-compact")
@EVERY_WAY
def test_a_new_column_of_an_old_name_does_not_bring_the_old_data_back(
    table: Table, append: Append
) -> None:
    table.create_tracked("a INT, b INT, s STRUCT<x: INT, y: INT>")
    table.insert("(1, 2, struct(3, 4))")
    table.alter("RENAME COLUMN b TO c")
    table.alter("DROP COLUMN s.y")
    before = table.log
    with table.one_commit():
        append(
            table,
            table.spark.sql("SELECT 5 AS a, 6 AS c, named_struct('x', 7, 'y', 8) AS s, 9 AS b"),
        )

    new = {"s.y": table.log.columns["s.y"], "b": table.log.columns["b"]}
    assert table.log.flag == "true"
    assert table.log.columns == {**before.columns, **new}
    assert sorted(new.values()) == [(6, UUID), (7, UUID)]
    assert table.log.max_column_id == 7
    assert table.log.written_columns() == ["a", "b", UUID, f"s.{UUID}", "s.x"]
    assert table.rows("a, c, s.x, s.y, b") == [(1, 2, 3, None, None), (5, 6, 7, 8, 9)]


# Tables that are not mapped, or not tracked.


@pytest.mark.parametrize(
    ("properties", "flag", "columns", "written"),
    [
        pytest.param([TRACKED], "false", (None, None), "b", id="not mapped"),
        pytest.param([NAME_MODE], None, (2, UUID), UUID, id="not tracked"),
    ],
)
def test_other_tables_get_deltas_names(
    table: Table,
    properties: list[str],
    flag: str | None,
    columns: tuple[int | None, str | None],
    written: str,
) -> None:
    table.create("a INT", *properties)
    with table.one_commit():
        save(table, table.spark.sql("SELECT 1 AS a, 2 AS b"))

    assert (table.log.flag, table.log.columns["b"]) == (flag, columns)
    assert written in table.log.written_columns()
    assert table.rows() == [(1, 2)]
