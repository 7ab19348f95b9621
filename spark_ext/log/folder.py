# SPDX-License-Identifier: Apache-2.0
"""A table's folder and log, as seen from the moment since which its live files are clean."""

from __future__ import annotations

from dataclasses import dataclass

from spark_ext.log.actions import FileGroup, TableLog
from spark_ext.model.dropped import Asked
from spark_ext.model.metadata import FileCount


@dataclass(frozen=True)
class Moment:
    """A version of a table and its time, in milliseconds since the epoch.

    Version -1 is before the first version of a whole log.
    """

    version: int
    time: int


@dataclass(frozen=True)
class TableFolder:
    """A table with the files in its folder. Files of other tables below it are omitted.

    Args:
        name: The table's name for a SQL statement.
        log: The log. Its `files` are the live files, and the others in the folder.
        now: The time of the reading, in milliseconds since the epoch.
        deleted_file_retention: `delta.deletedFileRetentionDuration` in milliseconds.
        log_retention: `delta.logRetentionDuration` in milliseconds.
        cleans_up_log: `delta.enableExpiredLogCleanup`.
        location: The path of the table.
        asked: What the caller asks for; None for every dropped column.
        moment: Since when all live files are clean, if those of the newest version are.
        other_tables: The folders of other tables below the folder.
        log_files: The files of the log that contain actions.
        older_log_files: Those that may contain actions of the moment's version or an earlier one.
        unknown_log_files: The paths of other files in `_delta_log`.
        tombstones: The number of files that checkpoints name as removed.
        older_tombstones: Those that were removed up to the moment, in newer checkpoints.
        cleanable_from: The time from which the retention of log cleanup counts for
            `older_log_files`, in milliseconds since the epoch.
    """

    name: str
    log: TableLog
    location: str
    asked: Asked | None
    now: int
    deleted_file_retention: int
    log_retention: int
    cleans_up_log: bool
    moment: Moment
    other_tables: tuple[str, ...]
    log_files: FileCount
    older_log_files: FileCount
    unknown_log_files: tuple[str, ...]
    tombstones: int
    older_tombstones: int
    cleanable_from: int

    @property
    def files(self) -> tuple[FileGroup, ...]:
        """Returns the files outside of the log."""
        return self.log.files or ()
