# SPDX-License-Identifier: Apache-2.0
"""The result of an erasure over many tables, for programs and for people."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from spark_ext.api.dropped_result import PLACES, STEPS, name_of, places, time_in_words
from spark_ext.lakehouse.earlier import EarlierFinding
from spark_ext.lakehouse.signals import Interrupted
from spark_ext.model.dropped import DroppedColumn, ErasureStep
from spark_ext.model.erasure import (
    ERASED,
    LIVE,
    NEVER_HAD,
    STILL_PRESENT,
    UNKNOWN,
    ColumnErasure,
)
from spark_ext.show.tables import Facts, Lines, Part, Rendered, Table, as_text
from spark_ext.wire.rows import as_row

# The verdicts of a table that cannot be read, and of one that was not read.
UNREADABLE: Final = "UNREADABLE"
NOT_READ: Final = "NOT_READ"
# The worst first.
VERDICTS: Final = (UNREADABLE, LIVE, STILL_PRESENT, NOT_READ, UNKNOWN, ERASED, NEVER_HAD)

# Why a table was not read.
OTHER_FORMAT: Final = "OTHER_FORMAT"
INTERRUPTED: Final = "INTERRUPTED"
_WHY_NOT_READ = {
    OTHER_FORMAT: "it is not a Delta table, and may have the column",
    INTERRUPTED: "the call was interrupted before it was read",
}

_SHOWN = 100


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
        earlier: The finding of an earlier certificate; None without one, or without a column.
        error: The condition of the error, or the class of an error without a condition; None if
            the table was read.
        message: The text of the error; None if the table was read.
        not_read: Why the table was not read: `OTHER_FORMAT` or `INTERRUPTED`; None if it was.
    """

    table: str
    erasure: ColumnErasure | None = None
    applied: tuple[AppliedStep, ...] = ()
    earlier: EarlierFinding | None = None
    error: str | None = None
    message: str | None = None
    not_read: str | None = None

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
        return {"verdict": self.verdict, **as_row(self)}


@dataclass(frozen=True, kw_only=True, repr=False)
class ErasureReport(Rendered):
    """Where the data of dropped columns exists in many tables.

    Args:
        column: The name or shell pattern; None for every dropped column.
        tables: The tables in the order of the places.
        version: The version of spark-ext.
        where: The requested places.
        num_views: The number of views in these places. A view contains no data.
        earlier: The entries of the earlier certificate that no table of this report replaces, as
            the objects of its JSON.
        interrupted: The signal that ended the call; None if none did.
    """

    column: str | None
    tables: tuple[TableErasure, ...]
    version: str
    where: tuple[str, ...] = ()
    num_views: int = 0
    earlier: tuple[Mapping[str, Any], ...] = ()
    interrupted: str | None = None

    @property
    def verdict(self) -> str:
        """Returns the worst verdict of all tables; `UNKNOWN` without tables."""
        return next(iter(self.verdicts), UNKNOWN)

    @property
    def complete(self) -> bool:
        """Returns whether tables exist, and every table was read and has no remaining data."""
        return self.verdict in (ERASED, NEVER_HAD)

    @property
    def verdicts(self) -> Mapping[str, int]:
        """Returns the number of tables by verdict, the worst first."""
        known = [table.verdict for table in self.tables]
        return {each: known.count(each) for each in VERDICTS if each in known}

    @property
    def due(self) -> datetime | None:
        """Returns the earliest time of a step that waits; None if no step waits for a time."""
        times = (step.earliest for table in self.tables for step in table.steps)
        return min((time for time in times if time is not None), default=None)

    def as_objects(self) -> Iterator[dict[str, Any]]:
        """Yields an object with the sums, and one for each table."""
        yield {
            "sums": {
                "column": self.column,
                "where": self.where,
                "verdicts": self.verdicts,
                "views": self.num_views,
                "complete": self.complete,
                "interrupted": self.interrupted,
                "due": self.due,
                "version": self.version,
            }
        }
        for table in self.tables:
            yield table.as_object()

    def text(self, *, shown: int | None = None) -> str:
        """Returns the sums and the first `shown` tables; None for all tables."""
        return as_text(self._parts(shown))

    def _parts(self, shown: int | None = _SHOWN) -> Iterator[Part]:
        yield Facts(
            {
                **({} if self.column is None else {"column": self.column}),
                **({"interrupted by": self.interrupted} if self.interrupted else {}),
                "tables": len(self.tables),
                **self.verdicts,
                **({"views": self.num_views} if self.num_views else {}),
                **({} if self.due is None else {"next step from": time_in_words(self.due)}),
            }
        )
        chosen = self.tables[:shown]
        verdicts = [(table.table, table.verdict, reason(table)) for table in chosen]
        data = [(t.table, *places(column)) for t in chosen for column in t.columns]
        steps = [row for table in chosen for row in _steps(table)]
        for caption, columns, rows in (
            ("The verdict about each table", ("table", "verdict", "because"), verdicts),
            ("Where the data is", ("table", *PLACES), data),
            ("What deletes the data", ("table", *STEPS), steps),
            ("Steps that ran", ("table", "ran", "versions", "seconds", "error"), _applied(chosen)),
        ):
            if rows := list(rows):
                yield Table(columns, rows, caption)
        if len(self.tables) > len(chosen):
            yield Lines(f"({len(self.tables) - len(chosen):,} more tables)")


