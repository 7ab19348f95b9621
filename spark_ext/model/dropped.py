# SPDX-License-Identifier: Apache-2.0
"""The places that remain of dropped columns, and the verdict about a column."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

LIVE: Final = "LIVE"
STILL_PRESENT: Final = "STILL_PRESENT"
UNKNOWN: Final = "UNKNOWN"
ERASED: Final = "ERASED"
NEVER_HAD: Final = "NEVER_HAD"
# The verdicts of a table that cannot be read, and of one that was not read.
UNREADABLE: Final = "UNREADABLE"
NOT_READ: Final = "NOT_READ"
# The worst first.
VERDICTS: Final = (UNREADABLE, LIVE, STILL_PRESENT, NOT_READ, UNKNOWN, ERASED, NEVER_HAD)

PURGE, REWRITE, SOURCE, VACUUM = "PURGE", "REWRITE", "SOURCE", "VACUUM"
LOG_CLEANUP, BY_HAND = "LOG CLEANUP", "BY HAND"


@dataclass(frozen=True)
class DroppedPlace:
    """A place that may contain data of dropped columns.

    Args:
        place: `live files`; `source files`, live files in the folder of another table, as a shallow
            clone has; `older files`, in the table's folder and not live; `change data`; `vectors`,
            deletion vectors that are not live; `hidden files`, which VACUUM ignores; `log`;
            `tombstones`, removed files that checkpoints name; `unreadable`, files whose content is
            unknown.
        num_files: The files that a step must delete. Of live files, those with a dropped column; of
            others, those that are as old as the last live file with one.
        size_in_bytes: The total size of these files; 0 for tombstones.
        num_listed: All files of the place.
        paths: The columns in footers and partition folders that the newest schema lacks, quoted for
            SQL.
        step: `PURGE`; `REWRITE`, if PURGE skips the files, or Delta refuses it; `SOURCE`, at the
            other table; `VACUUM`; `LOG CLEANUP`; `BY HAND`. None if nothing remains.
        statement: The statement to run, or a description if no SQL statement exists.
        earliest: The time from which the step deletes all of them, if earlier steps run now; None
            for now.
    """

    place: str
    num_files: int
    size_in_bytes: int
    num_listed: int
    paths: tuple[str, ...] = ()
    step: str | None = None
    statement: str | None = None
    earliest: datetime | None = None


@dataclass(frozen=True)
class LiveColumn:
    """A column that has, or had, the requested name. Both paths are quoted for SQL.

    `physical_path` is the path in data files if column mapping is on.
    """

    path: str
    physical_path: str
    id: int | None


@dataclass(frozen=True)
class CheckedTable:
    """The findings of an earlier certificate in the table.

    Args:
        version: The newest version that was checked.
        moment_version: The version since which the live files are clean; None if they were not.
        moment_time: The time of that version, in milliseconds since the epoch.
        had: Whether a version is known to have had the column.
        known: Whether every version up to this one is known, at least the names of its columns.
        live: The columns that had the name, and that were not dropped.
        named: All columns that had the name.
    """

    table_id: str | None
    version: int
    moment_version: int | None = None
    moment_time: int | None = None
    had: bool = False
    known: bool = False
    live: tuple[LiveColumn, ...] = ()
    named: tuple[LiveColumn, ...] = ()


@dataclass(frozen=True)
class Asked:
    """The name or shell pattern that a caller asks for; None for every dropped column."""

    column: str | None = None
    checked: CheckedTable | None = None


@dataclass(frozen=True)
class ColumnVerdict:
    """Whether data of a dropped column remains in a table, and how that is known.

    Args:
        verdict: `LIVE`, if the newest schema has the column; `STILL_PRESENT`, if a place contains
            data of a dropped column, or is as old as such data; `UNKNOWN`, if a file cannot be read
            or listed, or if nothing shows that the column was dropped; `ERASED`, if nothing
            remains; `NEVER_HAD`, if the log has every version and no version has the column.
        reason: Why the verdict is `UNKNOWN`; None for other verdicts.
        column: The requested name or pattern; None for every dropped column.
        version: The newest version, which was read at `timestamp`.
        oldest_version: The version since which the log has every schema.
        moment_version: The version since which all live files are clean; None if they are not.
        moment_time: The time `moment_timestamp` of that version in milliseconds since the epoch.
        had: Whether a known version had the column.
        known: Whether the names of the columns of every version are known. Otherwise a column may
            have been renamed before.
        live_columns: The columns that make the verdict `LIVE`.
        named_columns: All known columns that have, or had, the name.
        sources: The other tables in whose folders live files are.
        other_tables: The folders of other tables below the table's folder, which were not read.
        check_again_by: The time until which the log keeps every version after this one. A later
            reading does not continue a certificate of this one.
        places: The places, in the order of their steps.
    """

    verdict: str
    reason: str | None
    column: str | None
    table_id: str | None
    location: str
    version: int
    timestamp: datetime
    oldest_version: int
    moment_version: int | None
    moment_timestamp: datetime | None
    moment_time: int | None
    had: bool
    known: bool
    live_columns: tuple[LiveColumn, ...]
    named_columns: tuple[LiveColumn, ...]
    sources: tuple[str, ...]
    other_tables: tuple[str, ...]
    check_again_by: datetime | None
    places: tuple[DroppedPlace, ...] = field(repr=False)
