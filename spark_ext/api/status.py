# SPDX-License-Identifier: Apache-2.0
"""Where a table stands with column mapping and usage tracking, for Python and for people."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from spark_ext.show.tables import as_html, as_text, facts_as_html, facts_as_text

# How many changes are shown, the newest: a table may have thousands.
_SHOWN = 20
_CHANGES = ("version", "timestamp", "operation", "user", "change", "old name", "new name")


@dataclass(frozen=True)
class FlagChange:
    """The commit that made the flag true; None where the writer left no such word.

    Args:
        version: Of the table.
        timestamp: In the time zone of this process.
        operation: As DESCRIBE HISTORY names the statement.
        user_name: Or its id.
    """

    version: int
    timestamp: datetime | None
    operation: str | None
    user_name: str | None


@dataclass(frozen=True)
class ColumnChange:
    """A column that was dropped or renamed; the first four as for `FlagChange`.

    Args:
        version: Of the table.
        timestamp: In the time zone of this process.
        operation: As DESCRIBE HISTORY names the statement.
        user_name: Or its id.
        change: `drop` or `rename`.
        id: The column's; None without one.
        old_name: Its path before, quoted where SQL wants it.
        new_name: Its path afterwards; None of one that was dropped.
    """

    version: int
    timestamp: datetime | None
    operation: str | None
    user_name: str | None
    change: str
    id: int | None
    old_name: str
    new_name: str | None


@dataclass(frozen=True, repr=False)
class ColumnMappingStatus:
    """Where a table stands, and how it got there.

    Args:
        table: Its full name.
        mode: The column mapping mode: `none`, `name` or `id`.
        tracked: Whether it has the feature `columnMappingUsageTracking`.
        has_dropped_or_renamed: The flag; None for an untracked table. One that is missing or not a
            boolean counts as true.
        true_since: What made the flag true; None where it is not, or where the log no longer
            goes back to it (`history_from`).
        min_reader_version: Of the protocol.
        min_writer_version: Of the protocol.
        reader_features: None of them below reader version 3.
        writer_features: None of them below writer version 7.
        dropped_or_renamed: Every column that was, oldest change first, tracked or not.
        history_from: The oldest version that the log still has; what was before is in none
            of this.
    """

    table: str
    mode: str
    tracked: bool
    has_dropped_or_renamed: bool | None
    true_since: FlagChange | None
    min_reader_version: int
    min_writer_version: int
    reader_features: tuple[str, ...]
    writer_features: tuple[str, ...]
    dropped_or_renamed: tuple[ColumnChange, ...]
    history_from: int

    def __repr__(self) -> str:
        facts = facts_as_text({"table": self.table, **self._facts()})
        if not self.dropped_or_renamed:
            return facts
        return f"{facts}\n\n{as_text(self._changes(), _CHANGES)}"

    def _repr_html_(self) -> str:
        changes = as_html(self._changes(), _CHANGES) if self.dropped_or_renamed else ""
        return facts_as_html({"table": self.table, **self._facts()}) + changes

    def _facts(self) -> dict[str, Any]:
        features = sorted({*self.reader_features, *self.writer_features})
        versions = f"reader {self.min_reader_version}, writer {self.min_writer_version}"
        return {
            "mode": self.mode,
            "tracked": self.tracked,
            "has dropped or renamed": self._flag(),
            "protocol": versions,
            "features": features,
            "history": "whole" if self.history_from == 0 else f"from version {self.history_from}",
            "columns dropped or renamed": self._number_of_changes(),
        }

    def _flag(self) -> str | None:
        if not self.has_dropped_or_renamed:
            return None if self.has_dropped_or_renamed is None else "false"
        since = self.true_since
        if since is None:
            return "true, since a version that the log no longer tells of"
        known = {"": since.operation, "by ": since.user_name, "at ": since.timestamp}
        details = [f"{word}{value}" for word, value in known.items() if value is not None]
        return f"true since version {since.version}" + (f" ({', '.join(details)})" * bool(details))

    def _number_of_changes(self) -> str:
        number = len(self.dropped_or_renamed)
        return f"{number:,}, the newest {_SHOWN}:" if number > _SHOWN else f"{number:,}"

    def _changes(self) -> list[tuple[Any, ...]]:
        return [
            (
                change.version,
                change.timestamp,
                change.operation,
                change.user_name,
                change.change,
                change.old_name,
                change.new_name,
            )
            for change in self.dropped_or_renamed[-_SHOWN:]
        ]
