# SPDX-License-Identifier: Apache-2.0
"""The files in a table's folder, and the columns of which they may contain data."""

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
    """Files in the log's folder that differ in their version only.

    Args:
        kind: `COMMIT`, `CHECKPOINT` (sidecars too), `CHECKSUM` or `OTHER`.
        num_files: The number of files.
        size_in_bytes: The size of all files.
        version: The newest version of the files; None if their names contain none.
        under: The version of the newest metadata at that version; None if it is not known.
        schemas: The values of `schemaString`.
        statistics: The paths in statistics of any action.
        partition_columns: The keys of `partitionValues` of any action.
        folders: The names before `=` in paths of files.
        texts: Texts that may have values and name columns: predicates, expressions, constraints.
        problem: Why a file cannot be read.
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
    """A checkpoint before which log cleanup may delete everything, or the next checkpoint.

    Args:
        version: The version of the checkpoint.
        time: The last modification of the newest file before it, in milliseconds since the epoch.

    Source:
        Delta 4.4.0, DeltaHistoryManager.scala, `BufferingLogDeletionIterator`.
    """

    version: int
    time: int


@dataclass(frozen=True)
class TableFolder:
    """A table with the files in its folder.

    Args:
        name: The name for a SQL statement.
        now: The current time. All times are in milliseconds since the epoch.
        deleted_file_retention: `delta.deletedFileRetentionDuration` in milliseconds.
        log_retention: `delta.logRetentionDuration` in milliseconds.
        cleans_up_log: `delta.enableExpiredLogCleanup`.
        boundaries: By version.
        location: The path of the table.
        column: The requested name or shell pattern; None for every dropped column.
        starts: The versions at which the known history may begin. Each has its time, and no action.
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
