# SPDX-License-Identifier: Apache-2.0
"""Runs a command for each of its tables, and returns one exit code for all."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from spark_ext.cli.output import print_error, standard_output
from spark_ext.cli.session import error_text, own_session
from spark_ext.wire.rows import json_lines

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SOUND, FINDINGS, FAILED = 0, 1, 2


class Result(Protocol):
    """A result that prints as text and as JSON."""

    def as_objects(self) -> Iterable[dict[str, Any]]:
        """Returns the objects of the JSON lines."""


_Result = TypeVar("_Result", bound=Result)


def add_tables(parser: argparse.ArgumentParser, each: str) -> None:
    """Adds the arguments `tables` and `--json`, which prints an object for `each`."""
    parser.add_argument(
        "tables", nargs="+", metavar="TABLE_OR_PATH", help="a text with a slash is a path"
    )
    parser.add_argument("--json", action="store_true", help=f"print a JSON object for each {each}")


def exit_code(
    chosen: argparse.Namespace,
    read: Callable[[SparkSession, str], _Result],
    is_sound: Callable[[_Result], bool],
) -> int:
    """Reads every table that can be read, and prints the results.

    Args:
        chosen: The arguments of the command.
        read: Returns the result for one table.
        is_sound: Returns whether a result needs no exit code of a failure.

    Returns:
        `SOUND`; `FINDINGS` if a table is not sound; `FAILED` if a table cannot be read.
    """
    code = SOUND
    try:
        for result, error in _results(chosen, read):
            if error is not None:
                print_error(error_text(error))
                code = FAILED
            elif result is not None:
                _print(result, as_json=chosen.json)
                code = max(code, SOUND if is_sound(result) else FINDINGS)
    except Exception as error:  # the session did not start or end, or standard output failed
        print_error(error_text(error))
        return FAILED
    return code


def _results(
    chosen: argparse.Namespace, read: Callable[[SparkSession, str], _Result]
) -> Iterator[tuple[_Result | None, Exception | None]]:
    with own_session(chosen.command) as spark:
        for table in chosen.tables:
            try:
                yield read(spark, table), None
            except Exception as error:  # from Spark, Java or a storage
                yield None, error


def _print(result: Result, *, as_json: bool) -> None:
    with standard_output() as out:
        out.writelines(json_lines(result.as_objects()) if as_json else f"{result!r}\n\n")
