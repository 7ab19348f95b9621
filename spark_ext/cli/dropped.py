# SPDX-License-Identifier: Apache-2.0
"""`python -m spark_ext dropped`: prints what remains of dropped columns, and certifies it."""

from __future__ import annotations

import argparse
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from spark_ext.cli import run_progress
from spark_ext.cli.command import Command
from spark_ext.cli.many_tables import add_parallel, add_places, add_progress, run
from spark_ext.cli.output import output_file, print_error, standard_output, written
from spark_ext.model.dropped import UNREADABLE
from spark_ext.tables.report import CERTIFICATE_FORMS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from spark_ext.tables.erase import Certificate

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
        "--certificate",
        type=partial(output_file, CERTIFICATE_FORMS),
        metavar="FILE",
        help="write a certificate to this .json file. If the file is an earlier certificate of the"
        " column, the new one continues and replaces it",
    )
    add_parallel(parser)
    add_progress(parser)
    parser.add_argument("--json", action="store_true", help="print the certificate as JSON")


def _run(chosen: argparse.Namespace) -> int:
    """Reads every table, prints the result, and returns the exit code."""
    certificates = [] if chosen.certificate is None else [chosen.certificate]
    return run(
        chosen.command,
        lambda spark: _read(spark, chosen),
        code_of=_code_of,
        write=lambda found: written(found.write, certificates),
        show=lambda found: _print(found, as_json=chosen.json),
        failed=FAILED,
    )


def _read(spark: SparkSession, chosen: argparse.Namespace) -> Certificate:
    from spark_ext.tables.erase import dropped_columns

    certificate: Path | None = chosen.certificate
    return dropped_columns(
        spark,
        *chosen.where,
        column=chosen.column,
        certificate=certificate if certificate is not None and certificate.exists() else None,
        include=chosen.include,
        exclude=chosen.exclude,
        parallel=chosen.parallel,
        progress=run_progress.callback(chosen.progress),
    )


def _code_of(found: Certificate) -> int:
    if UNREADABLE in found.verdicts:
        return FAILED
    return NOTHING_LEFT if found.complete else LEFT


def _print(found: Certificate, *, as_json: bool) -> None:
    with standard_output() as output:
        print(found.json() if as_json else found, file=output)
    for table in found.tables:
        if table.message is not None:
            print_error(f"{table.table}: {table.message}")


def _column(text: str) -> str:
    if not text:
        raise argparse.ArgumentTypeError("the name of the column is empty")
    return text


COMMAND = Command(
    "dropped",
    "print what remains of dropped columns, and which steps delete it; exit code 1 if data"
    " remains or may remain, 2 if a table cannot be read or a name is wrong",
    ("dropped sales main.hr /data/patients", "dropped sales --column ssn --certificate ssn.json"),
    _run,
    _add_arguments,
)
