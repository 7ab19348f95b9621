# SPDX-License-Identifier: Apache-2.0
"""The commands: names, help, arguments, and the functions that run them."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from inspect import signature
from typing import TYPE_CHECKING, Any

from spark_ext import doctor
from spark_ext.cli.arguments import (
    PLACES,
    add_forms,
    add_options,
    add_places,
    add_progress,
    add_where,
    given,
    output_file,
)
from spark_ext.cli.output import error_text, print_error, progress, standard_output, written
from spark_ext.cli.session import own_session, run
from spark_ext.errors import SparkExtError
from spark_ext.launch import CLIENT, DEPLOY_MODES, jar, submit_args
from spark_ext.model.dropped import UNREADABLE
from spark_ext.model.rows import json_lines
from spark_ext.model.schema import backticked
from spark_ext.tables import calls, find, inspect
from spark_ext.tables.report import (
    ALREADY_DONE,
    CERTIFICATE_FORMS,
    PLANNED,
    REPORT_FORMS,
    LakehouseReport,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PROGRAM = "spark-ext"
# The exit code of a command whose tables are right, of one with a table that is not, and of one
# that failed. Each command says what this means in its help.
RIGHT, NOT_RIGHT, FAILED = 0, 1, 2


@dataclass(frozen=True)
class Command:
    """A command, its help with its exit codes, and the function that returns its exit code."""

    name: str
    help: str
    examples: tuple[str, ...]
    run: Callable[[argparse.Namespace], int]
    add_arguments: Callable[[argparse.ArgumentParser], object] = lambda parser: None

    def add_to(self, commands: Any) -> None:
        """Adds the command to the commands of a parser."""
        parser: argparse.ArgumentParser = commands.add_parser(
            self.name,
            help=self.help,
            description=f"{self.help[:1].upper()}{self.help[1:]}.",
            epilog=examples(self.examples),
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        self.add_arguments(parser)
        parser.set_defaults(run=self.run)


def examples(lines: tuple[str, ...]) -> str:
    """Returns the examples at the end of a help."""
    shown = "\n".join(f"  {PROGRAM} {line}" for line in lines)
    return f"{'example' if len(lines) == 1 else 'examples'}:\n{shown}"


# jars, submit-args and doctor: the installation, without a session in this process.


def _doctor(chosen: argparse.Namespace) -> int:
    findings = doctor.examine(os.environ)
    form = doctor.as_json if chosen.json else doctor.as_text
    return _printed(lambda: form(findings)) or (RIGHT if doctor.is_sound(findings) else NOT_RIGHT)


def _printed(text: Callable[[], str]) -> int:
    try:
        with standard_output() as out:
            print(text(), file=out)
    except SparkExtError as error:
        print_error(error_text(error))
        return NOT_RIGHT
    except OSError as error:
        return _failed(error)
    return RIGHT


def _failed(error: Exception) -> int:
    print_error(error_text(error))
    return FAILED


# audit: what is wrong with tables.


def _add_audited(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "tables", nargs="+", metavar="TABLE_OR_PATH", help="a text with a slash is a path"
    )
    add_forms(parser, "a JSON object for each finding")
    add_options(parser, "sample")
    parser.add_argument(
        "--strict", action="store_true", help="exit with code 1 also for a finding of risk"
    )


def _audit(chosen: argparse.Namespace) -> int:
    """Audits every table that can be read, prints the findings, and returns the exit code."""
    try:
        with own_session(chosen.command) as spark:
            return max([_audited(spark, table, chosen) for table in chosen.tables])
    except Exception as error:  # the session did not start or end, or standard output failed
        return _failed(error)


def _audited(spark: SparkSession, table: str, chosen: argparse.Namespace) -> int:
    try:
        found = inspect.audit(spark, table, **given(chosen))
    except Exception as error:  # from Spark, Java or a storage
        return _failed(error)
    with standard_output() as out:
        out.writelines(json_lines(found.as_objects()) if chosen.json else f"{found!r}\n\n")
    return NOT_RIGHT if (found.findings if chosen.strict else found.num_damages) else RIGHT


# survey: what removing column mapping costs.


def _add_surveyed(parser: argparse.ArgumentParser) -> None:
    add_where(parser, "*", "; all schemas of the default catalog by default")
    add_forms(parser, "a JSON object for each table, and one with the sums", has_all=True)


def _survey(chosen: argparse.Namespace) -> int:
    try:
        with own_session(chosen.command) as spark:
            places = chosen.where or [backticked(spark.catalog.currentCatalog())]
            found = find.survey(spark, *places)
        _print(found, chosen)
    except Exception as error:  # from spark-ext, Spark, Java, a catalog, or standard output
        return _failed(error)
    return NOT_RIGHT if found.sums.errors else RIGHT


def _print(found: find.Survey | LakehouseReport, chosen: argparse.Namespace) -> None:
    with standard_output() as out:
        if chosen.json:
            out.writelines(json_lines(found.as_objects()))
        else:
            print(found.text(all_tables=chosen.all), file=out)


# remove, align, track and untrack: one goal for every table of a lakehouse. A table is right if it
# has reached the goal, or is planned in a dry run.

_CODES = (
    "; exit code 1 if a table has not reached this or no table was found, 2 if the call is wrong"
)
_SESSION = {
    # Small tables do not wait for the tasks of a large one.
    "spark.scheduler.mode": "FAIR",
    # A run may take hours, and its pages show what each table does.
    "spark.ui.enabled": "true",
}


def _goal(name: str, function: str, what: str, *examples: str) -> Command:
    """Returns the command of a function, with its options and those of `LakehouseOptions`."""
    own = signature(getattr(calls, function)).parameters
    return Command(
        name, f"{what}{_CODES}", examples, partial(_run, function), partial(_add_run, own)
    )


def _add_run(own: Iterable[str], parser: argparse.ArgumentParser) -> None:
    add_places(parser)
    limits = [name for name in find.LakehouseOptions.__annotations__ if name not in PLACES]
    add_options(parser.add_argument_group("budget"), *limits)
    output = parser.add_argument_group("output")
    add_forms(output, "a JSON object with the sums, and one for each table", has_all=True)
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
    add_options(parser, *own)


def _run(function: str, chosen: argparse.Namespace) -> int:
    """Calls the function with the arguments, writes its report, and returns the exit code."""

    def call(spark: SparkSession) -> LakehouseReport:
        report: LakehouseReport = getattr(calls, function)(
            spark, *chosen.where, progress=progress(chosen.progress), **given(chosen)
        )
        return report

    return run(
        chosen.command,
        call,
        code_of=_code_of,
        write=lambda report: written(report.write, chosen.report),
        show=lambda report: _print(report, chosen),
        failed=NOT_RIGHT,
        settings=_SESSION,
    )


def _code_of(report: LakehouseReport) -> int:
    outcomes = {each.outcome for each in report.tables}
    is_planned = report.dry_run and bool(outcomes) and outcomes <= {PLANNED, ALREADY_DONE}
    return RIGHT if report.complete or is_planned else NOT_RIGHT


# dropped: what remains of dropped columns.


def _add_dropped(parser: argparse.ArgumentParser) -> None:
    add_places(parser)
    add_options(parser, "column")
    parser.add_argument(
        "--certificate",
        type=partial(output_file, CERTIFICATE_FORMS),
        metavar="FILE",
        help="write a certificate to this .json file. If the file is an earlier certificate of the"
        " column, the new one continues and replaces it",
    )
    add_options(parser, "parallel")
    add_progress(parser)
    add_forms(parser, "the certificate as JSON")


def _dropped(chosen: argparse.Namespace) -> int:
    """Reads every table, prints the result, and returns the exit code."""
    files = [] if chosen.certificate is None else [chosen.certificate]

    def call(spark: SparkSession) -> inspect.Certificate:
        earlier = next((file for file in files if file.exists()), None)
        return inspect.dropped_columns(
            spark,
            *chosen.where,
            certificate=earlier,
            progress=progress(chosen.progress),
            **given(chosen),
        )

    def code_of(found: inspect.Certificate) -> int:
        return FAILED if UNREADABLE in found.verdicts else RIGHT if found.complete else NOT_RIGHT

    def show(found: inspect.Certificate) -> None:
        with standard_output() as out:
            print(found.json() if chosen.json else found, file=out)
        for table in found.tables:
            if table.message is not None:
                print_error(f"{table.table}: {table.message}")

    return run(
        chosen.command,
        call,
        code_of=code_of,
        write=lambda found: written(found.write, files),
        show=show,
        failed=FAILED,
    )


COMMANDS: tuple[Command, ...] = (
    Command(
        "jars",
        "print the path of the jar, for --jars of spark-submit",
        ("jars",),
        lambda chosen: _printed(lambda: str(jar())),
    ),
    Command(
        "submit-args",
        "print all arguments that spark-submit, spark-sql or pyspark need",
        ("submit-args", "submit-args --deploy-mode cluster"),
        lambda chosen: _printed(lambda: " ".join(submit_args(chosen.deploy_mode))),
        lambda parser: parser.add_argument(
            "--deploy-mode",
            choices=DEPLOY_MODES,
            default=CLIENT,
            help="cluster: the driver runs on another machine, and the configuration of the"
            " cluster names its Python",
        ),
    ),
    Command(
        "doctor",
        "start trial sessions on this machine and print what is wrong; exit code 1 if something is"
        " wrong",
        ("doctor", "doctor --json"),
        _doctor,
        lambda parser: add_forms(parser, "one JSON object"),
    ),
    Command(
        "audit",
        "read the logs and files of tables and print what is wrong; exit code 1 if there is a"
        " finding of damage, 2 if a table cannot be audited",
        ("audit db.trips", "audit db.trips /data/trips --json", "audit db.trips --strict"),
        _audit,
        _add_audited,
    ),
    Command(
        "survey",
        "print what the removal of column mapping costs for every Delta table; exit code 1 if a"
        " table cannot be read, 2 if a schema does not exist",
        ("survey", "survey sales main.hr", "survey /data/trips --json"),
        _survey,
        _add_surveyed,
    ),
    _goal(
        "remove",
        "remove_column_mapping",
        "remove column mapping from every Delta table",
        "remove sales main.hr --dry-run",
        "remove sales --exclude 'tmp_*' --max-bytes 500GB --max-time 6h --report out.html",
        "remove sales --until readers --parallel 8 --on-error 3 --progress json",
    ),
    _goal(
        "align",
        "align_names",
        "make every physical name equal to the logical name in every Delta table",
        "align sales --dry-run",
        "align sales --to-name-mode --report out.json",
    ),
    _goal("track", "track", "track every Delta table", "track sales --include 'fact_*'"),
    _goal(
        "untrack",
        "untrack",
        "stop tracking every Delta table, before you remove spark-ext",
        "untrack spark_catalog --report out.json",
    ),
    Command(
        "dropped",
        "print what remains of dropped columns, and which steps delete it; exit code 1 if data"
        " remains or may remain, 2 if a table cannot be read or a name is wrong",
        (
            "dropped sales main.hr /data/patients",
            "dropped sales --column ssn --certificate ssn.json",
        ),
        _dropped,
        _add_dropped,
    ),
)
