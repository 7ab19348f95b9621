# SPDX-License-Identifier: Apache-2.0
"""Tests writes that evolve the schema: MERGE, appends and streams."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from tests.integration import routes
from tests.integration.routes import STREAM, WRITES, Route
from tests.support.delta_table import ID_MODE, NAME_MODE, TRACKED, Table
from tests.support.prepared import made_once
from tests.support.releases import CHANGE_DATA, NAMES_NO_MISMATCH, evolving_merge
from tests.support.table_log import UUID

pytestmark = pytest.mark.without("auto-compact")

TYPE_WIDENING = "'delta.enableTypeWidening' = 'true'"


@pytest.fixture
def target(table: Table) -> Table:
    return filled(table)


@made_once
def filled(table: Table) -> None:
    table.create_tracked("id INT, a INT")
    table.insert("(1, 10), (2, 20)")


# Refusals.


@routes.each(WRITES)
def test_type_that_cannot_be_merged_is_refused(target: Table, route: Route) -> None:
    with target.refusal(route.refusal):
        route.run(target, "SELECT 1 AS id, named_struct('x', 1) AS a, 3 AS b")

    assert (target.log.flag, target.log.columns) == ("false", {"id": (1, "id"), "a": (2, "a")})
    assert target.rows() == [(1, 10), (2, 20)]


@NAMES_NO_MISMATCH
def test_append_that_may_not_merge_the_schema_is_refused(target: Table) -> None:
    rows = target.spark.sql("SELECT 1 AS id, 2 AS b")

    with target.refusal("DELTA_METADATA_MISMATCH"):
        rows.write.format("delta").mode("append").save(str(target.path))

    assert (target.log.flag, target.log.columns) == ("false", {"id": (1, "id"), "a": (2, "a")})


def test_merge_without_schema_evolution_keeps_the_schema(target: Table) -> None:
    with target.one_commit():
        routes.merge(target, "SELECT 2 AS id, 21 AS a, 22 AS b")

    assert target.log.actions("metaData") == []
    assert (target.log.flag, target.log.columns) == ("false", {"id": (1, "id"), "a": (2, "a")})
    assert target.rows() == [(1, 10), (2, 21)]


# Tables without drops and renames.


@routes.each(WRITES | STREAM)
def test_new_column_has_its_logical_name_in_the_log_and_in_the_files_of_that_commit(
    target: Table, route: Route
) -> None:
    with target.one_commit():
        route.run(target, "SELECT 2 AS id, 21 AS a, 22 AS `b c` UNION ALL SELECT 3, 30, 33")

    assert target.log.flag == "false"
    assert target.log.columns == {"id": (1, "id"), "a": (2, "a"), "b c": (3, "b c")}
    assert target.log.max_column_id == 3
    assert target.log.written_columns() == ["a", "b c", "id"]
    kept = [(1, 10, None)] if route.updates else [(1, 10, None), (2, 20, None)]
    assert target.rows() == [*kept, (2, 21, 22), (3, 30, 33)]


@routes.each(WRITES | STREAM)
def test_new_nested_fields_have_their_logical_names(table: Table, route: Route) -> None:
    table.create_tracked("id INT, s STRUCT<x: INT>, r ARRAY<STRUCT<x: INT>>")
    table.insert("(1, struct(1), array(struct(2)))")
    with table.one_commit():
        route.run(
            table,
            "SELECT 2 AS id, named_struct('x', 3, 'y', named_struct('z', 4)) AS s,"
            " array(named_struct('x', 5, 'y', 6)) AS r",
        )

    paths = ["id", "s", "s.x", "s.y", "s.y.z", "r", "r.element.x", "r.element.y"]
    assert table.log.flag == "false"
    assert table.log.physical_names == {path: path.split(".")[-1] for path in paths}
    assert sorted(table.log.ids.values()) == list(range(1, 9))
    assert table.log.max_column_id == 8
    assert table.log.written_columns() == ["id", "r.element.x", "r.element.y", "s.x", "s.y.z"]
    assert table.selected("id, s.x, s.y.z, r[0].x, r[0].y") == [
        (1, 1, None, 2, None),
        (2, 3, 4, 5, 6),
    ]


@routes.each({name: WRITES[name] for name in ("MERGE WITH SCHEMA EVOLUTION", "df.write.save")})
def test_type_that_widens_keeps_name_id_and_flag(table: Table, route: Route) -> None:
    table.create("id INT, a INT, s STRUCT<x: SMALLINT>", TRACKED, NAME_MODE, TYPE_WIDENING)
    table.insert("(1, 10, struct(2))")
    before = table.log
    with table.one_commit():
        route.run(
            table,
            "SELECT 2 AS id, 3000000000 AS a, named_struct('x', 70000, 'y', 1) AS s, 5 AS b",
        )

    assert table.log.flag == "false"
    assert table.log.columns == {**before.columns, "s.y": (5, "y"), "b": (6, "b")}
    assert (table.log.fields["a"].type, table.log.fields["s.x"].type) == ("long", "integer")
    assert table.log.max_column_id == 6
    assert table.log.written_columns() == ["a", "b", "id", "s.x", "s.y"]
    assert table.selected("id, a, s.x, s.y, b") == [
        (1, 10, 2, None, None),
        (2, 3000000000, 70000, 1, 5),
    ]


@routes.each({name: WRITES[name] for name in ("df.write.save", "DeltaTable.merge")})
def test_files_in_id_mode_have_the_logical_names_and_the_ids(table: Table, route: Route) -> None:
    table.create("id INT", TRACKED, ID_MODE)
    with table.one_commit():
        route.run(table, "SELECT 1 AS id, 2 AS b")

    assert table.log.flag == "false"
    assert table.log.parquet_field_ids() == {"id": 1, "b": 2}
    assert table.rows() == [(1, 2)]


def test_fewer_columns_and_another_letter_case_change_nothing(target: Table) -> None:
    before = target.log
    with target.one_commit():
        routes.save(target, "SELECT 3 AS ID")

    assert target.log.actions("metaData") == []
    assert (target.log.flag, target.log.columns) == ("false", before.columns)
    assert target.rows() == [(1, 10), (2, 20), (3, None)]


# Claims about MERGE only.


def test_column_that_an_explicit_assignment_names_is_added(target: Table) -> None:
    with target.one_commit(), evolving_merge(target.spark):
        target.spark.sql(
            f"MERGE WITH SCHEMA EVOLUTION INTO {target.name} t"
            " USING (SELECT 1 AS id, 7 AS b, 8 AS unused) s ON t.id = s.id"
            " WHEN MATCHED THEN UPDATE SET b = s.b"
        )

    assert target.log.flag == "false"
    assert target.log.columns == {"id": (1, "id"), "a": (2, "a"), "b": (3, "b")}
    assert target.rows() == [(1, 10, 7), (2, 20, None)]


def test_change_data_of_a_merge_have_the_names_of_the_commit(
    table: Table, spark: SparkSession
) -> None:
    table.create("id INT, a INT", TRACKED, NAME_MODE, "'delta.enableChangeDataFeed' = 'true'")
    table.insert("(1, 10)")
    with table.one_commit():
        routes.merge_in_sql(table, "SELECT 1 AS id, 11 AS a, 12 AS b UNION ALL SELECT 2, 20, 22")

    changes = spark.sql(
        "SELECT _change_type, id, a, b FROM"
        f" table_changes_by_path('{table.path}', {table.log.version})"
    )
    assert (table.log.operation, table.log.flag) == ("MERGE", "false")
    assert table.log.written_columns("cdc") == [*CHANGE_DATA, "a", "b", "id"]
    assert sorted(tuple(row) for row in changes.collect()) == [
        ("insert", 2, 20, 22),
        ("update_postimage", 1, 11, 12),
        ("update_preimage", 1, 10, None),
    ]


def test_merge_that_writes_deletion_vectors_keeps_the_other_rows(table: Table) -> None:
    table.create("id INT, a INT", TRACKED, NAME_MODE, "'delta.enableDeletionVectors' = 'true'")
    table.insert("(1, 10), (2, 20), (3, 30), (4, 40)")
    with table.one_commit():
        routes.merge_in_sql(table, "SELECT 2 AS id, 21 AS a, 22 AS b")

    assert any("deletionVector" in add for add in table.log.actions("add"))
    assert (table.log.flag, table.log.columns["b"]) == ("false", (3, "b"))
    assert table.rows() == [(1, 10, None), (2, 21, 22), (3, 30, None), (4, 40, None)]


# After a drop or rename.


@routes.each(WRITES | STREAM)
def test_new_column_of_an_old_name_has_a_uuid_name_and_no_old_data(
    table: Table, route: Route
) -> None:
    table.create_tracked("id INT, a INT, s STRUCT<x: INT, y: INT>")
    table.insert("(1, 10, struct(3, 4)), (2, 20, struct(5, 6))")
    table.alter("RENAME COLUMN a TO c")
    table.alter("DROP COLUMN s.y")
    before = table.log
    with table.one_commit():
        route.run(
            table,
            "SELECT 2 AS id, 21 AS c, named_struct('x', 7, 'y', 8) AS s, 22 AS a"
            " UNION ALL SELECT 3, 30, named_struct('x', 9, 'y', 10), 33",
        )

    new = {"s.y": table.log.columns["s.y"], "a": table.log.columns["a"]}
    assert table.log.flag == "true"
    assert table.log.columns == {**before.columns, **new}
    assert sorted(new.values()) == [(6, UUID), (7, UUID)]
    assert table.log.max_column_id == 7
    assert table.log.written_columns() == ["a", UUID, "id", f"s.{UUID}", "s.x"]
    kept = [(1, 10, 3, None, None), (2, 20, 5, None, None)][: 1 if route.updates else 2]
    new_rows = [(2, 21, 7, 8, 22), (3, 30, 9, 10, 33)]
    assert table.selected("id, c, s.x, s.y, a") == sorted([*kept, *new_rows], key=repr)
