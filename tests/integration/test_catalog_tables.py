# SPDX-License-Identifier: Apache-2.0
"""Tables by name and by path, managed and external, in other schemas and behind views."""

from __future__ import annotations

import subprocess
import zipfile
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlparse

import pyspark
import pytest
from custom_sessions import our_jar, resolved_jars, session, stop
from delta.tables import DeltaTable
from delta_table import NAME_MODE, TRACKED, Table, refusal
from processes import in_new_process
from pyspark.sql import SparkSession
from table_log import UUID, TableLog


@pytest.fixture
def schema(spark: SparkSession) -> Iterator[Path]:
    """The folder of a schema `shop`."""
    spark.sql("CREATE SCHEMA shop")
    warehouse = Path(urlparse(spark.conf.get("spark.sql.warehouse.dir")).path)
    yield warehouse / "shop.db"
    spark.sql("USE default")
    spark.sql("DROP SCHEMA shop CASCADE")


def drop_and_add(by: str, spark: SparkSession) -> None:
    spark.sql(f"ALTER TABLE {by} DROP COLUMN b")
    spark.sql(f"ALTER TABLE {by} ADD COLUMN b INT")
    spark.sql(f"INSERT INTO {by} VALUES (2, 20)")


def assert_dropped_and_added(table: Table) -> None:
    assert (table.log.is_tracked, table.log.flag) == (True, "true")
    assert table.log.columns == {"a": (1, "a"), "b": (3, UUID)}
    assert table.log.max_column_id == 3
    assert table.log.written_columns() == ["a", UUID]
    assert table.rows() == [(1, None), (2, 20)]


# Refusals.


def test_a_view_is_no_table_to_change(spark: SparkSession, table: Table) -> None:
    table.create_tracked("a INT, b INT")
    table.spark.read.format("delta").load(str(table.path)).createOrReplaceTempView("seen")

    with table.refusal("EXPECT_TABLE_NOT_VIEW.NO_ALTERNATIVE"):
        spark.sql("ALTER TABLE seen DROP COLUMN b")
    spark.catalog.dropTempView("seen")

    assert (table.log.flag, table.log.columns) == ("false", {"a": (1, "a"), "b": (2, "b")})


def test_a_table_that_is_gone_is_not_found(named_table: Table) -> None:
    named_table.create_tracked("a INT, b INT")
    named_table.spark.sql("DROP TABLE named")

    with refusal("TABLE_OR_VIEW_NOT_FOUND"):
        named_table.alter("DROP COLUMN b")
    assert not named_table.path.exists()


# One table under several names.


@pytest.mark.parametrize("way", ["name", "qualified", "used schema", "path", "quoted"])
def test_a_managed_table_is_the_same_by_every_name(
    spark: SparkSession, schema: Path, way: str
) -> None:
    table = Table(spark, schema / "t", "spark_catalog.shop.t").create_tracked("a INT, b INT")
    table.insert("(1, 10)")
    by = {
        "name": "shop.t",
        "qualified": "spark_catalog.shop.t",
        "used schema": "t",
        "path": f"delta.`{schema / 't'}`",
        "quoted": "`shop`.`T`",
    }[way]
    if way == "used schema":
        spark.sql("USE shop")
    drop_and_add(by, spark)

    assert_dropped_and_added(table)


@pytest.mark.parametrize("way", ["name", "path"])
def test_an_external_table_is_the_same_by_name_and_by_path(
    spark: SparkSession, table: Table, named_table: Table, way: str
) -> None:
    spark.sql(
        f"CREATE TABLE named (a INT, b INT) USING delta LOCATION '{table.path}'"
        f" TBLPROPERTIES ({TRACKED}, {NAME_MODE})"
    )
    spark.sql("INSERT INTO named VALUES (1, 10)")
    drop_and_add("named" if way == "name" else table.name, spark)

    assert_dropped_and_added(table)
    assert_dropped_and_added(Table(spark, table.path, "named"))


def test_a_renamed_table_keeps_names_and_flag(spark: SparkSession, schema: Path) -> None:
    Table(spark, schema / "t", "shop.t").create_tracked("a INT, b INT").insert("(1, 10)")
    spark.sql("ALTER TABLE shop.t RENAME TO shop.u")
    renamed = Table(spark, schema / "u", "shop.u")
    before = renamed.log
    drop_and_add("shop.u", spark)

    assert (before.flag, before.columns) == ("false", {"a": (1, "a"), "b": (2, "b")})
    assert_dropped_and_added(renamed)


