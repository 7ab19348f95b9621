# SPDX-License-Identifier: Apache-2.0
"""Tests that untracked and unmapped tables get the names of plain Delta by every route."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.integration import routes
from tests.support.delta_table import LEGACY_PROTOCOL, NAME_MODE, TRACKED, Table
from tests.support.table_log import UUID

pytestmark = pytest.mark.without("auto-compact")

Change = Callable[[Table], None]


def alter(change: str) -> Change:
    return lambda table: table.alter(change)


def append(table: Table) -> None:
    routes.save(table, "SELECT 1 AS a, 2 AS c")


def overwrite(table: Table) -> None:
    table.overwrite("SELECT 2L AS b")


def replace(table: Table) -> None:
    routes.replace_as_select(table, "SELECT 3 AS a")


@pytest.mark.parametrize(("properties", "writer_version"), [((), 7), ((LEGACY_PROTOCOL,), 5)])
@pytest.mark.every_variant
def test_untracked_table_gets_uuid_names_and_no_flag_by_every_route(
    table: Table, properties: tuple[str, ...], writer_version: int
) -> None:
    table.create("a INT, z INT", NAME_MODE, *properties)

    for change in (
        alter("ADD COLUMN b INT"),
        alter("RENAME COLUMN z TO y"),
        alter("DROP COLUMN b"),
        append,
        overwrite,
        replace,
        lambda table: table.restore(0),
    ):
        with table.one_commit():
            change(table)
        assert (table.log.is_tracked, table.log.flag) == (False, None)
        assert table.log.protocol["minWriterVersion"] == writer_version
        assert {name for _, name in table.log.columns.values()} == {UUID}
        assert set(table.log.written_columns()) <= {UUID}


def test_unmapped_tracked_table_gets_no_names_and_keeps_the_flag_false_by_every_route(
    table: Table,
) -> None:
    table.create("a INT", TRACKED)
    table.insert("(1)")

    for change in (alter("ADD COLUMN b INT"), append, overwrite):
        with table.one_commit():
            change(table)
        assert (table.log.is_tracked, table.log.flag) == (True, "false")
        assert set(table.log.columns.values()) == {(None, None)}
        assert set(table.log.written_columns()) <= set(table.log.columns)

    assert table.rows() == [(2,)]


@pytest.mark.parametrize("mode", ["name", "id"])
def test_new_untracked_table_gets_uuid_names_and_no_flag(table: Table, mode: str) -> None:
    nested = (
        "SELECT 1 AS a, named_struct('x', named_struct('y', 2)) AS s,"
        " map(named_struct('x', 3), array(named_struct('y', 4))) AS m"
    )
    routes.as_select("CREATE")(table, nested, f"'delta.columnMapping.mode' = '{mode}'")

    assert (table.log.is_tracked, table.log.flag) == (False, None)
    assert {name for _, name in table.log.columns.values()} == {UUID}
    assert table.selected("a, s.x.y, map_values(m)[0][0].y") == [(1, 2, 4)]
