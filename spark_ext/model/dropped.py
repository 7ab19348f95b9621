# SPDX-License-Identifier: Apache-2.0
"""Rows of `column_mapping_dropped`: where the data of dropped columns remains."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from spark_ext.model.metadata import FileCount

PURGE, VACUUM, LOG_CLEANUP = "PURGE", "VACUUM", "LOG CLEANUP"
REWRITE, SOURCE, BY_HAND = "REWRITE", "SOURCE", "BY HAND"


@dataclass(frozen=True)
class ErasureStep:
    """A step that removes data of a dropped column, and the earliest time of the step.

    Args:
        step: `PURGE`, `REWRITE` (if PURGE skips the files, or Delta refuses PURGE), `VACUUM`,
            `LOG CLEANUP`, `SOURCE` (at the source of a shallow clone), or `BY HAND` (if no
            statement deletes the files, or if live files do not exist).
        statement: The statement to run, or a description if no SQL statement exists.
        earliest: The first time at which the step removes all data that it can remove, in the time
            zone of this process; None if that time is now or not known.
        by_catalog: Whether only the catalog that manages the table can run the step, because Delta
            refuses the statement in every session.
    """

    step: str
    statement: str
    earliest: datetime | None
    by_catalog: bool = False


@dataclass(frozen=True)
class DroppedColumn:
    """A dropped column and the places of its data.

    Args:
        path: The last path of the column, quoted for SQL; None if only files contain the column.
        former_paths: The earlier paths of the column.
        physical_path: The path of the column in data files and statistics, quoted for SQL; None if
            no column is known, and some files may contain one.
        id: The column id; None if the column has none.
        type: The type in SQL; None if only files contain the column.
        version: The table version that dropped the column; None if the log no longer contains the
            version, as are `timestamp`, `operation` and `user_name`.
        timestamp: The time of the version in the time zone of this process.
        operation: The operation of the version as in DESCRIBE HISTORY.
        user_name: The name or the id of the user.
        gone: Whether no place contains the data, and no place is unknown.
        live_files: Files of the newest version that contain the column.
        removed_files: Existing files that the newest version no longer contains.
        change_data_files: Files of the change data feed.
        untracked_files: Files in the table's folder that no log entry names.
        unknown_files: Files of any of these kinds that may contain the column.
        source_files: Other tables whose files this table reads or read, such as the source of a
            shallow clone, or the folder of the files if no log is visible there.
        live_statistics: Live files whose log entries have statistics or partition values of the
            column.
        commits: Commit files with statistics, partition values or a default of the column, or with
            a predicate that names the column.
        checkpoints: Checkpoint files with the same, sidecars included.
        other_log_files: Other files of the log with the same, such as checksums.
        unknown_log_files: Files in the log's folder that cannot be read, and commits with texts
            that are older than every known schema.
        versions: The number of versions in the log whose time travel shows the column.
        first_version: The first of these versions.
        last_version: The last of these versions.
        steps: The remaining steps in order; empty if the data is gone.
    """

    path: str | None
    former_paths: tuple[str, ...]
    physical_path: str | None
    id: int | None
    type: str | None
    version: int | None
    timestamp: datetime | None
    operation: str | None
    user_name: str | None
    gone: bool
    live_files: FileCount
    removed_files: FileCount
    change_data_files: FileCount
    untracked_files: FileCount
    unknown_files: FileCount
    source_files: tuple[str, ...]
    live_statistics: int
    commits: int
    checkpoints: int
    other_log_files: int
    unknown_log_files: int
    versions: int
    first_version: int | None
    last_version: int | None
    steps: tuple[ErasureStep, ...]
