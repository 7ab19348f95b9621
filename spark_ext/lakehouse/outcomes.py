# SPDX-License-Identifier: Apache-2.0
"""Decides the outcome of a table from its row of a second survey, not from the statement's end."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from spark_ext.api.refusals import described
from spark_ext.api.statements import StatementResult, commits_since, removal_counts
from spark_ext.lakehouse import results
from spark_ext.lakehouse.goals import Goal, Removal, waits
from spark_ext.lakehouse.lookups import UnnamedCopies, end_of_retention
from spark_ext.lakehouse.plan import BLOCKED, REACHED, RUN, UNREADABLE, PlannedTable
from spark_ext.lakehouse.results import TableResult
from spark_ext.model.metadata import FileCount
from spark_ext.model.operations import REMOVE_COLUMN_MAPPING
from spark_ext.removal.reasons import CONFLICT
from spark_ext.removal.survey import SurveyedTable

if TYPE_CHECKING:
    from pyspark.sql import Row, SparkSession

# The conditions of a table that no longer exists.
_MISSING = {
    *("TABLE_OR_VIEW_NOT_FOUND", "SCHEMA_NOT_FOUND", "DELTA_MISSING_DELTA_TABLE"),
    *("DELTA_TABLE_NOT_FOUND", "DELTA_PATH_DOES_NOT_EXIST"),
}
_AFTER_COMMIT = "USAGE_TRACKING_FAILED_AFTER_COMMIT"
_CHANGED_BACK = "Another writer undid the statement, or changed the table in between."


@dataclass(frozen=True, kw_only=True)
class Attempt:
    """A table that ran.

    Args:
        planned: The plan of the table.
        started: The time when the table began, in seconds since the epoch.
        seconds: The duration.
        statement: The one statement of metadata that ran; None if the goal ran its statements.
        statements: The results of the statements that the goal ran before any error.
        error: The error; None if every statement succeeded.
        cancelled: Why the call had cancelled the table, if the error is that cancellation.
        refused: Why the table may not run; None if it may.
        bytes_done: The bytes that were copied until an error; None if they are not known.
        leftovers: The copies that no version named before; None if no file was to be copied.
    """

    planned: PlannedTable
    started: float
    seconds: float
    statement: str | None = None
    statements: tuple[StatementResult, ...] = ()
    error: BaseException | None = None
    cancelled: str | None = None
    refused: str | None = None
    bytes_done: int | None = None
    leftovers: UnnamedCopies | None = None

    @property
    def changed_bytes(self) -> int | None:
        """Returns the bytes that were copied or rewritten; None if they are not known."""
        if self.error is not None:
            return None if self.is_committed else self.bytes_done
        if not self.has_run:
            return 0
        counts = [count for each in self.statements for count in (each.copied, each.rewritten)]
        known = [count.size_in_bytes for count in counts if count is not None]
        return sum(known) if known or self.statement else None

    @property
    def has_run(self) -> bool:
        """Returns whether a statement of this call has ended without an error."""
        return self.error is None and bool(self.statement is not None or self.statements)

    @property
    def is_committed(self) -> bool:
        """Returns whether the error came after the commit of the last statement."""
        return self.error is not None and described(self.error)[0] == _AFTER_COMMIT


def without_run(planned: PlannedTable, *, dry_run: bool = False) -> TableResult:
    """Returns the result of a table as it is planned."""
    outcomes = {
        RUN: results.PLANNED if dry_run else results.NOT_BEGUN,
        REACHED: results.ALREADY_DONE,
        BLOCKED: results.BLOCKED,
        UNREADABLE: results.UNREADABLE,
    }
    before = planned.before
    return TableResult(
        table=planned.table,
        outcome=outcomes[planned.action],
        cost=planned.cost,
        num_files=planned.num_files,
        size_in_bytes=planned.size_in_bytes,
        free_space=planned.size_in_bytes,
        reasons=planned.reasons,
        unblocking=planned.unblocking,
        before=before,
        version_before=before.version,
        error=before.error,
        message=before.message,
    )


def not_begun(
    planned: PlannedTable, reason: str, failure: BaseException | None = None
) -> TableResult:
    """Returns the result of a table that did not begin, with the failure of the call."""
    error, message = (None, None) if failure is None else described(failure)
    return replace(without_run(planned), reasons=(reason,), error=error, message=message)


def unknown(planned: PlannedTable, failure: BaseException | None) -> TableResult:
    """Returns the result of a table that was not read after it had begun."""
    return replace(not_begun(planned, "UNKNOWN", failure), outcome=results.FAILED)


def result_of(spark: SparkSession, goal: Goal, attempt: Attempt, row: SurveyedTable) -> TableResult:
    """Returns the result of a table that ran.

    Args:
        spark: The session.
        goal: The goal.
        attempt: The run.
        row: The row of a survey after the run.
    """
    now = goal.plan(row)
    result = replace(
        without_run(attempt.planned),
        outcome=_outcome(spark, goal, attempt, row, now),
        after=row,
        seconds=attempt.seconds,
        version_after=row.version,
        statements=attempt.statements,
    )
    if now.action == BLOCKED:
        result = replace(result, reasons=now.reasons, unblocking=now.unblocking)
    elif result.outcome == results.CANCELLED:
        result = replace(result, reasons=(str(attempt.cancelled),))
    if attempt.error is not None:
        condition, message = described(attempt.error)
        result = replace(result, error=condition, message=message)
    elif row.error is not None:
        result = replace(result, error=row.error, message=row.message)
    elif result.outcome == results.FAILED:
        result = replace(result, reasons=(CONFLICT,), message=_CHANGED_BACK)
    if attempt.statement is not None and attempt.error is None and row.version is not None:
        result = _with_statement(spark, goal, attempt, result)
    if result.outcome == results.WAITING:
        result = replace(result, come_back=end_of_retention(spark, result.table))
    if attempt.leftovers is not None:
        left = attempt.leftovers
        result = replace(result, leftovers=left.files, removed_by=left.removed_by)
    return replace(result, **_counts(result.statements))


def _outcome(
    spark: SparkSession, goal: Goal, attempt: Attempt, row: SurveyedTable, now: PlannedTable
) -> str:
    if row.error in _MISSING:
        return results.GONE
    if now.action == REACHED:
        by_us = attempt.has_run or attempt.is_committed
        if attempt.cancelled is not None:
            by_us = _has_commits_of_the_run(spark, attempt)
        return results.DONE if by_us else results.DONE_BY_ANOTHER
    if attempt.cancelled is not None:
        return results.CANCELLED
    if now.action == BLOCKED:
        return results.BLOCKED
    if attempt.error is None and isinstance(goal, Removal) and waits(row):
        return results.WAITING
    return results.FAILED


def _with_statement(
    spark: SparkSession, goal: Goal, attempt: Attempt, result: TableResult
) -> TableResult:
    """Returns the result with the one statement that ran."""
    assert attempt.statement is not None
    before, after = result.version_before or 0, result.version_after or 0
    counts: dict[str, Any] = {}
    if isinstance(goal, Removal):
        counts = {name: FileCount() for name in ("kept", "copied", "rewritten")}
        if after != before + 1:
            # Others wrote in between: the removal may be theirs, or have met other files.
            removals = _removals(spark, attempt, before)
            if len(removals) > 1:
                return replace(result, outcome=results.DONE_BY_ANOTHER)
            metrics = removals[0]["operationMetrics"] if removals else None
            counts = dict(removal_counts(metrics or {}))
    statement = StatementResult(attempt.statement, before, after, attempt.seconds, **counts)
    return replace(result, statements=(statement,))


def _removals(spark: SparkSession, attempt: Attempt, version: int) -> list[Row]:
    """Returns our removal since a version, or also those of others if ours is not the first one.

    A statement that removes column mapping from a table without it commits a removal, too. So a
    single removal is ours. Of several, the first one is ours if it alone is as old as the run:
    the clock of the storage may differ.
    """
    commits = commits_since(spark, attempt.planned.table, version)
    removals = [each for each in commits if each["operation"] == REMOVE_COLUMN_MAPPING]
    ended = attempt.started + attempt.seconds
    of_run = [
        each for each in removals if int(attempt.started) <= each["timestamp"].timestamp() <= ended
    ]
    return of_run if of_run == removals[-1:] else removals


def _has_commits_of_the_run(spark: SparkSession, attempt: Attempt) -> bool:
    """Returns whether a commit is newer than the start of the run, or the history is not known.

    A statement may be cancelled after its commit, and a commit does not say which driver wrote it.
    The end of the run is no limit, because the clock of the storage may be ahead.
    """
    table = attempt.planned
    commits = commits_since(spark, table.table, table.before.version or 0)
    times = [each["timestamp"].timestamp() for each in commits]
    return not commits or any(int(attempt.started) <= at for at in times)


def _counts(statements: tuple[StatementResult, ...]) -> dict[str, Any]:
    """Returns the counts of the statement that removed column mapping."""
    for each in statements:
        if each.copied is not None:
            return {"kept": each.kept, "copied": each.copied, "rewritten": each.rewritten}
    return {}
