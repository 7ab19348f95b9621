# SPDX-License-Identifier: Apache-2.0
"""Reports the progress of a statement, and of a call over many tables."""

from __future__ import annotations

import sys
import time
import uuid
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from threading import Event, Thread, get_ident, local
from typing import TYPE_CHECKING, Any, cast

from spark_ext.errors import ProgressFailedError
from spark_ext.launch import is_connect
from spark_ext.show import cell

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.connect.shell.progress import ProgressHandler, StageInfo


INTERVAL_SECONDS = 2.0


@dataclass(frozen=True)
class Progress:
    """The progress of a statement.

    Args:
        seconds: The seconds since the start.
        tasks_done: The Spark tasks that ended; with Spark Connect, as the server last reported.
        tasks: The Spark tasks that Spark has planned until now.
        finished: Whether the statement ended, with or without an error.
        round: The number of the round in which files are copied, from 1; 0 if no file is copied,
            and with Spark Connect.
        num_files: The files that the round has not read yet, and copies if necessary.
        size_in_bytes: The size of these files, in bytes.
    """

    statement: str
    seconds: float
    tasks_done: int
    tasks: int
    finished: bool
    round: int = 0
    num_files: int = 0
    size_in_bytes: int = 0


def shown_statement(progress: Progress) -> None:
    """Prints the progress as a line to standard error."""
    if progress.finished:
        state = "done"
    elif progress.round:
        megabytes = progress.size_in_bytes / 1e6
        state = f"round {progress.round}, {progress.num_files:,} files, {megabytes:,.0f} MB to go"
    else:
        state = f"{progress.tasks_done}/{progress.tasks} tasks"
    print(f"{progress.statement}: {state}, {progress.seconds:.1f} s", file=sys.stderr)


@contextmanager
def reported(
    spark: SparkSession, statement: str, report: Callable[[Progress], None] | None
) -> Iterator[None]:
    """Calls `report` before the body, every two seconds while the body runs, and afterwards.

    If the first report raises, the body does not run. A later report that raises is the last one,
    and raises ProgressFailedError afterwards, or is the cause of the body's own error.
    """
    if report is None:
        yield
        return
    started, failures, ended = time.monotonic(), list[Exception](), Event()

    def send(*, finished: bool = False) -> None:
        seconds = time.monotonic() - started
        report(Progress(statement, seconds, finished=finished, **count()))

    def send_unless_failed(*, finished: bool = False) -> None:
        try:
            if not failures:
                send(finished=finished)
        except Exception as error:
            failures.append(error)

    def watch() -> None:
        while not ended.wait(INTERVAL_SECONDS):
            send_unless_failed()

    def end() -> None:
        ended.set()
        watcher.join()
        send_unless_failed(finished=True)

    counter = _server_counter if is_connect(spark) else _context_counter
    with counter(spark) as count:
        send()
        watcher = Thread(target=watch, name="spark-ext-progress", daemon=True)
        watcher.start()
        try:
            yield
        except BaseException as error:
            end()
            if failures:
                raise error from failures[0]
            raise
        end()
    if failures:
        raise ProgressFailedError(statement=statement, error=repr(failures[0])) from failures[0]


@contextmanager
def _context_counter(spark: SparkSession) -> Iterator[Callable[[], dict[str, int]]]:
    """Yields a function that counts the tasks of the body's jobs, by field of `Progress`.

    The jobs get a tag: a job group would replace the user's group, by which the user cancels jobs.
    """
    context = spark.sparkContext
    tracker = context.statusTracker()
    tag = f"spark-ext-{uuid.uuid4()}"
    jvm = cast("Any", spark._jvm)

    def count() -> dict[str, int]:
        # PySpark's tracker does not find jobs by tag.
        tagged = context._jsc.sc().statusTracker().getJobIdsForTag(tag)
        jobs = [tracker.getJobInfo(job) for job in list(tagged)]
        stages = [tracker.getStageInfo(stage) for job in jobs if job for stage in job.stageIds]
        known = [stage for stage in stages if stage]
        removal = jvm.sparkext.removal.RemovalProgress.of(tag)
        return {
            "tasks_done": sum(stage.numCompletedTasks for stage in known),
            "tasks": sum(stage.numTasks for stage in known),
            **dict(zip(("round", "num_files", "size_in_bytes"), removal, strict=False)),
        }

    context.addJobTag(tag)
    try:
        yield count
    finally:
        context.removeJobTag(tag)


@contextmanager
def _server_counter(spark: SparkSession) -> Iterator[Callable[[], dict[str, int]]]:
    """Yields the same function for Spark Connect, whose server reports to handlers."""
    here = get_ident()
    latest = {"tasks_done": 0, "tasks": 0}

    def keep(*, stages: Iterable[StageInfo], **_: object) -> None:
        nonlocal latest
        if stages and get_ident() == here:
            latest = {
                "tasks_done": sum(stage.num_completed_tasks for stage in stages),
                "tasks": sum(stage.num_tasks for stage in stages),
            }

    handler = cast("ProgressHandler", keep)  # an abstract class that Spark never checks for
    spark.registerProgressHandler(handler)
    try:
        yield lambda: latest
    finally:
        spark.removeProgressHandler(handler)


# The phases of a call.
SURVEYING, RUNNING, READING = "survey", "run", "dropped columns"

_AFTER_TABLES_SECONDS = 0.5


@dataclass(frozen=True, kw_only=True)
class LakehouseProgress:
    """The progress of a call over many tables.

    Args:
        phase: `survey` while the tables are read for the plan, then `run`. The search for dropped
            columns has the phase `dropped columns` instead of `run`.
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


def progress_of(phase: str, tables_done: int, tables: int, started: float) -> LakehouseProgress:
    """Returns the progress of a phase without bytes that began at a time of `monotonic`."""
    return LakehouseProgress(
        phase=phase,
        tables_done=tables_done,
        tables=tables,
        seconds=time.monotonic() - started,
        finished=tables_done == tables,
    )


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


# Each thread has one call at a time, and so one bar.
_BARS = local()


def shown(progress: LakehouseProgress) -> None:
    """Prints the progress as a line to standard error, or updates tqdm's bar in a notebook."""
    if not (_is_notebook() and find_spec("tqdm")):
        print(line(progress), file=sys.stderr)
        return
    phase, bar = getattr(_BARS, "now", (None, cast("Any", None)))
    if progress.phase != phase:
        tqdm: Any = import_module("tqdm.auto")
        bar = tqdm.tqdm(total=progress.tables, desc=progress.phase, unit=" tables")
        _BARS.now = progress.phase, bar
    bar.total, bar.n = progress.tables, progress.tables_done
    bar.set_postfix_str(line(progress))  # refreshes the bar
    if progress.finished:
        bar.close()
        del _BARS.now


def _is_notebook() -> bool:
    """Returns whether a Jupyter kernel runs this process."""
    ipython: Any = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return getattr(shell, "kernel", None) is not None


class Reporter:
    """Calls a callback at intervals, until the callback raises an error; None for no reports."""

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

    def raise_failure(self, statement: str, report: object) -> None:
        """Raises the error of a call whose callback has failed, with the report of the call."""
        if self.failure is not None:
            error: Any = ProgressFailedError(statement=statement, error=repr(self.failure))
            error.report = report
            raise error from self.failure
