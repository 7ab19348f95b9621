# SPDX-License-Identifier: Apache-2.0
"""The result of a call for each table, its outcome, and the sums by outcome."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from spark_ext.api.statements import StatementResult
from spark_ext.model.metadata import FileCount
from spark_ext.removal.survey import SurveyedTable

# The outcomes of a table, in the order of the sums.
PLANNED = "PLANNED"
DONE = "DONE"
ALREADY_DONE = "ALREADY_DONE"
GONE = "GONE"
WAITING = "WAITING"
NOT_BEGUN = "NOT_BEGUN"
CANCELLED = "CANCELLED"
BLOCKED = "BLOCKED"
UNREADABLE = "UNREADABLE"
FAILED = "FAILED"
OUTCOMES = (
    *(PLANNED, DONE, ALREADY_DONE, GONE, WAITING),
    *(NOT_BEGUN, CANCELLED, BLOCKED, UNREADABLE, FAILED),
)
# No later call has anything to do for these tables.
# GONE is not in the set: a renamed table exists under another name.
COMPLETE = {DONE, ALREADY_DONE}


@dataclass(frozen=True, kw_only=True)
class TableResult:
    """The result for one table.

    Args:
        table: The full name of the table.
        outcome: `PLANNED` (dry run); `DONE`, by this call or by another driver during the call;
            `ALREADY_DONE` before the call; `GONE` if no table has the name any more, because it was
            dropped or renamed; `WAITING` for Delta's retention period; `NOT_BEGUN`; `CANCELLED`
            (the table is as before the last statement); `BLOCKED`; `UNREADABLE`; `FAILED`.
        cost: The highest cost of the planned statements, as in `RemovalStage`; None if none runs.
        num_files: An upper bound of the files to copy or rewrite.
        size_in_bytes: The size of these files, in bytes.
        free_space: The bytes that the storage needs for copies until VACUUM, an upper bound.
        reasons: The reasons why the table is blocked, did not begin, was cancelled or had a
            conflict; `UNKNOWN` if the call could not determine the outcome.
        unblocking: Sentences and statements that remove the reasons.
        before: The row of the survey, or of a later reading just before the table ran.
        after: The row of a second survey after the run; None for a table that did not begin, or
            that has the reason `UNKNOWN`.
        statements: The results of the statements that ran.
        kept: The files that the removal of this call kept; None without a removal, or if unknown,
            as are `copied` and `rewritten`.
        copied: The files whose bytes were copied.
        rewritten: The files that Delta rewrote.
        seconds: The duration; None if `after` is None.
        version_before: The version in `before`.
        version_after: The version in `after`. Other writers may have committed in between.
        error: The condition of the error, or the class of an error without a condition.
        message: The text of the error.
        come_back: The earliest time at which the same call finishes the table.
        leftovers: Files of the table's folder that no version in the log names, such as copies of
            a driver that was killed; None if the call did not look for them, or could not.
        removed_by: The statement that removes these files, and its earliest time; or why the
            call could not look for them. None without such files.
    """

    table: str
    outcome: str
    cost: str | None = None
    num_files: int = 0
    size_in_bytes: int = 0
    free_space: int = 0
    reasons: tuple[str, ...] = ()
    unblocking: str | None = None
    before: SurveyedTable | None = None
    after: SurveyedTable | None = None
    statements: tuple[StatementResult, ...] = ()
    kept: FileCount | None = None
    copied: FileCount | None = None
    rewritten: FileCount | None = None
    seconds: float | None = None
    version_before: int | None = None
    version_after: int | None = None
    error: str | None = None
    message: str | None = None
    come_back: datetime | None = None
    leftovers: FileCount | None = None
    removed_by: str | None = None

    @property
    def changed(self) -> FileCount:
        """Returns the files that were copied or rewritten, or the upper bounds without counts."""
        if self.copied is None or self.rewritten is None:
            return FileCount(self.num_files, self.size_in_bytes)
        return FileCount(
            self.copied.num_files + self.rewritten.num_files,
            self.copied.size_in_bytes + self.rewritten.size_in_bytes,
        )


@dataclass(frozen=True)
class OutcomeSum:
    """The tables with one outcome.

    Args:
        outcome: The outcome.
        num_tables: The number of tables.
        num_files: The files that were copied or rewritten; for tables without these counts, the
            upper bound of their plans.
        size_in_bytes: The size of these files, in bytes.
    """

    outcome: str
    num_tables: int
    num_files: int
    size_in_bytes: int


def sums(tables: Sequence[TableResult]) -> tuple[OutcomeSum, ...]:
    """Returns the sums of each outcome that a table has."""
    found = {outcome: [each for each in tables if each.outcome == outcome] for outcome in OUTCOMES}
    return tuple(_sum(outcome, each) for outcome, each in found.items() if each)


def _sum(outcome: str, tables: Sequence[TableResult]) -> OutcomeSum:
    counts = [each.changed for each in tables]
    return OutcomeSum(
        outcome,
        len(counts),
        sum(count.num_files for count in counts),
        sum(count.size_in_bytes for count in counts),
    )
