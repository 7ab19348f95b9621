# SPDX-License-Identifier: Apache-2.0
"""Runs a plan: some tables at a time, within a budget, until a signal arrives."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from threading import Condition
from typing import TYPE_CHECKING

from spark_ext.api.goals import Goal, Plan
from spark_ext.lakehouse.budget import (
    CALL_FAILED,
    INTERRUPTED,
    PROGRESS_FAILED,
    TIME,
    Budget,
)
from spark_ext.lakehouse.outcomes import Attempt, not_begun, result_of, unknown
from spark_ext.lakehouse.progress import RUNNING, LakehouseProgress, Reporter
from spark_ext.lakehouse.results import FAILED, TableResult
from spark_ext.lakehouse.running import Running, row_or_error
from spark_ext.lakehouse.signals import Interrupts
from spark_ext.lakehouse.workers import Workers

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# The seconds between two checks of signals and limits by the main thread.
_SECONDS = 0.2


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
    waiting: list[Plan]
    budget: Budget
    reporter: Reporter
    interrupts: Interrupts
    started: float
    parallel: int
    results: dict[str, TableResult] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._changed = Condition()
        self._running: list[Running] = []
        self._stopped: str | None = None
        self._refusals: dict[str, str] = {}
        self._number = len(self.waiting)
        self._bytes = sum(each.files.size_in_bytes for each in self.waiting)
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
            while self._workers.is_alive():
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
            for plan in self.waiting:
                name = plan.row.table
                reason = self._refusals.get(name) or self._stopped or CALL_FAILED
                self.results[name] = not_begun(plan, reason, failure)
            for running in self._running:
                self.results[running.plan.row.table] = unknown(running.plan, failure)

    def _supervise(self) -> None:
        """Waits for a change, and cancels tables if the call ends."""
        with self._changed:
            self._changed.wait(_SECONDS)
            if self._stopped is None and self.interrupts.received is not None:
                self._stopped = INTERRUPTED
            if self._stopped is None and self._workers.failure is not None:
                self._stopped = CALL_FAILED
            if self._stopped is None and self.budget.is_over(self._seconds()):
                self._stopped = TIME
        if self._stopped:
            self._workers.cancel()
        self.reporter.report(self._progress)

    # Called by the threads.

    def _work(self, number: int) -> None:
        """Runs one table after the other until no table may begin."""
        while (running := self._next()) is not None:
            result = self._result(self._attempt(running, number))
            with self._changed:
                self._running.remove(running)
                self.results[result.table] = result
                self.budget.errors += result.outcome == FAILED
                self._bytes_done += running.plan.files.size_in_bytes
                self._changed.notify_all()

    def _next(self) -> Running | None:
        """Returns the next table that may begin; None if none will."""
        with self._changed:
            for plan in self.waiting if self._stopped is None else ():
                refusal = self.budget.refusal(plan, self._seconds())
                if refusal is None:
                    return self._begin(plan)
                self._refusals[plan.row.table] = refusal
            return None

    def _begin(self, plan: Plan) -> Running:
        self.waiting.remove(plan)
        self.budget.begun_bytes += plan.files.size_in_bytes
        number = self._number - len(self.waiting)
        running = Running(self.spark, self.goal, plan, number, stopped=lambda: self._stopped)
        self._running.append(running)
        return running

    def _attempt(self, running: Running, number: int) -> Attempt:
        """Runs a table."""
        words = f"{running.plan.row.table} ({running.number} of {self._number})"
        description = f"spark-ext {self.goal.words}: {words}"
        properties = self._workers.properties(number, description)
        # Another driver may have run the statements since the survey. With a limit, another writer
        # may have turned a change of metadata into a copy.
        reads_again = self.budget.max_bytes is not None or not running.plan.is_repeatable
        return running.attempt(properties, self._replan if reads_again else None)

    def _result(self, attempt: Attempt) -> TableResult:
        """Reads a table again after its run."""
        plan = attempt.plan
        if attempt.refused is not None:
            return not_begun(plan, attempt.refused)
        try:
            row = attempt.after or row_or_error(self.spark, plan.row.table)
            return result_of(self.spark, self.goal, attempt, row)
        except Exception as error:  # the history of the table cannot be read
            return unknown(plan, error)

    def _replan(self, running: Running, now: Plan) -> str | None:
        """Counts the current cost of a table; returns why it may not run, or None."""
        with self._changed:
            known, running.plan = running.plan.files.size_in_bytes, now
            size = now.files.size_in_bytes
            self._bytes += size - known
            self.budget.begun_bytes -= known
            refusal = self.budget.refusal(now, self._seconds())
            if refusal is None:
                self.budget.begun_bytes += size
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
            running=tuple(each.plan.row.table for each in running),
            finished=self._is_over,
        )
