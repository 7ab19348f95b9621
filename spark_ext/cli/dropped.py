# SPDX-License-Identifier: Apache-2.0
"""`python -m spark_ext dropped`: prints where data of dropped columns is, and erases the data."""

from __future__ import annotations

import argparse
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from spark_ext.cli import run_progress
from spark_ext.cli.command import Command
from spark_ext.cli.many_tables import add_parallel, add_places, add_progress, run
from spark_ext.cli.output import output_file, print_error, standard_output, written
from spark_ext.lakehouse.certificate import Certificate
from spark_ext.lakehouse.erasure_report import ErasureReport
from spark_ext.lakehouse.erasure_results import UNREADABLE
from spark_ext.lakehouse.files import CERTIFICATE_FORMS
from spark_ext.wire.rows import json_lines

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NOTHING_LEFT, LEFT, FAILED = 0, 1, 2


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    add_places(parser)
    parser.add_argument(
        "--column",
        type=_column,
        metavar="NAME",
        help="a present or former name or path of a column, or a pattern with * and ?; every"
        " dropped column by default",
    )
    parser.add_argument(
        "--apply",
        action="store_true",
        help="run the steps that are due: PURGE, and VACUUM after the retention period. Without"
        " --column, they erase every dropped column",
    )
    parser.add_argument(
        "--certificate",
        type=partial(output_file, CERTIFICATE_FORMS),
        metavar="FILE",
        help=f"write a certificate of the column to a file ({', '.join(CERTIFICATE_FORMS)}). If the"
        " file is an earlier certificate of the column, the new one replaces it, and without"
        " --previous continues it",
    )
    parser.add_argument(
        "--previous", type=Path, metavar="FILE", help="continue this earlier certificate"
    )
    add_parallel(parser)
    add_progress(parser)
    parser.add_argument(
        "--json",
        action="store_true",
        help="print a JSON object with the sums, and one for each table",
    )


def _run(chosen: argparse.Namespace) -> int:
    """Reads every table, runs steps if asked, prints the result, and returns the exit code."""
    if chosen.certificate is not None and chosen.column is None:
        print_error("--certificate needs --column: it certifies one column.")
        return FAILED
    certificates = [] if chosen.certificate is None else [chosen.certificate]
    return run(
        chosen.command,
        lambda spark: _report(spark, chosen),
        code_of=_code_of,
        write=lambda report: written(lambda file: Certificate.of(report).write(file), certificates),
        show=lambda report: _print(_certified(report, certificates), as_json=chosen.json),
        failed=FAILED,
    )


def _report(spark: SparkSession, chosen: argparse.Namespace) -> ErasureReport:
    from spark_ext.lakehouse.erasure import dropped_columns

    return dropped_columns(
        spark,
        *chosen.where,
        column=chosen.column,
        apply=chosen.apply,
        previous=_previous(chosen),
        include=chosen.include,
        exclude=chosen.exclude,
        parallel=chosen.parallel,
        progress=run_progress.callback(chosen.progress),
    )


def _certified(report: ErasureReport, certificates: list[Path]) -> ErasureReport:
    return report.certified(certificates[0]) if certificates else report


def _code_of(report: ErasureReport) -> int:
    if UNREADABLE in report.verdicts:
        return FAILED
    return NOTHING_LEFT if report.complete else LEFT


def _previous(chosen: argparse.Namespace) -> Path | None:
    if chosen.previous is not None or chosen.certificate is None:
        previous: Path | None = chosen.previous
        return previous
    certificate: Path = chosen.certificate
    return certificate if certificate.exists() else None


def _print(report: ErasureReport, *, as_json: bool) -> None:
    with standard_output() as output:
        if as_json:
            output.writelines(json_lines(report.as_objects()))
        else:
            print(report.text(), file=output)
    for table in report.tables:
        if table.verdict == UNREADABLE:
            print_error(f"{table.table}: {table.message}")
        for step in table.applied:
            if step.message is not None:
                print_error(f"{table.table}: {step.statement}: {step.message}")


def _column(text: str) -> str:
    if not text:
        raise argparse.ArgumentTypeError("the name of the column is empty")
    return text


COMMAND = Command(
    "dropped",
    "print where data of dropped columns exists, and erase it with --apply; exit code 1 if data"
    " exists or may exist, 2 if a table cannot be read or a name is wrong",
    (
        "dropped sales main.hr /data/patients",
        "dropped sales --column ssn --certificate ssn.json",
        "dropped sales --column ssn --apply --certificate ssn.json",
    ),
    _run,
    _add_arguments,
)
