# SPDX-License-Identifier: Apache-2.0
"""What takes the data of a dropped column away, and when it can."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from spark_ext.erasure.traces import Traces
from spark_ext.log.actions import LIVE, FileGroup
from spark_ext.log.places import CHECKPOINT, CHECKSUM, COMMIT, LogFiles, TablePlaces
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
_FOUND_BY_HAND = "Delete or repair these files by hand: no statement does."


def steps(
    places: TablePlaces,
    traces: Traces,
    unknown_files: Sequence[FileGroup],
    unknown_log_files: Sequence[LogFiles],
    *,
    table: State,
) -> tuple[ErasureStep, ...]:
    """The steps until a column is gone, in the order in which they help.

    Where an earlier step makes new files wait, a later one's time counts from now on. Delta
    refuses REORG and VACUUM of a table that a catalog manages: rows can be written again there,
    and only the catalog deletes files.

    Source:
        Protocol, "Maintenance Operations on Catalog-managed Tables";
        Delta 4.4.0, VacuumCommand.scala, `getValidFilesFromSnapshot`; MetadataCleanup.scala,
        `cleanUpExpiredLogs`, which goes by whole days of UTC.
    """
    live = [files for files in traces.files if files.kind == LIVE]
    found: list[ErasureStep | None] = [
        _rewriting(places, traces, live, unknown_files, table),
        _vacuum(places, traces, live, unknown_files, table),
        _log_cleanup(places, traces, unknown_log_files),
        _at_the_source([*traces.files, *unknown_files]),
        _by_hand([*traces.files, *unknown_files], traces.log_files, unknown_log_files),
    ]
    return tuple(step for step in found if step is not None)


def _rewriting(
    places: TablePlaces,
    traces: Traces,
    live: Sequence[FileGroup],
    unknown_files: Sequence[FileGroup],
    table: State,
) -> ErasureStep | None:
    unreadable = any(files.kind == LIVE for files in unknown_files)
    if not live and not traces.statistics and not unreadable:
        return None
    # It goes by the columns of footers, and of mapped tables alone.
    seen_by_purge = live and not unreadable and not any(files.folders for files in live)
    purges = places.purges and table.is_mapped and not table.is_catalog_managed
    if purges and seen_by_purge:
        return _step(PURGE, f"REORG TABLE {places.name} APPLY (PURGE)")
    return _step(REWRITE, "Write the rows of these files again, such as by INSERT OVERWRITE.")


def _vacuum(
    places: TablePlaces,
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
    # What is live and goes becomes a file that waits.
    own = any(files.source is None for files in live)
    own = own or any(files.kind == LIVE and files.source is None for files in unknown_files)
    if not own and not taken:
        return None
    since = places.now if own else max(files.removable_from or 0 for files in taken)
    # VACUUM wants what is older than its retention.
    at = since + places.deleted_file_retention + 1
    if table.is_catalog_managed:
        return replace(_step(VACUUM, _BY_CATALOG, at, places), by_catalog=True)
    return _step(VACUUM, f"VACUUM {places.name}", at, places)


def _log_cleanup(
    places: TablePlaces, traces: Traces, unknown: Sequence[LogFiles]
) -> ErasureStep | None:
    readable = [*traces.log_files, *(files for files in unknown if files.problem is None)]
    cleaned = [files for files in readable if files.kind in _CLEANED_UP]
    # The next checkpoint has what the log says of live files, until they are written anew.
    is_first = traces.statistics > 0
    if not cleaned and not is_first:
        return None
    text = "Let the table write a checkpoint: log cleanup follows it"
    if not places.cleans_up_log:
        return _step(LOG_CLEANUP, f"{text}, once delta.enableExpiredLogCleanup is true.")
    since = places.now if is_first else max(_cleanable_from(places, files) for files in cleaned)
    at = -(-since // _DAY) * _DAY + places.log_retention
    return _step(LOG_CLEANUP, f"{text}.", at, places)


def _cleanable_from(places: TablePlaces, files: LogFiles) -> int:
    """When the newest file was modified that goes with a file of the log, at the earliest."""
    if files.version is None:
        return places.now
    after = [each.time for each in places.boundaries if each.version > files.version]
    return min(after, default=places.now)


def _at_the_source(files: Iterable[FileGroup]) -> ErasureStep | None:
    if all(each.source is None for each in files):
        return None
    return _step(SOURCE, "Do the same for the table that this one was cloned from.")


def _by_hand(
    files: Iterable[FileGroup], log_files: Iterable[LogFiles], unknown: Iterable[LogFiles]
) -> ErasureStep | None:
    hidden = any(each.is_hidden and each.kind != LIVE for each in files)
    kept = any(each.kind not in _CLEANED_UP for each in log_files)
    unreadable = any(each.problem is not None for each in unknown)
    return _step(BY_HAND, _FOUND_BY_HAND) if hidden or kept or unreadable else None


def _step(
    step: str, statement: str, at: int | None = None, places: TablePlaces | None = None
) -> ErasureStep:
    waits = at is not None and places is not None and at > places.now
    # Milliseconds, of which the JVM makes a timestamp.
    earliest: Any = at if waits else None
    return ErasureStep(step, statement, earliest)
