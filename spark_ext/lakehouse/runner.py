# SPDX-License-Identifier: Apache-2.0
"""Runs a plan: some tables at a time, within a budget, until a signal arrives."""

from __future__ import annotations

import time
import uuid
from dataclasses import dataclass, field, replace
from threading import Condition
from typing import TYPE_CHECKING

from spark_ext.api.progress import Progress
from spark_ext.api.refusals import run
from spark_ext.api.statements import StatementResult
from spark_ext.api.survey import rows_of
from spark_ext.lakehouse.budget import BYTES, ERRORS, INTERRUPTED, TIME, Budget
from spark_ext.lakehouse.goals import Goal
from spark_ext.lakehouse.lookups import UnnamedCopies, unnamed_copies
from spark_ext.lakehouse.outcomes import Attempt, described, not_begun, result_of
from spark_ext.lakehouse.plan import RUN, PlannedTable
from spark_ext.lakehouse.progress import RUNNING, LakehouseProgress, Reporter
from spark_ext.lakehouse.results import DONE_BY_ANOTHER, FAILED, TableResult
from spark_ext.lakehouse.signals import Interrupts
from spark_ext.lakehouse.workers import Workers
from spark_ext.removal.survey import SurveyedTable

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# The main thread looks at signals and limits this often.
_SECONDS = 0.2
# The largest number of ended tables that are read at once. The first tables are read alone: they
# show whether another driver does the same.
_BATCH = 50
# Spark substitutes variables in statements, and the names of a survey are not escaped for that.
_VARIABLE = "${"


@dataclass
class _Running:
    """A table that runs."""

    planned: PlannedTable
    tag: str
    number: int
    bytes_done: int = 0

    def watch(self, progress: Progress) -> None:
        """Keeps the bytes of the files that are done."""
        if progress.round:
            done = self.planned.size_in_bytes - progress.size_in_bytes
            self.bytes_done = max(self.bytes_done, done)


@dataclass
class _Ran:
    """What ran for a table, as `Attempt` documents."""

    statement: str | None = None
    statements: tuple[StatementResult, ...] = ()
    leftovers: UnnamedCopies | None = None


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
        self._running: list[_Running] = []
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
        if self.reporter.failure is None:
            self._workers.start()
        try:
            while self._workers.is_alive() or self._ended:
                self._supervise()
        finally:
            self._stopped = self._stopped or INTERRUPTED
        for planned in self.waiting:
            reason = self._refusals.get(planned.table, self._stopped)
            self.results[planned.table] = not_begun(planned, reason)
        self._is_over = True
        self.reporter.report(self._progress, at_once=True)

    def _supervise(self) -> None:
        """Waits for a change, cancels what runs if the call ends, and reads what has ended."""
        with self._changed:
            self._changed.wait(_SECONDS)
            if self._stopped is None and self.interrupts.received is not None:
                self._stopped = INTERRUPTED
            if self._stopped is None and self.budget.is_over(self._seconds()):
                self._stopped = TIME
            tags = [each.tag for each in self._running] if self._stopped else []
            batch = self._ended[: self._batch]
            # A failure may end the call, and a thread may wait for these results.
            in_haste = self._idle or not self._running or any(each.error for each in batch)
            self._changed.notify_all()
        for tag in tags:
            # A job may begin after the cancellation of the job before, so this repeats.
            self._workers.cancel(tag)
        if batch and (len(batch) == self._batch or in_haste):
            self._verify(batch)
            self._batch = min(2 * self._batch, _BATCH)
        self.reporter.report(self._progress)

    def _verify(self, batch: list[Attempt]) -> None:
        """Reads the tables of a batch again, and keeps their results."""
        rows = self._rows([each.planned.table for each in batch])
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
        try:
            return result_of(self.spark, self.goal, attempt, row)
        except Exception as error:  # the history of the table cannot be read
            condition, message = described(error)
            known = not_begun(attempt.planned, "UNKNOWN")
            return replace(known, outcome=FAILED, error=condition, message=message)

    def _rows(self, names: list[str]) -> list[SurveyedTable]:
        try:
            return rows_of(self.spark, names)
        except Exception as error:  # the session has ended, or the user may not read a table
            condition, message = described(error)
            return [SurveyedTable(name, error=condition, message=message) for name in names]

    # In the threads.

    def _work(self, number: int) -> None:
        """Runs one table after the other until no table may begin."""
        while (running := self._next()) is not None:
            attempt = self._attempt(running, number)
            with self._changed:
                self._running.remove(running)
                self._ended.append(attempt)
                self._bytes_done += running.planned.size_in_bytes
                failed = attempt.error is not None
                self.budget.end(
                    running.planned, attempt.seconds, attempt.changed_bytes, failed=failed
                )
                self._changed.notify_all()

    def _next(self) -> _Running | None:
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
                    if refusal == ERRORS:
                        break
                # A table that runs may return bytes of kept files; an error may be another's work.
                may_change = self._running if BYTES in refusals else ()
                if not may_change and not (ERRORS in refusals and self._ended):
                    break
                self._idle += 1
                self._changed.wait(_SECONDS)
                self._idle -= 1
            return None

    def _begin(self, planned: PlannedTable) -> _Running:
        self.waiting.remove(planned)
        self._refusals.pop(planned.table, None)
        self.budget.begin(planned)
        number = self._number - len(self.waiting)
        running = _Running(planned, f"spark-ext-{uuid.uuid4()}", number)
        self._running.append(running)
        return running

    def _attempt(self, running: _Running, number: int) -> Attempt:
        """Runs a table."""
        words = f"{running.planned.table} ({running.number} of {self._number})"
        description = f"spark-ext {self.goal.words}: {words}"
        started, clock = time.time(), time.monotonic()
        ran, error = _Ran(), None
        try:
            with self._workers.properties(number, description, running.tag):
                self._statements(running, ran)
        except Exception as failure:  # of Spark, Delta, a catalog or a storage
            error = failure
        return Attempt(
            planned=running.planned,
            started=started,
            seconds=time.monotonic() - clock,
            statement=ran.statement,
            statements=ran.statements,
            leftovers=ran.leftovers,
            error=error,
            cancelled=None if error is None else self._stopped,
        )

    def _statements(self, running: _Running, ran: _Ran) -> None:
        """Runs the statements of a table, and keeps their results in `ran`."""
        planned = running.planned
        if self._others_run:
            planned = self.goal.plan(self._rows([planned.table])[0])
            if planned.action != RUN:
                return
        if planned.size_in_bytes:
            # Before the run, the folder has no copies that a version names, in most cases.
            ran.leftovers = unnamed_copies(self.spark, planned.table)
        ran.statement = None if _VARIABLE in planned.table else self.goal.statement(planned)
        if ran.statement is None:
            ran.statements = tuple(self.goal.run(self.spark, planned, running.watch))
        else:
            run(self.spark, ran.statement)

    # Both.

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
