# SPDX-License-Identifier: Apache-2.0
"""Decides whether data of a column exists in a table, and what the verdict covers."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from spark_ext.erasure.dropped_columns import counted, dropped_column, newest_first
from spark_ext.erasure.name_resolver import Resolved, UnknownColumn
from spark_ext.erasure.names import NamesBeforeHistory, names_before_history
from spark_ext.erasure.traces import FoundTraces, Traces, traces
from spark_ext.history.lifetimes import Lifetime, column_lifetimes
from spark_ext.log.actions import LIVE as LIVE_FILE
from spark_ext.log.actions import MISSING, metadata
from spark_ext.log.folder import COMMIT, TableFolder
from spark_ext.log.replay import State, states
from spark_ext.model.dropped import DroppedColumn
from spark_ext.model.erasure import (
    ERASED,
    IN_SCHEMA,
    LIVE,
    NEVER_HAD,
    STILL_PRESENT,
    UNKNOWN,
    ColumnErasure,
    FilesRead,
    LiveColumn,
    NameInLog,
)
from spark_ext.model.name_pattern import NamePattern
from spark_ext.model.schema import Path, lower, path_of, quoted


def column_erasure(folder: TableFolder) -> ColumnErasure:
    """Returns the verdict about the requested column. The log must have a state.

    A column is found by its last path, by every former path, and by its path in data files, because
    a physical name in a tracked table may be the first name of the column.
    """
    found = states(folder.log)
    lifetimes = column_lifetimes(found)
    everywhere = traces(folder, found, lifetimes)
    names = names_before_history(folder, found, lifetimes)
    asked = _Asked(folder, names)
    has_unknown = any(isinstance(column, UnknownColumn) for column in everywhere.of)
    inside = _paths_inside(folder) if has_unknown else {}
    dropped = [
        column
        for column in everywhere.of
        if asked.is_wanted(names.of(column))
        or (isinstance(column, UnknownColumn) and asked.is_wanted(inside[lower(column.path)]))
    ]
    live = asked.live(lifetimes)
    unnamed = _unnamed(everywhere, dropped, found)
    rows = {
        column: dropped_column(folder, column, everywhere.of[column], everywhere, table=found[-1])
        for column in (*dropped, *unnamed)
    }
    unknown = counted(everywhere.unknown_files)
    unknown_log_files = sum(files.num_files for files in everywhere.unknown_log_files)
    older = (each.metadata for each in folder.log.commits if each.version < found[0].version)
    others = (text for files in folder.log_files if files.kind != COMMIT for text in files.schemas)
    in_others = (metadata({"schemaString": text}) for text in dict.fromkeys(others))
    schemas = [*(state.metadata for state in found), *older, *in_others]
    unknown_schemas = sum(each is not None and each.schema is None for each in schemas)
    in_log = tuple(asked.in_log())
    may_be_renamed = any(name.source == IN_SCHEMA for name in in_log)
    is_unknown = bool(
        unnamed or unknown.num_files or unknown_log_files or unknown_schemas or may_be_renamed
    )
    columns = list(rows.values())
    if not columns and (unknown.num_files or unknown_log_files):
        columns.append(dropped_column(folder, None, Traces(), everywhere, table=found[-1]))
    # The JVM makes timestamps of milliseconds.
    now: Any = folder.now
    since: Any = _time_of(folder, found[0])
    return ColumnErasure(
        verdict=_verdict(live, [rows[column] for column in dropped], in_log, is_unknown=is_unknown),
        column=folder.column,
        table_id=found[-1].metadata.id,
        location=folder.location,
        sources=_sources(folder),
        version=folder.log.last_version,
        timestamp=now,
        oldest_version=found[0].version,
        oldest_timestamp=since,
        live_columns=tuple(_live(column, names) for column in live),
        columns=newest_first(columns),
        names_in_log=in_log,
        unnamed_columns=tuple(sorted(quoted(column.path) for column in unnamed)),
        unknown_files=unknown,
        unknown_log_files=unknown_log_files,
        unknown_schemas=unknown_schemas,
        forgotten_ids=_forgotten_ids(found),
        files_read=tuple(_files_read(folder)),
    )


class _Asked:
    """The requested column."""

    def __init__(self, folder: TableFolder, names: NamesBeforeHistory) -> None:
        self._names = names
        self._pattern = (
            None if folder.column is None else NamePattern(folder.column, path_of(folder.name))
        )

    def is_wanted(self, paths: Sequence[Path]) -> bool:
        """Returns whether a dropped column with these paths is requested."""
        return self._pattern is None or any(map(self._pattern.matches, paths))

    def live(self, lifetimes: Sequence[Lifetime]) -> list[Lifetime]:
        """Returns the columns of the newest version that are requested by a name."""
        if self._pattern is None:
            return []
        now = (lifetime for lifetime in lifetimes if lifetime.dropped_by is None)
        return [lifetime for lifetime in now if self.is_wanted(self._names.of(lifetime))]

    def in_log(self) -> Iterator[NameInLog]:
        """Yields the names of columns that no schema of the known history has."""
        for path, name in self._names.others.items():
            if self.is_wanted((path,)):
                yield name


def _verdict(
    live: Sequence[Lifetime],
    dropped: Sequence[DroppedColumn],
    in_log: Sequence[NameInLog],
    *,
    is_unknown: bool,
) -> str:
    if live:
        return LIVE
    if any(map(_has_data, dropped)):
        return STILL_PRESENT
    if is_unknown:
        return UNKNOWN
    return ERASED if dropped or in_log else NEVER_HAD


def _has_data(row: DroppedColumn) -> bool:
    counted = (row.live_files, row.removed_files, row.change_data_files, row.untracked_files)
    return bool(
        any(files.num_files for files in counted)
        or row.source_files
        or row.live_statistics
        or row.commits
        or row.checkpoints
        or row.other_log_files
    )


def _unnamed(
    everywhere: FoundTraces, dropped: Sequence[Resolved], found: Sequence[State]
) -> list[UnknownColumn]:
    """Returns the columns of files that may have had the requested name.

    If the whole log has no column mapping, a column never had another name than in files.
    """
    has_only_names = found[0].version == 0 and not any(
        state.is_mapped or state.may_add_foreign_mapped_files for state in found
    )
    if has_only_names:
        return []
    wanted = set(dropped)
    return [
        column
        for column in everywhere.of
        if isinstance(column, UnknownColumn) and column not in wanted
    ]


def _paths_inside(folder: TableFolder) -> Mapping[Path, Sequence[Path]]:
    """Returns the paths in files inside of each path, as the fields of a struct that no schema has.

    Only the topmost column of such paths has traces.
    """
    in_files = (each.path for files in folder.files for each in files.columns or ())
    in_entries = (path for files in folder.files for path in files.statistics)
    in_log = (path for files in folder.log_files for path in files.statistics)
    paths = {*in_files, *in_entries, *in_log}
    parts = {path[:end] for path in paths for end in range(2, len(path) + 1)}
    found: dict[Path, list[Path]] = defaultdict(list)
    for path in parts:
        for end in range(1, len(path)):
            found[lower(path[:end])].append(path)
    return found


def _live(column: Lifetime, names: NamesBeforeHistory) -> LiveColumn:
    last = column.last
    former = [path for path in (*names.former.get(column, ()), *column.paths) if path != last.path]
    return LiveColumn(
        quoted(last.path),
        tuple(map(quoted, former)),
        quoted(last.physical_path),
        last.known_id,
    )


def _sources(folder: TableFolder) -> tuple[str, ...]:
    live = (files.source for files in folder.files if files.kind == LIVE_FILE)
    return tuple(sorted({source for source in live if source is not None}))


def _time_of(folder: TableFolder, oldest: State) -> int | None:
    if oldest.commit is not None:
        return oldest.commit.time
    return next((each.time for each in folder.starts if each.version == oldest.version), None)


def _forgotten_ids(found: Sequence[State]) -> int | None:
    """Returns the number of ids that the table assigned, and that no known state has."""
    last = found[-1]
    highest = last.max_column_id
    if not last.is_mapped or highest is None:
        return None
    ids = {id for state in found for id in state.ids if type(id) is int and 1 <= id <= highest}
    return highest - len(ids)


def _files_read(folder: TableFolder) -> Iterator[FilesRead]:
    data = [
        (files.kind, files.num_files, files.size_in_bytes)
        for files in folder.files
        if files.problem != MISSING
    ]
    logs = [(files.kind, files.num_files, files.size_in_bytes) for files in folder.log_files]
    for kind in dict.fromkeys(kind for kind, _, _ in (*data, *logs)):
        counts = [(files, size) for of, files, size in (*data, *logs) if of == kind]
        yield FilesRead(kind, sum(files for files, _ in counts), sum(size for _, size in counts))
