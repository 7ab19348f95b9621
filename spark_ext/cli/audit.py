# SPDX-License-Identifier: Apache-2.0
"""`python -m spark_ext audit`: prints what is wrong with tables, for people and for programs."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from spark_ext.cli.command import Command
from spark_ext.cli.tables import add_tables, exit_code

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from spark_ext.tables.audit import AuditResult


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    add_tables(parser, "finding")
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
    """Audits every table, prints the findings, and returns the exit code."""

    def read(spark: SparkSession, table: str) -> AuditResult:
        from spark_ext.tables.audit import audit

        return audit(spark, table, sample=chosen.sample)

    def is_sound(result: AuditResult) -> bool:
        return not (result.findings if chosen.strict else result.num_damages)

    return exit_code(chosen, read, is_sound)


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
