# SPDX-License-Identifier: Apache-2.0
"""Runs a command for each of its tables, and returns one exit code for all."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, TypeVar

from spark_ext.cli.session import own_session, told

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Found = TypeVar("Found")

SOUND, FINDINGS, FAILED = 0, 1, 2


def add_tables(parser: argparse.ArgumentParser) -> None:
    """Adds the tables to a command's arguments, as `tables`."""
    parser.add_argument(
        "tables", nargs="+", metavar="TABLE_OR_PATH", help="a text with a slash is a path"
    )


def exit_code(
    command: str,
    tables: list[str],
    read: Callable[[SparkSession, str], Found],
    show: Callable[[Found], bool],
) -> int:
    """Reads every table that can be read, and prints the results.

    Args:
        command: The name of the command, for the session.
        tables: The names and paths of the tables.
        read: Returns the result for one table.
        show: Prints a result, and returns whether the table is sound.

    Returns:
        `SOUND`; `FINDINGS` if a table is not sound; `FAILED` if a table cannot be read.
    """
    code = SOUND
    try:
        for found, error in _results(command, tables, read):
            if error is not None:
                print(told(error), file=sys.stderr)
                code = FAILED
            elif found is not None:
                code = max(code, SOUND if show(found) else FINDINGS)
    except Exception as error:  # the session did not start
        print(told(error), file=sys.stderr)
        return FAILED
    return code


def _results(
    command: str, tables: list[str], read: Callable[[SparkSession, str], Found]
) -> Iterator[tuple[Found | None, Exception | None]]:
    with own_session(command) as spark:
        for table in tables:
            try:
                yield read(spark, table), None
            except Exception as error:  # from Spark, Java or a storage
                yield None, error
