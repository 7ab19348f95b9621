# SPDX-License-Identifier: Apache-2.0
"""Makes tables for calls over many tables, and reads their logs without any code of ours."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from spark_ext import LakehouseReport
from tests.support.delta_table import NAME_MODE, TRACKED, Table, forget_logs
from tests.support.prepared import made_once
from tests.support.sessions import warehouse_of
from tests.support.table_log import TableLog

ROWS = [(1, "x"), (2, "y")]
VECTORS = "'delta.enableDeletionVectors' = 'true'"
MAPPED = [NAME_MODE, TRACKED]
METADATA, COPY, BLOCKED = (
    "METADATA METADATA HISTORY",
    "COPY METADATA HISTORY",
    " ".join(["BLOCKED"] * 3),
)

# The properties of each table, its changes after a first INSERT, its row in the survey (mode, flag,
# numbers of columns and of other names, costs of the stages), and the outcome of a removal.
HEALTHY: dict[str, tuple[list[str], list[str], str, str]] = {
    "`1d`": ([], [], "none None 2 0 NOTHING NOTHING NOTHING", "ALREADY_DONE"),
    "blocked": (MAPPED, ["ADD COLUMN `b c` INT"], f"name False 3 0 {BLOCKED}", "BLOCKED"),
    "clean": (
        *(MAPPED, ["ADD COLUMNS (c INT, s STRUCT<x: INT, y: INT>)"]),
        *(f"name False 6 0 {METADATA}", "DONE"),
    ),
    "dropped": (MAPPED, ["DROP COLUMN b"], f"name True 1 0 {COPY}", "DONE, copied"),
    "renamed": (
        *(MAPPED, ["RENAME COLUMN a TO c", "ADD COLUMN a INT"]),
        *(f"name True 3 2 {COPY}", "DONE, copied"),
    ),
    "untracked": ([NAME_MODE], [], "name None 2 2 REWRITE METADATA HISTORY", "DONE, copied"),
    "vectors": ([*MAPPED, VECTORS], [], "name False 2 0 METADATA BLOCKED BLOCKED", "DONE"),
}
FUTURE = """{"protocol":{"minReaderVersion":3,"minWriterVersion":7,
"readerFeatures":["fromTheFuture"],"writerFeatures":["fromTheFuture"]}}""".replace("\n", "")


def edit(log: Path, pattern: str, text: str) -> None:
    """Replaces a text in the first commit."""
    file = log / f"{0:020}.json"
    file.write_text(re.sub(pattern, text, file.read_text()))


BROKEN: dict[str, tuple[Callable[[Path], object], str]] = {
    "commit_missing": (
        lambda log: (log / f"{1:020}.json").unlink(),
        "DELTA_VERSIONS_NOT_CONTIGUOUS",
    ),
    "feature": (
        lambda log: edit(log, r'\{"protocol":.*', FUTURE),
        "DELTA_UNSUPPORTED_FEATURES_FOR_READ",
    ),
    "log_missing": (shutil.rmtree, "DELTA_MISSING_DELTA_TABLE"),
    # If an error has no condition, the survey shows the class of the error.
    "schema": (
        lambda log: edit(log, r'"schemaString":".*?[^\\]"', '"schemaString":"{"'),
        "com.fasterxml.jackson.core.io.JsonEOFException",
    ),
    "start_missing": (
        lambda log: (log / f"{0:020}.json").unlink(),
        "DELTA_TRUNCATED_TRANSACTION_LOG",
    ),
}


def tables_of_all_kinds(spark: SparkSession, schema: str) -> dict[str, Table]:
    """Makes a schema, and returns its Delta tables. It has a view and another table, too."""
    home = warehouse_of(spark) / f"{schema}.db"
    spark.sql(f"CREATE SCHEMA {schema}")
    tables = {
        name: Table(spark, home / name.strip("`"), f"{schema}.{name}")
        for name in (*HEALTHY, *BROKEN)
    }
    for name, (properties, changes, _, _) in HEALTHY.items():
        table = tables[name].create("a INT, b STRING", *properties)
        table.insert("(1, 'x')")
        for change in changes:
            table.alter(change)
        table.insert(f"({', '.join(['NULL'] * len(spark.table(table.name).columns))})")
    for name, (breaks, _) in BROKEN.items():
        log = tables[name].create("a INT").path / "_delta_log"
        tables[name].insert("(1)")
        tables[name].insert("(2)")
        shutil.rmtree(log / "_commits", ignore_errors=True)
        for checksum in log.glob("*.crc"):
            checksum.unlink()
        breaks(log)
    spark.sql(f"CREATE TABLE {schema}.parquet (a INT) USING parquet")
    shutil.rmtree(home / "parquet", ignore_errors=True)
    (home / "parquet").write_text("no folder of files")
    spark.sql(f"CREATE VIEW {schema}.view AS SELECT 1 AS a")
    forget_logs(spark)
    return tables


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
