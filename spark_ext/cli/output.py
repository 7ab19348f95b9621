# SPDX-License-Identifier: Apache-2.0
"""Writes files, standard output and standard error for commands."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TextIO

from spark_ext.errors import InvalidFileNameError
from spark_ext.tables.report import require_form, require_writable


def output_file(forms: Sequence[str], text: str) -> Path:
    """Returns the file of an argument, which ends with one of the forms and can be written.

    Raises:
        ArgumentTypeError: The name has another end, or the folder is not writable.
    """
    path = Path(text)
    try:
        require_form(path, forms)
        require_writable(path)  # otherwise the command would fail after hours of work
    except InvalidFileNameError as error:
        raise argparse.ArgumentTypeError(str(error)) from error
    except OSError as error:
        raise argparse.ArgumentTypeError(f"cannot write {text!r}: {error.strerror}") from error
    return path


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
    """Yields standard output, and flushes it after the body.

    Raises:
        OSError: The reader of standard output has ended, or its disk is full.
    """
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
