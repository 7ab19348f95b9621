# SPDX-License-Identifier: Apache-2.0
"""`remove`, `align`, `track` and `untrack`: one goal for every table of a lakehouse.

Exit codes: 0 if every table has reached the goal; 1 if a table has not, no table was found, or an
error came after the survey; 2 for an earlier error, such as a wrong call; 130 or 143 if SIGINT or
SIGTERM ended the run. In a dry run, a planned table counts as a table that has reached the goal.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from spark_ext.cli import run_progress
from spark_ext.cli.amounts import count, duration, size
from spark_ext.cli.command import Command
from spark_ext.cli.many_tables import add_all, add_parallel, add_places, add_progress, run
from spark_ext.cli.output import output_file, standard_output, written
from spark_ext.model.rows import json_lines
from spark_ext.removal.stages import STAGES, UNMAPPED
from spark_ext.tables.report import REPORT_FORMS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from spark_ext.tables.report import LakehouseReport

REACHED, NOT_REACHED = 0, 1
_CODES = (
    "; exit code 1 if a table has not reached this or no table was found, 2 if the call is wrong"
)
_SESSION = {
    # Small tables do not wait for the tasks of a large one.
    "spark.scheduler.mode": "FAIR",
    # A run may take hours, and its pages show what each table does.
    "spark.ui.enabled": "true",
}
# The arguments that a function has under the same name, besides `where` and its own.
_OPTIONS = (*("include", "exclude", "parallel", "max_bytes", "max_time", "on_error", "dry_run"),)


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    add_places(parser)
    budget = parser.add_argument_group("budget")
    add_parallel(budget)
    budget.add_argument(
        "--max-bytes",
        type=size,
        metavar="SIZE",
        help="start only as many tables as have this number of planned bytes together, such as"
        " 500GB (10^9 bytes each) or 500GiB",
    )
    budget.add_argument(
        "--max-time",
        type=duration,
        metavar="TIME",
        help="end after this time, such as 6h, 90m or 1h30m, and cancel the running tables",
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
    add_all(form)
    output.add_argument(
        "--report",
        type=partial(output_file, REPORT_FORMS),
        action="append",
        default=[],
        metavar="FILE",
        help="write the report to a file, or replace the file. Its name ends with"
        f" {', '.join(REPORT_FORMS)}; repeatable",
    )
    add_progress(output)


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

    The function is known by its name, because other commands need no pyspark.
    """
    options: dict[str, Any] = {name: getattr(chosen, name) for name in (*_OPTIONS, *own)}
    options["progress"] = run_progress.callback(chosen.progress)

    def call(spark: SparkSession) -> LakehouseReport:
        from spark_ext.tables import calls

        report: LakehouseReport = getattr(calls, function)(spark, *chosen.where, **options)
        return report

    return run(
        chosen.command,
        call,
        code_of=_code_of,
        write=lambda report: written(report.write, chosen.report),
        show=lambda report: _print(report, chosen),
        failed=NOT_REACHED,
        settings=_SESSION,
    )


def _code_of(report: LakehouseReport) -> int:
    from spark_ext.tables.results import ALREADY_DONE, PLANNED

    outcomes = {each.outcome for each in report.tables}
    is_planned = report.dry_run and bool(outcomes) and outcomes <= {PLANNED, ALREADY_DONE}
    return REACHED if report.complete or is_planned else NOT_REACHED


def _print(report: LakehouseReport, chosen: argparse.Namespace) -> None:
    with standard_output() as output:
        if chosen.json:
            output.writelines(json_lines(report.as_objects()))
        else:
            print(report.text(all_tables=chosen.all), file=output)


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
            "remove sales --exclude 'tmp_*' --max-bytes 500GB --max-time 6h --report out.html",
            "remove sales --until readers --parallel 8 --on-error 3 --progress json",
        ),
        _add_until,
        ("until",),
    ),
    _command(
        "align",
        "align_names",
        "make every physical name equal to the logical name in every Delta table",
        ("align sales --dry-run", "align sales --to-name-mode --report out.json"),
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
