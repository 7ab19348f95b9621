# SPDX-License-Identifier: Apache-2.0
"""Contains what commands over many tables share: arguments, and the run up to its report."""

from __future__ import annotations

import argparse
import signal
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from spark_ext.cli import run_progress
from spark_ext.cli.amounts import count
from spark_ext.cli.output import print_error
from spark_ext.cli.session import NO_SETTINGS, error_text, own_session
from spark_ext.tables.threads import receiving_signals

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_Report = TypeVar("_Report")


def add_where(parser: argparse.ArgumentParser, number: str, others: str = "") -> None:
    """Adds the places of the tables.

    Args:
        parser: The parser of the command.
        number: How many places there are, as `nargs` of `argparse`.
        others: What the help says about no place.
    """
    parser.add_argument(
        "where",
        nargs=number,
        metavar="CATALOG[.SCHEMA] | SCHEMA | TABLE | PATH",
        help="a text with a slash is a path; a catalog includes all its schemas; tables of Hive"
        f" need spark.sql.catalogImplementation hive in spark-defaults.conf{others}",
    )


def add_places(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments that choose tables."""
    add_where(parser, "+")
    tables = parser.add_argument_group("tables")
    for option, what in (("--include", "only tables"), ("--exclude", "no tables")):
        tables.add_argument(
            option,
            action="append",
            default=[],
            metavar="PATTERN",
            help=f"{what} whose name, with or without catalog and schema, matches this shell"
            " pattern; repeatable",
        )


def add_all(group: Any) -> None:
    """Adds the option to print every table."""
    group.add_argument(
        "--all", action="store_true", help="print a row for every table below the sums"
    )


def add_parallel(group: Any) -> None:
    """Adds the number of tables at a time."""
    group.add_argument(
        "--parallel", type=count, default=4, metavar="N", help="tables at a time; 4 by default"
    )


def add_progress(group: Any) -> None:
    """Adds the form of the progress."""
    group.add_argument(
        "--progress",
        choices=run_progress.FORMS,
        default=run_progress.LINES,
        help="print to standard error: lines for people (default), objects of JSON, or nothing",
    )


def run(
    command: str,
    call: Callable[[SparkSession], _Report],
    *,
    code_of: Callable[[_Report], int],
    write: Callable[[_Report], bool],
    show: Callable[[_Report], None],
    failed: int,
    settings: Mapping[str, str] = NO_SETTINGS,
) -> int:
    """Runs a call over many tables, and returns the exit code.

    The files are written first, because standard output may have no reader, and the session may
    fail to stop.

    Args:
        command: The name of the command.
        call: Returns the report, or raises an error with the attribute `report`.
        code_of: Returns the exit code of a report.
        write: Writes the files, and returns whether each is written.
        show: Prints the report.
        failed: The least exit code of a run that ended with an error.
        settings: The settings of the session.
    """
    code = None
    try:
        with own_session(command, settings) as spark:
            with receiving_signals():  # A signal after the call waits for the files.
                report, error, number = ended(call, spark)
                code = code_of(report) if number is None else 128 + number
                is_written = write(report)
            if error is not None or not is_written:
                code = max(code, failed)
            show(report)
            if error is not None:
                raise error
    except Exception as error:  # from spark-ext, Spark, Java, a catalog, or standard output
        print_error(error_text(error))
        return 2 if code is None else max(code, failed)
    return code


def ended(
    call: Callable[[SparkSession], _Report], spark: SparkSession
) -> tuple[_Report, Exception | None, int | None]:
    """Returns the report of a call, with the error or the number of the signal that ended it."""
    try:
        return call(spark), None, None
    except (Exception, KeyboardInterrupt) as error:
        report: _Report | None = getattr(error, "report", None)
        if report is None:  # no table began
            raise
        if isinstance(error, KeyboardInterrupt):
            return report, None, getattr(error, "signal", signal.SIGINT)
        return report, error, None
