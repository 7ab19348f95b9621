# SPDX-License-Identifier: Apache-2.0
"""The result of an alignment of names, for programs and for people."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from spark_ext.api.goals import Begun, Plan
from spark_ext.api.statements import StatementResult, counted_in_words
from spark_ext.model.metadata import FileCount
from spark_ext.removal.stages import NOTHING
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


def alignment_of(plan: Plan, begun: Begun) -> NameAlignment:
    """Returns the state of a table after statements, and before those that remain."""
    row = plan.row
    # The removal from an aligned table is not part of the alignment.
    before = begun.removal.row if begun.removal else None if row.is_aligned else row
    cost = NOTHING if before is None else str(before.unmapped)
    files = FileCount() if before is None else before.files_to_change(cost)
    counted = [count for each in begun.done for count in (each.copied, each.rewritten) if count]
    if cost != NOTHING and counted:
        files = FileCount(
            sum(count.num_files for count in counted),
            sum(count.size_in_bytes for count in counted),
        )
    return NameAlignment(
        table=row.table,
        aligned=row.is_aligned,
        mode=str(row.mode),
        cost=cost,
        num_files=files.num_files,
        size_in_bytes=files.size_in_bytes,
        done=tuple(begun.done),
        statements=plan.statements,
    )
