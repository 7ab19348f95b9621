# SPDX-License-Identifier: Apache-2.0
"""Runs the statements of an alignment of names, and returns their results."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from spark_ext.api.statements import FilesToChange, StatementResult, counted_in_words
from spark_ext.errors import AlignmentConflictError, NotMappedError
from spark_ext.model.metadata import FileCount
from spark_ext.removal.alignment import (
    marking_statement,
    remaining_statements,
    removing_statement,
    tracking_statement,
)
from spark_ext.removal.stages import NOTHING, removal_statement
from spark_ext.removal.survey import SurveyedTable
from spark_ext.show.tables import Facts, Lines, Part, Rendered


@dataclass(frozen=True, repr=False)
class NameAlignment(Rendered):
    """The state of an alignment of names: the statements that ran, and those that remain.

    Args:
        table: The name of the table as SQL reads it.
        aligned: Whether column mapping is on, the flag is false, and every physical name equals
            the logical name.
        mode: The current column mapping mode.
        cost: The cost of the removal of column mapping, as in `RemovalStage`; `NOTHING` if no
            removal is necessary.
        num_files: The number of files that the removal copies or rewrites; an upper bound until
            the removal is done and its counts are known.
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
        return self._of_removal(lambda result: result.kept)

    @property
    def copied(self) -> FileCount | None:
        """Returns the files that the removal copied; None as for `kept`."""
        return self._of_removal(lambda result: result.copied)

    @property
    def rewritten(self) -> FileCount | None:
        """Returns the files that Delta rewrote for the removal; None as for `kept`."""
        return self._of_removal(lambda result: result.rewritten)

    def _of_removal(self, count: Callable[[StatementResult], FileCount | None]) -> FileCount | None:
        return next((files for files in map(count, self.done) if files is not None), None)

    def _parts(self) -> Iterator[Part]:
        yield Facts(self._facts())
        if self.done:
            yield Lines("done:", tuple(map(str, self.done)))
        if self.statements:
            yield Lines("remaining:", self.statements)

    def _facts(self) -> dict[str, Any]:
        counted = counted_in_words(self.kept, self.copied, self.rewritten)
        at_most = f"at most {self.num_files:,} ({self.size_in_bytes:,} bytes)"
        facts: dict[str, Any] = {
            "table": self.table,
            "aligned": self.aligned,
            "mode": self.mode,
            "cost": self.cost,
            "files": counted or at_most,
        }
        if self.done:
            seconds = sum(result.seconds for result in self.done)
            versions = self.done[0].version_before, self.done[-1].version_after
            facts |= {"seconds": f"{seconds:.1f}", "versions": "{} to {}".format(*versions)}
        return facts


@dataclass(frozen=True)
class _Removal:
    """The cost of the removal of column mapping, and an upper bound of the files to change."""

    cost: str
    num_files: int = 0
    size_in_bytes: int = 0


def align(
    read: Callable[[], SurveyedTable],
    run: Callable[[str, int, FilesToChange | None], StatementResult],
    *,
    dry_run: bool,
    to_name_mode: bool,
) -> NameAlignment:
    """Runs one statement after the other, and reads the table again after each statement.

    Args:
        read: Reads the table, with its name for SQL.
        run: Runs a statement on a version of the table, with the files to change if the statement
            removes column mapping.
        dry_run: Whether to return before the first statement.
        to_name_mode: Whether a table in mode `id` may end in mode `name`.

    Raises:
        NotMappedError: USAGE_TRACKING_NOT_MAPPED.
        ModeIdLostError: USAGE_TRACKING_MODE_ID_LOST.
        CannotAlignNamesError: USAGE_TRACKING_CANNOT_ALIGN_NAMES.
        AlignmentConflictError: USAGE_TRACKING_ALIGNMENT_CONFLICT, if another writer undid a
            statement of this call, or removed column mapping meanwhile.
    """
    done: list[StatementResult] = []
    ran: set[str] = set()
    is_again = False
    removed: _Removal | None = None
    mode: str | None = None
    while True:
        row = read()
        assert row.version is not None
        mode = mode or row.aligning or str(row.mode)
        try:
            remaining = remaining_statements(row, to_name_mode=to_name_mode)
        except NotMappedError:
            if not done:
                raise
            marking = marking_statement(row.table, mode)
            if done[-1].statement != removal_statement(row.table):
                raise AlignmentConflictError(table=row.table, statement=marking) from None
            # Another call has ended and unset the property before this call removed mapping.
            ran.add(marking)
            done.append(run(marking, row.version, None))
            continue
        if dry_run or not remaining:
            return _alignment(row, removed, done, remaining)
        if row.has_dropped_or_renamed and tracking_statement(row.table) in ran and not is_again:
            # The untracked table had a flag, or another writer has renamed or dropped a column. The
            # removal and tracking run once more, with a DROP FEATURE that deletes the flag.
            ran, is_again = set(), True
        if remaining[0] in ran:
            raise AlignmentConflictError(table=row.table, statement=remaining[0])
        ran.add(remaining[0])
        removal = _removal(row) if remaining[0] == removing_statement(row) else None
        done.append(run(remaining[0], row.version, removal))
        removed = removal or removed


def _alignment(
    row: SurveyedTable,
    removed: _Removal | None,
    done: list[StatementResult],
    remaining: tuple[str, ...],
) -> NameAlignment:
    # The removal from an aligned table is not part of the alignment.
    removal = removed or (_Removal(NOTHING) if row.is_aligned else _removal(row))
    counted = [count for result in done for count in (result.copied, result.rewritten) if count]
    if removal.cost != NOTHING and counted:
        num_files = sum(count.num_files for count in counted)
        size_in_bytes = sum(count.size_in_bytes for count in counted)
        removal = _Removal(removal.cost, num_files, size_in_bytes)
    return NameAlignment(
        table=row.table,
        aligned=row.is_aligned,
        mode=str(row.mode),
        cost=removal.cost,
        num_files=removal.num_files,
        size_in_bytes=removal.size_in_bytes,
        done=tuple(done),
        statements=remaining,
    )


def _removal(row: SurveyedTable) -> _Removal:
    files = row.files_to_change(row.unmapped)
    return _Removal(str(row.unmapped), files.num_files, files.size_in_bytes)
