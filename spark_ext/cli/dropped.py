# SPDX-License-Identifier: Apache-2.0
"""`python -m spark_ext dropped`: prints where the data of dropped columns is, for schedulers."""

from __future__ import annotations

import argparse
import json
from functools import partial
from typing import TYPE_CHECKING, Any

from spark_ext.api.dropped_result import DroppedColumns
from spark_ext.cli.tables import add_tables, exit_code
from spark_ext.wire.rows import as_row

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def add_to(commands: Any) -> None:
    """Adds the command to the commands of a parser."""
    parser: argparse.ArgumentParser = commands.add_parser(
        "dropped",
        help="print where the data of dropped columns still exists; exit code 1 if there is some or"
        " a file is unknown, 2 if a table cannot be read",
    )
    add_tables(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON object a column")


def run(chosen: argparse.Namespace) -> int:
    """Reads every table, prints where the data is, and returns the exit code."""
    return exit_code("dropped", chosen.tables, _read, partial(_show, as_json=chosen.json))


def _read(spark: SparkSession, table: str) -> DroppedColumns:
    from spark_ext.api.functions import is_path
    from spark_ext.api.table import UsageTracking

    named = UsageTracking.forPath if is_path(table) else UsageTracking.forName
    return named(spark, table).dropped_columns()


def _show(found: DroppedColumns, *, as_json: bool) -> bool:
    if as_json:
        for column in found.as_objects():
            print(json.dumps(column, default=_plain))
    else:
        print(f"{found!r}\n")
    return found.gone


def _plain(value: Any) -> Any:
    """Returns a time as text, and a dataclass as an object."""
    return value.isoformat() if hasattr(value, "isoformat") else as_row(value)
