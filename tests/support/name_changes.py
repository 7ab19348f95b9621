# SPDX-License-Identifier: Apache-2.0
"""Changes the names of a table's columns, in the log or in files, so that plans become stale.

The table has the columns `b` and `d` of one type.
"""

from __future__ import annotations

from collections.abc import Callable

from tests.support.delta_table import NAME_MODE, Table
from tests.support.removal import setting

Change = Callable[[Table], object]


def nothing(table: Table) -> None:
    pass


def remove_mapping(table: Table, how: str = "copy") -> None:
    with setting(table, how):
        table.remove_mapping()


def map_again(table: Table) -> None:
    table.alter(f"SET TBLPROPERTIES ({NAME_MODE})")


def rename(table: Table) -> None:
    table.alter("RENAME COLUMN b TO c")


def rename_and_add(table: Table) -> None:
    rename(table)
    table.alter("ADD COLUMN b STRING")


def drop_and_add(table: Table) -> None:
    table.alter("DROP COLUMN b")
    table.alter("ADD COLUMN b STRING")


def swap(table: Table) -> None:
    table.alter("RENAME COLUMN b TO other")
    table.alter("RENAME COLUMN d TO b")
    table.alter("RENAME COLUMN other TO d")
