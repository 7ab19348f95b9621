# SPDX-License-Identifier: Apache-2.0
"""The result of an erasure for each table, its verdict, and the steps that remain."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from spark_ext.lakehouse.earlier import EarlierFinding
from spark_ext.model.dropped import PURGE, VACUUM, DroppedColumn, ErasureStep
from spark_ext.model.erasure import (
    ERASED,
    LIVE,
    NEVER_HAD,
    STILL_PRESENT,
    UNKNOWN,
    ColumnErasure,
)
from spark_ext.wire.rows import as_row, plain

# The verdicts of a table that cannot be read, and of one that was not read.
UNREADABLE: Final = "UNREADABLE"
NOT_READ: Final = "NOT_READ"
# The worst first.
VERDICTS: Final = (UNREADABLE, LIVE, STILL_PRESENT, NOT_READ, UNKNOWN, ERASED, NEVER_HAD)

# Why a table was not read.
OTHER_FORMAT: Final = "OTHER_FORMAT"
INTERRUPTED: Final = "INTERRUPTED"

# The steps with a statement that deletes nothing early: PURGE keeps the old files, and VACUUM keeps
# files for the table's retention period. A call with `apply` runs them.
APPLIED: Final = (PURGE, VACUUM)


@dataclass(frozen=True)
class AppliedStep:
    """A step of an erasure that ran.

    Args:
        step: `PURGE` or `VACUUM`.
        statement: The SQL text.
        version_before: The newest version of the table before the statement, from 0.
        version_after: The newest version afterwards; None if the statement failed.
        seconds: The duration in seconds.
        error: The condition of the error, or the class of an error without a condition; None if
            the statement ended.
        message: The text of the error; None if the statement ended.
    """

    step: str
    statement: str
    version_before: int
    version_after: int | None
    seconds: float
    error: str | None = None
    message: str | None = None


@dataclass(frozen=True, kw_only=True)
class TableErasure:
    """One table of an erasure.

    Args:
        table: The full name of the table.
        erasure: The finding after the last step that ran. If the table cannot be read, the finding
            before the error; None if there is none.
        applied: The steps that ran, in order.
        earlier: The finding of an earlier certificate, or of this call before its first step; None
            without them, or if they found no column.
        error: The condition of the error, or the class of an error without a condition; None if
            the table was read.
        message: The text of the error; None if the table was read.
        not_read: Why the table was not read: `OTHER_FORMAT` or `INTERRUPTED`; None if it was.
        read_by: The other tables of the call that have live files in this table's folder, as
            shallow clones have. The call does not run `VACUUM`, which may delete these files.
    """

    table: str
    erasure: ColumnErasure | None = None
    applied: tuple[AppliedStep, ...] = ()
    earlier: EarlierFinding | None = None
    error: str | None = None
    message: str | None = None
    not_read: str | None = None
    read_by: tuple[str, ...] = ()

    @property
    def verdict(self) -> str:
        """Returns the verdict about the table, also `UNREADABLE` and `NOT_READ`."""
        if self.not_read is not None:
            return NOT_READ
        is_unreadable = self.erasure is None or self.message is not None
        return UNREADABLE if is_unreadable else self.erasure.verdict  # type: ignore[union-attr]

    @property
    def columns(self) -> tuple[DroppedColumn, ...]:
        """Returns the dropped columns that have, or may have, the name."""
        return () if self.erasure is None else self.erasure.columns

    @property
    def steps(self) -> tuple[ErasureStep, ...]:
        """Returns the remaining steps of all columns, each once with its latest time."""
        found: dict[tuple[str, str], ErasureStep] = {}
        for step in (step for column in self.columns for step in column.steps):
            known = found.get((step.step, step.statement))
            if known is None or (step.earliest or datetime.min) > (known.earliest or datetime.min):
                found[step.step, step.statement] = step
        return tuple(found.values())

    def as_object(self) -> dict[str, Any]:
        """Returns the table for JSON."""
        found: dict[str, Any] = plain({"verdict": self.verdict, **as_row(self)})
        return found


def due_steps(table: TableErasure) -> Iterator[ErasureStep]:
    """Yields the steps of the columns that have the name, except steps that only a catalog runs.

    A column of files that no schema names may be another column. Its steps are omitted unless an
    earlier certificate has its path in files. `VACUUM` is omitted if other tables read files here.
    """
    before = () if table.earlier is None else [each.physical_path for each in table.earlier.columns]
    unnamed = () if table.erasure is None else table.erasure.unnamed_columns
    for column in table.columns:
        path = column.physical_path
        is_named = path is not None and (path in before or path not in unnamed)
        if is_named or column.path is not None:
            for step in column.steps:
                if not (step.by_catalog or (step.step == VACUUM and table.read_by)):
                    yield step
