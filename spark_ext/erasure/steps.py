# SPDX-License-Identifier: Apache-2.0
"""Decides which steps erase the data of a dropped column, and when each step can run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from spark_ext.erasure.traces import Traces
from spark_ext.log.actions import LIVE, MISSING, FileGroup
from spark_ext.log.folder import CHECKPOINT, CHECKSUM, COMMIT, LogFiles, TableFolder
from spark_ext.log.replay import State
from spark_ext.model.dropped import (
    BY_HAND,
    LOG_CLEANUP,
    PURGE,
    REWRITE,
    SOURCE,
    VACUUM,
    ErasureStep,
)

_DAY = 24 * 3600 * 1000
# Delta, MetadataCleanup.scala: the kinds that log cleanup lists.
_CLEANED_UP = (COMMIT, CHECKPOINT, CHECKSUM)
_BY_CATALOG = "Let the catalog delete removed files: Delta refuses VACUUM of a table it manages."
_RESTORE_FILES = "Restore the live files that do not exist. PURGE fails without them."
_FOUND_BY_HAND = "Delete or repair these files by hand, because no statement does it."


def steps(
    folder: TableFolder,
    traces: Traces,
    unknown_files: Sequence[FileGroup],
    unknown_log_files: Sequence[LogFiles],
    *,
    table: State,
) -> tuple[ErasureStep, ...]:
    """Returns the steps that erase a column, in the order in which they are to run.

    If a live file does not exist, PURGE and rewrites fail: the file must be restored first. If an
    earlier step replaces files, the retention of a later step counts from now. Delta refuses REORG
    and VACUUM of a catalog-managed table: its rows can be written again, and only the catalog
    deletes files.

    Source:
        Protocol, "Maintenance Operations on Catalog-managed Tables";
        Delta 4.4.0, VacuumCommand.scala, `getValidFilesFromSnapshot`; MetadataCleanup.scala,
        `cleanUpExpiredLogs`, which counts whole days of UTC.
    """
    live = [files for files in traces.files if files.kind == LIVE]
    missing = [files for files in unknown_files if files.problem == MISSING]
    unknown_files = [files for files in unknown_files if files.problem != MISSING]
    found: list[ErasureStep | None] = [
        _step(BY_HAND, _RESTORE_FILES)
        if missing
        else _rewriting(folder, traces, live, unknown_files, table),
        _vacuum(folder, traces, live, unknown_files, table),
        _log_cleanup(folder, traces, unknown_log_files),
        _at_the_source([*traces.files, *unknown_files, *missing]),
        _by_hand([*traces.files, *unknown_files], traces.log_files, unknown_log_files),
    ]
    return tuple(step for step in found if step is not None)


def _rewriting(
    folder: TableFolder,
    traces: Traces,
    live: Sequence[FileGroup],
    unknown_files: Sequence[FileGroup],
    table: State,
) -> ErasureStep | None:
    unreadable = any(files.kind == LIVE for files in unknown_files)
    if not live and not traces.statistics and not unreadable:
        return None
    # PURGE compares the columns in footers, and rewrites mapped tables only. A folder of a current
    # partition column does not contain the dropped column.
    partitions = {table.name_in_files(each)[0] for each in table.partition_columns}
    in_footers = all({each.lower() for each in files.folders} <= partitions for files in live)
    seen_by_purge = live and not unreadable and in_footers
    purges = table.is_mapped and not table.is_catalog_managed
    if purges and seen_by_purge:
        return _step(PURGE, f"REORG TABLE {folder.name} APPLY (PURGE)")
    return _step(REWRITE, "Write the rows of these files again, such as by INSERT OVERWRITE.")


def _vacuum(
    folder: TableFolder,
    traces: Traces,
    live: Sequence[FileGroup],
    unknown_files: Sequence[FileGroup],
    table: State,
) -> ErasureStep | None:
    taken = [
        files
        for files in (*traces.files, *unknown_files)
        if files.kind != LIVE and not files.is_hidden and files.source is None
    ]
    # A live file that is replaced becomes a removed file.
    own = any(files.source is None for files in live)
    own = own or any(files.kind == LIVE and files.source is None for files in unknown_files)
    if not own and not taken:
        return None
    since = folder.now if own else max(files.removable_from or 0 for files in taken)
    # VACUUM deletes files that are older than the retention.
    at = since + folder.deleted_file_retention + 1
    if table.is_catalog_managed:
        return replace(_step(VACUUM, _BY_CATALOG, at, folder), by_catalog=True)
    return _step(VACUUM, f"VACUUM {folder.name}", at, folder)


def _log_cleanup(
    folder: TableFolder, traces: Traces, unknown: Sequence[LogFiles]
) -> ErasureStep | None:
    readable = [*traces.log_files, *(files for files in unknown if files.problem is None)]
    cleaned = [files for files in readable if files.kind in _CLEANED_UP]
    # Until live files are rewritten, each checkpoint contains their statistics.
    is_first = traces.statistics > 0
    if not cleaned and not is_first:
        return None
    text = "Let the table write a checkpoint: log cleanup follows it"
    if not folder.cleans_up_log:
        return _step(LOG_CLEANUP, f"{text}, once delta.enableExpiredLogCleanup is true.")
    since = folder.now if is_first else max(_cleanable_from(folder, files) for files in cleaned)
    at = -(-since // _DAY) * _DAY + folder.log_retention
    return _step(LOG_CLEANUP, f"{text}.", at, folder)


def _cleanable_from(folder: TableFolder, files: LogFiles) -> int:
    """Returns the earliest time of a boundary before which log cleanup deletes a file."""
    if files.version is None:
        return folder.now
    after = [each.time for each in folder.boundaries if each.version > files.version]
    return min(after, default=folder.now)


def _at_the_source(files: Iterable[FileGroup]) -> ErasureStep | None:
    if all(each.source is None for each in files):
        return None
    return _step(SOURCE, "Erase the column from the table that this table was cloned from too.")


def _by_hand(
    files: Iterable[FileGroup], log_files: Iterable[LogFiles], unknown: Iterable[LogFiles]
) -> ErasureStep | None:
    found = any(each.is_hidden for each in files if each.kind != LIVE)
    kept = any(each.kind not in _CLEANED_UP for each in log_files)
    unreadable = any(each.problem is not None for each in unknown)
    return _step(BY_HAND, _FOUND_BY_HAND) if found or kept or unreadable else None


def _step(
    step: str, statement: str, at: int | None = None, folder: TableFolder | None = None
) -> ErasureStep:
    waits = at is not None and folder is not None and at > folder.now
    # The JVM converts the milliseconds to a timestamp.
    earliest: Any = at if waits else None
    return ErasureStep(step, statement, earliest)
