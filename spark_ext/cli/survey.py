# SPDX-License-Identifier: Apache-2.0
"""`python -m spark_ext survey`: prints what removing column mapping costs, for every table."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable
from typing import TYPE_CHECKING

from spark_ext.cli.command import Command
from spark_ext.cli.many_tables import add_all, add_where
from spark_ext.cli.output import print_error, standard_output
from spark_ext.cli.session import error_text, own_session
from spark_ext.model.rows import as_row
from spark_ext.model.schema import backticked

if TYPE_CHECKING:
    from spark_ext.tables.find import Survey

DONE, UNREADABLE, FAILED = 0, 1, 2


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    add_where(parser, "*", "; all schemas of the default catalog by default")
    form = parser.add_mutually_exclusive_group()
    form.add_argument(
        "--json",
        action="store_true",
        help="print a JSON object for each table, and one with the sums",
    )
    add_all(form)


def _run(chosen: argparse.Namespace) -> int:
    """Prints the survey, and returns the exit code."""
    try:
        from spark_ext.tables.find import survey

        with own_session("survey") as spark:
            found = survey(spark, *(chosen.where or [backticked(spark.catalog.currentCatalog())]))
        with standard_output() as out:
            if chosen.json:
                print("\n".join(as_json_lines(found)), file=out)
            else:
                print(found.text(all_tables=chosen.all), file=out)
    except Exception as error:  # from spark-ext, Spark, Java, a catalog, or standard output
        print_error(error_text(error))
        return FAILED
    return UNREADABLE if found.sums.errors else DONE


def as_json_lines(found: Survey) -> Iterable[str]:
    """Yields an object for each table, and one with the sums."""
    for table in found.tables:
        yield json.dumps(table, default=as_row)
    yield json.dumps({"sums": found.sums}, default=as_row)


COMMAND = Command(
    "survey",
    "print what the removal of column mapping costs for every Delta table; exit code 1 if a table"
    " cannot be read, 2 if a schema does not exist",
    ("survey", "survey sales main.hr", "survey /data/trips --json"),
    _run,
    _add_arguments,
)
