# SPDX-License-Identifier: Apache-2.0
"""Decides the outcome of a table from a second survey, because other writers may interfere."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from spark_ext.api.goals import BLOCKED, REACHED, RUN, UNREADABLE, Alignment, Goal, Plan
from spark_ext.api.refusals import described
from spark_ext.api.statements import StatementResult
from spark_ext.lakehouse import results
from spark_ext.lakehouse.lookups import UnnamedCopies, end_of_retention
from spark_ext.lakehouse.results import TableResult
from spark_ext.model.keys import MODE_NONE
from spark_ext.removal.reasons import CONFLICT
from spark_ext.removal.stages import NOTHING
from spark_ext.removal.survey import SurveyedTable

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


@dataclass(frozen=True, kw_only=True)
class Attempt:
    """The run of one table.

    Args:
        plan: The plan that was run.
        seconds: The duration of the run, in seconds.
        statements: The results of the statements that succeeded.
        after: The row after the last statement; None if the run did not read it.
        error: The error that ended the run; None if the run ended without an error, or was
            cancelled.
        cancelled: The reason why the call cancelled the run; None if the call did not cancel it.
        refused: The limit that did not allow the run; None if a run was allowed.
        leftovers: The copies in the table's folder that no version named before the run; None if
            the run did not look for them.
    """

    plan: Plan
    seconds: float
    statements: tuple[StatementResult, ...] = ()
    after: SurveyedTable | None = None
    error: BaseException | None = None
    cancelled: str | None = None
    refused: str | None = None
    leftovers: UnnamedCopies | None = None


def without_run(plan: Plan, *, dry_run: bool = False) -> TableResult:
    """Returns the result of a table that has a plan and no run."""
    outcomes = {
        RUN: results.PLANNED if dry_run else results.NOT_BEGUN,
        REACHED: results.ALREADY_DONE,
        BLOCKED: results.BLOCKED,
        UNREADABLE: results.UNREADABLE,
    }
    row = plan.row
    return TableResult(
        table=row.table,
        outcome=outcomes[plan.action],
        cost=plan.cost,
        num_files=plan.files.num_files,
        size_in_bytes=plan.files.size_in_bytes,
        free_space=plan.files.size_in_bytes,
        reasons=plan.reasons,
        unblocking=plan.unblocking,
        before=row,
        version_before=row.version,
        error=row.error,
        message=row.message,
    )


def not_begun(plan: Plan, reason: str, failure: BaseException | None = None) -> TableResult:
    """Returns the result of a table that did not begin.

    Args:
        plan: The plan.
        reason: The reason why the table did not begin.
        failure: The error that ended the call; None if no error ended the call.
    """
    error, message = (None, None) if failure is None else described(failure)
    return replace(without_run(plan), reasons=(reason,), error=error, message=message)


def unknown(plan: Plan, failure: BaseException | None) -> TableResult:
    """Returns the result of a table that began, and that the call could not read afterwards."""
    return replace(not_begun(plan, "UNKNOWN", failure), outcome=results.FAILED)


def result_of(spark: SparkSession, goal: Goal, attempt: Attempt, row: SurveyedTable) -> TableResult:
    """Returns the result of a table after its run.

    Args:
        spark: The session.
        goal: The goal.
        attempt: The run.
        row: The table's row in the second survey.
    """
    now = goal.plan(row)
    result = replace(
        without_run(attempt.plan),
        outcome=_outcome(goal, attempt, row, now),
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
        message = _UNMAPPED if now.action == REACHED else _UNDONE
        result = replace(result, reasons=(CONFLICT,), message=message)
    if result.outcome == results.WAITING:
        result = replace(result, come_back=end_of_retention(spark, result.table))
    if attempt.leftovers is not None:
        left = attempt.leftovers
        result = replace(result, leftovers=left.files, removed_by=left.removed_by)
    return replace(result, **_counts(result.statements))


def _outcome(goal: Goal, attempt: Attempt, row: SurveyedTable, now: Plan) -> str:
    if row.error in _MISSING:
        return results.GONE
    if isinstance(goal, Alignment) and attempt.statements and _is_unmapped(row):
        # Another writer removed column mapping after a statement.
        return results.FAILED if attempt.cancelled is None else results.CANCELLED
    if now.action == REACHED:
        return results.DONE
    if attempt.cancelled is not None:
        return results.CANCELLED
    if now.action == BLOCKED:
        return results.BLOCKED
    # Delta without fast DROP FEATURE waits before the stage `readers` already.
    has_waited = any(each.waits for each in attempt.statements)
    is_waiting = now.only_waits or (has_waited and row.unmapped == NOTHING)
    if attempt.error is None and is_waiting:
        return results.WAITING
    return results.FAILED


def _is_unmapped(row: SurveyedTable) -> bool:
    """Returns whether column mapping is off, and no alignment will enable it again."""
    return row.mode == MODE_NONE and row.aligning is None


def _counts(statements: tuple[StatementResult, ...]) -> dict[str, Any]:
    """Returns the counts of the removal among the statements; empty if no statement has counts."""
    for each in statements:
        if each.copied is not None:
            return {"kept": each.kept, "copied": each.copied, "rewritten": each.rewritten}
    return {}