def test_a_table_that_is_dropped_and_created_again_starts_anew(named_table: Table) -> None:
    named_table.create_tracked("a INT, b INT")
    named_table.alter("DROP COLUMN b")
    named_table.spark.sql("DROP TABLE named")
    named_table.create_tracked("a INT, b INT")
    named_table.insert("(1, 10)")

    assert (named_table.log.at(0).flag, named_table.log.flag) == ("false", "false")
    assert named_table.log.columns == {"a": (1, "a"), "b": (2, "b")}
    assert named_table.log.written_columns() == ["a", "b"]
    assert named_table.rows() == [(1, 10)]


# Views, and the DeltaTable API.


def test_a_view_over_a_tracked_table_can_be_read_and_updated_through(
    spark: SparkSession, table: Table
) -> None:
    table.create_tracked("a INT, b INT")
    table.insert("(1, 10)")
    table.alter("RENAME COLUMN b TO c")
    spark.sql(f"CREATE OR REPLACE TEMP VIEW seen AS SELECT * FROM {table.name}")
    with table.one_commit():
        spark.sql("UPDATE seen SET c = 11 WHERE a = 1")
    seen = [tuple(row) for row in spark.table("seen").collect()]
    spark.catalog.dropTempView("seen")

    assert (table.log.flag, table.log.columns) == ("true", {"a": (1, "a"), "c": (2, "b")})
    assert table.log.written_columns() == ["a", "b"]
    assert seen == table.rows() == [(1, 11)]


def test_the_deltatable_api_writes_under_the_physical_names(named_table: Table) -> None:
    named_table.create_tracked("a INT, b INT")
    named_table.insert("(1, 10), (2, 20)")
    named_table.alter("RENAME COLUMN b TO c")
    delta = DeltaTable.forName(named_table.spark, "named")
    delta.delete("c = 20")
    with named_table.one_commit():
        delta.update("a = 1", {"c": "c + 1"})

    assert named_table.log.columns == {"a": (1, "a"), "c": (2, "b")}
    assert named_table.log.written_columns() == ["a", "b"]
    assert named_table.rows() == [(1, 11)]


# Another session catalog in front of Delta's.

FRONT_CATALOG = Path(__file__).parents[1] / "support" / "FrontCatalog.java"


def use_tables(home: Path, jars: list[str]) -> list[list[tuple[object, ...]]]:
    spark = session(home, jars, catalog="FrontCatalog").getOrCreate()
    properties = f"TBLPROPERTIES ({TRACKED}, {NAME_MODE})"
    spark.sql(f"CREATE TABLE t (a INT, b INT) USING delta {properties}")
    spark.sql("INSERT INTO t VALUES (1, 10)")
    drop_and_add("t", spark)
    spark.sql(f"CREATE TABLE u USING delta {properties} AS SELECT 1 AS a, 2 AS `b c`")
    rows = [sorted(map(tuple, spark.table(name).collect()), key=repr) for name in ("t", "u")]
    stop()
    return rows


def test_another_session_catalog_may_stand_in_front_of_deltas(
    spark: SparkSession, tmp_path: Path
) -> None:
    delta_jars = resolved_jars(spark)
    class_path = ":".join([f"{Path(pyspark.__file__).parent}/jars/*", *delta_jars])
    compiler = ["javac", "-cp", class_path, "-d", str(tmp_path), str(FRONT_CATALOG)]
    subprocess.run(compiler, check=True)
    front_jar = tmp_path / "front.jar"
    with zipfile.ZipFile(front_jar, "w") as jar:
        jar.write(tmp_path / "FrontCatalog.class", "FrontCatalog.class")
    rows = in_new_process(use_tables, tmp_path, [*delta_jars, our_jar(), str(front_jar)])

    altered, selected = (TableLog(tmp_path / "warehouse" / name) for name in ("t", "u"))
    assert (altered.is_tracked, altered.flag) == (True, "true")
    assert (altered.columns, altered.max_column_id) == ({"a": (1, "a"), "b": (3, UUID)}, 3)
    assert altered.written_columns() == ["a", UUID]
    assert (selected.is_tracked, selected.flag) == (True, "false")
    assert selected.columns == {"a": (1, "a"), "b c": (2, "b c")}
    assert selected.written_columns() == ["a", "b c"]
    assert rows == [[(1, None), (2, 20)], [(1, 2)]]
