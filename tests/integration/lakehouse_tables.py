# SPDX-License-Identifier: Apache-2.0
"""Makes tables for calls over many tables, and reads their logs without any code of ours."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from spark_ext import LakehouseReport
from tests.support.delta_table import NAME_MODE, TRACKED, Table
from tests.support.prepared import made_once
from tests.support.table_log import TableLog

ROWS = [(1, "x"), (2, "y")]


def quiet(call: Callable[..., LakehouseReport], *args: Any, **options: Any) -> LakehouseReport:
    return call(*args, **{"progress": None, **options})


def filled(table: Table, rows: str = "(1, 'x'), (2, 'y')") -> Table:
    """Writes rows into one file."""
    table.spark.sql(f"INSERT INTO {table.name} SELECT /*+ COALESCE(1) */ * FROM VALUES {rows}")
    return table


@made_once
def free(table: Table) -> Table:
    """Makes a table whose removal is metadata only."""
    table.create("a INT, b STRING", TRACKED, NAME_MODE)
    return filled(table)


@made_once
def untracked(table: Table, size: int = 1) -> Table:
    """Makes a table whose removal copies its only file."""
    table.create("a INT, b STRING", NAME_MODE)
    return filled(table, f"(1, 'x'), (2, repeat('y', {size}))")


@made_once
def plain(table: Table) -> Table:
    return filled(table.create("a INT, b STRING"))


def at(spark: SparkSession, *parts: object) -> Table:
    return Table(spark, Path(*map(str, parts)))


def outcomes(report: LakehouseReport) -> list[str]:
    return [each.outcome for each in report.tables]


def operations(table: Table) -> list[str]:
    return [
        action["commitInfo"]["operation"]
        for commit in table.log.commits
        for action in commit
        if "commitInfo" in action
    ]


def is_unmapped(log: TableLog) -> bool:
    """Returns whether the log has no column mapping, read without any code of ours."""
    mode = log.configuration.get("delta.columnMapping.mode", "none")
    return mode == "none" and set(log.physical_names.values()) == {None}
