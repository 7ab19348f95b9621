# SPDX-License-Identifier: Apache-2.0
"""Holds a statement at a step of its Delta transaction until the test releases it.

Delta calls an observer of the thread, `TransactionExecutionObserver`, before each step, and waits
for its return. The observer here is a Python object. py4j calls it on the Python thread of the
statement, because PySpark pins each Python thread to a thread of the JVM.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from enum import Enum
from types import TracebackType
from typing import Any, ClassVar

from pyspark.java_gateway import ensure_callback_server_started
from pyspark.sql import SparkSession

from tests.support.waiting import PATIENCE

DELTA = "org.apache.spark.sql.delta"


class Step(Enum):
    """Names the points at which a statement can be held, in order."""

    START = "before it takes its snapshot"
    PREPARE = "its metadata decided and its files written"
    COMMIT = "before its log entry"
    WRITTEN = "its log entry written, before the session knows"
    AFTERWARDS = "before what follows a commit"


class HeldStatement:
    """Runs an action on a separate thread, and holds its nth transaction that reaches a step."""

    def __init__(
        self, spark: SparkSession, action: Callable[[], object], step: Step, nth: int = 1
    ) -> None:
        ensure_callback_server_started(spark.sparkContext._gateway)
        self._jvm = spark._jvm
        self._action = action
        self._step = step
        self._to_come = nth
        self._stopped = threading.Event()  # set at the step and at the end
        self._released = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self.is_held = False
        self.error: Exception | None = None

    def __enter__(self) -> HeldStatement:
        self._thread.start()
        self._stopped.wait(PATIENCE)
        if not self.is_held:
            self._released.set()
        assert self._stopped.is_set(), f"did not get to the step {self._step}"
        assert self.is_held, f"ended before the step {self._step}: {self.error}"
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.release()

    def release(self) -> Exception | None:
        """Releases the statement, waits for its end, and returns its error or None."""
        self._released.set()
        self._thread.join(PATIENCE)
        assert not self._thread.is_alive(), "still running"
        return self.error

    def _run(self) -> None:
        try:
            with observed(self._jvm, self._reached):
                self._action()
        except Exception as error:
            self.error = error
        finally:
            self._stopped.set()

    def _reached(self, step: Step) -> None:
        if step is not self._step:
            return
        self._to_come -= 1
        if self._to_come == 0:
            self.is_held = True
            self._stopped.set()
            self._released.wait()  # a test that kills the driver never releases it


def with_conflicts(
    spark: SparkSession,
    action: Callable[[], object],
    step: Step,
    others: Sequence[Callable[[], object]],
) -> Exception | None:
    """Runs an action, and the next of the others each time that the action reaches a step.

    Returns the action's error, or None if the action succeeded.
    """
    ensure_callback_server_started(spark.sparkContext._gateway)
    to_come = list(others)
    errors: list[Exception] = []

    def run(other: Callable[[], object]) -> None:
        try:
            other()
        except Exception as error:
            errors.append(error)

    def reached(at: Step) -> None:
        if at is step and to_come:
            # The other action needs a separate thread, because this thread has a transaction.
            thread = threading.Thread(target=run, args=[to_come.pop(0)])
            thread.start()
            thread.join(PATIENCE)

    failure: Exception | None = None
    with observed(spark._jvm, reached):
        try:
            action()
        except Exception as error:
            failure = error
    assert not errors, errors
    assert not to_come, f"came to the step {step} too seldom"
    return failure


@contextmanager
def observed(jvm: Any, reached: Callable[[Step], None]) -> Iterator[None]:
    """Calls `reached` before each step of transactions on this thread."""

    def delta(name: str) -> Any:
        return getattr(getattr(jvm, f"{DELTA}.{name}$"), "MODULE$")

    observers = delta("TransactionExecutionObserver")
    observers.setObserver(Observer(reached))
    try:
        yield
    finally:
        observers.setObserver(delta("NoOpTransactionExecutionObserver"))


class Observer:
    """Implements Delta's observer; Delta decides the names and signatures."""

    def __init__(self, reached: Callable[[Step], None]) -> None:
        self._reached = reached

    def createChild(self) -> Observer:
        return self

    def startingTransaction(self, body: Any) -> Any:
        self._reached(Step.START)
        return body.apply()

    def preparingCommit(self, body: Any) -> Any:
        self._reached(Step.PREPARE)
        return body.apply()

    def beginDoCommit(self) -> None:
        self._reached(Step.COMMIT)

    def beginBackfill(self) -> None:
        self._reached(Step.WRITTEN)

    def beginPostCommit(self) -> None:
        self._reached(Step.AFTERWARDS)

    def transactionCommitted(self) -> None:
        pass

    def transactionAborted(self) -> None:
        pass

    class Java:
        """Names the Scala trait, as py4j requires."""

        implements: ClassVar[list[str]] = [f"{DELTA}.TransactionExecutionObserver"]
