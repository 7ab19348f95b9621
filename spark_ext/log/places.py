# SPDX-License-Identifier: Apache-2.0
"""Everything that lies in a table's folder, as far as it says something of columns."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from spark_ext.log.actions import ParquetColumn, TableLog
from spark_ext.model.schema import Path

# Kinds of data files.
LIVE: Final = "live"
REMOVED: Final = "removed"
CHANGE_DATA: Final = "changeData"
UNTRACKED: Final = "untracked"

# Kinds of files of a log.
COMMIT: Final = "commit"
CHECKPOINT: Final = "checkpoint"
CHECKSUM: Final = "checksum"
OTHER: Final = "other"


@dataclass(frozen=True)
class DataFiles:
    """Files outside of the log that are alike in all that follows their size.

    Args:
        kind: `LIVE`, `REMOVED` (the log names it, and no longer needs it), `CHANGE_DATA` or
            `UNTRACKED`. The file of a deletion vector is live with its data files.
        num_files: How many; a folder without files that its name says something of counts as one.
        size_in_bytes: All together.
        removable_from: The time after which retention counts, in milliseconds since the epoch:
            that of removal, or of the file where that is later. None for live ones.
        source: The other table, for a file of one, or the folder if no log can be seen above; else
            None.
        is_hidden: Whether VACUUM passes over it.
        added_under: The version of the newest metadata at the first commit that added them; None
            where that commit is gone, or never was.
        partition_columns: The keys of `partitionValues` of live ones.
        folders: The names before `=` in their folders.
        statistics: The paths in the statistics of live ones.
        columns: By their footers; None where these could not be read. Deletion vectors have none.
        problem: Why not.
    """

    kind: str
    num_files: int
    size_in_bytes: int
    removable_from: int | None = None
    source: str | None = None
    is_hidden: bool = False
    added_under: int | None = None
    partition_columns: tuple[str, ...] = ()
    folders: tuple[str, ...] = ()
    statistics: tuple[Path, ...] = ()
    columns: tuple[ParquetColumn, ...] | None = None
    problem: str | None = None


@dataclass(frozen=True)
class LogFiles:
    """Files in the log's folder that are alike but for their number and version.

    Args:
        kind: `COMMIT`, `CHECKPOINT` (sidecars too), `CHECKSUM` or `OTHER`.
        num_files: How many.
        version: The newest of them; None where the name has none.
        under: The version of the newest metadata at theirs; None where that is not known.
        schemas: What stands in `schemaString`.
        statistics: The paths in statistics of any action.
        partition_columns: The keys of `partitionValues` of any action.
        folders: The names before `=` in paths of files.
        texts: Texts that may have values and name columns: predicates, expressions, constraints.
        problem: Why it cannot be read.
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


@dataclass(frozen=True)
class CleanupBoundary:
    """A checkpoint that log cleanup may delete everything before, or the next one that there is.

    Args:
        version: The checkpoint's.
        time: When the newest file before it was modified, in milliseconds since the epoch.

    Source:
        Delta 4.4.0, DeltaHistoryManager.scala, `BufferingLogDeletionIterator`.
    """

    version: int
    time: int


@dataclass(frozen=True)
class TablePlaces:
    """A table, and all that lies in its folder.

    Args:
        name: As SQL wants it in a statement.
        now: In milliseconds since the epoch, as all times; the next two are durations.
        deleted_file_retention: `delta.deletedFileRetentionDuration`.
        log_retention: `delta.logRetentionDuration`.
        cleans_up_log: `delta.enableExpiredLogCleanup`.
        boundaries: By version.
    """

    name: str
    log: TableLog
    now: int
    deleted_file_retention: int
    log_retention: int
    cleans_up_log: bool = True
    files: tuple[DataFiles, ...] = field(default=())
    log_files: tuple[LogFiles, ...] = field(default=())
    boundaries: tuple[CleanupBoundary, ...] = field(default=())
