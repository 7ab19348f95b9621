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
    """A column that was added, dropped or renamed, as `ColumnChange` has it.

    The first four are None for a column that was there before the log begins, `old_name` for one
    that was added.
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
    old_name: str


@dataclass(frozen=True)
class StatusRow:
    """Where a table stands, as `spark_ext.ColumnMappingStatus` has it.

    The features are None below reader version 3 and writer version 7.
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