class ErasureInterrupted(Interrupted):
    """SIGINT or SIGTERM ended `dropped_columns`."""

    report: ErasureReport


def _steps(table: TableErasure) -> Iterator[tuple[Any, ...]]:
    for column in table.columns:
        for step in column.steps:
            earliest = time_in_words(step.earliest)
            yield table.table, name_of(column), step.step, earliest, step.statement


def _applied(tables: tuple[TableErasure, ...]) -> Iterator[tuple[Any, ...]]:
    for table in tables:
        for step in table.applied:
            after = "" if step.version_after is None else f" to {step.version_after}"
            error = step.error or step.message
            yield (
                table.table,
                step.step,
                f"{step.version_before}{after}",
                round(step.seconds, 1),
                error,
            )


def reason(table: TableErasure) -> str:
    """Returns why a table has its verdict, and how far that goes, in words."""
    if table.not_read is not None:
        return _WHY_NOT_READ[table.not_read]
    found = table.erasure
    if found is None or table.message is not None:
        return table.error or table.message or ""
    words = {
        "LIVE": _live_in_words,
        "STILL_PRESENT": lambda _: _counted(sum(not column.gone for column in table.columns)),
        "UNKNOWN": _unknown_in_words,
        "ERASED": lambda of: _erased_in_words(of, table.earlier),
        "NEVER_HAD": _since_in_words,
    }
    return words[found.verdict](found)


def _counted(number: int) -> str:
    return f"{number} column{'s' if number > 1 else ''} with data"


def _live_in_words(found: ColumnErasure) -> str:
    return "the schema has " + ", ".join(column.path for column in found.live_columns)


def _unknown_in_words(found: ColumnErasure) -> str:
    counts = {
        "files": found.unknown_files.num_files,
        "log files": found.unknown_log_files,
        "schemas": found.unknown_schemas,
    }
    parts = [f"{number} unreadable {name}" for name, number in counts.items() if number]
    if found.unnamed_columns:
        parts.append(f"files have {', '.join(found.unnamed_columns)}, whose name is not known")
    return "; ".join(parts)


def _erased_in_words(found: ColumnErasure, earlier: EarlierFinding | None) -> str:
    versions = [column.version for column in found.columns if column.version is not None]
    versions += [name.version for name in found.names_in_log if name.version is not None]
    if versions:
        return f"the log has the column until version {max(versions)}"
    if earlier is not None:
        return f"a certificate of {earlier.time} has the column; {_since_in_words(found)}"
    return "the log has the column's name"


def _since_in_words(found: ColumnErasure) -> str:
    if found.oldest_version == 0:
        return "the log is whole, from version 0"
    since = "" if found.oldest_timestamp is None else f" of {time_in_words(found.oldest_timestamp)}"
    ids = found.forgotten_ids
    dropped = f"; {ids} column ids were dropped before" if ids else ""
    return f"the log goes back to version {found.oldest_version}{since}{dropped}"
