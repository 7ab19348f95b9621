# SPDX-License-Identifier: Apache-2.0
"""Tests tables by name and by path: managed, external, in other schemas and behind views."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest
from delta.tables import DeltaTable
from pyspark.sql import SparkSession

from tests.integration import routes
from tests.support.custom_sessions import Failure, failure_of, our_jar, session, stop
from tests.support.delta_table import NAME_MODE, TRACKED, Table, refusal
from tests.support.java_sources import compiled_jar
from tests.support.processes import in_new_process
from tests.support.sessions import warehouse_of
from tests.support.table_log import UUID, TableLog


@pytest.fixture
def schema(spark: SparkSession) -> Iterator[Path]:
    """Yields the folder of the schema `shop`."""
    spark.sql("CREATE SCHEMA shop")
    yield warehouse_of(spark) / "shop.db"
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
    assert table.selected() == [(1, None), (2, 20)]


# Refusals.


def test_change_of_a_view_is_refused(spark: SparkSession, table: Table) -> None:
    table.create_tracked("a INT, b INT")
    table.spark.read.format("delta").load(str(table.path)).createOrReplaceTempView("seen")

    with table.refusal("EXPECT_TABLE_NOT_VIEW.NO_ALTERNATIVE"):
        spark.sql("ALTER TABLE seen DROP COLUMN b")
    spark.catalog.dropTempView("seen")

    assert (table.log.flag, table.log.columns) == ("false", {"a": (1, "a"), "b": (2, "b")})


def test_dropped_table_is_not_found(named_table: Table) -> None:
    named_table.create_tracked("a INT, b INT")
    named_table.spark.sql("DROP TABLE named")

    with refusal("TABLE_OR_VIEW_NOT_FOUND"):
        named_table.alter("DROP COLUMN b")
    assert not named_table.path.exists()


# One table under several names.


@pytest.mark.parametrize("way", ["name", "qualified", "used schema", "path", "quoted"])
def test_managed_table_is_the_same_by_every_name(
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
def test_external_table_is_the_same_by_name_and_by_path(
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


def test_renamed_table_keeps_names_and_flag(spark: SparkSession, schema: Path) -> None:
    Table(spark, schema / "t", "shop.t").create_tracked("a INT, b INT").insert("(1, 10)")
    spark.sql("ALTER TABLE shop.t RENAME TO shop.u")
    renamed = Table(spark, schema / "u", "shop.u")
    before = renamed.log
    drop_and_add("shop.u", spark)

    assert (before.flag, before.columns) == ("false", {"a": (1, "a"), "b": (2, "b")})
    assert_dropped_and_added(renamed)


def test_table_dropped_and_created_again_has_the_flag_false(named_table: Table) -> None:
    named_table.create_tracked("a INT, b INT")
    named_table.alter("DROP COLUMN b")
    named_table.spark.sql("DROP TABLE named")
    named_table.create_tracked("a INT, b INT")
    named_table.insert("(1, 10)")

    assert (named_table.log.at(0).flag, named_table.log.flag) == ("false", "false")
    assert named_table.log.columns == {"a": (1, "a"), "b": (2, "b")}
    assert named_table.log.written_columns() == ["a", "b"]
    assert named_table.selected() == [(1, 10)]


# Statements that name the table instead of a path.


@pytest.fixture(params=["managed", "external"])
def location(request: pytest.FixtureRequest, table: Table) -> str:
    """Returns the clause that makes the table `named` managed or external."""
    return f"LOCATION '{table.path}'" if request.param == "external" else ""


@pytest.fixture
def by_name(named_table: Table, table: Table, location: str) -> Table:
    """Returns the table `named`, which does not exist yet, at its location."""
    return Table(named_table.spark, table.path, "named") if location else named_table


@pytest.fixture
def filled(by_name: Table, location: str) -> Table:
    by_name.spark.sql(
        f"CREATE TABLE named (id INT, b INT) USING delta {location}"
        f" TBLPROPERTIES ({TRACKED}, {NAME_MODE})"
    )
    by_name.insert("(1, 10)")
    return by_name


def test_create_as_select_uses_logical_names(by_name: Table, location: str) -> None:
    by_name.spark.sql(
        f"CREATE TABLE named USING delta {location} TBLPROPERTIES ({TRACKED}, {NAME_MODE})"
        " AS SELECT 1 AS a, 10 AS `b c`"
    )

    assert (by_name.log.version, by_name.log.is_tracked, by_name.log.flag) == (0, True, "false")
    assert by_name.log.columns == {"a": (1, "a"), "b c": (2, "b c")}
    assert by_name.log.written_columns() == ["a", "b c"]
    assert by_name.selected() == [(1, 10)]


@pytest.mark.without("auto-compact")
@pytest.mark.parametrize("write", [routes.save_as_table, routes.merge_in_sql])
def test_evolving_write_uses_a_logical_name(
    filled: Table, write: Callable[[Table, str], None]
) -> None:
    with filled.one_commit():
        write(filled, "SELECT 2 AS id, 20 AS b, 200 AS c")

    assert (filled.log.is_tracked, filled.log.flag) == (True, "false")
    assert filled.log.columns == {"id": (1, "id"), "b": (2, "b"), "c": (3, "c")}
    assert filled.log.written_columns() == ["b", "c", "id"]
    assert filled.selected() == [(1, 10, None), (2, 20, 200)]


def test_overwrite_of_the_schema_sets_the_flag(filled: Table) -> None:
    with filled.one_commit():
        routes.overwrite_table(filled, "SELECT 2 AS id, 200 AS c")

    assert (filled.log.is_tracked, filled.log.flag) == (True, "true")
    assert filled.log.columns == {"id": (1, "id"), "c": (3, UUID)}
    assert filled.log.max_column_id == 3
    assert filled.log.written_columns() == [UUID, "id"]
    assert filled.selected() == [(2, 200)]


@pytest.mark.matrix
def test_restore_by_name_to_before_an_add_sets_the_flag(filled: Table) -> None:
    filled.alter("ADD COLUMN c INT")
    with filled.one_commit():
        filled.restore(1)
    restored = filled.log
    filled.alter("ADD COLUMN c INT")
    filled.insert("(2, 20, 200)")

    assert (restored.operation, restored.is_tracked, restored.flag) == ("RESTORE", True, "true")
    assert (restored.columns, restored.max_column_id) == ({"id": (1, "id"), "b": (2, "b")}, 3)
    assert filled.log.columns["c"] == (4, UUID)
    assert filled.log.written_columns() == ["b", UUID, "id"]
    assert filled.selected() == [(1, 10, None), (2, 20, 200)]


# Views, and the DeltaTable API.


def test_tracked_table_can_be_read_and_updated_through_a_view(
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
    assert seen == table.selected() == [(1, 11)]


def test_deltatable_api_writes_under_the_physical_names(named_table: Table) -> None:
    named_table.create_tracked("a INT, b INT")
    named_table.insert("(1, 10), (2, 20)")
    named_table.alter("RENAME COLUMN b TO c")
    delta = DeltaTable.forName(named_table.spark, "named")
    delta.delete("c = 20")
    with named_table.one_commit():
        delta.update("a = 1", {"c": "c + 1"})

    assert named_table.log.columns == {"a": (1, "a"), "c": (2, "b")}
    assert named_table.log.written_columns() == ["a", "b"]
    assert named_table.selected() == [(1, 11)]


# A session catalog of a vendor that delegates to Delta's.

FRONT_CATALOG = Path(__file__).with_name("FrontCatalog.java")


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


def replace_used_tables(home: Path, jars: list[str]) -> list[Failure | None]:
    """Replaces a managed and an external table, each after DROP COLUMN, and returns the errors."""
    spark = session(home, jars, catalog="FrontCatalog").getOrCreate()
    properties = f"TBLPROPERTIES ({TRACKED}, {NAME_MODE})"
    failures = []
    for name, location in (("managed", ""), ("external", f"LOCATION '{home / 'external'}'")):
        spark.sql(f"CREATE TABLE {name} (a INT, b INT) USING delta {location} {properties}")
        spark.sql(f"INSERT INTO {name} VALUES (1, 10)")
        spark.sql(f"ALTER TABLE {name} DROP COLUMN b")
        replacement = f"REPLACE TABLE {name} USING delta {location} {properties}"
        failures.append(failure_of(partial(spark.sql, f"{replacement} AS SELECT 2 AS a, 20 AS b")))
    stop()
    return failures


@pytest.fixture(scope="module")
def front_jars(delta_jars: list[str], tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Returns Delta's jars, our jar, and the jar of the other catalog."""
    front = compiled_jar(tmp_path_factory.mktemp("front"), [FRONT_CATALOG], delta_jars)
    return [*delta_jars, our_jar(), str(front)]


