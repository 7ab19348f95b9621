# SPDX-License-Identifier: Apache-2.0
"""Tests the warning in the log about a column whose name is another column's name in files."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from pyspark.sql import SparkSession

from tests.integration import routes
from tests.integration.session_log import session_log
from tests.support.audited import findings
from tests.support.delta_table import ID_MODE, NAME_MODE, Table
from tests.support.releases import PURGES
from tests.support.table_log import is_uuid_name


@pytest.fixture
def log(spark: SparkSession) -> Iterator[Callable[[], list[str]]]:
    with session_log(spark, "sparkext.wire.MetadataRules") as lines:
        yield lines


def is_warning(line: str, column: str, other: str, table: Table) -> bool:
    hold = f"hold `{other}` under the name of the column `{column}`. "
    return (
        line.startswith("WARN ")
        and str(table.path) in line
        and hold in line
        and "align_names()" in line
    )


def other_names(table: Table) -> dict[str, str]:
    rows = table.spark.sql(f"SELECT * FROM column_mapping('{table.name}')").collect()
    return {row.path: row.nameInFilesOf for row in rows if row.nameInFilesOf is not None}


def found(table: Table) -> list[tuple[str, int | None, str | None]]:
    return [(each.check, each.version, each.column) for each in findings(table.path)]


def test_add_of_an_old_name_is_logged_once(table: Table, log: Callable[[], list[str]]) -> None:
    table.create_tracked("id INT, city STRING")
    table.insert("(1, 'Rome')")
    table.alter("RENAME COLUMN city TO town")
    assert log() == []

    table.alter("ADD COLUMN city STRING")
    version = table.log.version
    table.insert("(2, 'Oslo', 'X')")
    table.alter("ADD COLUMN fare INT")
    table.alter("SET TBLPROPERTIES ('k' = 'v')")

    (line,) = log()
    assert is_warning(line, "city", "town", table)
    assert other_names(table) == {"city": "town"}
    assert found(table) == [("misleading_name", version, "city")]


@pytest.mark.parametrize("mode", [NAME_MODE, ID_MODE])
def test_swap_is_logged_for_each_misleading_rename(
    table: Table, log: Callable[[], list[str]], mode: str
) -> None:
    table.create("a INT, b INT", "'delta.feature.columnMappingUsageTracking' = 'supported'", mode)
    table.insert("(1, 2)")
    table.alter("RENAME COLUMN a TO x")

    table.alter("RENAME COLUMN b TO a")
    table.alter("RENAME COLUMN x TO b")

    first, second = log()
    assert is_warning(first, "a", "x", table)
    assert is_warning(second, "b", "a", table)
    assert other_names(table) == {"a": "b", "b": "a"}
    assert sorted(column or "" for _, _, column in found(table)) == ["a", "b"]


def test_nested_add_by_a_write_is_logged(table: Table, log: Callable[[], list[str]]) -> None:
    table.create_tracked("id INT, s STRUCT<x: INT>")
    table.insert("(1, named_struct('x', 1))")
    table.alter("RENAME COLUMN s.x TO y")

    routes.save(table, "SELECT 2 AS id, named_struct('y', 2, 'x', 3) AS s")

    (line,) = log()
    assert is_warning(line, "s.x", "s.y", table)
    assert other_names(table) == {"s.x": "s.y"}


def merge(table: Table) -> None:
    routes.merge_in_sql(table, "SELECT 2 AS id, 'Y' AS town, 'X' AS city")


def overwrite(table: Table) -> None:
    table.overwrite("SELECT 2 AS id, 'Oslo' AS town, 'X' AS city")


def restore(table: Table) -> None:
    """Adds a column with the name, drops the column, and restores it."""
    table.alter("ADD COLUMN city STRING")
    version = table.log.version
    table.alter("DROP COLUMN city")
    table.restore(version)


@pytest.mark.parametrize(("write", "times"), [(merge, 1), (overwrite, 1), (restore, 2)])
def test_each_route_of_an_old_name_is_logged_once(
    table: Table, log: Callable[[], list[str]], write: Callable[[Table], None], times: int
) -> None:
    table.create_tracked("id INT, city STRING")
    table.insert("(1, 'Rome')")
    table.alter("RENAME COLUMN city TO town")

    write(table)

    assert [is_warning(line, "city", "town", table) for line in log()] == [True] * times
    assert other_names(table) == {"city": "town"}


@PURGES
def test_reused_name_of_a_dropped_column_is_a_finding_until_purged(
    table: Table, log: Callable[[], list[str]]
) -> None:
    table.create_tracked("id INT, city STRING")
    table.insert("(1, 'Rome')")
    table.alter("DROP COLUMN city")

    table.alter("ADD COLUMN city STRING")

    assert is_uuid_name(table.log.physical_names["city"])
    assert [check for check, _, _ in found(table)] == ["misleading_name"]
    table.purge()
    assert found(table) == []


def test_reused_name_of_an_untracked_table_is_not_logged(
    table: Table, log: Callable[[], list[str]]
) -> None:
    table.create("city STRING")
    table.alter(f"SET TBLPROPERTIES ({NAME_MODE})")
    table.alter("RENAME COLUMN city TO town")

    table.alter("ADD COLUMN city STRING")

    assert log() == []
    assert other_names(table) == {"city": "town"}
