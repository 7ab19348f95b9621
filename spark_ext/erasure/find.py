# SPDX-License-Identifier: Apache-2.0
"""Finds what remains of the dropped columns of a table.

A dropped column is erased when the live files are clean, and when nothing older than that moment
remains. The columns of live files are compared with the newest schema. Everything else counts by
its age, so a name that was taken again hides nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from spark_ext.erasure.moment import continues
from spark_ext.log.actions import (
    CHANGE_DATA,
    LIVE,
    REMOVED,
    UNTRACKED,
    VECTORS,
    FileGroup,
    Moment,
    TableFolder,
)
from spark_ext.log.history import DROP, KnownNames, State, column_history, difference, states
from spark_ext.model import dropped
from spark_ext.model.column_mapping import Column
from spark_ext.model.dropped import Asked, CheckedTable, ColumnVerdict, DroppedPlace, LiveColumn
from spark_ext.model.keys import MODE_ID
from spark_ext.model.schema import (
    INNER,
    DataType,
    NamePattern,
    Path,
    inner_types,
    is_below,
    lower,
    path_of,
    quoted,
)

_VARIANT = "variant"
_DAY = 24 * 3600 * 1000
_SHOWN = 3  # examples of files


def column_verdict(folder: TableFolder) -> ColumnVerdict:
    """Returns the verdict about the requested column. The log must have a state.

    The verdict may be later than the truth, and never earlier. A column that was renamed before the
    log begins cannot be told from one that was dropped: without a version that had the column, the
    verdict is `UNKNOWN`.
    """
    found = states(folder.log)
    files = _Files(folder, found)
    asked, log = folder.asked or Asked(), folder.log
    checked = asked.checked
    if checked is None or not continues(log, checked):
        checked = CheckedTable(table_id=None, version=-1)
    pattern = None if asked.column is None else NamePattern(asked.column, path_of(folder.name))
    live = () if pattern is None else tuple(_live(found, pattern, checked))
    named = () if pattern is None else tuple(_named(found, pattern, live, checked))
    # A clone or a converted folder may have columns that no schema of the log has.
    is_whole = found[0].version == 0 and not any(each.may_add_foreign_files for each in found)
    is_known = pattern is None or is_whole or checked.known
    if pattern is None:
        had = any(event.change == DROP for event in column_history(log).events)
    else:
        had = bool(named)
    had = had or checked.had
    newest = found[-1]
    reason = None
    if live:
        verdict = dropped.LIVE
    elif not had and is_whole and not files.has_unknown_columns:
        verdict = dropped.NEVER_HAD
    elif files.remains:
        verdict = dropped.STILL_PRESENT
    elif files.is_unknown:
        verdict, reason = dropped.UNKNOWN, "files cannot be read or listed"
    elif not had and not is_known:
        verdict = dropped.UNKNOWN
        reason = "no version in the log has the column, which may have been renamed before"
    else:
        verdict = dropped.ERASED
    moment = files.moment
    # The JVM makes timestamps of milliseconds.
    now: Any = folder.now
    moment_time: Any = None if moment is None else moment.time
    again: Any = folder.now + folder.log_retention if folder.cleans_up_log else None
    return ColumnVerdict(
        verdict=verdict,
        reason=reason,
        column=asked.column,
        table_id=newest.metadata.id,
        location=folder.location,
        version=log.last_version,
        timestamp=now,
        oldest_version=found[0].version,
        moment_version=None if moment is None else moment.version,
        moment_timestamp=moment_time,
        moment_time=moment_time,
        had=had,
        known=is_known,
        live_columns=live,
        named_columns=named,
        sources=files.sources,
        other_tables=folder.other_tables,
        check_again_by=again,
        places=tuple(files.places()),
    )


def _matches(column: Column, pattern: NamePattern) -> bool:
    """Returns whether a column has the name, or has it in files: it may be the first name."""
    return pattern.matches(column.path) or (
        column.has_physical_name and pattern.matches(column.physical_path)
    )


def _live(
    found: Sequence[State], pattern: NamePattern, checked: CheckedTable
) -> Iterator[LiveColumn]:
    """Yields the columns of the newest version that have, or had, the name.

    A column that was live keeps its id, also if its names are aligned. RESTORE brings a dropped one
    back with its id and physical path; after a removal, another column may have the id.
    """
    former = _former_paths(found)
    ids = {each.id for each in checked.live} - {None}
    paths = {path for each in checked.live for path in (each.path, each.physical_path)}
    identities = {(each.id, each.physical_path) for each in checked.named}
    for column in found[-1].columns:
        one = _row_of(column)
        if (
            _matches(column, pattern)
            or any(map(pattern.matches, former.get(column.path, ())))
            or one.id in ids
            or not paths.isdisjoint((one.path, one.physical_path))
            or (one.id, one.physical_path) in identities
        ):
            yield one


def _named(
    found: Sequence[State], pattern: NamePattern, live: Sequence[LiveColumn], checked: CheckedTable
) -> Iterator[LiveColumn]:
    """Yields every known column that has, or had, the name, each once."""
    # Versions of a wide table share most of their columns.
    columns = {
        (each.path, each.physical_path, each.known_id): each
        for state in found
        for each in state.columns
    }
    matching = (_row_of(column) for column in columns.values() if _matches(column, pattern))
    yield from dict.fromkeys((*live, *checked.live, *checked.named, *matching))


def _row_of(column: Column) -> LiveColumn:
    return LiveColumn(quoted(column.path), quoted(column.physical_path), column.known_id)


def _former_paths(found: Sequence[State]) -> dict[Path, set[Path]]:
    """Maps each column of the newest version to its former paths, also across RESTORE."""
    now: dict[Path, set[Path]] = {}
    by_identity: dict[tuple[int | None, Path], set[Path]] = {}
    before: State | None = None
    for state in found:
        if state.metadata.schema is None:
            continue
        change = difference(before, state)
        moved = [(now.pop(old.path, set()), new) for old, new in change.kept]
        for column in change.dropped:
            now.pop(column.path, None)
        for paths, column in [*moved, *((set[Path](), column) for column in change.added)]:
            identity: tuple[int | None, Path] = (None, column.path)
            if state.is_mapped and column.known_id is not None:
                identity = (column.known_id, column.physical_path)
            names = by_identity.setdefault(identity, set())
            names |= paths | {column.path}
            now[column.path] = names
        before = state
    return now


class _Files:
    """The files of a table, by their place."""

    def __init__(self, folder: TableFolder, found: Sequence[State]) -> None:
        self._folder = folder
        self._found = found
        self._known = KnownNames(found)
        self._columns = FileColumns(found[-1], self._known)
        self._foreign = {id(each): self._columns.foreign(each) for each in folder.files}
        self._live = [each for each in folder.files if each.kind == LIVE]
        self._dirty = [each for each in self._live if self._foreign[id(each)]]
        self._others = [each for each in folder.files if each.kind != LIVE]
        # Until the live files are clean, all others may be as old as one with a dropped column.
        self._left = [
            each for each in self._others if self._dirty or each.is_older or self._foreign[id(each)]
        ]
        left = {id(each) for each in self._left}
        self._unreadable = [
            each for each in folder.files if each.problem is not None and id(each) not in left
        ]

    @property
    def sources(self) -> tuple[str, ...]:
        """Returns the other tables in whose folders live files are."""
        return tuple(sorted({each.source for each in self._live if each.source is not None}))

    @property
    def is_unknown(self) -> bool:
        """Returns whether a file or a schema may contain any column."""
        has_schemas = all(state.metadata.schema is not None for state in self._found)
        return bool(self._unreadable or self._folder.unknown_log_files) or not has_schemas

    @property
    def has_unknown_columns(self) -> bool:
        """Returns whether a file may contain a column that no version has."""
        if self.is_unknown:
            return True
        suspects = {id(each): each for each in self._folder.files if self._foreign[id(each)]}
        unknown = {number: self._foreign[number] for number in suspects}
        for state in self._found[:-1] if unknown else ():
            columns = FileColumns(state, self._known)
            for number, each in suspects.items():
                unknown[number] = unknown[number] & columns.foreign(each)
        return any(unknown.values())

    @property
    def remains(self) -> bool:
        """Returns whether data of a dropped column remains, or a file as old as such data."""
        folder = self._folder
        older = folder.older_log_files.num_files or folder.older_tombstones
        return bool(self._dirty or self._left or older)

    @property
    def moment(self) -> Moment | None:
        """Returns the moment since which the live files are clean; None if they are not."""
        folder = self._folder
        if self._dirty or any(each.problem is not None for each in self._live):
            return None
        if any(not each.is_older for each in self._left):
            # Another writer added a dropped column after the moment.
            return Moment(folder.log.last_version, folder.now)
        return folder.moment

    def places(self) -> Iterator[DroppedPlace]:
        """Yields the places, in the order of their steps."""
        yield self._place("live files", self._live, self._dirty, *self._rewriting())
        outside = [each for each in self._live if each.source is not None]
        sources = " and ".join(self.sources)
        yield self._place(
            "source files",
            outside,
            [each for each in self._dirty if each.source is not None],
            dropped.SOURCE,
            f"Erase the column from {sources} too, which keeps its own files.",
        )
        visible = [each for each in self._others if not each.is_hidden]
        for place, kinds in (
            ("older files", (REMOVED, UNTRACKED)),
            ("change data", (CHANGE_DATA,)),
            ("vectors", (VECTORS,)),
        ):
            of_kind = [each for each in visible if each.kind in kinds]
            left = [each for each in self._left if not each.is_hidden and each.kind in kinds]
            yield self._place(place, of_kind, left, *self._vacuum(left))
        hidden = [each for each in self._others if each.is_hidden]
        yield self._place(
            "hidden files",
            hidden,
            [each for each in self._left if each.is_hidden],
            dropped.BY_HAND,
            f"VACUUM ignores hidden files: delete them by hand{_examples(hidden)}.",
        )
        yield from self._log()
        unknown = self._folder.unknown_log_files
        number = sum(each.num_files for each in self._unreadable) + len(unknown)
        size = sum(each.size_in_bytes for each in self._unreadable)
        text = "Restore, repair or delete these files by hand, because no statement does it"
        text += f"{_examples(self._unreadable, *unknown)}."
        yield self._row("unreadable", number, size, number, dropped.BY_HAND, text)

    def _place(
        self,
        place: str,
        listed: Sequence[FileGroup],
        left: Sequence[FileGroup],
        step: str,
        statement: str,
        earliest: int | None = None,
    ) -> DroppedPlace:
        number = sum(each.num_files for each in left)
        size = sum(each.size_in_bytes for each in left)
        num_listed = sum(each.num_files for each in listed)
        row = self._row(place, number, size, num_listed, step, statement, earliest)
        paths = {path for each in left for path in self._foreign[id(each)]}
        shown = sorted(quoted(path) for path in paths if not is_below(path, paths))
        return replace(row, paths=tuple(shown))

    def _row(
        self,
        place: str,
        num_files: int,
        size: int,
        num_listed: int,
        step: str,
        statement: str,
        earliest: int | None = None,
    ) -> DroppedPlace:
        """Returns a row with its step if something remains."""
        row = DroppedPlace(place, num_files, size, num_listed)
        if not num_files:
            return row
        # The JVM makes timestamps of milliseconds.
        later: Any = earliest if earliest is not None and earliest > self._folder.now else None
        return replace(row, step=step, statement=statement, earliest=later)

    def _rewriting(self) -> tuple[str, str]:
        """Returns the step for live files. PURGE compares the columns in footers only."""
        folder, newest = self._folder, self._newest
        # Delta finds columns of files in the schema by their names alone.
        named = newest.names_in_files.keys()
        in_footers = all(each.columns for each in self._dirty) and not any(
            self._columns.foreign_folders(each) or self._foreign[id(each)] & named
            for each in self._dirty
        )
        if newest.is_mapped and not newest.is_catalog_managed and in_footers:
            return dropped.PURGE, f"REORG TABLE {folder.name} APPLY (PURGE)"
        rewrite = "Write the rows of these files again, such as by INSERT OVERWRITE."
        return dropped.REWRITE, rewrite

    def _vacuum(self, left: Sequence[FileGroup]) -> tuple[str, str, int]:
        """Returns the step, its statement, and when all these files are old enough.

        VACUUM would delete the files of other tables below the folder too. Source: Delta 4.4.0,
        VacuumCommand.scala, `getValidFilesFromSnapshot`.
        """
        folder = self._folder
        since = folder.moment.time if all(each.is_older for each in left) else folder.now
        at = (folder.now if self._dirty else since) + folder.deleted_file_retention + 1
        if folder.other_tables:
            below = ", ".join(folder.other_tables[:_SHOWN])
            text = f"Delete these files by hand: VACUUM deletes the files of {below} too"
            return dropped.BY_HAND, f"{text}{_examples(left)}.", at
        if self._newest.is_catalog_managed:
            text = "Let the catalog delete removed files: Delta refuses VACUUM of its tables."
            return dropped.VACUUM, text, at
        return dropped.VACUUM, f"VACUUM {folder.name}", at

    def _log(self) -> Iterator[DroppedPlace]:
        """Yields the rows of the log. Cleanup counts whole days of UTC (MetadataCleanup.scala)."""
        folder = self._folder
        text = "Let the table write a checkpoint: log cleanup follows it"
        if not folder.cleans_up_log:
            text += ", once delta.enableExpiredLogCleanup is true"
        files = folder.log_files if self._dirty else folder.older_log_files
        tombstones = folder.tombstones if self._dirty else folder.older_tombstones
        listed = folder.log_files.num_files, folder.tombstones
        since = (folder.now if self._dirty else folder.cleanable_from), folder.now
        at, tombstones_at = (-(-each // _DAY) * _DAY + folder.log_retention for each in since)
        step = dropped.LOG_CLEANUP, f"{text}."
        yield self._row("log", files.num_files, files.size_in_bytes, listed[0], *step, at)
        yield self._row("tombstones", tombstones, 0, listed[1], *step, tombstones_at)

    @property
    def _newest(self) -> State:
        return self._found[-1]


def _examples(files: Sequence[FileGroup], *others: str) -> str:
    names = sorted([*(each.example for each in files), *others])
    return f" ({', '.join(names[:_SHOWN])}{', ..' if len(names) > _SHOWN else ''})"


class FileColumns:
    """The columns that the files of a version, or of any known version, may contain."""

    def __init__(self, state: State, known: KnownNames) -> None:
        self._by_id = state.mode == MODE_ID
        self._known = known
        self._types: dict[Path, DataType | str] = {}
        self._ids: dict[Path, int | None] = {}
        self._path_of: dict[int, Path] = {}
        for column in state.columns:
            path = state.name_in_files(column)
            id = column.known_id if state.is_mapped else None
            self._ids[path] = id
            if id is not None:
                self._path_of[id] = path
            self._types.update(inner_types(path, column.field["type"]))
        self._partitions = {state.name_in_files(each)[0] for each in state.partition_columns}

    def foreign(self, files: FileGroup) -> set[Path]:
        """Returns the paths in footers, in folders `name=value` and in the log without a column.

        In mode id a column is found by its field id. In other modes the path decides, and if both
        sides have an id, it has to be the same: a column of the name may have been dropped.
        """
        found = self.foreign_folders(files)
        # The path in the schema of each path in the file.
        places: dict[Path, Path] = {}
        for column in files.columns or ():
            path = lower(column.path)
            place = self._place(path, column.field_id, places.get(path[:-1], path[:-1]))
            if place is not None:
                places[path] = place
            elif not self._known.is_only_internal(path):
                found.add(path)
        return found

    def foreign_folders(self, files: FileGroup) -> set[Path]:
        """Returns the names in folders and partition values that are no partition columns."""
        names = lower((*files.folders, *files.partition_columns))
        return {(name,) for name in names if name not in self._partitions}

    def _place(self, path: Path, id: int | None, above: Path) -> Path | None:
        if self._by_id and id in self._path_of:
            return self._path_of[id]
        place = (*above, path[-1])
        if self._types.get(above) == _VARIANT:
            return above
        if place not in self._types:
            return None
        known = self._ids.get(place)
        if self._by_id:
            return place if place not in self._ids and path[-1] in INNER else None
        return place if None in (id, known) or id == known else None
