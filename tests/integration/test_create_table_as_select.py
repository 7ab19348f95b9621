# SPDX-License-Identifier: Apache-2.0
"""Tests CREATE TABLE AS SELECT, and a DataFrame write that creates a table."""

from __future__ import annotations

import pytest

from tests.integration.routes import create_as_select
from tests.support.delta_table import NAME_MODE, TRACKED, Table, refusal
from tests.support.session_conf import SetConf
from tests.support.table_log import FEATURE

DEFAULTS = "spark.databricks.delta.properties.defaults"
TRACK_MAPPED = "spark.sparkext.usageTracking.enabledByDefault"


# Refusals, which create no table.


@pytest.mark.parametrize(
    ("query", "mode", "condition"),
    [
        ("SELECT 1 AS a, 2 AS A", "name", "COLUMN_ALREADY_EXISTS"),
        ("SELECT 1 AS `a b`", "none", "DELTA_INVALID_CHARACTERS_IN_COLUMN_NAMES"),
    ],
)
def test_refused_table_is_not_created(table: Table, query: str, mode: str, condition: str) -> None:
    with refusal(condition):
        create_as_select(table, query, mode)

    assert not table.log.commits


def test_failed_query_creates_no_table(table: Table) -> None:
    # An aggregate fails in a separate stage, before the stage that writes.
    with refusal("DIVIDE_BY_ZERO"):
        create_as_select(table, "SELECT max(1 DIV id) AS a FROM range(2)", "name")

    assert not table.log.commits


# Tables that are tracked from the start; test_create_table.py has the claims about every route.


def test_partitioned_table_has_logical_names_in_its_partition_values(table: Table) -> None:
    table.spark.sql(
        f"CREATE TABLE {table.name} USING delta PARTITIONED BY (`p q`)"
        f" TBLPROPERTIES ({TRACKED}, {NAME_MODE}) AS SELECT 1 AS a, 2 AS `p q`"
    )

    assert (table.log.version, table.log.flag) == (0, "false")
    assert table.log.columns == {"a": (1, "a"), "p q": (2, "p q")}
    assert table.log.actions("add")[0]["partitionValues"] == {"p q": "2"}
    assert table.selected() == [(1, 2)]


def test_columns_of_a_mapped_source_get_new_ids_and_names(
    table: Table,
) -> None:
    source = Table(table.spark, table.path.with_name("source"))
    source.create_tracked("a INT, b INT, c INT")
    source.insert("(1, 2, 3)")
    source.alter("DROP COLUMN a")
    source.alter("RENAME COLUMN b TO d")
    create_as_select(table, f"SELECT * FROM {source.name}", "name")

    assert (table.log.is_tracked, table.log.flag) == (True, "false")
    assert table.log.columns == {"d": (1, "d"), "c": (2, "c")}
    assert table.log.max_column_id == 2
    assert table.log.written_columns() == ["c", "d"]
    assert table.selected() == [(2, 3)]


# Defaults of the session.


@pytest.mark.parametrize(
    "defaults",
    [
        {f"{DEFAULTS}.feature.{FEATURE}": "supported", f"{DEFAULTS}.columnMapping.mode": "name"},
        {TRACK_MAPPED: "true", f"{DEFAULTS}.columnMapping.mode": "name"},
    ],
)
def test_plain_write_creates_a_tracked_table_when_the_session_tracks_new_tables(
    table: Table, conf: SetConf, defaults: dict[str, str]
) -> None:
    for key, value in defaults.items():
        conf(key, value)
    table.spark.sql("SELECT 1 AS a").write.format("delta").save(str(table.path))

    assert (table.log.version, table.log.is_tracked, table.log.flag) == (0, True, "false")
    assert (table.log.columns, table.log.written_columns()) == ({"a": (1, "a")}, ["a"])
    assert table.selected() == [(1,)]
