# SPDX-License-Identifier: Apache-2.0
"""`python -m spark_ext dropped`: prints where data of dropped columns is, and erases the data."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from spark_ext.cli.amounts import count
from spark_ext.cli.command import Command
from spark_ext.cli.session import error_text, own_session
from spark_ext.errors import ProgressFailedError
from spark_ext.lakehouse.certificate import SUFFIXES, Certificate, plain
from spark_ext.lakehouse.erasure_report import UNREADABLE, ErasureInterrupted, ErasureReport

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NOTHING_LEFT, LEFT, FAILED = 0, 1, 2


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "where",
        nargs="+",
        metavar="CATALOG[.SCHEMA] | SCHEMA | TABLE | PATH",
        help="a text with a slash is a path; a catalog includes all its schemas",
    )
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
        help="run the steps that are due: PURGE, and VACUUM after the retention period",
    )
    parser.add_argument(
        "--certificate",
        type=_certificate,
        metavar="FILE",
        help=f"write a certificate of the column to a file ({', '.join(SUFFIXES)}); if the file is"
        " an earlier certificate of the column, the new one continues it",
    )
    parser.add_argument(
        "--previous", type=Path, metavar="FILE", help="continue this earlier certificate"
    )
    parser.add_argument(
        "--parallel", type=count, default=4, metavar="N", help="tables at a time; 4 by default"
    )
    parser.add_argument(
        "--json",
        action="store_true",
        help="print a JSON object with the sums, and one for each table",
    )


def _run(chosen: argparse.Namespace) -> int:
    """Reads every table, runs steps if asked, prints the result, and returns the exit code."""
    if chosen.certificate is not None and chosen.column is None:
        print("--certificate needs --column: it certifies one column.", file=sys.stderr)
        return FAILED
    try:
        with own_session("dropped") as spark:
            report, code = _reported(spark, chosen)
            # The session may fail to stop, and standard output may be closed.
            if chosen.certificate is not None:
                Certificate.of(report).write(chosen.certificate)
        _print(report, as_json=chosen.json)
    except Exception as error:  # from spark-ext, Spark, Java, a catalog or a file
        print(error_text(error), file=sys.stderr)
        return FAILED
    return code


def _reported(spark: SparkSession, chosen: argparse.Namespace) -> tuple[ErasureReport, int]:
    from spark_ext.lakehouse.erasure import dropped_columns

    try:
        report = dropped_columns(
            spark,
            *chosen.where,
            column=chosen.column,
            apply=chosen.apply,
            previous=_previous(chosen),
            parallel=chosen.parallel,
        )
    except ErasureInterrupted as interrupted:
        return interrupted.report, 128 + interrupted.signal
    except ProgressFailedError as failure:
        print(error_text(failure), file=sys.stderr)
        report = failure.report  # type: ignore[attr-defined]
    if UNREADABLE in report.verdicts:
        return report, FAILED
    return report, NOTHING_LEFT if report.complete else LEFT


def _previous(chosen: argparse.Namespace) -> Path | None:
    if chosen.previous is not None or chosen.certificate is None:
        previous: Path | None = chosen.previous
        return previous
    certificate: Path = chosen.certificate
    return certificate if certificate.exists() else None


def _print(report: ErasureReport, *, as_json: bool) -> None:
    if as_json:
        for each in report.as_objects():
            print(json.dumps(each, default=plain))
    else:
        print(report.text())
    for table in report.tables:
        if table.verdict == UNREADABLE:
            print(f"{table.table}: {table.message}", file=sys.stderr)
        for step in table.applied:
            if step.message is not None:
                print(f"{table.table}: {step.statement}: {step.message}", file=sys.stderr)


def _column(text: str) -> str:
    if not text:
        raise argparse.ArgumentTypeError("the name of the column is empty")
    return text


def _certificate(text: str) -> Path:
    path = Path(text)
    if path.suffix.lower() not in SUFFIXES:
        raise argparse.ArgumentTypeError(f"{text!r} does not end with {' or '.join(SUFFIXES)}")
    if not path.absolute().parent.is_dir():  # before hours of work
        raise argparse.ArgumentTypeError(f"the folder of {text!r} does not exist")
    return path


COMMAND = Command(
    "dropped",
    "print where data of dropped columns exists, and erase it with --apply; exit code 1 if data"
    " exists or may exist, 2 if a table cannot be read or a name is wrong",
    (
        "dropped sales main.hr /data/patients",
        "dropped sales --column ssn --apply --certificate ssn.json",
    ),
    _run,
    _add_arguments,
)
