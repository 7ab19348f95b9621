# SPDX-License-Identifier: Apache-2.0
"""What a command does with each of its tables, and the exit code that comes of all."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, TypeVar

from spark_ext.cli.session import error_text, own_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Found = TypeVar("Found")

SOUND, FINDINGS, FAILED = 0, 1, 2


def add_tables(parser: argparse.ArgumentParser) -> None:
    """Adds the tables to a command's arguments, as `tables`."""
    parser.add_argument(
        "tables", nargs="+", metavar="TABLE_OR_PATH", help="what has a slash is a path"
    )


def exit_code(
    command: str,
    tables: list[str],
    look: Callable[[SparkSession, str], Found],
    show: Callable[[Found], bool],
) -> int:
    """Looks at every table that it can, and prints what it finds.

    Args:
        command: The name of the session.
        tables: Names and paths.
        look: What is found in one of them.
        show: Prints that, and returns whether the table is sound.

    Returns:
        `SOUND`, `FINDINGS` where one is not, or `FAILED` where one could not be looked at.
    """
    code = SOUND
    try:
        for found, error in _looks(command, tables, look):
            if error is not None:
                print(error_text(error), file=sys.stderr)
                code = FAILED
            elif found is not None:
                code = max(code, SOUND if show(found) else FINDINGS)
    except Exception as error:  # no session could be started
        print(error_text(error), file=sys.stderr)
        return FAILED
    return code


def _looks(
    command: str, tables: list[str], look: Callable[[SparkSession, str], Found]
) -> Iterator[tuple[Found | None, Exception | None]]:
    with own_session(command) as spark:
        for table in tables:
            try:
                yield look(spark, table), None
            except Exception as error:  # of Spark, of Java or of the storage: the next may be read
                yield None, error
