# SPDX-License-Identifier: Apache-2.0
"""Says how far a long statement is."""

from __future__ import annotations

import sys
import time
import uuid
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Event, Thread, get_ident
from typing import TYPE_CHECKING, cast

from spark_ext.errors import ProgressFailedError

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql import SparkSession
    from pyspark.sql.connect.shell.progress import ProgressHandler, StageInfo

INTERVAL_SECONDS = 2.0


@dataclass(frozen=True)
class Progress:
    """How far a statement is.

    Args:
        statement: Its SQL.
        seconds: Since it was started.
        tasks_done: Spark tasks that have ended; on Spark Connect, when its server last told.
        tasks: Spark tasks that were planned so far.
        finished: Whether it has ended, in whatever way.
    """

    statement: str
    seconds: float
    tasks_done: int
    tasks: int
    finished: bool


def shown(progress: Progress) -> None:
    """Prints a line to standard error."""
    state = "done" if progress.finished else f"{progress.tasks_done}/{progress.tasks} tasks"
    print(f"{progress.statement}: {state}, {progress.seconds:.1f} s", file=sys.stderr)


@contextmanager
def reported(
    spark: SparkSession, statement: str, report: Callable[[Progress], None] | None
) -> Iterator[None]:
    """Reports on the statement that the body runs: first, every two seconds, and after it.

    A report that fails before the body keeps it from running. One that fails later is the last,
    and never stands in for the body's own error, which has it as its cause.

    Raises:
        ProgressFailedError: USAGE_TRACKING_PROGRESS_FAILED, where the body had no error.
    """
    if report is None:
        yield
        return
    started = time.monotonic()
    failures: list[Exception] = []
    with _tasks(spark) as tasks:

        def tell(*, finished: bool = False) -> None:
            report(Progress(statement, time.monotonic() - started, *tasks(), finished))

        tell()
        try:
            with _watcher(tell, failures):
                yield
        except BaseException as error:
            if failures:
                raise error from failures[0]
            raise
    if failures:
        raise ProgressFailedError(statement=statement, error=repr(failures[0])) from failures[0]


@contextmanager
def _watcher(tell: Callable[..., None], failures: list[Exception]) -> Iterator[None]:
    """Calls `tell` in a thread while the body runs, and after it, until it fails once."""
    ended = Event()

    def tell_unless_failed(*, finished: bool = False) -> None:
        try:
            if not failures:
                tell(finished=finished)
        except Exception as error:
            failures.append(error)

    def watch() -> None:
        while not ended.wait(INTERVAL_SECONDS):
            tell_unless_failed()

    watcher = Thread(target=watch, name="spark-ext-progress", daemon=True)
    watcher.start()
    try:
        yield
    finally:
        ended.set()
        watcher.join()
        tell_unless_failed(finished=True)


@contextmanager
def _tasks(spark: SparkSession) -> Iterator[Callable[[], tuple[int, int]]]:
    """Gives a function that counts the ended and the planned tasks of the body's jobs."""
    from pyspark.sql import SparkSession

    counted = _tasks_of_jobs if isinstance(spark, SparkSession) else _tasks_told
    with counted(spark) as tasks:
        yield tasks


@contextmanager
def _tasks_of_jobs(spark: SparkSession) -> Iterator[Callable[[], tuple[int, int]]]:
    """Asks the context.

    The jobs are known by a tag: a group of our own would take the place of the user's, by which
    the user cancels them.
    """
    context = spark.sparkContext
    tracker = context.statusTracker()
    tag = f"spark-ext-{uuid.uuid4()}"

    def tasks() -> tuple[int, int]:
        jobs = [tracker.getJobInfo(job) for job in _jobs(context, tag)]
        stages = [tracker.getStageInfo(stage) for job in jobs if job for stage in job.stageIds]
        known = [stage for stage in stages if stage]
        return sum(s.numCompletedTasks for s in known), sum(s.numTasks for s in known)

    context.addJobTag(tag)
    try:
        yield tasks
    finally:
        context.removeJobTag(tag)


@contextmanager
def _tasks_told(spark: SparkSession) -> Iterator[Callable[[], tuple[int, int]]]:
    """Keeps what a Spark Connect server tells, which has no context to ask.

    The session's handlers hear of all its statements, each in the thread that runs it.
    """
    here = get_ident()
    told = (0, 0)

    def keep(*, stages: Iterable[StageInfo], **_: object) -> None:
        nonlocal told
        if stages and get_ident() == here:
            told = (sum(s.num_completed_tasks for s in stages), sum(s.num_tasks for s in stages))

    handler = cast("ProgressHandler", keep)  # which is a class, and never checked for
    spark.registerProgressHandler(handler)
    try:
        yield lambda: told
    finally:
        spark.removeProgressHandler(handler)


def _jobs(context: SparkContext, tag: str) -> list[int]:
    # PySpark's own tracker does not look tags up.
    return list(context._jsc.sc().statusTracker().getJobIdsForTag(tag))
