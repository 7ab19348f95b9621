# SPDX-License-Identifier: Apache-2.0
"""Everything that lies in a table's folder, as far as it says something of columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from spark_ext.log.actions import FileGroup, TableLog
from spark_ext.model.schema import Path

# Kinds of files of a log.
COMMIT: Final = "commit"
CHECKPOINT: Final = "checkpoint"
CHECKSUM: Final = "checksum"
OTHER: Final = "other"


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
        purges: Whether this Delta can purge a table, which 4.0.0 cannot.
        boundaries: By version.
    """

    name: str
    log: TableLog
    now: int
    deleted_file_retention: int
    log_retention: int
    cleans_up_log: bool = True
    purges: bool = True
    log_files: tuple[LogFiles, ...] = ()
    boundaries: tuple[CleanupBoundary, ...] = ()

    @property
    def files(self) -> tuple[FileGroup, ...]:
        """The files outside of the log."""
        return self.log.files or ()
