# SPDX-License-Identifier: Apache-2.0
"""`remove`, `align`, `track` and `untrack`: one goal for every table of a lakehouse.

Exit codes: 0 if every table has reached the goal, 1 if a table has not or an error came after the
first table began, 2 if the call is wrong, 130 or 143 if SIGINT or SIGTERM ended the run.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spark_ext.cli import report_file, run_progress
from spark_ext.cli.amounts import count, duration, size
from spark_ext.cli.command import Command
from spark_ext.cli.run_progress import print_error
from spark_ext.cli.session import error_text, own_session
from spark_ext.lakehouse.plan import ORDERS
from spark_ext.removal.stages import STAGES, UNMAPPED

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from spark_ext.lakehouse.report import LakehouseReport

REACHED, NOT_REACHED, FAILED = 0, 1, 2
_CODES = "; exit code 0 if every table has reached this, 1 if not, 2 if the call is wrong"
_SESSION = {
    # Small tables do not wait for the tasks of a large one.
    "spark.scheduler.mode": "FAIR",
    # A run may take hours, and its pages show what each table does.
    "spark.ui.enabled": "true",
}
# The arguments that a function has under the same name, besides `where` and its own.
_OPTIONS = (
    *("include", "exclude", "parallel", "max_bytes", "max_time", "on_error", "order", "dry_run"),
)


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "where",
        nargs="+",
        metavar="CATALOG[.SCHEMA] | SCHEMA | PATH",
        help="a text with a slash is a path",
    )
    tables = parser.add_argument_group("tables")
    for option, what in (("--include", "only tables"), ("--exclude", "no tables")):
        tables.add_argument(
            option,
            action="append",
            default=[],
            metavar="PATTERN",
            help=f"{what} whose name, with or without catalog and schema, matches; repeatable",
        )
    tables.add_argument(
        "--order",
        choices=ORDERS,
        default="cheapest",
        help="cheapest (default): tables without a copy first, then the smallest; survey: the order"
        " of the survey",
    )
    budget = parser.add_argument_group("budget")
    budget.add_argument(
        "--parallel", type=count, default=4, metavar="N", help="tables at a time; 4 by default"
    )
    budget.add_argument(
        "--max-bytes",
        type=size,
        metavar="SIZE",
        help="start no table whose copy would exceed this total, such as 500GB",
    )
    budget.add_argument(
        "--max-time",
        type=duration,
        metavar="TIME",
        help="end after this time, such as 6h, 90m or 1h30m",
    )
    budget.add_argument(
        "--on-error",
        type=_errors,
        default="continue",
        metavar="continue|N",
        help="continue (default), or start no more tables after N failures",
    )
    budget.add_argument("--dry-run", action="store_true", help="print the plan, and change nothing")
    _add_output(parser.add_argument_group("output"))


def _add_output(output: Any) -> None:
    form = output.add_mutually_exclusive_group()
    form.add_argument(
        "--json",
        action="store_true",
        help="print a JSON object with the sums, and one for each table",
    )
    form.add_argument("--csv", action="store_true", help="print a line of CSV for each table")
    output.add_argument(
        "--report",
        type=report_file.report_file,
        action="append",
        default=[],
        metavar="FILE",
        help="write the report to a file that ends with .csv, .json, .html or .txt; repeatable",
    )
    output.add_argument(
        "--progress",
        choices=run_progress.FORMS,
        default=run_progress.LINES,
        help="print to standard error: lines for people (default), objects of JSON, or nothing",
    )


def _errors(text: str) -> str | int:
    return text if text == "continue" else count(text)


def _add_until(parser: argparse.ArgumentParser) -> None:
    _add_arguments(parser)
    parser.add_argument(
        "--until",
        choices=STAGES,
        default=UNMAPPED,
        help="the last stage of removal; unmapped by default",
    )


def _add_to_name_mode(parser: argparse.ArgumentParser) -> None:
    _add_arguments(parser)
    parser.add_argument(
        "--to-name-mode",
        action="store_true",
        help="also align tables of mode id, which then have mode name",
    )


def _run(function: str, own: tuple[str, ...], chosen: argparse.Namespace) -> int:
    """Calls the function with the arguments, writes its report, and returns the exit code.

    The function is known by its name, since other commands need no pyspark.
    """
    from spark_ext.lakehouse import calls

    code = None
    options: dict[str, Any] = {name: getattr(chosen, name) for name in (*_OPTIONS, *own)}
    options["progress"] = run_progress.callback(chosen.progress)
    try:
        with own_session(chosen.command, _SESSION) as spark:
            call = getattr(calls, function)
            report, code = _reported(call, spark, chosen.where, options)
            # The session may fail to stop, and nobody may read what is printed.
            code = max(code, _write_files(report, chosen.report))
            _print(report, chosen)
    except Exception as error:  # from spark-ext, Spark, Java, a catalog, or standard output
        print_error(error_text(error))
        return FAILED if code is None else max(code, NOT_REACHED)
    return code


def _reported(
    call: Callable[..., LakehouseReport],
    spark: SparkSession,
    where: list[str],
    options: dict[str, Any],
) -> tuple[LakehouseReport, int]:
    """Returns the report, also that of an error, and the exit code."""
    try:
        report = call(spark, *where, **options)
    except (Exception, KeyboardInterrupt) as error:
        unfinished: LakehouseReport | None = getattr(error, "report", None)
        if unfinished is None:  # no table began
            raise
        if isinstance(error, KeyboardInterrupt):
            return unfinished, 128 + getattr(error, "signal", signal.SIGINT)
        print_error(error_text(error))
        return unfinished, NOT_REACHED
    from spark_ext.lakehouse.results import ALREADY_DONE, PLANNED

    outcomes = {each.outcome for each in report.tables}
    is_planned = report.dry_run and outcomes <= {PLANNED, ALREADY_DONE}
    return report, REACHED if report.complete or is_planned else NOT_REACHED


def _write_files(report: LakehouseReport, paths: list[Path]) -> int:
    """Writes the files of the report; returns the exit code."""
    code = REACHED
    for path in paths:
        try:
            report_file.write(report, path)
        except OSError as error:
            print_error(f"Cannot write the report `{path}`: {error.strerror}.")
            code = NOT_REACHED
    return code


def _print(report: LakehouseReport, chosen: argparse.Namespace) -> None:
    """Prints the report.

    Raises:
        OSError: The reader of standard output has ended, or its disk is full.
    """
    try:
        if chosen.json:
            print("\n".join(report_file.as_json_lines(report)))
        elif chosen.csv:
            report.write_csv(sys.stdout)
        else:
            print(report.text())
        sys.stdout.flush()
    except OSError:
        # Python would print the rest at its end, and exit with another code.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise


def _command(
    name: str,
    function: str,
    what: str,
    examples: tuple[str, ...],
    add_arguments: Callable[[argparse.ArgumentParser], None] = _add_arguments,
    own: tuple[str, ...] = (),
) -> Command:
    return Command(name, f"{what}{_CODES}", examples, partial(_run, function, own), add_arguments)


COMMANDS = (
    _command(
        "remove",
        "remove_column_mapping",
        "remove column mapping from every Delta table",
        (
            "remove sales main.hr --dry-run",
            "remove sales --exclude 'tmp_*' --max-bytes 500GB --max-time 6h --report out.csv",
            "remove sales --until readers --parallel 8 --on-error 3 --progress json",
        ),
        _add_until,
        ("until",),
    ),
    _command(
        "align",
        "align_names",
        "make every physical name equal to the logical name in every Delta table",
        ("align sales --dry-run", "align sales --to-name-mode --report out.html"),
        _add_to_name_mode,
        ("to_name_mode",),
    ),
    _command("track", "track", "track every Delta table", ("track sales --include 'fact_*'",)),
    _command(
        "untrack",
        "untrack",
        "stop tracking every Delta table, before you remove spark-ext",
        ("untrack spark_catalog --report out.json",),
    ),
)
