# SPDX-License-Identifier: Apache-2.0
"""Reports the progress of a call over many tables."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from threading import local
from typing import Any

from spark_ext.api.progress import INTERVAL_SECONDS
from spark_ext.errors import ProgressFailedError
from spark_ext.show.tables import cell

# The phases of a call.
SURVEYING, RUNNING = "survey", "run"

_AFTER_TABLES_SECONDS = 0.5


@dataclass(frozen=True, kw_only=True)
class LakehouseProgress:
    """The progress of a call over many tables.

    Args:
        phase: `survey` while the tables are read for the plan, then `run`. The search for
            dropped columns has the phase `dropped columns` instead of `run`.
        tables_done: The number of tables that were read, or that ended.
        tables: The number of all tables of the phase.
        bytes_done: The planned bytes of the tables that ended, and of the files of running tables
            that are done.
        bytes: The planned bytes of all tables, an upper bound of the copied bytes.
        seconds: The seconds since the start of the call.
        rate: The bytes per second of the phase; None if no bytes are done.
        seconds_left: The expected seconds until the end of the phase; None if not known.
        running: The tables that run, in the order in which they began.
        finished: Whether every table of the phase has ended. In `run`, also true at the end of a
            call that stopped before some tables began.
    """

    phase: str
    tables_done: int
    tables: int
    bytes_done: int = 0
    bytes: int = 0
    seconds: float = 0.0
    rate: float | None = None
    seconds_left: float | None = None
    running: tuple[str, ...] = ()
    finished: bool = False


def line(progress: LakehouseProgress) -> str:
    """Returns the progress as a line for people.

    Example:
        >>> line(LakehouseProgress(phase="run", tables_done=3, tables=120, bytes_done=2_000_000,
        ...     bytes=5_000_000, seconds=4.0, rate=500_000.0, seconds_left=6.0,
        ...     running=("db.t",)))
        'run: 3 of 120 tables, 2 of 5 MB, 0.5 MB/s, 4 s, about 6 s left, now db.t'
    """
    parts = [f"{progress.phase}: {progress.tables_done:,} of {progress.tables:,} tables"]
    if progress.bytes:
        parts.append(f"{progress.bytes_done / 1e6:,.0f} of {progress.bytes / 1e6:,.0f} MB")
    if progress.rate is not None:
        parts.append(f"{progress.rate / 1e6:,.1f} MB/s")
    parts.append(f"{progress.seconds:,.0f} s")
    if progress.finished:
        parts.append("done")
    elif progress.seconds_left is not None:
        parts.append(f"about {progress.seconds_left:,.0f} s left")
    if progress.running:
        first, *others = progress.running
        parts.append(f"now {first}" + (f" and {len(others)} more" if others else ""))
    return cell(", ".join(parts))  # a name may have any character


class _Bars(local):
    """The bar of each thread, because each thread has one call at a time."""

    bar: Any = None
    phase = ""


_BARS = _Bars()


def shown(progress: LakehouseProgress) -> None:
    """Prints the progress as a line to standard error, or updates tqdm's bar in a notebook."""
    if not (_is_notebook() and find_spec("tqdm")):
        print(line(progress), file=sys.stderr)
        return
    if _BARS.bar is None or progress.phase != _BARS.phase:
        tqdm: Any = import_module("tqdm.auto")
        _BARS.bar = tqdm.tqdm(total=progress.tables, desc=progress.phase, unit=" tables")
        _BARS.phase = progress.phase
    _BARS.bar.total, _BARS.bar.n = progress.tables, progress.tables_done
    _BARS.bar.set_postfix_str(line(progress))  # refreshes the bar
    if progress.finished:
        _BARS.bar.close()
        _BARS.bar = None


def _is_notebook() -> bool:
    """Returns whether a Jupyter kernel runs this process."""
    ipython: Any = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return getattr(shell, "kernel", None) is not None


class Reporter:
    """Calls a callback at intervals, until the callback raises an error.

    Args:
        callback: None for no reports.
    """

    def __init__(self, callback: Callable[[LakehouseProgress], None] | None) -> None:
        self._callback = callback
        self._last = float("-inf")
        self._tables_done = -1
        self.failure: Exception | None = None

    def report(self, progress: Callable[[], LakehouseProgress], *, at_once: bool = False) -> None:
        """Calls the callback after the interval, after a table, or `at_once`."""
        since = time.monotonic() - self._last
        if self._callback is None or self.failure is not None:
            return
        if not at_once and since < _AFTER_TABLES_SECONDS:
            return
        now = progress()
        if at_once or since >= INTERVAL_SECONDS or now.tables_done > self._tables_done:
            self._last = time.monotonic()
            self._tables_done = now.tables_done
            try:
                self._callback(now)
            except Exception as error:
                self.failure = error

    def error(self, statement: str) -> ProgressFailedError | None:
        """Returns the error of a call whose callback has failed; None if it has not."""
        if self.failure is None:
            return None
        error = ProgressFailedError(statement=statement, error=repr(self.failure))
        error.__cause__ = self.failure
        return error
