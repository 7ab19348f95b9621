# SPDX-License-Identifier: Apache-2.0
"""Runs plans: some tables at a time, within limits, and decides the outcome of each table."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from datetime import datetime
from threading import Condition
from typing import TYPE_CHECKING

from spark_ext.model.keys import MODE_NONE
from spark_ext.model.metadata import FileCount
from spark_ext.removal.reasons import CONFLICT
from spark_ext.removal.stages import NOTHING, SurveyedTable
from spark_ext.tables import report
from spark_ext.tables.goals import Alignment, Begun, Goal, Plan, Removal, is_undone, run_remaining
from spark_ext.tables.progress import RUNNING, LakehouseProgress, Progress, Reporter
from spark_ext.tables.report import (
    BYTES,
    ERRORS,
    TIME,
    StatementResult,
    TableResult,
    removal_counts,
)
from spark_ext.tables.sql import (
    Statements,
    described,
    end_of_retention,
    is_cancellation,
    is_conflict,
    rows_of,
    unnamed_copies,
)
from spark_ext.tables.threads import Interrupts, Workers

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


# The conditions of errors that say that a table does not exist.
_MISSING = {
    *("TABLE_OR_VIEW_NOT_FOUND", "SCHEMA_NOT_FOUND", "DELTA_MISSING_DELTA_TABLE"),
    *("DELTA_TABLE_NOT_FOUND", "DELTA_PATH_DOES_NOT_EXIST"),
}
_UNDONE = (
    "Cannot reach the goal: another writer undid the statement or changed the table before this"
    " call read the table again. The newest version contains the other writer's changes. Run the"
    " call again."
)
_UNMAPPED = (
    "Cannot reach the goal: another writer removed column mapping during the call. To enable it,"
    " set delta.columnMapping.mode to name, and run the call again."
)


def without_run(plan: Plan, *, dry_run: bool = False) -> TableResult:
    """Returns the result of a table that has a plan and no run."""
    row, files = plan.row, plan.files
    return TableResult(
        table=row.table,
        outcome=plan.outcome if dry_run or plan.outcome != report.PLANNED else report.NOT_BEGUN,
        cost=plan.cost,
        num_files=files.num_files,
        size_in_bytes=files.size_in_bytes,
        free_space=files.size_in_bytes,
        reasons=plan.reasons,
        unblocking=plan.unblocking,
        before=row,
        version_before=row.version,
        error=row.error,
        message=row.message,
    )


def not_begun(
    plan: Plan, reason: str, failure: BaseException | None, outcome: str = report.NOT_BEGUN
) -> TableResult:
    """Returns the result of a table that did not begin, or that began and cannot be read."""
    error, message = (None, None) if failure is None else described(failure)
    result = without_run(plan)
    return replace(result, outcome=outcome, reasons=(reason,), error=error, message=message)


@dataclass
class Budget:
    """The limits of a call, the planned bytes that began, and the failures; None is no limit."""

    max_bytes: int | None = None
    max_seconds: float | None = None
    max_errors: int | None = None
    begun_bytes: int = 0
    errors: int = 0

    def refusal(self, plan: Plan, seconds: float) -> str | None:
        """Returns why a table may not begin after these seconds of the call; None if it fits."""
        if self.max_errors is not None and self.errors >= self.max_errors:
            return ERRORS
        if self.is_over(seconds):
            return TIME
        size = plan.files.size_in_bytes
        # A table without files to copy fits at any time.
        if self.max_bytes is not None and size and self.begun_bytes + size > self.max_bytes:
            return BYTES
        return None

    def is_over(self, seconds: float) -> bool:
        """Returns whether the time is over."""
        return self.max_seconds is not None and seconds >= self.max_seconds


# Another driver with the same goal may conflict with each statement of a table.
_MAX_CONFLICTS = 5


class CallStoppedError(Exception):
    """The call ends before the next statement of a table."""


@dataclass
class Running:
    """A table that runs, and what has happened with it so far.

    `number` is the place of the table among all that run, from 1. `stopped` returns why the call
    ends, or None. `after` is the row after the last statement, if the run read it. `error` ended
    the run, unless the call cancelled it (`cancelled`) or a limit refused it (`refused`).
    `leftovers` are what `unnamed_copies` returned before the run.
    """

    spark: SparkSession
    goal: Goal
    plan: Plan
    number: int
    stopped: Callable[[], str | None]
    statements: list[StatementResult] = field(default_factory=list)
    after: SurveyedTable | None = None
    error: BaseException | None = None
    cancelled: str | None = None
    refused: str | None = None
    leftovers: tuple[FileCount | None, str | None] | None = None
    bytes_done: int = 0
    seconds: float = 0.0

    def attempt(
        self,
        properties: AbstractContextManager[None],
        replan: Callable[[Running, Plan], str | None] | None,
    ) -> None:
        """Runs the table with the thread's properties, and notes what happened.

        `replan` takes a new plan, and returns why the table may not run, or None. It is None itself
        if the plan of the survey is recent enough.
        """
        started = time.monotonic()
        try:
            with properties:
                self._run(replan)
        except BaseException as error:  # from Spark, Delta, a catalog or a storage
            self.after = None
            is_stop = isinstance(error, CallStoppedError) or is_cancellation(error)
            self.cancelled = self.stopped() if is_stop else None
            self.error = error if self.cancelled is None else None
        self.seconds = time.monotonic() - started

    def result(self) -> TableResult:
        """Returns the result after the run, with the table as it is now."""
        if self.refused is not None:
            return not_begun(self.plan, self.refused, None)
        try:
            return self.result_with(self.after or self._row_or_error())
        except Exception as error:  # the history of the table cannot be read
            return not_begun(self.plan, "UNKNOWN", error, report.FAILED)

    def result_with(self, row: SurveyedTable) -> TableResult:
        """Returns the result for a row that was read after the run."""
        now = self.goal.plan(row)
        outcome = self._outcome(row, now)
        facts = removal_counts(self.statements)
        if now.outcome == report.BLOCKED:
            facts |= {"reasons": now.reasons, "unblocking": now.unblocking}
        elif outcome == report.CANCELLED:
            facts["reasons"] = (str(self.cancelled),)
        if self.error is not None:
            facts["error"], facts["message"] = described(self.error)
        elif row.error is not None:
            facts["error"], facts["message"] = row.error, row.message
        elif outcome == report.FAILED:
            facts["reasons"] = (CONFLICT,)
            facts["message"] = _UNMAPPED if now.outcome == report.ALREADY_DONE else _UNDONE
        if outcome == report.WAITING:
            facts["come_back"] = end_of_retention(self.spark, self.plan.row.table)
        if self.leftovers is not None:
            facts["leftovers"], facts["removed_by"] = self.leftovers
        return replace(
            without_run(self.plan),
            outcome=outcome,
            after=row,
            seconds=self.seconds,
            version_after=row.version,
            statements=tuple(self.statements),
            **facts,
        )

    def _outcome(self, row: SurveyedTable, now: Plan) -> str:
        if row.error in _MISSING:
            return report.GONE
        is_unmapped = row.mode == MODE_NONE and row.aligning is None
        if isinstance(self.goal, Alignment) and self.statements and is_unmapped:
            # Another writer removed column mapping after a statement, and no alignment enables it.
            return report.FAILED if self.cancelled is None else report.CANCELLED
        if now.outcome == report.ALREADY_DONE:
            return report.DONE
        if self.cancelled is not None:
            return report.CANCELLED
        if now.outcome == report.BLOCKED:
            return report.BLOCKED
        # Delta without fast DROP FEATURE waits before the stage `readers` already.
        has_waited = any(each.waits for each in self.statements)
        is_waiting = now.only_waits or (has_waited and row.unmapped == NOTHING)
        if self.error is None and isinstance(self.goal, Removal) and is_waiting:
            return report.WAITING
        return report.FAILED

    def _row_or_error(self) -> SurveyedTable:
        name = self.plan.row.table
        try:
            (row,) = rows_of(self.spark, [name])
        except Exception as error:  # the session has ended, or the user may not read the table
            condition, message = described(error)
            return SurveyedTable(name, error=condition, message=message)
        return row

    def _run(self, replan: Callable[[Running, Plan], str | None] | None) -> None:
        if replan is not None:
            # Directly before the statement: commits since then count as those of the statement.
            (row,) = rows_of(self.spark, [self.plan.row.table])  # raises if it is cancelled
            now = self.goal.plan(row)
            if now.outcome != report.PLANNED:
                return
            self.refused = replan(self, now)
            if self.refused is not None:
                return
        if self.plan.files.size_in_bytes:
            # Looked up before the run: the folder usually has no copies yet, so no log is read.
            self.leftovers = unnamed_copies(self.spark, self.plan.row.table)
        if not self._has_to_wait(self.plan):
            self._reach()

    def _has_to_wait(self, plan: Plan) -> bool:
        """Returns whether an untracked table waits for Delta: each try would add a commit."""
        if plan.row.tracked or not plan.only_waits:
            return False
        end = end_of_retention(self.spark, self.plan.row.table)
        return end is not None and datetime.now().astimezone() < end

    def _reach(self) -> None:
        """Runs the statements that remain; after a conflict, those that remain then."""
        name = self.plan.row.table
        watch = self._watch if self.plan.files.size_in_bytes else None
        may_wait = isinstance(self.goal, Removal)
        statements = Statements(
            self.spark, name, watch, before=self._require_running, may_wait=may_wait
        )
        row = replace(self.plan.row, table=statements.sql_name)
        for conflicts in range(_MAX_CONFLICTS + 1):
            begun = Begun(row, self.statements)
            try:
                plan = run_remaining(self.goal, statements, begun)
                # Another copy would exceed the bytes of the plan.
                row = plan.row
                is_over = not is_undone(plan, begun) or bool(plan.files.size_in_bytes)
            except Exception as error:
                if conflicts == _MAX_CONFLICTS or not is_conflict(error):
                    raise
                row, is_over = statements.read(), False
            self.after = replace(row, table=name)
            plan = self.goal.plan(row)
            if is_over or plan.outcome != report.PLANNED or self._has_to_wait(plan):
                return
            self._require_running()

    def _watch(self, progress: Progress) -> None:
        """Keeps the bytes of the files that are done."""
        if progress.round:
            done = self.plan.files.size_in_bytes - progress.size_in_bytes
            self.bytes_done = max(self.bytes_done, done)

    def _require_running(self) -> None:
        """Raises if no statement may begin."""
        if self.stopped() is not None:
            raise CallStoppedError("The call ended before the next statement of this table.")


# The seconds between two checks of signals and limits by the main thread.
_SECONDS = 0.2


@dataclass
class Runner:
    """Runs the tables that wait, in their order; `run` replaces their results even if it fails."""

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
            self._stopped = report.INTERRUPTED
        elif self.reporter.failure is not None:
            self._stopped = report.PROGRESS_FAILED
        else:
            self._workers.start()
        try:
            while self._workers.is_alive():
                self._supervise()
        except BaseException:  # such as a second signal
            with self._changed:
                self._stopped = self._stopped or report.INTERRUPTED
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
                reason = self._refusals.get(name) or self._stopped or report.CALL_FAILED
                self.results[name] = not_begun(plan, reason, failure)
            for plan in (each.plan for each in self._running):
                self.results[plan.row.table] = not_begun(plan, "UNKNOWN", failure, report.FAILED)

    def _supervise(self) -> None:
        """Waits for a change, and cancels tables if the call ends."""
        with self._changed:
            self._changed.wait(_SECONDS)
            if self._stopped is None and self.interrupts.received is not None:
                self._stopped = report.INTERRUPTED
            elif self._stopped is None and self._workers.failure is not None:
                self._stopped = report.CALL_FAILED
            elif self._stopped is None and self.budget.is_over(self._seconds()):
                self._stopped = report.TIME
        if self._stopped:
            self._workers.cancel()
        self.reporter.report(self._progress)

    # Called by the threads.

    def _work(self, number: int) -> None:
        """Runs one table after the other until no table may begin."""
        while (running := self._next()) is not None:
            plan = running.plan
            words = f"{plan.row.table} ({running.number} of {self._number})"
            # Another driver may have run the statements since the survey. With a limit, another
            # writer may have turned a change of metadata into a copy.
            reads_again = self.budget.max_bytes is not None or not plan.is_repeatable
            properties = self._workers.properties(number, f"spark-ext {self.goal.words}: {words}")
            running.attempt(properties, self._replan if reads_again else None)
            result = running.result()
            with self._changed:
                self._running.remove(running)
                self.results[result.table] = result
                self.budget.errors += result.outcome == report.FAILED
                self._bytes_done += running.plan.files.size_in_bytes
                self._changed.notify_all()

    def _next(self) -> Running | None:
        """Returns the next table that may begin; None if none will."""
        with self._changed:
            for plan in self.waiting if self._stopped is None else ():
                refusal = self.budget.refusal(plan, self._seconds())
                if refusal is not None:
                    self._refusals[plan.row.table] = refusal
                    continue
                self.waiting.remove(plan)
                self.budget.begun_bytes += plan.files.size_in_bytes
                number = self._number - len(self.waiting)
                running = Running(self.spark, self.goal, plan, number, lambda: self._stopped)
                self._running.append(running)
                return running
            return None

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
