# SPDX-License-Identifier: Apache-2.0
"""Rows of the table functions about column mapping and usage tracking.

A time is a TIMESTAMP in SQL, and in Python a datetime in the time zone of the process.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True)
class FlagChange:
    """The commit that made the flag true; a field is None if the writer omitted the fact.

    Args:
        version: The version of the table.
        timestamp: The time of the version in the time zone of this process.
        operation: The operation as in DESCRIBE HISTORY.
        user_name: The name or the id of the user.
    """

    version: int
    timestamp: datetime | None
    operation: str | None
    user_name: str | None


@dataclass(frozen=True)
class HistoryRow:
    """A column that was added, dropped or renamed, with the fields of `ColumnChange`.

    The first four are None for a column that is older than the log, and `old_name` is None for an
    added column.
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
    """A column that was dropped or renamed; the first four fields are those of `FlagChange`.

    Args:
        version: The version of the table.
        timestamp: The time of the version in the time zone of this process.
        operation: The operation as in DESCRIBE HISTORY.
        user_name: The name or the id of the user.
        change: `drop` or `rename`.
        id: The column id; None if the column has none.
        old_name: The path before the change, quoted for SQL.
        new_name: The path after the change; None for a dropped column.
    """

    version: int
    old_name: str


@dataclass(frozen=True)
class StatusRow:
    """The status of a table, with the fields of `spark_ext.ColumnMappingStatus`.

    Features are None below reader version 3 and writer version 7.
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
