# SPDX-License-Identifier: Apache-2.0
"""Runs what gives columns their own names in files, and tells how far it came."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from spark_ext.errors import AlignmentOvertakenError, NotMappedError
from spark_ext.leave.alignment import AligningTable, marking_statement, statements_left
from spark_ext.leave.exits import NOTHING, disabling_statement
from spark_ext.show.tables import cell, facts_as_html, facts_as_text


@dataclass(frozen=True, repr=False)
class NameAlignment:
    """Whether the columns of a table have their own names in its files, and the way there.

    Args:
        table: Its name, as SQL wants it.
        aligned: Whether column mapping is on, the flag false, and every physical name the logical
            one.
        mode: The column mapping mode, as it is.
        cost: What leaving column mapping, the first step, costs: as in `ColumnMappingExit`, and
            `NOTHING` where that is done.
        num_files: How many files are copied or rewritten for it at most; 0 without either.
        size_in_bytes: Their size.
        done: The statements that were run, in order.
        statements: Those that are left.
    """

    table: str
    aligned: bool
    mode: str
    cost: str
    num_files: int
    size_in_bytes: int
    done: tuple[str, ...]
    statements: tuple[str, ...]

    def __repr__(self) -> str:
        parts = [
            f"\n{title}:\n  " + "\n  ".join(map(cell, statements))
            for title, statements in self._parts().items()
        ]
        return "\n".join([facts_as_text(self._facts()), *parts])

    def _repr_html_(self) -> str:
        parts = {title: "; ".join(statements) for title, statements in self._parts().items()}
        return facts_as_html(self._facts() | parts)

    def _facts(self) -> dict[str, Any]:
        return {
            "table": self.table,
            "aligned": self.aligned,
            "mode": self.mode,
            "cost": self.cost,
            "files": f"at most {self.num_files:,}",
            "bytes": f"at most {self.size_in_bytes:,}",
        }

    def _parts(self) -> dict[str, tuple[str, ...]]:
        parts = {"done": self.done, "left": self.statements}
        return {title: statements for title, statements in parts.items() if statements}


def align(
    look: Callable[[], AligningTable],
    run: Callable[[str], None],
    *,
    dry_run: bool,
    to_name_mode: bool,
) -> NameAlignment:
    """Runs one statement after the other, and looks where the table is after each.

    Raises:
        NotMappedError: As `statements_left`, as the next two.
        ModeIdLostError: USAGE_TRACKING_MODE_ID_LOST.
        NamesNotAlignableError: USAGE_TRACKING_NAMES_NOT_ALIGNABLE.
        AlignmentOvertakenError: USAGE_TRACKING_ALIGNMENT_OVERTAKEN.
    """
    done: list[str] = []
    mode: str | None = None
    while True:
        table = look()
        mode = mode or table.aligning or table.mode
        try:
            left = statements_left(table, to_name_mode=to_name_mode)
        except NotMappedError:
            if done[-1:] != [disabling_statement(table.name)]:
                raise
            # Another call had ended, and taken the property away, before this one left.
            done.append(marking_statement(table.name, mode))
            run(done[-1])
            continue
        if dry_run or not left:
            return _told(table, done, left)
        if left[0] in done:
            raise AlignmentOvertakenError(table=table.name, statement=left[0])
        run(left[0])
        done.append(left[0])


def _told(table: AligningTable, done: list[str], left: tuple[str, ...]) -> NameAlignment:
    step = table.unmapped
    # An aligned table could leave, and need not.
    leaves = not table.is_aligned
    return NameAlignment(
        table=table.name,
        aligned=table.is_aligned,
        mode=table.mode,
        cost=step.cost if leaves else NOTHING,
        num_files=step.num_files if leaves else 0,
        size_in_bytes=step.size_in_bytes if leaves else 0,
        done=tuple(done),
        statements=left,
    )
