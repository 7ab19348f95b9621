# SPDX-License-Identifier: Apache-2.0
"""Where a table stands with column mapping and usage tracking, as rows of our table functions.

Their times are SQL's, which Python has as a datetime in the time zone of its process.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


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
class HistoryRow:
    """A column that was added, dropped or renamed; the first four as for `FlagChange`.

    Args:
        version: None for a column that was there before the log begins, as the next three.
        timestamp: In the time zone of this process.
        operation: As DESCRIBE HISTORY names the statement.
        user_name: Or its id.
        change: `add`, `drop` or `rename`.
        id: The column's; None without one.
        old_name: Its path before, quoted where SQL wants it; None of one that was added.
        new_name: Its path afterwards; None of one that was dropped.
    """

    version: int | None
    timestamp: datetime | None
    operation: str | None
    user_name: str | None
    change: str
    id: int | None
    old_name: str | None
    new_name: str | None


@dataclass(frozen=True)
class ColumnChange(HistoryRow):
    """A column that was dropped or renamed, by a commit that the log has: see `HistoryRow`."""

    version: int
    old_name: str


@dataclass(frozen=True)
class StatusRow:
    """What is true of a table, and how it came to be so.

    Args:
        mode: The column mapping mode: `none`, `name` or `id`.
        tracked: Whether it has the feature `columnMappingUsageTracking`.
        has_dropped_or_renamed: The flag; None for an untracked table. One that is missing or not a
            boolean counts as true.
        min_reader_version: Of the protocol.
        min_writer_version: Of the protocol.
        reader_features: None below reader version 3.
        writer_features: None below writer version 7.
        true_since: What made the flag true; None where it is not, or where the log no longer
            goes back to it (`history_from`).
        dropped_or_renamed: Every column that was, oldest change first, tracked or not.
        history_from: The oldest version that the log still has; what was before is in none of
            this.
    """

    mode: str
    tracked: bool
    has_dropped_or_renamed: bool | None
    min_reader_version: int
    min_writer_version: int
    reader_features: tuple[str, ...] | None
    writer_features: tuple[str, ...] | None
    true_since: FlagChange | None
    dropped_or_renamed: tuple[ColumnChange, ...]
    history_from: int
