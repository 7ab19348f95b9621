# SPDX-License-Identifier: Apache-2.0
"""Where the data of dropped columns still is, as rows of our table function."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from spark_ext.model.metadata import FileCount

PURGE, VACUUM, LOG_CLEANUP = "PURGE", "VACUUM", "LOG CLEANUP"
REWRITE, SOURCE, BY_HAND = "REWRITE", "SOURCE", "BY HAND"


@dataclass(frozen=True)
class ErasureStep:
    """What takes data of a dropped column away, and from when on it can.

    Args:
        step: `PURGE`, `REWRITE` (where PURGE does not look, or Delta refuses it), `VACUUM`,
            `LOG CLEANUP`, `SOURCE` (at the table that a shallow clone was made of), or `BY HAND`
            (what no statement deletes).
        statement: What to run; in words where it is no statement of SQL.
        earliest: The first time at which it takes everything that it is to take, in the time zone
            of this process; None where that is now, or not known.
        by_catalog: Whether only the catalog that manages the table can take the step, since Delta
            refuses the statement in every session.
    """

    step: str
    statement: str
    earliest: datetime | None
    by_catalog: bool = False


@dataclass(frozen=True)
class DroppedColumn:
    """A column that was dropped, and where its data is now.

    Args:
        path: Its last path, as SQL wants it; None for one that files have and no schema knows.
        former_paths: The paths that it had before, oldest first.
        physical_path: Where data files and statistics have it, as SQL wants it; None where no
            column is known, and files are there that may have one.
        id: The column's; None without one.
        type: As SQL has it; None for one that no schema knows.
        version: Of the table, which dropped it; None where the log no longer tells, as are the
            next three.
        timestamp: In the time zone of this process.
        operation: As DESCRIBE HISTORY names the statement.
        user_name: Or its id.
        gone: Whether nothing has its data, and nothing is unknown.
        live_files: Files of the newest version that have it.
        removed_files: Files that the table no longer needs and that are still there.
        change_data_files: Files of the change data feed.
        untracked_files: Files in the table's folder that no log entry names.
        unknown_files: Files of any of these kinds that may have it: nobody can tell.
        source_files: Other tables whose files this one reads or read, such as a shallow clone's
            source; the folder of files above which no log can be seen.
        live_statistics: Live files of which the log has statistics, or partition values, of it.
        commits: Files of commits that have its statistics, partition values, default or a
            predicate that names it.
        checkpoints: Files of checkpoints with the same, sidecars included.
        other_log_files: Other files of the log with the same, such as checksums.
        unknown_log_files: Files in the log's folder that nobody can read.
        versions: How many versions have it by time travel, as far as the log goes.
        first_version: Of these.
        last_version: Of these.
        steps: What is left to do, in this order; nothing of a column that is gone.
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
