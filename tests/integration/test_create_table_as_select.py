# SPDX-License-Identifier: Apache-2.0
"""CREATE TABLE AS SELECT, and its forms in both writers."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.support.delta_table import NAME_MODE, TRACKED, Table, refusal
from tests.support.table_log import FEATURE, UUID

DEFAULTS = "spark.databricks.delta.properties.defaults"
TRACK_MAPPED = "spark.sparkext.usageTracking.enabledByDefault"
FEATURE_PROPERTY = f"delta.feature.{FEATURE}"

SetConf = Callable[[str, str], None]
Create = Callable[[Table, str, str], None]


def in_sql(table: Table, query: str, mode: str) -> None:
    table.spark.sql(
        f"CREATE TABLE {table.name} USING delta TBLPROPERTIES"
        f" ({TRACKED}, 'delta.columnMapping.mode' = '{mode}') AS {query}"
    )


def save_as_table(table: Table, query: str, mode: str) -> None:
    writer = table.spark.sql(query).write.format("delta")
    writer = writer.option(FEATURE_PROPERTY, "supported")
    writer.option("delta.columnMapping.mode", mode).saveAsTable(table.name)


def save(table: Table, query: str, mode: str) -> None:
    writer = table.spark.sql(query).write.format("delta")
    writer = writer.option(FEATURE_PROPERTY, "supported")
    writer.option("delta.columnMapping.mode", mode).save(str(table.path))


def writer_v2_create(table: Table, query: str, mode: str) -> None:
    writer = table.spark.sql(query).writeTo(table.name).using("delta")
    writer = writer.tableProperty(FEATURE_PROPERTY, "supported")
    writer.tableProperty("delta.columnMapping.mode", mode).create()


EVERY_WAY = pytest.mark.parametrize("create", [in_sql, save_as_table, save, writer_v2_create])


# Refusals: no table comes to be.


@pytest.mark.parametrize(
    ("query", "mode", "condition"),
    [
        ("SELECT 1 AS a, 2 AS A", "name", "COLUMN_ALREADY_EXISTS"),
        ("SELECT 1 AS `a b`", "none", "DELTA_INVALID_CHARACTERS_IN_COLUMN_NAMES"),
    ],
)
def test_a_refused_table_leaves_nothing(
    table: Table, query: str, mode: str, condition: str
) -> None:
    with refusal(condition):
        in_sql(table, query, mode)

    assert not table.log.commits


def test_a_query_that_fails_leaves_nothing(table: Table) -> None:
    # An aggregate fails in a stage of its own, before the one that writes.
    with refusal("DIVIDE_BY_ZERO"):
        in_sql(table, "SELECT max(1 DIV id) AS a FROM range(2)", "name")

    assert not table.log.commits


# Tracked from the start.


@EVERY_WAY
@pytest.mark.parametrize("mode", ["name", "id"])
def test_names_flag_and_files_stand_in_the_first_commit(
    table: Table, create: Create, mode: str
) -> None:
    create(table, "SELECT 1 AS a, named_struct('x y', 2) AS s, array(3) AS r", mode)

    log = table.log
    assert (log.version, log.is_tracked, log.flag) == (0, True, "false")
    assert log.configuration["delta.columnMapping.mode"] == mode
    assert log.columns == {"a": (1, "a"), "s": (2, "s"), "s.x y": (3, "x y"), "r": (4, "r")}
    assert log.max_column_id == 4
    assert log.written_columns() == ["a", "r.element", "s.x y"]
    if mode == "id":
        assert log.parquet_field_ids() == {"a": 1, "s": 2, "s.x y": 3, "r": 4}
    assert table.rows("a, s.`x y`, r[0]") == [(1, 2, 3)]


@EVERY_WAY
def test_without_mapping_the_flag_is_false_and_there_are_no_names(
    table: Table, create: Create
) -> None:
    create(table, "SELECT 1 AS a", "none")
    created = table.log
    table.alter(f"SET TBLPROPERTIES ({NAME_MODE})")

    assert (created.version, created.is_tracked, created.flag) == (0, True, "false")
    assert (created.columns, created.written_columns()) == ({"a": (None, None)}, ["a"])
    assert (table.log.flag, table.log.columns) == ("false", {"a": (1, "a")})
    assert table.rows() == [(1,)]


def test_a_partitioned_table_has_logical_names_in_its_partition_values(table: Table) -> None:
    table.spark.sql(
        f"CREATE TABLE {table.name} USING delta PARTITIONED BY (`p q`)"
        f" TBLPROPERTIES ({TRACKED}, {NAME_MODE}) AS SELECT 1 AS a, 2 AS `p q`"
    )

    assert (table.log.version, table.log.flag) == (0, "false")
    assert table.log.columns == {"a": (1, "a"), "p q": (2, "p q")}
    assert table.log.actions("add")[0]["partitionValues"] == {"p q": "2"}
    assert table.rows() == [(1, 2)]


def test_the_columns_of_a_mapped_source_get_ids_and_names_of_their_own(
    table: Table,
) -> None:
    source = Table(table.spark, table.path.with_name("source"))
    source.create_tracked("a INT, b INT, c INT")
    source.insert("(1, 2, 3)")
    source.alter("DROP COLUMN a")
    source.alter("RENAME COLUMN b TO d")
    in_sql(table, f"SELECT * FROM {source.name}", "name")

    assert (table.log.is_tracked, table.log.flag) == (True, "false")
    assert table.log.columns == {"d": (1, "d"), "c": (2, "c")}
    assert table.log.max_column_id == 2
    assert table.log.written_columns() == ["c", "d"]
    assert table.rows() == [(2, 3)]


# Defaults of the session, and none.


@pytest.mark.parametrize(
    "defaults",
    [
        {f"{DEFAULTS}.feature.{FEATURE}": "supported", f"{DEFAULTS}.columnMapping.mode": "name"},
        {TRACK_MAPPED: "true", f"{DEFAULTS}.columnMapping.mode": "name"},
    ],
)
def test_the_sessions_defaults_track_what_a_plain_write_creates(
    table: Table, conf: SetConf, defaults: dict[str, str]
) -> None:
    for key, value in defaults.items():
        conf(key, value)
    table.spark.sql("SELECT 1 AS a").write.format("delta").save(str(table.path))

    assert (table.log.version, table.log.is_tracked, table.log.flag) == (0, True, "false")
    assert (table.log.columns, table.log.written_columns()) == ({"a": (1, "a")}, ["a"])
    assert table.rows() == [(1,)]


def test_an_untracked_table_has_deltas_names(table: Table) -> None:
    table.spark.sql(
        f"CREATE TABLE {table.name} USING delta TBLPROPERTIES ({NAME_MODE}) AS SELECT 1 AS a"
    )

    assert (table.log.is_tracked, table.log.flag) == (False, None)
    assert (table.log.columns, table.log.written_columns()) == ({"a": (1, UUID)}, [UUID])
