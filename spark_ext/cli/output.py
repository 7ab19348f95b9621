# SPDX-License-Identifier: Apache-2.0
"""Writes files, standard output and standard error for commands."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TextIO

from spark_ext.errors import SparkExtError
from spark_ext.model.rows import as_row
from spark_ext.tables.progress import LakehouseProgress, line

LINES, JSON, NONE = PROGRESS = ("lines", "json", "none")
_ERASE_LINE = "\r\x1b[K"


def written(write: Callable[[Path], None], paths: Iterable[Path]) -> bool:
    """Writes files, and returns whether each is written. Prints the errors."""
    are_written = True
    for path in paths:
        try:
            write(path)
        except OSError as error:
            print_error(f"Cannot write `{path}`: {error.strerror}.")
            are_written = False
    return are_written


@contextmanager
def standard_output() -> Iterator[TextIO]:
    """Yields standard output, and flushes it afterwards. Raises OSError if its reader has ended."""
    try:
        yield sys.stdout
        sys.stdout.flush()
    except OSError:
        # Python would print the rest at its end, and exit with another code.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise


def print_error(text: str, end: str = "\n") -> None:
    """Prints to standard error. A run of hours does not end because its reader has ended."""
    with suppress(OSError):
        print(text, end=end, file=sys.stderr, flush=True)


def error_text(error: Exception) -> str:
    """Returns the condition and the text of an error; Spark's texts contain the condition."""
    return f"[{error.condition}] {error}" if isinstance(error, SparkExtError) else str(error)


def progress(form: str) -> Callable[[LakehouseProgress], None] | None:
    """Returns the callback that prints the progress of a run in one of the forms, or None.

    A line for people replaces the last line of a terminal. Schedulers get lines of JSON.
    """
    if form == NONE:
        return None
    if form == JSON:
        return lambda progress: print_error(json.dumps(as_row(progress)))
    return _print_in_place if sys.stderr.isatty() else lambda progress: print_error(line(progress))


def _print_in_place(progress: LakehouseProgress) -> None:
    width = shutil.get_terminal_size().columns - 1
    end = "\n" if progress.finished else ""
    print_error(f"{_ERASE_LINE}{line(progress)[:width]}", end)