@pytest.mark.matrix
def test_catalog_without_staging_replaces_by_drop_and_create(
    front_jars: list[str], tmp_path: Path
) -> None:
    failure_of_managed, failure_of_external = in_new_process(
        replace_used_tables, tmp_path, front_jars
    )

    # The replacement deletes the files of a managed table, so no reader can misread older files.
    managed = TableLog(tmp_path / "warehouse" / "managed")
    assert failure_of_managed is None
    assert [managed.at(version).operation for version in range(managed.version + 1)] == [
        "CREATE TABLE",
        "WRITE",
    ]
    assert (managed.is_tracked, managed.flag) == (True, "false")
    assert managed.columns == {"a": (1, "a"), "b": (2, "b")}
    assert managed.written_columns() == ["a", "b"]
    # The log of an external table remains, so Delta refuses a CREATE with other columns.
    external = TableLog(tmp_path / "external")
    assert failure_of_external is not None
    assert failure_of_external.condition == "DELTA_CREATE_TABLE_SCHEME_MISMATCH"
    assert external.operation == "DROP COLUMNS"
    assert (external.version, external.is_tracked, external.flag) == (2, True, "true")
    assert (external.columns, external.max_column_id) == ({"a": (1, "a")}, 2)


@pytest.mark.matrix
def test_session_catalog_may_delegate_to_deltas_catalog(
    front_jars: list[str], tmp_path: Path
) -> None:
    rows = in_new_process(use_tables, tmp_path, front_jars)

    altered, selected = (TableLog(tmp_path / "warehouse" / name) for name in ("t", "u"))
    assert (altered.is_tracked, altered.flag) == (True, "true")
    assert (altered.columns, altered.max_column_id) == ({"a": (1, "a"), "b": (3, UUID)}, 3)
    assert altered.written_columns() == ["a", UUID]
    assert (selected.is_tracked, selected.flag) == (True, "false")
    assert selected.columns == {"a": (1, "a"), "b c": (2, "b c")}
    assert selected.written_columns() == ["a", "b c"]
    assert rows == [[(1, None), (2, 20)], [(1, 2)]]
