# SPDX-License-Identifier: Apache-2.0
"""Runs the statements of one table."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from spark_ext.api.named_table import VARIABLE, rows_of
from spark_ext.api.progress import Progress
from spark_ext.api.refusals import described, is_cancellation, is_conflict, run
from spark_ext.api.statements import StatementResult
from spark_ext.lakehouse.goals import Goal
from spark_ext.lakehouse.lookups import UnnamedCopies, unnamed_copies
from spark_ext.lakehouse.outcomes import Attempt
from spark_ext.lakehouse.plan import RUN, PlannedTable
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
        planned: The plan, which `replan` may change.
        number: The place of the table among all that run, from 1.
        stopped: Returns why the call ends; None while it continues.
    """

    spark: SparkSession
    goal: Goal
    planned: PlannedTable
    number: int
    stopped: Callable[[], str | None]
    bytes_done: int = 0
    _begun: set[str] = field(default_factory=set)
    _statement: str | None = None
    _statements: list[StatementResult] = field(default_factory=list)
    _leftovers: UnnamedCopies | None = None
    _refused: str | None = None

    def attempt(
        self,
        properties: AbstractContextManager[None],
        replan: Callable[[Running, PlannedTable], str | None] | None,
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
            planned=self.planned,
            seconds=time.monotonic() - started,
            statement=self._statement,
            statements=tuple(self._statements),
            leftovers=self._leftovers,
            error=error if cancelled is None else None,
            cancelled=cancelled,
            refused=self._refused,
        )

    def _run(self, replan: Callable[[Running, PlannedTable], str | None] | None) -> None:
        if replan is not None:
            (row,) = rows_of(self.spark, [self.planned.table])  # raises if it is cancelled
            now = self.goal.plan(row)
            if now.action != RUN:
                return
            self._refused = replan(self, now)
            if self._refused is not None:
                return
        planned = self.planned
        if planned.size_in_bytes:
            # Looked up before the run: the folder usually has no copies yet, so no log is read.
            self._leftovers = unnamed_copies(self.spark, planned.table)
        statement = None if VARIABLE in planned.table else self.goal.statement(planned)
        self._require_running()
        if statement is None:
            self._run_goal(planned)
        else:
            self._statement = statement
            run(self.spark, statement)

    def _run_goal(self, planned: PlannedTable) -> None:
        """Runs the statements that remain; after a conflict, those that remain then."""
        conflicts = 0
        while True:
            try:
                self.goal.run(self.spark, planned, self._watch, self._statements.append)
                return
            except Exception as error:
                conflicts += 1
                if conflicts > _MAX_CONFLICTS or not is_conflict(error):
                    raise
            self._require_running()
            (row,) = rows_of(self.spark, [planned.table])
            planned = self.goal.plan(row)
            if planned.action != RUN:
                return

    def _watch(self, progress: Progress) -> None:
        """Keeps the bytes of the files that are done. The first call precedes the statement."""
        if progress.statement not in self._begun:
            self._require_running()
            self._begun.add(progress.statement)
        if progress.round:
            done = self.planned.size_in_bytes - progress.size_in_bytes
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
