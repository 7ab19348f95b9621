# SPDX-License-Identifier: Apache-2.0
"""Finds every name that a column of a table had, as far as the log has it."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from spark_ext.erasure.name_resolver import Resolved
from spark_ext.history.lifetimes import Lifetime
from spark_ext.log import actions
from spark_ext.log.actions import Commit
from spark_ext.log.folder import TableFolder
from spark_ext.log.replay import State
from spark_ext.model.columns import Column, columns_of
from spark_ext.model.erasure import IN_SCHEMA, NameInLog
from spark_ext.model.operations import DROP_COLUMNS, RENAME_COLUMN
from spark_ext.model.schema import Path, lower, path_of, quoted


@dataclass
class NamesBeforeHistory:
    """The names of columns from before the known history.

    Args:
        former: The paths before a rename, by column of the known history.
        others: The names of columns that no schema of the known history has.
    """

    former: dict[Lifetime, list[Path]] = field(default_factory=lambda: defaultdict(list))
    others: dict[Path, NameInLog] = field(default_factory=dict)

    def of(self, column: Resolved) -> tuple[Path, ...]:
        """Returns every path of a column, also of those in data files."""
        if not isinstance(column, Lifetime):
            return (column.path,)
        physical = (known.physical_path for _, known in column.columns)
        return tuple(dict.fromkeys([*self.former.get(column, ()), *column.paths, *physical]))

    def add(self, path: Path, commit: Commit) -> None:
        """Adds a name that the operation of a commit has."""
        time: Any = commit.time  # the JVM makes a timestamp of the milliseconds
        name = NameInLog(quoted(path), commit.version, time, str(commit.operation))
        self.others.setdefault(path, name)


def names_before_history(
    folder: TableFolder, states: Sequence[State], lifetimes: Sequence[Lifetime]
) -> NamesBeforeHistory:
    """Returns the names that commits and files of the log have from before the known history.

    Log cleanup may keep the commit that dropped a column, and delete every schema that has it.
    If log cleanup deleted every file with a name, the name is not found.

    Source:
        Delta 4.4.0, MetadataCleanup.scala; DeltaOperations.scala, `DropColumns`, `RenameColumn`.
    """
    names = NamesBeforeHistory()
    oldest = states[0]
    now = {
        lower(lifetime.columns[0][1].path): lifetime
        for lifetime in lifetimes
        if lifetime.since == oldest.version
    }
    if oldest.commit is None:
        older = [commit for commit in folder.log.commits if commit.version <= oldest.version]
        for commit in reversed(older):
            _add_names(commit, now, names)
    _add_names_of_schemas(folder, lifetimes, names)
    return names


def _add_names(commit: Commit, now: dict[Path, Lifetime], names: NamesBeforeHistory) -> None:
    """Adds the names before a commit. `now` has the columns after it, and before it afterwards."""
    if commit.operation == DROP_COLUMNS:
        for path in _dropped(commit.parameters):
            names.add(path, commit)
    elif commit.operation == RENAME_COLUMN:
        old, new = (_path(commit.parameters.get(key)) for key in ("oldColumnPath", "newColumnPath"))
        moved = {path: now[path] for path in now if path[: len(new)] == lower(new)}
        for path, lifetime in moved.items():
            before = (*old, *lifetime.columns[0][1].path[len(new) :])
            names.former[lifetime].insert(0, before)
            now[lower(before)] = now.pop(path)
        if old and not moved:
            names.add(old, commit)


def _add_names_of_schemas(
    folder: TableFolder, lifetimes: Sequence[Lifetime], names: NamesBeforeHistory
) -> None:
    """Adds the names in schemas of older files. A column is known by its physical path."""
    known = {path for lifetime in lifetimes for path in names.of(lifetime)}
    mapped = {
        lower(column.physical_path): lifetime
        for lifetime in lifetimes
        for _, column in lifetime.columns
        if column.has_physical_name
    }
    for column, version in _in_schemas(folder):
        if column.path in known:
            continue
        lifetime = mapped.get(lower(column.physical_path)) if column.has_physical_name else None
        if lifetime is not None:
            if column.path not in names.former[lifetime]:
                names.former[lifetime].insert(0, column.path)
            continue
        name = NameInLog(quoted(column.path), version, None, IN_SCHEMA)
        # A commit that dropped a struct names none of its fields.
        above = (names.others.get(column.path[:end]) for end in range(1, len(column.path)))
        drops = [each for each in above if each is not None and each.source == DROP_COLUMNS]
        names.others.setdefault(column.path, replace(drops[0], path=name.path) if drops else name)


def _dropped(parameters: Mapping[str, Any]) -> Iterator[Path]:
    try:
        found = json.loads(parameters.get("columns", "[]"))
    except (TypeError, ValueError):  # a value of another writer
        return
    for name in found if isinstance(found, list) else ():
        if path := _path(name):
            yield path


def _path(name: Any) -> Path:
    if not isinstance(name, str) or not name:
        return ()
    return path_of(name) or (name,)


def _in_schemas(folder: TableFolder) -> Iterator[tuple[Column, int | None]]:
    for files in folder.log_files:
        for text in files.schemas:
            metadata = actions.metadata({"schemaString": text})
            if metadata is not None and metadata.schema is not None:
                for column in columns_of(metadata.schema):
                    yield column, files.version
