# SPDX-License-Identifier: Apache-2.0
"""MERGE WITH SCHEMA EVOLUTION: SQL, the DeltaTable API, and the session's schema.autoMerge."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from delta.tables import DeltaTable
from pyspark.sql import SparkSession

from tests.support.delta_table import NAME_MODE, TRACKED, Table
from tests.support.releases import AUTO_MERGE, CHANGE_DATA, evolving_merge
from tests.support.table_log import UUID

pytestmark = pytest.mark.without("auto-compact")

Merge = Callable[[Table, str], None]


def merge_in_sql(table: Table, source: str) -> None:
    with evolving_merge(table.spark):
        table.spark.sql(
            f"MERGE WITH SCHEMA EVOLUTION INTO {table.name} t USING ({source}) s ON t.id = s.id"
            " WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
        )


def merge_by_builder(table: Table, source: str) -> None:
    target = DeltaTable.forPath(table.spark, str(table.path)).alias("t")
    merge = target.merge(table.spark.sql(source).alias("s"), "t.id = s.id").withSchemaEvolution()
    merge.whenMatchedUpdateAll().whenNotMatchedInsertAll().execute()


def merge_by_auto_merge(table: Table, source: str) -> None:
    try:
        table.spark.conf.set(AUTO_MERGE, "true")
        plain_merge(table, source)
    finally:
        table.spark.conf.unset(AUTO_MERGE)


def plain_merge(table: Table, source: str) -> None:
    table.spark.sql(
        f"MERGE INTO {table.name} t USING ({source}) s ON t.id = s.id"
        " WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
    )


EVERY_WAY = pytest.mark.parametrize("merge", [merge_in_sql, merge_by_builder, merge_by_auto_merge])


@pytest.fixture
def target(table: Table) -> Table:
    table.create_tracked("id INT, a INT")
    table.insert("(1, 10), (2, 20)")
    return table


# Refusals.


def test_a_refused_merge_changes_nothing(target: Table) -> None:
    with target.refusal("DELTA_FAILED_TO_MERGE_FIELDS"):
        merge_in_sql(target, "SELECT 1 AS id, array(2) AS a, 3 AS b")

    assert (target.log.flag, target.log.columns) == ("false", {"id": (1, "id"), "a": (2, "a")})
    assert target.rows() == [(1, 10), (2, 20)]


def test_without_schema_evolution_the_schema_stays(target: Table) -> None:
    with target.one_commit():
        plain_merge(target, "SELECT 2 AS id, 21 AS a, 22 AS b")

    assert target.log.actions("metaData") == []
    assert (target.log.flag, target.log.columns) == ("false", {"id": (1, "id"), "a": (2, "a")})
    assert target.rows() == [(1, 10), (2, 21)]


# While nothing was dropped or renamed.


@EVERY_WAY
def test_a_new_column_has_its_logical_name_in_the_log_and_in_the_files_of_that_commit(
    target: Table, merge: Merge
) -> None:
    with target.one_commit():
        merge(
            target,
            "SELECT 2 AS id, 21 AS a, 22 AS `b c` UNION ALL SELECT 3, 30, 33",
        )

    assert (target.log.operation, target.log.flag) == ("MERGE", "false")
    assert target.log.columns == {"id": (1, "id"), "a": (2, "a"), "b c": (3, "b c")}
    assert target.log.max_column_id == 3
    assert target.log.written_columns() == ["a", "b c", "id"]
    assert target.rows() == [(1, 10, None), (2, 21, 22), (3, 30, 33)]


def test_new_nested_fields_have_their_logical_names(table: Table) -> None:
    table.create_tracked("id INT, s STRUCT<x: INT>, r ARRAY<STRUCT<x: INT>>")
    table.insert("(1, struct(1), array(struct(2)))")
    with table.one_commit():
        merge_in_sql(
            table,
            "SELECT 2 AS id, named_struct('x', 3, 'y', 4) AS s,"
            " array(named_struct('x', 5, 'y', 6)) AS r",
        )

    assert table.log.flag == "false"
    assert table.log.physical_names == {
        "id": "id",
        "s": "s",
        "s.x": "x",
        "s.y": "y",
        "r": "r",
        "r.element.x": "x",
        "r.element.y": "y",
    }
    assert sorted(table.log.ids.values()) == list(range(1, 8))
    assert table.log.max_column_id == 7
    assert table.log.written_columns() == ["id", "r.element.x", "r.element.y", "s.x", "s.y"]
    assert table.rows("id, s.x, s.y, r[0].x, r[0].y") == [(1, 1, None, 2, None), (2, 3, 4, 5, 6)]


def test_a_column_that_an_explicit_assignment_names_is_added(target: Table) -> None:
    with target.one_commit(), evolving_merge(target.spark):
        target.spark.sql(
            f"MERGE WITH SCHEMA EVOLUTION INTO {target.name} t"
            " USING (SELECT 1 AS id, 7 AS b, 8 AS unused) s ON t.id = s.id"
            " WHEN MATCHED THEN UPDATE SET b = s.b"
        )

    assert (target.log.flag, target.log.columns) == (
        "false",
        {"id": (1, "id"), "a": (2, "a"), "b": (3, "b")},
    )
    assert target.rows() == [(1, 10, 7), (2, 20, None)]


def test_a_type_that_widens_keeps_name_id_and_flag(table: Table) -> None:
    table.create("id INT, a INT", TRACKED, NAME_MODE, "'delta.enableTypeWidening' = 'true'")
    table.insert("(1, 10)")
    with table.one_commit():
        merge_in_sql(table, "SELECT 2 AS id, 3000000000 AS a, 4 AS b")

    assert table.log.flag == "false"
    assert table.log.columns == {"id": (1, "id"), "a": (2, "a"), "b": (3, "b")}
    assert table.log.fields["a"].type == "long"
    assert table.rows() == [(1, 10, None), (2, 3000000000, 4)]


def test_change_data_have_the_names_of_the_commit(table: Table, spark: SparkSession) -> None:
    table.create("id INT, a INT", TRACKED, NAME_MODE, "'delta.enableChangeDataFeed' = 'true'")
    table.insert("(1, 10)")
    with table.one_commit():
        merge_in_sql(table, "SELECT 1 AS id, 11 AS a, 12 AS b UNION ALL SELECT 2, 20, 22")

    changes = spark.sql(
        "SELECT _change_type, id, a, b FROM"
        f" table_changes_by_path('{table.path}', {table.log.version})"
    )
    assert table.log.flag == "false"
    assert table.log.written_columns("cdc") == [*CHANGE_DATA, "a", "b", "id"]
    assert sorted(tuple(row) for row in changes.collect()) == [
        ("insert", 2, 20, 22),
        ("update_postimage", 1, 11, 12),
        ("update_preimage", 1, 10, None),
    ]


def test_a_merge_keeps_the_rows_of_files_with_deletion_vectors(table: Table) -> None:
    table.create("id INT, a INT", TRACKED, NAME_MODE, "'delta.enableDeletionVectors' = 'true'")
    table.insert("(1, 10), (2, 20), (3, 30), (4, 40)")
    with table.one_commit():
        merge_in_sql(table, "SELECT 2 AS id, 21 AS a, 22 AS b")

    assert any("deletionVector" in add for add in table.log.actions("add"))
    assert (table.log.flag, table.log.columns["b"]) == ("false", (3, "b"))
    assert table.rows() == [(1, 10, None), (2, 21, 22), (3, 30, None), (4, 40, None)]


# After a drop or rename.


@EVERY_WAY
def test_a_new_column_of_an_old_name_does_not_bring_the_old_data_back(
    target: Table, merge: Merge
) -> None:
    target.alter("RENAME COLUMN a TO c")
    with target.one_commit():
        merge(target, "SELECT 2 AS id, 21 AS c, 22 AS a UNION ALL SELECT 3, 30, 33")

    assert target.log.flag == "true"
    assert target.log.columns == {"id": (1, "id"), "c": (2, "a"), "a": (3, UUID)}
    assert target.log.max_column_id == 3
    assert target.log.written_columns() == ["a", UUID, "id"]
    assert target.rows() == [(1, 10, None), (2, 21, 22), (3, 30, 33)]
