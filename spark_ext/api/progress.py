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
from typing import TYPE_CHECKING, Any, cast

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
        tasks_done: Spark tasks that have ended; on Spark Connect, when its server last reported.
        tasks: Spark tasks that were planned so far.
        finished: Whether it has ended, in whatever way.
        round: Where files are copied, how often there was something to copy, with this; 0 else, and
            on Spark Connect.
        num_files: Files that the round has still to look at, and to copy where they need it.
        size_in_bytes: Their bytes.
    """

    statement: str
    seconds: float
    tasks_done: int
    tasks: int
    finished: bool
    round: int = 0
    num_files: int = 0
    size_in_bytes: int = 0


def shown(progress: Progress) -> None:
    """Prints a line to standard error."""
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
    with _counted(spark) as counted:

        def tell(*, finished: bool = False) -> None:
            seconds = time.monotonic() - started
            report(Progress(statement, seconds, finished=finished, **counted()))

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
def _counted(spark: SparkSession) -> Iterator[Callable[[], dict[str, int]]]:
    """Gives a function that counts what the body has done and has to do, by names of `Progress`."""
    from pyspark.sql import SparkSession

    by = _counted_here if isinstance(spark, SparkSession) else _counted_by_server
    with by(spark) as counted:
        yield counted


@contextmanager
def _counted_here(spark: SparkSession) -> Iterator[Callable[[], dict[str, int]]]:
    """Asks the context.

    The jobs are known by a tag: a group of our own would take the place of the user's, by which
    the user cancels them.
    """
    context = spark.sparkContext
    tracker = context.statusTracker()
    tag = f"spark-ext-{uuid.uuid4()}"

    def counted() -> dict[str, int]:
        jobs = [tracker.getJobInfo(job) for job in _jobs(context, tag)]
        stages = [tracker.getStageInfo(stage) for job in jobs if job for stage in job.stageIds]
        known = [stage for stage in stages if stage]
        return {
            "tasks_done": sum(stage.numCompletedTasks for stage in known),
            "tasks": sum(stage.numTasks for stage in known),
            **_round(spark, tag),
        }

    context.addJobTag(tag)
    try:
        yield counted
    finally:
        context.removeJobTag(tag)


def _round(spark: SparkSession, tag: str) -> dict[str, int]:
    """That of a table that removes column mapping, if one copies files now."""
    jvm = cast("Any", spark._jvm)
    round_ = jvm.sparkext.removal.RemovalProgress.of(tag)
    return dict(zip(("round", "num_files", "size_in_bytes"), round_, strict=False))


@contextmanager
def _counted_by_server(spark: SparkSession) -> Iterator[Callable[[], dict[str, int]]]:
    """Keeps what a Spark Connect server reports: there is no context to ask.

    The session's handlers hear of all its statements, each in the thread that runs it.
    """
    here = get_ident()
    told = {"tasks_done": 0, "tasks": 0}

    def keep(*, stages: Iterable[StageInfo], **_: object) -> None:
        nonlocal told
        if stages and get_ident() == here:
            told = {
                "tasks_done": sum(stage.num_completed_tasks for stage in stages),
                "tasks": sum(stage.num_tasks for stage in stages),
            }

    handler = cast("ProgressHandler", keep)  # which is a class, and never checked for
    spark.registerProgressHandler(handler)
    try:
        yield lambda: told
    finally:
        spark.removeProgressHandler(handler)


def _jobs(context: SparkContext, tag: str) -> list[int]:
    # PySpark's own tracker does not look tags up.
    return list(context._jsc.sc().statusTracker().getJobIdsForTag(tag))
