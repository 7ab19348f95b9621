# SPDX-License-Identifier: Apache-2.0
"""Tests that CREATE TABLE at the location of a tracked table registers it unchanged."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from delta.tables import DeltaTable
from pyspark.sql import SparkSession

from tests.support.delta_table import NAME_MODE, TRACKED, Table
from tests.support.table_log import FEATURE, FLAG

pytestmark = pytest.mark.without("deletion-vectors", "row-tracking")

NAME = "registered"
DIFFERENT_PROPERTY = "DELTA_CREATE_TABLE_WITH_DIFFERENT_PROPERTY"
# The properties of the table, and the properties of a script without usage tracking.
AS_CREATED = [f"{TRACKED}, {NAME_MODE}", NAME_MODE]


@pytest.fixture(scope="module")
def tables(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Table]:
    """Returns a table for each flag with the same columns and row. No test commits to them."""
    home = tmp_path_factory.mktemp("registered")
    tables = {flag: Table(spark, home / flag) for flag in ("false", "true")}
    tables["false"].create_tracked("a INT, b STRING")
    tables["true"].create_tracked("a INT, c STRING").alter("RENAME COLUMN c TO b")
    for flag, table in tables.items():
        table.insert("(1, 'x')")
        assert table.log.flag == flag
    return tables


@pytest.fixture(params=["false", "true"])
def at_location(tables: dict[str, Table], request: pytest.FixtureRequest) -> Table:
    return tables[request.param]


@pytest.fixture(autouse=True)
def free_name(spark: SparkSession) -> Iterator[None]:
    yield
    spark.sql(f"DROP TABLE IF EXISTS {NAME}")


def assert_registered(table: Table) -> None:
    assert Table(table.spark, table.path, NAME).selected() == [(1, "x")]
    [property] = table.spark.sql(f"SHOW TBLPROPERTIES {NAME} ('{FLAG}')").collect()
    assert property.value == table.log.flag


# Refusals, after which the table is unchanged and not registered.


@pytest.mark.parametrize(
    ("columns", "properties", "condition"),
    [
        ("b STRING", "'delta.columnMapping.mode' = 'id'", DIFFERENT_PROPERTY),
        ("b STRING", f"{NAME_MODE}, 'delta.appendOnly' = 'true'", DIFFERENT_PROPERTY),
        ("b STRING", "'note' = 'no mode'", DIFFERENT_PROPERTY),
        ("c STRING", NAME_MODE, "DELTA_CREATE_TABLE_SCHEME_MISMATCH"),
    ],
)
def test_registration_with_other_columns_or_properties_is_refused(
    at_location: Table, columns: str, properties: str, condition: str
) -> None:
    with at_location.refusal(condition):
        at_location.spark.sql(
            f"CREATE TABLE {NAME} (a INT, {columns}) USING delta"
            f" LOCATION '{at_location.path}' TBLPROPERTIES ({properties})"
        )

    assert not at_location.spark.catalog.tableExists(NAME)


@pytest.mark.parametrize("value", ["false", "true"])
def test_registration_that_sets_the_flag_is_refused(at_location: Table, value: str) -> None:
    with at_location.refusal("DELTA_CANNOT_MODIFY_TABLE_PROPERTY"):
        at_location.spark.sql(
            f"CREATE TABLE {NAME} USING delta LOCATION '{at_location.path}'"
            f" TBLPROPERTIES ({TRACKED}, {NAME_MODE}, '{FLAG}' = '{value}')"
        )

    assert not at_location.spark.catalog.tableExists(NAME)


# Registrations, which commit nothing.


@pytest.mark.parametrize("properties", AS_CREATED)
@pytest.mark.parametrize("columns", ["", "(a INT, b STRING)"])
@pytest.mark.parametrize("create", ["CREATE TABLE", "CREATE TABLE IF NOT EXISTS"])
def test_table_is_registered_with_the_properties_of_its_creation(
    at_location: Table, create: str, columns: str, properties: str
) -> None:
    with at_location.no_commit():
        at_location.spark.sql(
            f"{create} {NAME} {columns} USING delta LOCATION '{at_location.path}'"
            f" TBLPROPERTIES ({properties})"
        )

    assert_registered(at_location)


def test_table_is_registered_without_properties(at_location: Table) -> None:
    with at_location.no_commit():
        at_location.spark.sql(f"CREATE TABLE {NAME} USING delta LOCATION '{at_location.path}'")

    assert_registered(at_location)


@pytest.mark.parametrize("properties", AS_CREATED)
def test_script_may_run_again_by_path(at_location: Table, properties: str) -> None:
    with at_location.no_commit():
        at_location.spark.sql(
            f"CREATE TABLE IF NOT EXISTS {at_location.name} (a INT, b STRING) USING delta"
            f" TBLPROPERTIES ({properties})"
        )

    assert at_location.selected() == [(1, "x")]


def test_script_may_run_again_after_the_table_was_dropped_from_the_catalog(
    at_location: Table,
) -> None:
    script = (
        f"CREATE TABLE IF NOT EXISTS {NAME} (a INT, b STRING) USING delta"
        f" LOCATION '{at_location.path}' TBLPROPERTIES ({TRACKED}, {NAME_MODE})"
    )

    with at_location.no_commit():
        at_location.spark.sql(script)
        at_location.spark.sql(script)
        at_location.spark.sql(f"DROP TABLE {NAME}")
        at_location.spark.sql(script)

    assert_registered(at_location)


@pytest.mark.parametrize("feature", [True, False])
@pytest.mark.parametrize("by_name", [True, False])
def test_builder_finds_the_table(at_location: Table, *, by_name: bool, feature: bool) -> None:
    builder = (
        DeltaTable.createIfNotExists(at_location.spark)
        .location(str(at_location.path))
        .addColumn("a", "INT")
        .addColumn("b", "STRING")
        .property("delta.columnMapping.mode", "name")
    )
    if feature:
        builder = builder.property(f"delta.feature.{FEATURE}", "supported")
    if by_name:
        builder = builder.tableName(NAME)

    with at_location.no_commit():
        found = builder.execute().toDF().collect()

    assert [tuple(row) for row in found] == [(1, "x")]
    if by_name:
        assert_registered(at_location)


# Untracked tables, whose properties Delta compares by itself.


def test_untracked_table_is_registered_as_by_plain_delta(table: Table) -> None:
    table.create("a INT", NAME_MODE)
    register = f"CREATE TABLE {NAME} USING delta LOCATION '{table.path}' TBLPROPERTIES"

    with table.refusal(DIFFERENT_PROPERTY):
        table.spark.sql(f"{register} ('note' = 'x')")
    with table.no_commit():
        table.spark.sql(f"{register} ({NAME_MODE})")

    assert (table.log.is_tracked, table.log.flag) == (False, None)
