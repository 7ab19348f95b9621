# SPDX-License-Identifier: Apache-2.0
"""Runs a plan: some tables at a time, within a budget, until a signal arrives."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from threading import Condition
from typing import TYPE_CHECKING

from spark_ext.lakehouse.budget import (
    BYTES,
    CALL_FAILED,
    ERRORS,
    INTERRUPTED,
    PROGRESS_FAILED,
    TIME,
    Budget,
)
from spark_ext.lakehouse.goals import Goal
from spark_ext.lakehouse.outcomes import Attempt, not_begun, result_of, unknown
from spark_ext.lakehouse.plan import PlannedTable
from spark_ext.lakehouse.progress import RUNNING, LakehouseProgress, Reporter
from spark_ext.lakehouse.results import DONE_BY_ANOTHER, FAILED, TableResult
from spark_ext.lakehouse.running import Running, rows_or_errors
from spark_ext.lakehouse.signals import Interrupts
from spark_ext.lakehouse.workers import Workers
from spark_ext.removal.stages import COPY
from spark_ext.removal.survey import SurveyedTable

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# The seconds between two checks of signals and limits by the main thread.
_SECONDS = 0.2
# The largest number of ended tables that are read at once. The first table is read alone, and the
# batches grow: early results show whether another driver does the same work.
_BATCH = 50


@dataclass
class Runner:
    """Runs the tables of a plan.

    Args:
        spark: The session.
        goal: The goal.
        waiting: The tables to run, in order.
        budget: The limits.
        reporter: Reports the progress.
        interrupts: The signals of the call.
        started: The start of the call by `time.monotonic`.
        parallel: The number of threads.
    """

    spark: SparkSession
    goal: Goal
    waiting: list[PlannedTable]
    budget: Budget
    reporter: Reporter
    interrupts: Interrupts
    started: float
    parallel: int
    results: dict[str, TableResult] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._changed = Condition()
        self._running: list[Running] = []
        self._ended: list[Attempt] = []
        self._stopped: str | None = None
        # Once another driver has done a table, each table is read again before its statement.
        self._others_run = False
        self._refusals: dict[str, str] = {}
        self._batch = 1
        # The number of threads that wait for results.
        self._idle = 0
        self._number = len(self.waiting)
        self._bytes = sum(each.size_in_bytes for each in self.waiting)
        self._bytes_done = 0
        self._is_over = False
        self._run_started = time.monotonic()
        number = min(self.parallel, len(self.waiting))
        self._workers = Workers(self.spark, self._work, number)

    def run(self) -> None:
        """Runs the tables, and returns when the last one has ended; `results` has every table."""
        self.reporter.report(self._progress, at_once=True)
        if self.interrupts.received is not None:
            self._stopped = INTERRUPTED
        elif self.reporter.failure is not None:
            self._stopped = PROGRESS_FAILED
        else:
            self._workers.start()
        try:
            while self._workers.is_alive() or self._ended:
                self._supervise()
        except BaseException:  # such as a second signal
            with self._changed:
                self._stopped = self._stopped or INTERRUPTED
            self._workers.cancel()
            raise
        finally:
            self._add_tables_without_a_result()
        self._is_over = True
        self.reporter.report(self._progress, at_once=True)

    def _add_tables_without_a_result(self) -> None:
        failure = self._workers.failure
        with self._changed:
            for planned in self.waiting:
                reason = self._refusals.get(planned.table)
                if reason in (None, BYTES):  # bytes might have become free
                    reason = self._stopped or reason or CALL_FAILED
                self.results[planned.table] = not_begun(planned, reason, failure)
            begun = [each.planned for each in self._running]
            for planned in (*begun, *(each.planned for each in self._ended)):
                self.results[planned.table] = unknown(planned, failure)

    def _supervise(self) -> None:
        """Waits for a change, cancels tables if the call ends, and verifies tables that ended."""
        with self._changed:
            self._changed.wait(_SECONDS)
            if self._stopped is None and self.interrupts.received is not None:
                self._stopped = INTERRUPTED
            if self._stopped is None and self._workers.failure is not None:
                self._stopped = CALL_FAILED
            if self._stopped is None and self.budget.is_over(self._seconds()):
                self._stopped = TIME
            batch = self._ended[: self._batch]
            # A failure may end the call, and a thread may wait for these results.
            in_haste = self._idle or not self._running or any(each.error for each in batch)
            self._changed.notify_all()
        if self._stopped:
            self._workers.cancel()
        if batch and (len(batch) == self._batch or in_haste):
            self._verify(batch)
            self._batch = min(2 * self._batch, _BATCH)
        self.reporter.report(self._progress)

    def _verify(self, batch: list[Attempt]) -> None:
        """Reads the tables of a batch again, and keeps their results."""
        rows = rows_or_errors(self.spark, [each.planned.table for each in batch])
        found = list(map(self._result, batch, rows))
        with self._changed:
            for attempt, result in zip(batch, found, strict=True):
                self.results[result.table] = result
                self._others_run |= result.outcome == DONE_BY_ANOTHER
                self.budget.errors += result.outcome == FAILED
                self.budget.errors -= attempt.error is not None
            del self._ended[: len(batch)]
            self._changed.notify_all()

    def _result(self, attempt: Attempt, row: SurveyedTable) -> TableResult:
        if attempt.refused is not None:
            return not_begun(attempt.planned, attempt.refused)
        try:
            return result_of(self.spark, self.goal, attempt, row)
        except Exception as error:  # the history of the table cannot be read
            return unknown(attempt.planned, error)

    # Called by the threads.

    def _work(self, number: int) -> None:
        """Runs one table after the other until no table may begin."""
        while (running := self._next()) is not None:
            attempt = self._attempt(running, number)
            with self._changed:
                self._running.remove(running)
                self._ended.append(attempt)
                self._bytes_done += running.planned.size_in_bytes
                seconds = attempt.seconds if attempt.has_run else None
                failed = attempt.error is not None
                self.budget.end(running.planned, seconds, attempt.changed_bytes, failed=failed)
                self._changed.notify_all()

    def _next(self) -> Running | None:
        """Returns the next table that may begin; None if none will."""
        with self._changed:
            while self._stopped is None:
                refusals = set()
                for planned in self.waiting:
                    refusal = self.budget.refusal(planned, self._seconds())
                    if refusal is None:
                        return self._begin(planned)
                    self._refusals[planned.table] = refusal
                    refusals.add(refusal)
                # A running table may free bytes of kept files, and a failed table may be done by
                # another driver.
                may_change = self._running if BYTES in refusals else ()
                if not may_change and not (ERRORS in refusals and self._ended):
                    break
                self._idle += 1
                self._changed.wait(_SECONDS)
                self._idle -= 1
            return None

    def _begin(self, planned: PlannedTable) -> Running:
        self.waiting.remove(planned)
        self._refusals.pop(planned.table, None)
        self.budget.begin(planned)
        number = self._number - len(self.waiting)
        running = Running(self.spark, self.goal, planned, number, stopped=lambda: self._stopped)
        self._running.append(running)
        return running

    def _attempt(self, running: Running, number: int) -> Attempt:
        """Runs a table."""
        words = f"{running.planned.table} ({running.number} of {self._number})"
        description = f"spark-ext {self.goal.words}: {words}"
        properties = self._workers.properties(number, description)
        # Another writer may have turned a change of metadata into a copy. Reading a table again is
        # short beside a copy, and another driver may have made the copy.
        is_copy = running.planned.cost == COPY
        reads_again = self._others_run or self.budget.max_bytes is not None or is_copy
        return running.attempt(properties, self._replan if reads_again else None)

    def _replan(self, running: Running, now: PlannedTable) -> str | None:
        """Counts the current cost of a table; returns why it may not run, or None."""
        with self._changed:
            known, running.planned = running.planned, now
            self.budget.begun_bytes -= known.size_in_bytes
            refusal = self.budget.refusal(now, self._seconds())
            self.budget.begin(now)
            self._bytes += now.size_in_bytes - known.size_in_bytes
            return refusal

    # Called by the main thread and by the threads.

    def _seconds(self) -> float:
        return time.monotonic() - self.started

    def _progress(self) -> LakehouseProgress:
        with self._changed:
            running = list(self._running)
            tables_done = self._number - len(self.waiting) - len(running)
            bytes_done = self._bytes_done + sum(each.bytes_done for each in running)
        seconds = time.monotonic() - self._run_started
        done, number = (bytes_done, self._bytes) if self._bytes else (tables_done, self._number)
        return LakehouseProgress(
            phase=RUNNING,
            tables_done=tables_done,
            tables=self._number,
            bytes_done=bytes_done,
            bytes=self._bytes,
            seconds=self._seconds(),
            rate=bytes_done / seconds if bytes_done and seconds else None,
            seconds_left=seconds * (number - done) / done if done else None,
            running=tuple(each.planned.table for each in running),
            finished=self._is_over,
        )
