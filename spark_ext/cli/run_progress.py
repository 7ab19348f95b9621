# SPDX-License-Identifier: Apache-2.0
"""The progress of a run on standard error: a line for people, or lines of JSON for schedulers."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable

from spark_ext.cli.output import print_error
from spark_ext.model.rows import as_row
from spark_ext.tables.progress import LakehouseProgress, line

LINES, JSON, NONE = FORMS = ("lines", "json", "none")
_ERASE_LINE = "\r\x1b[K"


def callback(form: str) -> Callable[[LakehouseProgress], None] | None:
    """Returns the callback that prints the progress in one of `FORMS`, or None."""
    if form == NONE:
        return None
    if form == JSON:
        return _print_json
    return _print_in_place if sys.stderr.isatty() else _print_line


def _print_json(progress: LakehouseProgress) -> None:
    print_error(json.dumps(as_row(progress)))


def _print_line(progress: LakehouseProgress) -> None:
    print_error(line(progress))


def _print_in_place(progress: LakehouseProgress) -> None:
    """Replaces the last line of a terminal."""
    width = shutil.get_terminal_size().columns - 1
    end = "\n" if progress.finished else ""
    print_error(f"{_ERASE_LINE}{line(progress)[:width]}", end)
