# SPDX-License-Identifier: Apache-2.0
"""The files in a table's folder, and the names of the columns whose data they may contain."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from spark_ext.log.actions import Commit, FileGroup, TableLog
from spark_ext.model.schema import Path

# Kinds of files of a log.
COMMIT: Final = "commit"
CHECKPOINT: Final = "checkpoint"
CHECKSUM: Final = "checksum"
OTHER: Final = "other"


@dataclass(frozen=True)
class LogFiles:
    """Files in `_delta_log` that differ in their version and size only.

    Args:
        kind: `COMMIT`, `CHECKPOINT` (sidecars too), `CHECKSUM` or `OTHER`.
        num_files: The number of files.
        size_in_bytes: The total size of the files, in bytes.
        version: The newest version of the files; None if their names contain no version.
        under: The version of the last change of metadata up to `version`; None if it is unknown.
        schemas: The values of `schemaString` in the files.
        statistics: The paths of columns in the statistics of any action.
        partition_columns: The keys of `partitionValues` in any action.
        folders: The names before `=` in folders `name=value` of the data files that actions name.
        texts: Predicates, expressions, constraints and other texts that may contain values and
            names of columns.
        problem: The reason why a file cannot be read; None if all files can be read.
    """

    kind: str
    num_files: int
    version: int | None = None
    under: int | None = None
    schemas: tuple[str, ...] = ()
    statistics: tuple[Path, ...] = ()
    partition_columns: tuple[str, ...] = ()
    folders: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()
    problem: str | None = None
    size_in_bytes: int = 0


@dataclass(frozen=True)
class CleanupBoundary:
    """A version before which log cleanup may delete all files of the log.

    Args:
        version: The version of a checkpoint; or the version after the table's last version, at
            which the table may write its next checkpoint.
        time: The latest modification of a file of the log before this version, in milliseconds
            since the epoch. Log cleanup may delete them once the retention period has passed
            since then.

    Source:
        Delta 4.4.0, DeltaHistoryManager.scala, `BufferingLogDeletionIterator`.
    """

    version: int
    time: int


@dataclass(frozen=True)
class TableFolder:
    """A table with the files in its folder.

    Args:
        name: The table's name for a SQL statement.
        now: The time of the reading, in milliseconds since the epoch.
        deleted_file_retention: `delta.deletedFileRetentionDuration` in milliseconds.
        log_retention: `delta.logRetentionDuration` in milliseconds.
        cleans_up_log: `delta.enableExpiredLogCleanup`.
        log_files: The files in `_delta_log`.
        boundaries: The boundaries of log cleanup, in the order of their versions.
        location: The path of the table.
        column: The requested name or shell pattern; None for every dropped column.
        starts: The commits and checkpoints at which the known history may begin, each with its
            version, time and `commitInfo` only.
    """

    name: str
    log: TableLog
    now: int
    deleted_file_retention: int
    log_retention: int
    cleans_up_log: bool = True
    log_files: tuple[LogFiles, ...] = ()
    boundaries: tuple[CleanupBoundary, ...] = ()
    location: str = ""
    column: str | None = None
    starts: tuple[Commit, ...] = ()

    @property
    def files(self) -> tuple[FileGroup, ...]:
        """Returns the files outside of the log."""
        return self.log.files or ()
