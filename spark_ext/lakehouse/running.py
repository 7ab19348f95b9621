# SPDX-License-Identifier: Apache-2.0
"""Runs the statements of one table of a call over many."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING

from spark_ext.api.goals import RUN, Begun, Goal, Plan, reach
from spark_ext.api.named_table import rows_of
from spark_ext.api.progress import Progress
from spark_ext.api.refusals import described, is_cancellation, is_conflict
from spark_ext.api.statements import StatementResult, Statements
from spark_ext.lakehouse.lookups import UnnamedCopies, end_of_retention, unnamed_copies
from spark_ext.lakehouse.outcomes import Attempt
from spark_ext.removal.survey import SurveyedTable

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


# Another driver with the same goal may conflict with each statement of a table.
_MAX_CONFLICTS = 5


class CallStoppedError(Exception):
    """The call ends before the next statement of a table."""


@dataclass
class Running:
    """A table that runs.

    Args:
        spark: The session.
        goal: The goal.
        plan: The plan, which `replan` may change.
        number: The place of the table among all that run, from 1.
        stopped: Returns why the call ends; None while it continues.
    """

    spark: SparkSession
    goal: Goal
    plan: Plan
    number: int
    stopped: Callable[[], str | None]
    bytes_done: int = 0

    _done: list[StatementResult] = field(default_factory=list)
    _after: SurveyedTable | None = None
    _leftovers: UnnamedCopies | None = None
    _refused: str | None = None

    def attempt(
        self,
        properties: AbstractContextManager[None],
        replan: Callable[[Running, Plan], str | None] | None,
    ) -> Attempt:
        """Runs the table, and returns what happened.

        Args:
            properties: Sets the properties of the thread.
            replan: Takes a new plan, and returns why the table may not run, or None. The argument
                is None if the plan of the survey is recent enough.
        """
        started = time.monotonic()
        error: BaseException | None = None
        try:
            with properties:
                self._run(replan)
        except BaseException as failure:  # from Spark, Delta, a catalog or a storage
            error = failure
        cancelled = self.stopped() if _is_stop(error) else None
        return Attempt(
            plan=self.plan,
            seconds=time.monotonic() - started,
            statements=tuple(self._done),
            after=self._after if error is None else None,
            leftovers=self._leftovers,
            error=error if cancelled is None else None,
            cancelled=cancelled,
            refused=self._refused,
        )

    def _run(self, replan: Callable[[Running, Plan], str | None] | None) -> None:
        if self.plan.files.size_in_bytes:
            # Looked up before the run: the folder usually has no copies yet, so no log is read.
            self._leftovers = unnamed_copies(self.spark, self.plan.row.table)
        if replan is not None:
            # Directly before the statement: commits since then count as those of the statement.
            (row,) = rows_of(self.spark, [self.plan.row.table])  # raises if it is cancelled
            now = self.goal.plan(row)
            if now.action != RUN:
                return
            self._refused = replan(self, now)
            if self._refused is not None:
                return
        if not self._has_to_wait():
            self._reach()

    def _has_to_wait(self) -> bool:
        """Returns whether the retention period of an untracked table lasts.

        Each try of Delta would add a commit.
        """
        row = self.plan.row
        if row.tracked or not self.plan.only_waits:
            return False
        end = end_of_retention(self.spark, row.table)
        return end is not None and datetime.now().astimezone() < end

    def _reach(self) -> None:
        """Runs the statements that remain; after a conflict, those that remain then."""
        name = self.plan.row.table
        watch = self._watch if self.plan.files.size_in_bytes else None
        statements = Statements(self.spark, name, watch, before=self._require_running)
        row = replace(self.plan.row, table=statements.sql_name)
        conflicts = 0
        while True:
            try:
                plan = reach(self.goal, statements, Begun(row, self._done))
                self._after = replace(plan.row, table=name)
                return
            except Exception as error:
                conflicts += 1
                if conflicts > _MAX_CONFLICTS or not is_conflict(error):
                    raise
            self._require_running()
            row = statements.read()
            if self.goal.plan(row).action != RUN:
                return

    def _watch(self, progress: Progress) -> None:
        """Keeps the bytes of the files that are done."""
        if progress.round:
            done = self.plan.files.size_in_bytes - progress.size_in_bytes
            self.bytes_done = max(self.bytes_done, done)

    def _require_running(self) -> None:
        """Raises if no statement may begin."""
        if self.stopped() is not None:
            raise CallStoppedError("The call ended before the next statement of this table.")


def row_or_error(spark: SparkSession, name: str) -> SurveyedTable:
    """Returns the row of a table as it is now; a table that cannot be read has the error."""
    try:
        (row,) = rows_of(spark, [name])
    except Exception as error:  # the session has ended, or the user may not read the table
        condition, message = described(error)
        return SurveyedTable(name, error=condition, message=message)
    return row


def _is_stop(error: BaseException | None) -> bool:
    if error is None:
        return False
    return isinstance(error, CallStoppedError) or is_cancellation(error)
