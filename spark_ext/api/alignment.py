# SPDX-License-Identifier: Apache-2.0
"""Runs what gives columns their own names in files, and tells how far it came."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from spark_ext.api.statements import StatementResult, counted_in_words
from spark_ext.errors import AlignmentConflictError, NotMappedError
from spark_ext.model.metadata import FileCount
from spark_ext.removal.alignment import AligningTable, marking_statement, statements_left
from spark_ext.removal.stages import NOTHING, RemovalStage, removal_statement
from spark_ext.show.tables import Facts, Lines, Part, Rendered


@dataclass(frozen=True, repr=False)
class NameAlignment(Rendered):
    """Whether the columns of a table have their own names in its files, and the way there.

    Args:
        table: Its name, as SQL wants it.
        aligned: Whether column mapping is on, the flag false, and every physical name the logical
            one.
        mode: The column mapping mode, as it is.
        cost: What the removal of column mapping, the first step, costs, or did cost in this call:
            as in `RemovalStage`; `NOTHING` if this call does not remove it.
        num_files: How many files are copied or rewritten for it: at most, until it is done.
        size_in_bytes: Their size.
        done: What each statement did that was run, in order.
        statements: Those that are left.
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
        """Files that the removal kept; None until it is done, or if its commit does not tell."""
        return self._of_removal(lambda result: result.kept)

    @property
    def copied(self) -> FileCount | None:
        """Files of which the removal copied the bytes; None as for `kept`."""
        return self._of_removal(lambda result: result.copied)

    @property
    def rewritten(self) -> FileCount | None:
        """Files that the removal had Delta rewrite; None as for `kept`."""
        return self._of_removal(lambda result: result.rewritten)

    def _of_removal(self, count: Callable[[StatementResult], FileCount | None]) -> FileCount | None:
        return next((found for found in map(count, self.done) if found is not None), None)

    def _parts(self) -> Iterator[Part]:
        yield Facts(self._facts())
        if self.done:
            yield Lines("done:", tuple(map(str, self.done)))
        if self.statements:
            yield Lines("left:", self.statements)

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


def align(
    look: Callable[[], AligningTable],
    run: Callable[[str, int, RemovalStage | None], StatementResult],
    *,
    dry_run: bool,
    to_name_mode: bool,
) -> NameAlignment:
    """Runs one statement after the other, and looks where the table is after each.

    Raises:
        NotMappedError: As `statements_left`, as the next two.
        ModeIdLostError: USAGE_TRACKING_MODE_ID_LOST.
        CannotAlignNamesError: USAGE_TRACKING_CANNOT_ALIGN_NAMES.
        AlignmentConflictError: USAGE_TRACKING_ALIGNMENT_CONFLICT.
    """
    done: list[StatementResult] = []
    removed: RemovalStage | None = None
    mode: str | None = None
    while True:
        table = look()
        mode = mode or table.aligning or table.mode
        try:
            left = statements_left(table, to_name_mode=to_name_mode)
        except NotMappedError:
            if not done or done[-1].statement != removal_statement(table.name):
                raise
            # Another call had ended, and taken the property away, before this one left.
            done.append(run(marking_statement(table.name, mode), table.version, None))
            continue
        if dry_run or not left:
            return _told(table, removed, done, left)
        if left[0] in (result.statement for result in done):
            raise AlignmentConflictError(table=table.name, statement=left[0])
        removal = table.unmapped if left[0] in table.unmapped.statements else None
        done.append(run(left[0], table.version, removal))
        removed = removal or removed


def _told(
    table: AligningTable,
    removed: RemovalStage | None,
    done: list[StatementResult],
    left: tuple[str, ...],
) -> NameAlignment:
    # An aligned table could leave, and need not.
    step = removed or (None if table.is_aligned else table.unmapped)
    counted = [count for result in done for count in (result.copied, result.rewritten) if count]
    if step is not None and counted:
        num_files = sum(count.num_files for count in counted)
        size_in_bytes = sum(count.size_in_bytes for count in counted)
        step = replace(step, num_files=num_files, size_in_bytes=size_in_bytes)
    return NameAlignment(
        table=table.name,
        aligned=table.is_aligned,
        mode=table.mode,
        cost=NOTHING if step is None else step.cost,
        num_files=0 if step is None else step.num_files,
        size_in_bytes=0 if step is None else step.size_in_bytes,
        done=tuple(done),
        statements=left,
    )
