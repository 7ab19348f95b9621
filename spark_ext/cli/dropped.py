# SPDX-License-Identifier: Apache-2.0
"""`python -m spark_ext dropped`: prints where the data of dropped columns is, for schedulers."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from spark_ext.api.dropped_result import DroppedColumns
from spark_ext.cli.command import Command
from spark_ext.cli.tables import add_tables, exit_code

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    add_tables(parser, "column")


def _run(chosen: argparse.Namespace) -> int:
    """Reads every table, prints where the data is, and returns the exit code."""
    return exit_code(chosen, _read, lambda dropped: dropped.gone)


def _read(spark: SparkSession, table: str) -> DroppedColumns:
    from spark_ext.api.functions import is_path
    from spark_ext.api.table import UsageTracking

    named = UsageTracking.forPath if is_path(table) else UsageTracking.forName
    return named(spark, table).dropped_columns()


COMMAND = Command(
    "dropped",
    "print where the data of dropped columns still exists; exit code 1 if there is some or"
    " a file is unknown, 2 if a table cannot be read",
    ("dropped db.patients", "dropped db.patients /data/patients --json"),
    _run,
    _add_arguments,
)
