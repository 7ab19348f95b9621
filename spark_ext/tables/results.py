# SPDX-License-Identifier: Apache-2.0
"""The results of statements and calls, for programs and for people."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from spark_ext.model.keys import MODE_NONE
from spark_ext.model.metadata import FileCount, StatusRow
from spark_ext.model.rows import of_row
from spark_ext.removal.reasons import reason_in_words, what_to_do
from spark_ext.removal.row import SurveyedTable
from spark_ext.removal.stages import BLOCKED as BLOCKED_STAGE
from spark_ext.removal.stages import RemovalStage
from spark_ext.show import CARE, GOOD, Coloured, Facts, Lines, Part, Rendered, Table, cell

if TYPE_CHECKING:
    from pyspark.sql import Row


@dataclass(frozen=True)
class StatementResult:
    """The result of a statement.

    Args:
        version_before: The newest version of the table before the statement, from 0.
        version_after: The newest version afterwards, which may be of another writer; None if the
            table could not be read.
        waits: Whether Delta requires a second run after its retention period.
        kept: The files that a removal kept; a metadata-only removal counts no file. None if the
            statement removes no column mapping, or if its counts are unknown, as after Delta's
            rewrite beside other commits. The same holds for the next two.
        copied: The files that a removal copied, and their size before, in bytes.
        rewritten: The files that Delta rewrote for a removal, and their size before, in bytes.
    """

    statement: str
    version_before: int
    version_after: int | None
    seconds: float
    waits: bool = False
    kept: FileCount | None = None
    copied: FileCount | None = None
    rewritten: FileCount | None = None

    def __str__(self) -> str:
        after = "(unknown)" if self.version_after is None else self.version_after
        parts = [
            f"{cell(self.statement)}: version {self.version_before} to {after}",
            f"{self.seconds:.1f} s",
            *(["waits for the retention period"] if self.waits else []),
            *in_words(removal_counts((self,))),
        ]
        return ", ".join(parts)


def removal_counts(statements: Iterable[StatementResult]) -> dict[str, Any]:
    """Returns the known counts of the first removal among statements, by name."""
    for each in statements:
        counts = {name: getattr(each, name) for name in ("kept", "copied", "rewritten")}
        if any(counts.values()):
            return {name: count for name, count in counts.items() if count is not None}
    return {}


def in_words(counts: Mapping[str, FileCount]) -> list[str]:
    """Returns counts of files in words."""
    return [
        f"{count.num_files:,} {name} ({count.size_in_bytes:,} bytes)"
        for name, count in counts.items()
    ]


def total(counts: Iterable[FileCount]) -> FileCount:
    """Returns the sum of counts."""
    known = list(counts)
    return FileCount(
        sum(each.num_files for each in known), sum(each.size_in_bytes for each in known)
    )


NO_FILES = dict.fromkeys(("kept", "copied", "rewritten"), FileCount())

_COLUMNS = ("stage", "reached", "cost", "files", "bytes")
# A wide table has a reason for each of its columns.
_REASONS = 3


class RemovalStages(Rendered, list[RemovalStage]):
    """The three stages, from `unmapped` to `writers`: a list that prints as a table.

    `done` has the results of the statements that ran, in order.
    """

    def __init__(
        self, stages: Iterable[RemovalStage] = (), done: tuple[StatementResult, ...] = ()
    ) -> None:
        super().__init__(stages)
        self.done = done

    def _parts(self) -> Iterator[Part]:
        yield Table(_COLUMNS, list(map(_cells, self)), "The removal stages")
        for stage in self:
            if stage.reasons or stage.statements:
                advice = what_to_do(stage.reasons) if stage.cost == BLOCKED_STAGE else None
                lines = (*stage.statements, *([advice] if advice else []))
                yield Lines(f"{stage.stage}: {_reasons(stage)}".rstrip(), lines)
        if self.done:
            yield Lines("done:", tuple(map(str, self.done)))


def _cells(stage: RemovalStage) -> tuple[Any, ...]:
    numbers = (stage.num_files, stage.size_in_bytes)
    counts = (f"{number:,}" if stage.exact else f"at most {number:,}" for number in numbers)
    return (stage.stage, stage.reached, stage.cost, *counts)


def _reasons(stage: RemovalStage) -> str:
    shown = cell(list(map(reason_in_words, stage.reasons[:_REASONS])))
    more = len(stage.reasons) - _REASONS
    return f"{shown} and {more:,} more" if more > 0 else shown


@dataclass(frozen=True, repr=False)
class NameAlignment(Rendered):
    """The state of an alignment of names: the statements that ran, and those that remain.

    Args:
        aligned: Whether column mapping is on, the flag is false, and every physical name equals the
            logical name.
        mode: The current column mapping mode.
        cost: The cost of the removal of column mapping, as in `RemovalStage`; `NOTHING` if no
            removal is necessary.
        num_files: The number of files that the removal copies or rewrites; an upper bound until the
            removal is done and its counts are known.
        size_in_bytes: The size of these files, in bytes.
        done: The results of the statements that ran, in order.
        statements: The statements that remain.
    """

    table: str
    aligned: bool
    mode: str
    cost: str
    num_files: int
    size_in_bytes: int
    done: tuple[StatementResult, ...]
    statements: tuple[str, ...]

    @property
    def kept(self) -> FileCount | None:
        """Returns the files that the removal kept; None before it, or without counts."""
        return removal_counts(self.done).get("kept")

    @property
    def copied(self) -> FileCount | None:
        """Returns the files that the removal copied; None as for `kept`."""
        return removal_counts(self.done).get("copied")

    @property
    def rewritten(self) -> FileCount | None:
        """Returns the files that Delta rewrote for the removal; None as for `kept`."""
        return removal_counts(self.done).get("rewritten")

    def _parts(self) -> Iterator[Part]:
        at_most = f"at most {self.num_files:,} ({self.size_in_bytes:,} bytes)"
        facts: dict[str, Any] = {
            "table": self.table,
            "aligned": self.aligned,
            "mode": self.mode,
            "cost": self.cost,
            "files": in_words(removal_counts(self.done)) or at_most,
        }
        if self.done:
            seconds = sum(result.seconds for result in self.done)
            versions = f"{self.done[0].version_before} to {self.done[-1].version_after}"
            facts |= {"seconds": f"{seconds:.1f}", "versions": versions}
        yield Facts(facts)
        if self.done:
            yield Lines("done:", tuple(map(str, self.done)))
        if self.statements:
            yield Lines("remaining:", self.statements)


# A table may have thousands of changes; only the newest are shown.
_SHOWN = 20
_NEXT = (
    "UsageTracking.align_names(dry_run=True)",
    "UsageTracking.remove_column_mapping(dry_run=True)",
)
_CHANGES = {
    **{name: name for name in ("version", "timestamp", "operation")},
    **{"user": "user_name", "change": "change", "old name": "old_name", "new name": "new_name"},
}


@dataclass(frozen=True, repr=False)
class ColumnMappingStatus(Rendered, StatusRow):
    """The status of a table, and the changes that led to it.

    Args:
        mode: The column mapping mode: `none`, `name` or `id`.
        tracked: Whether the table has the feature `columnMappingUsageTracking`.
        has_dropped_or_renamed: The flag; None for an untracked table. A flag that is missing or not
            a boolean counts as true.
        true_since: The commit that made the flag true; None if the flag is not true, or if the log
            no longer has that commit (`history_from`).
        reader_features: Empty below reader version 3.
        writer_features: Empty below writer version 7.
        dropped_or_renamed: The drops and renames of columns, oldest first, tracked or not.
        history_from: The oldest version in the log, from 0; earlier changes are unknown.
    """

    table: str
    reader_features: tuple[str, ...]
    writer_features: tuple[str, ...]

    def _parts(self) -> Iterator[Part]:
        features = sorted({*self.reader_features, *self.writer_features})
        versions = f"reader {self.min_reader_version}, writer {self.min_writer_version}"
        number = len(self.dropped_or_renamed)
        newest = self.dropped_or_renamed[-_SHOWN:]
        yield Facts(
            {
                "table": self.table,
                "mode": self.mode,
                "tracked": self.tracked,
                "has dropped or renamed": self._flag(),
                "protocol": versions,
                "features": features,
                "history": f"from version {self.history_from}" if self.history_from else "whole",
                "columns dropped or renamed": f"{number:,}"
                + (f", the newest {_SHOWN}:" if number > _SHOWN else ""),
            }
        )
        if newest:
            yield Table.of(_CHANGES, newest, "Columns that were dropped or renamed")
        if self.mode != MODE_NONE and self.has_dropped_or_renamed is not False:
            yield Lines("Next, see the cost of readable names, or of the removal:", _NEXT)

    def _flag(self) -> Coloured | None:
        if not self.has_dropped_or_renamed:
            return None if self.has_dropped_or_renamed is None else Coloured("false", GOOD)
        since = self.true_since
        if since is None:
            return Coloured("true, since a version that the log no longer has", CARE)
        known = {"": since.operation, "by ": since.user_name, "at ": since.timestamp}
        details = [f"{word}{value}" for word, value in known.items() if value is not None]
        more = f" ({', '.join(details)})" * bool(details)
        return Coloured(f"true since version {since.version}{more}", CARE)


def status_of(table: str, row: Row) -> ColumnMappingStatus:
    """Returns the status in the row of `column_mapping_status`. Raises as `of_row`."""
    values = vars(of_row(StatusRow, row))
    features = {name: values[name] or () for name in ("reader_features", "writer_features")}
    return ColumnMappingStatus(**(values | features), table=table)


# The outcomes of a table, in the order of the sums.
PLANNED, DONE, ALREADY_DONE, GONE, WAITING = "PLANNED", "DONE", "ALREADY_DONE", "GONE", "WAITING"
NOT_BEGUN, CANCELLED, BLOCKED = "NOT_BEGUN", "CANCELLED", "BLOCKED"
UNREADABLE, FAILED = "UNREADABLE", "FAILED"
OUTCOMES = (
    *(PLANNED, DONE, ALREADY_DONE, GONE, WAITING),
    *(NOT_BEGUN, CANCELLED, BLOCKED, UNREADABLE, FAILED),
)
# No later call has anything to do for these tables.
# GONE is not in the set: a renamed table exists under another name.
COMPLETE = {DONE, ALREADY_DONE}

# Why a table did not begin.
BYTES, TIME, ERRORS = "BUDGET_OF_BYTES", "BUDGET_OF_TIME", "BUDGET_OF_ERRORS"
INTERRUPTED, PROGRESS_FAILED, CALL_FAILED = "INTERRUPTED", "PROGRESS_FAILED", "CALL_FAILED"


@dataclass(frozen=True, kw_only=True)
class TableResult:
    """The result for one table.

    Args:
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
        kept: The files that the removal of this call kept; None without a removal, or if unknown,
            as are `copied` and `rewritten`.
        copied: The files whose bytes were copied.
        rewritten: The files that Delta rewrote.
        seconds: The duration; None if `after` is None.
        version_before: The version in `before`; `version_after` that in `after`, which may be of
            another writer.
        error: The condition of the error, or the class of an error without a condition.
        come_back: The earliest time at which the same call finishes the table.
        leftovers: Files of the table's folder that no version in the log names, such as copies of a
            driver that was killed; None if the call did not look for them, or could not.
        removed_by: The statement that removes these files, and its earliest time; or why the call
            could not look for them. None without such files.
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
        return total((self.copied, self.rewritten))


@dataclass(frozen=True)
class OutcomeSum:
    """The tables with one outcome, and their files that were copied or rewritten.

    For tables without these counts, the upper bound of their plans counts.
    """

    outcome: str
    num_tables: int
    num_files: int
    size_in_bytes: int
