# SPDX-License-Identifier: Apache-2.0
"""The threads of a call over many tables, and the signals that end it."""

from __future__ import annotations

import signal
import time
import uuid
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from threading import Thread, current_thread, main_thread
from types import FrameType
from typing import TYPE_CHECKING, Any, TypeVar

from spark_ext.launch import is_connect
from spark_ext.tables.progress import LakehouseProgress, Reporter, progress_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


_A = TypeVar("_A")
_T = TypeVar("_T")

_UNPINNED = (
    "Cannot run tables in threads, because PYSPARK_PIN_THREAD is false. Unset it, and start the"
    " session again."
)
_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Interrupts:
    """The first signal that arrived; `received` is None before."""

    def __init__(self) -> None:
        self.received: signal.Signals | None = None
        self._is_over = False

    def __call__(self, number: int, frame: FrameType | None) -> None:
        """Notes a signal. The second one raises at once, unless the body has ended."""
        if self.received is not None and not self._is_over:
            raise KeyboardInterrupt
        self.received = signal.Signals(number)

    @property
    def name(self) -> str | None:
        """Returns the name of the signal; None before."""
        return None if self.received is None else self.received.name

    def check(self) -> None:
        """Raises KeyboardInterrupt if a signal has arrived."""
        if self.received is not None:
            raise KeyboardInterrupt


@contextmanager
def receiving_signals() -> Iterator[Interrupts]:
    """Receives the signals in the body, and restores the former handlers afterwards.

    PySpark's handler of SIGINT would cancel all jobs of the application. Python has handlers in the
    main thread only: in another thread the body receives no signal.
    """
    interrupts = Interrupts()
    if current_thread() is not main_thread():
        yield interrupts
        return
    before = {number: signal.getsignal(number) for number in _SIGNALS}
    for number in _SIGNALS:
        signal.signal(number, interrupts)
    outer = before[signal.SIGINT]
    if isinstance(outer, Interrupts) and interrupts.received is None:
        interrupts.received = outer.received  # it arrived before this body
    try:
        yield interrupts
    finally:
        interrupts._is_over = True
        for number, handler in before.items():
            # None means a handler of C code, which Python cannot set again.
            signal.signal(number, signal.SIG_DFL if handler is None else handler)


_POOL = "spark.scheduler.pool"
_DESCRIPTION = "spark.job.description"
# The seconds between two reports of `each_table`.
_SECONDS = 0.1


class Workers:
    """The threads of a call, which call `work` with their number, from 1.

    A thread inherits the local properties and the tags of the caller's thread, so the caller can
    cancel its jobs by the caller's own group. The threads end with the call, and the caller's
    properties do not change. `failure` is the error that ended a thread early.
    """

    def __init__(self, spark: SparkSession, work: Callable[[int], None], number: int) -> None:
        self._spark = spark
        self.failure: BaseException | None = None
        self._running: dict[int, str] = {}
        self._threads = [
            # Python ends without waiting for these threads.
            Thread(
                target=self._run,
                args=(inheriting(spark, work), each),
                name=f"spark-ext-lakehouse-{each}",
                daemon=True,
            )
            for each in range(1, number + 1)
        ]

    def start(self) -> None:
        """Starts the threads."""
        for thread in self._threads:
            thread.start()

    def is_alive(self) -> bool:
        """Returns whether a thread runs."""
        return any(thread.is_alive() for thread in self._threads)

    @contextmanager
    def properties(self, number: int, description: str) -> Iterator[None]:
        """Sets the thread's properties for one table. Spark keeps every pool: one for a thread."""
        add, remove, _ = self._tags
        tag = self._running[number] = f"spark-ext-{uuid.uuid4()}"
        if not is_connect(self._spark):
            context = self._spark.sparkContext
            context.setLocalProperty(_POOL, f"spark-ext-{number}")
            context.setLocalProperty(_DESCRIPTION, description)
        add(tag)
        try:
            yield
        finally:
            del self._running[number]
            remove(tag)

    def cancel(self) -> None:
        """Cancels the running jobs; the caller repeats this, because another job may begin."""
        _, _, cancel = self._tags
        for tag in list(self._running.values()):
            with suppress(Exception):
                cancel(tag)

    @property
    def _tags(self) -> tuple[Callable[[str], object], ...]:
        """Returns the functions that add a tag to the thread, remove it, and cancel its jobs.

        `SparkSession.interruptTag` of a classic session finds only tags of the calling thread.
        """
        if is_connect(self._spark):
            return self._spark.addTag, self._spark.removeTag, self._spark.interruptTag
        context = self._spark.sparkContext
        return context.addJobTag, context.removeJobTag, context.cancelJobsWithTag

    def _run(self, work: Callable[[int], None], number: int) -> None:
        try:
            work(number)
        except BaseException as error:
            self.failure = error


def each_table(
    spark: SparkSession,
    names: Sequence[str],
    read: Callable[[str], _T],
    *,
    parallel: int,
    phase: str,
    reporter: Reporter,
    interrupts: Interrupts,
) -> dict[str, _T]:
    """Reads `parallel` tables at a time, and returns the results by the names of the tables.

    `read` also returns the result of a table that cannot be read. The first signal cancels the jobs
    of all tables, and raises KeyboardInterrupt.
    """
    waiting, found, started = deque(names), dict[str, _T](), time.monotonic()

    def read_each(number: int) -> None:
        while interrupts.received is None:
            try:
                name = waiting.popleft()
            except IndexError:  # another thread took the last one
                return
            with workers.properties(number, f"spark-ext reads {name}"):
                found[name] = read(name)

    def progress() -> LakehouseProgress:
        return progress_of(phase, len(found), len(names), started)

    workers = Workers(spark, read_each, min(parallel, len(names)))
    workers.start()
    while workers.is_alive():
        time.sleep(_SECONDS)
        reporter.report(progress)
        if interrupts.received is not None:
            workers.cancel()
    interrupts.check()
    if workers.failure is not None:
        raise workers.failure
    reporter.report(progress, at_once=True)
    return found


def inheriting(spark: SparkSession, work: Callable[[_A], _T]) -> Callable[[_A], _T]:
    """Returns the work of a thread, with a copy of the local properties and tags of the caller."""
    if not is_connect(spark):
        from pyspark.util import inheritable_thread_target

        inheritable: Any = inheritable_thread_target(spark)
        if inheritable is spark:  # PySpark does nothing then, and tags would be of other threads
            raise RuntimeError(_UNPINNED)
        inherited: Callable[[_A], _T] = inheritable(work)
        return inherited
    tags = set(spark.getTags())

    def with_tags(argument: _A) -> _T:
        for tag in tags:
            spark.addTag(tag)
        return work(argument)

    return with_tags
