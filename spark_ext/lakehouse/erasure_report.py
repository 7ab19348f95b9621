# SPDX-License-Identifier: Apache-2.0
"""The result of an erasure over many tables, for programs and for people."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from spark_ext.api.dropped_result import PLACES, STEPS, name_of, places, time_in_words
from spark_ext.lakehouse.earlier import EarlierFinding
from spark_ext.lakehouse.erasure_results import (
    APPLIED,
    INTERRUPTED,
    OTHER_FORMAT,
    VERDICTS,
    TableErasure,
    due_steps,
)
from spark_ext.lakehouse.next_call import Call, NextCall
from spark_ext.lakehouse.signals import Interrupted
from spark_ext.model.erasure import ERASED, IN_SCHEMA, NEVER_HAD, UNKNOWN, ColumnErasure
from spark_ext.show.tables import Facts, Lines, Part, Rendered, Table, as_text
from spark_ext.wire.rows import plain

_WHY_NOT_READ = {
    OTHER_FORMAT: "it is not a Delta table, and may have the column",
    INTERRUPTED: "the call was interrupted before it was read",
}

_RENAMED = "and the log does not say whether it was dropped or renamed"

_SHOWN = 100


@dataclass(frozen=True, kw_only=True, repr=False)
class ErasureReport(Rendered):
    """Where the data of dropped columns exists in many tables.

    Args:
        column: The name or shell pattern; None for every dropped column.
        tables: The tables in the order of the places.
        version: The version of spark-ext.
        where: The requested places.
        filters: The options that chose some tables of these places, in words.
        num_views: The number of views in these places. A view contains no data.
        earlier: The entries of the earlier certificate that no table of this report replaces, as
            the objects of its JSON.
        interrupted: The signal that ended the call; None if none did.
        call: The call; None if it is not known.
    """

    column: str | None
    tables: tuple[TableErasure, ...]
    version: str
    where: tuple[str, ...] = ()
    filters: tuple[str, ...] = ()
    num_views: int = 0
    earlier: tuple[Mapping[str, Any], ...] = ()
    interrupted: str | None = None
    call: Call | None = None

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

    def certified(self, file: str | os.PathLike[str]) -> ErasureReport:
        """Returns the report of a call that writes a certificate, which the next call continues."""
        if self.call is None:
            return self
        options = {name: each for name, each in self.call.options.items() if name != "previous"}
        files = (("--certificate", os.fspath(file)),)
        return replace(self, call=replace(self.call, options=options, files=files))

    @property
    def next_call(self) -> NextCall | None:
        """Returns the call to run next, and from when; None if no call finds anything else."""
        if self.call is None or self.complete:
            return None
        if self.interrupted is not None:
            return NextCall(words="the same call again", earliest=None, calls=self.call.texts())
        steps = [step for table in self.tables for step in due_steps(table) if step.step in APPLIED]
        call = self.call.with_options(apply=True) if steps else self.call
        due = None if self.due is None else time_in_words(self.due)
        if any(step.earliest is None for step in steps) and call != self.call:
            later = "" if due is None else f", and once more from {due} on"
            return NextCall(words=f"delete the data{later}", earliest=None, calls=call.texts())
        if due is not None:
            words = f"the same call again, from {due} on"
            return NextCall(words=words, earliest=self.due, calls=call.texts())
        if all(table.not_read == OTHER_FORMAT for table in self.tables):
            return None
        words = "do what the tables need, and then the same call again"
        return NextCall(words=words, earliest=None, calls=call.texts())

    def as_objects(self) -> Iterator[dict[str, Any]]:
        """Yields an object with the sums, then one for each table, for lines of JSON."""
        yield plain(
            {
                "column": self.column,
                "where": self.where,
                "filters": self.filters,
                "verdicts": self.verdicts,
                "views": self.num_views,
                "complete": self.complete,
                "interrupted": self.interrupted,
                "due": self.due,
                "nextCall": self.next_call,
                "version": self.version,
            }
        )
        for table in self.tables:
            yield table.as_object()

    def text(self, *, shown: int | None = None) -> str:
        """Returns the sums and the first `shown` tables; None for all tables."""
        return as_text(self._parts(shown))

    def _parts(self, shown: int | None = _SHOWN) -> Iterator[Part]:
        yield Facts(
            {
                **({} if self.column is None else {"column": self.column}),
                **({"filters": self.filters} if self.filters else {}),
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
        if self.next_call is not None:
            yield from self.next_call.parts()


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
    """Returns why a table has its verdict, such as how far back the log goes, in words."""
    if table.not_read is not None:
        return _WHY_NOT_READ[table.not_read]
    found = table.erasure
    if found is None or table.message is not None:
        return table.error or table.message or ""
    words = {
        "LIVE": _live_in_words,
        "STILL_PRESENT": lambda _: _counted(sum(not column.gone for column in table.columns)),
        "UNKNOWN": lambda of: _unknown_in_words(of, table.earlier),
        "ERASED": lambda of: _erased_in_words(of, table.earlier),
        "NEVER_HAD": _since_in_words,
    }
    return words[found.verdict](found)


def _counted(number: int) -> str:
    return f"{number} column{'s' if number > 1 else ''} with data"


def _live_in_words(found: ColumnErasure) -> str:
    return "the schema has " + ", ".join(column.path for column in found.live_columns)


def _unknown_in_words(found: ColumnErasure, earlier: EarlierFinding | None) -> str:
    counts = {
        "files": found.unknown_files.num_files,
        "log files": found.unknown_log_files,
        "schemas": found.unknown_schemas,
    }
    parts = [f"{number} unreadable {name}" for name, number in counts.items() if number]
    if found.unnamed_columns:
        parts.append(f"files have {', '.join(found.unnamed_columns)}, whose name is not known")
    older = [name.path for name in found.names_in_log if name.source == IN_SCHEMA]
    if older:
        parts.append(f"an older file of the log has {', '.join(older)}, {_RENAMED}")
    if not parts and earlier is not None:
        live = ", ".join(str(column.path) for column in earlier.only_live)
        parts.append(f"the table of the certificate of {earlier.time} has {live}, {_RENAMED}")
    return "; ".join(parts)


def _erased_in_words(found: ColumnErasure, earlier: EarlierFinding | None) -> str:
    versions = [column.version for column in found.columns if column.version is not None]
    versions += [name.version for name in found.names_in_log if name.version is not None]
    if versions:
        return f"the log has the column until version {max(versions)}"
    if earlier is not None:
        return f"the column was found at {earlier.time}; {_since_in_words(found)}"
    return "the log has the column's name"


def _since_in_words(found: ColumnErasure) -> str:
    if found.oldest_version == 0:
        return "the log is whole, from version 0"
    since = "" if found.oldest_timestamp is None else f" of {time_in_words(found.oldest_timestamp)}"
    ids = found.forgotten_ids
    dropped = f"; {ids} column ids were dropped before" if ids else ""
    return f"the log goes back to version {found.oldest_version}{since}{dropped}"
