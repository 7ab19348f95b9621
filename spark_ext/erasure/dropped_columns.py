# SPDX-License-Identifier: Apache-2.0
"""Lists the columns that were dropped from a table, with the places of their data."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from spark_ext.erasure.name_resolver import Resolved
from spark_ext.erasure.steps import steps
from spark_ext.erasure.traces import FoundTraces, Traces, traces
from spark_ext.history.lifetimes import Lifetime, column_lifetimes, spans
from spark_ext.log.actions import (
    CHANGE_DATA,
    LIVE,
    REMOVED,
    UNTRACKED,
    FileGroup,
    TableLog,
)
from spark_ext.log.folder import CHECKPOINT, COMMIT, LogFiles, TableFolder
from spark_ext.log.replay import State, states
from spark_ext.model.dropped import DroppedColumn
from spark_ext.model.metadata import FileCount
from spark_ext.model.schema import quoted, type_name


def dropped_columns(folder: TableFolder) -> tuple[DroppedColumn, ...]:
    """Returns a row for each column that was dropped in a version of the log.

    Each column in a dropped struct has a separate row. A column that is in files but in no schema
    has one row, with its topmost physical path. A restored column was not dropped: RESTORE restored
    it, or a column has its former id and physical name. If there is no such row and some files
    cannot be read, one row without names reports this.

    Returns:
        The rows, the last dropped column first, then columns that no schema contains. Empty if the
        log has no state.
    """
    found = states(folder.log)
    if not found:
        return ()
    lifetimes = column_lifetimes(found)
    all_traces = traces(folder, found, lifetimes)
    of: list[tuple[Resolved | None, Traces]] = [*all_traces.of.items()]
    if not of and (all_traces.unknown_files or all_traces.unknown_log_files):
        of.append((None, Traces()))
    return newest_first(
        dropped_column(folder, column, each, all_traces, table=found[-1]) for column, each in of
    )


def newest_first(rows: Iterable[DroppedColumn]) -> tuple[DroppedColumn, ...]:
    """Returns the last dropped column first, then columns that no schema contains."""
    return tuple(sorted(rows, key=_order))


def _order(row: DroppedColumn) -> tuple[bool, int, str]:
    return row.version is None, -(row.version or 0), row.path or row.physical_path or ""


def dropped_column(
    folder: TableFolder,
    column: Resolved | None,
    of: Traces,
    everywhere: FoundTraces,
    *,
    table: State,
) -> DroppedColumn:
    """Returns the row of a column with these traces. The column None is for unreadable files."""
    unknown, unknown_log = everywhere.unknown_files, everywhere.unknown_log_files
    left = steps(folder, of, unknown, unknown_log, table=table)
    own = [files for files in of.files if files.source is None]
    return DroppedColumn(
        **_column(column),
        gone=not (of.files or of.statistics or of.log_files or unknown or unknown_log),
        live_files=counted(own, LIVE),
        removed_files=counted(own, REMOVED),
        change_data_files=counted(own, CHANGE_DATA),
        untracked_files=counted(own, UNTRACKED),
        unknown_files=counted(unknown),
        source_files=tuple(sorted({f.source for f in of.files if f.source is not None})),
        live_statistics=of.statistics,
        commits=_number(of.log_files, COMMIT),
        checkpoints=_number(of.log_files, CHECKPOINT),
        other_log_files=sum(
            files.num_files for files in of.log_files if files.kind not in (COMMIT, CHECKPOINT)
        ),
        unknown_log_files=sum(files.num_files for files in unknown_log),
        **_versions(column, folder.log),
        steps=left,
    )


def _column(column: Resolved | None) -> dict[str, Any]:
    if not isinstance(column, Lifetime):
        return {
            **dict.fromkeys(("path", "id", "type", "version", "timestamp", "operation")),
            "user_name": None,
            "former_paths": (),
            "physical_path": None if column is None else quoted(column.path),
        }
    last = column.last
    commit = None if column.dropped_by is None else column.dropped_by.commit
    *former, _ = [path for path in column.paths if path != last.path] + [last.path]
    return {
        "path": quoted(last.path),
        "former_paths": tuple(map(quoted, former)),
        "physical_path": quoted(last.physical_path),
        "id": last.known_id,
        "type": type_name(last.field["type"]),
        "version": None if commit is None else commit.version,
        "timestamp": None if commit is None else commit.time,
        "operation": None if commit is None else commit.operation,
        "user_name": None if commit is None else commit.user,
    }


def _versions(column: Resolved | None, log: TableLog) -> dict[str, Any]:
    if not isinstance(column, Lifetime):
        return {"versions": 0, "first_version": None, "last_version": None}
    having = [span for span in spans(column, log.last_version) if span]
    return {
        "versions": sum(map(len, having)),
        "first_version": having[0].start if having else None,
        "last_version": having[-1].stop - 1 if having else None,
    }


def counted(files: Iterable[FileGroup], kind: str | None = None) -> FileCount:
    """Returns the number and size of the files of a kind or of all files."""
    chosen = [each for each in files if kind is None or each.kind == kind]
    return FileCount(
        sum(each.num_files for each in chosen), sum(each.size_in_bytes for each in chosen)
    )


def _number(files: Sequence[LogFiles], kind: str) -> int:
    return sum(each.num_files for each in files if each.kind == kind)
