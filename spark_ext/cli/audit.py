# SPDX-License-Identifier: Apache-2.0
"""`python -m spark_ext audit`: prints what is wrong with tables, for people and for programs."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from spark_ext.cli.command import Command
from spark_ext.cli.output import print_error, standard_output
from spark_ext.cli.session import error_text, own_session
from spark_ext.model.rows import json_lines

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SOUND, FINDINGS, FAILED = 0, 1, 2


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "tables", nargs="+", metavar="TABLE_OR_PATH", help="a text with a slash is a path"
    )
    parser.add_argument("--json", action="store_true", help="print a JSON object for each finding")
    parser.add_argument(
        "--sample",
        type=_count,
        metavar="N",
        help="read the footers of N files of each table; all by default",
    )
    parser.add_argument(
        "--strict", action="store_true", help="exit with code 1 also for a finding of risk"
    )


def _run(chosen: argparse.Namespace) -> int:
    """Audits every table that can be read, prints the findings, and returns the exit code."""
    try:
        with own_session(chosen.command) as spark:
            return max([_code(spark, table, chosen) for table in chosen.tables])
    except Exception as error:  # the session did not start or end, or standard output failed
        print_error(error_text(error))
        return FAILED


def _code(spark: SparkSession, table: str, chosen: argparse.Namespace) -> int:
    from spark_ext.tables.audit import audit

    try:
        found = audit(spark, table, sample=chosen.sample)
    except Exception as error:  # from Spark, Java or a storage
        print_error(error_text(error))
        return FAILED
    with standard_output() as out:
        out.writelines(json_lines(found.as_objects()) if chosen.json else f"{found!r}\n\n")
    return FINDINGS if (found.findings if chosen.strict else found.num_damages) else SOUND


def _count(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 0")
    return int(text)


COMMAND = Command(
    "audit",
    "read the logs and files of tables and print what is wrong; exit code 1 if there is a finding"
    " of damage, 2 if a table cannot be audited",
    ("audit db.trips", "audit db.trips /data/trips --json", "audit db.trips --strict"),
    _run,
    _add_arguments,
)
