# SPDX-License-Identifier: Apache-2.0
"""Finds every name that a column of a table had, as far as the log has it."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from spark_ext.erasure.name_resolver import NameResolver, Resolved
from spark_ext.history.lifetimes import Lifetime, column_lifetimes
from spark_ext.log import actions
from spark_ext.log.actions import Commit
from spark_ext.log.folder import TableFolder
from spark_ext.log.replay import State
from spark_ext.model.changes import identity
from spark_ext.model.columns import Column, columns_of
from spark_ext.model.erasure import IN_SCHEMA, NameInLog
from spark_ext.model.operations import DROP_COLUMNS, RENAME_COLUMN
from spark_ext.model.schema import Path, lower, path_of, quoted

# Spark, UnresolvedAttribute.scala, `name`: only a part with a dot is in backticks, and other
# backticks are not escaped.
_AS_DELTA = re.compile(r"(?:^|(?<=\.))`([^`]*\.[^`]*)`(?=\.|$)|([^.]+)")


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
        """Returns every path of a column, including its paths in data files."""
        if not isinstance(column, Lifetime):
            return (column.path,)
        physical = (known.physical_path for _, known in column.columns)
        return tuple(dict.fromkeys([*self.former.get(column, ()), *column.paths, *physical]))

    def add_former(self, column: Lifetime, *paths: Path) -> None:
        """Adds paths that a column had before the known history."""
        known = (*self.former[column], *column.paths)
        self.former[column] += [path for path in paths if path not in known]

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
    oldest = states[0]
    commits = [each for each in folder.log.commits if each.version <= oldest.version]
    older = commits if oldest.commit is None else []
    # These protocols may be unknown. `oldest.protocol` is a placeholder: lifetimes do not read it.
    schemas = [State(c.version, c, oldest.protocol, c.metadata) for c in older if c.metadata]
    whole = column_lifetimes([*schemas, *states]) if schemas else lifetimes
    resolver = NameResolver(states, whole)
    known: dict[Lifetime, list[Lifetime]] = defaultdict(list)
    for column in lifetimes:
        for same in resolver.with_path(column.columns[0][1].path, column.since):
            known[same].append(column)
    names = NamesBeforeHistory()
    for commit in older:
        _add_names(commit, known, whole, names)
    for same, columns in known.items():
        for column in columns:
            names.add_former(column, *same.paths)
    _add_names_of_schemas(folder, lifetimes, names)
    return names


def _add_names(
    commit: Commit,
    known: Mapping[Lifetime, Sequence[Lifetime]],
    lifetimes: Sequence[Lifetime],
    names: NamesBeforeHistory,
) -> None:
    """Adds the names before a commit."""
    if commit.operation == DROP_COLUMNS:
        for path in _dropped(commit.parameters):
            names.add(path, commit)
    elif commit.operation == RENAME_COLUMN:
        old, new = (_path(commit.parameters.get(key)) for key in ("oldColumnPath", "newColumnPath"))
        renamed = [*_renamed(commit.version, old, new, lifetimes)] if old else []
        for lifetime, path in renamed:
            for column in known.get(lifetime, ()):
                names.add_former(column, path)
        if old and not any(lifetime in known for lifetime, _ in renamed):
            names.add(old, commit)


def _renamed(
    version: int, old: Path, new: Path, lifetimes: Iterable[Lifetime]
) -> Iterator[tuple[Lifetime, Path]]:
    """Yields the columns that a commit renamed, with their paths before it.

    If another writer omitted the new name, every neighbour may be the renamed column.
    """
    above, depth = lower(new or old[:-1]), len(new or old)
    for lifetime in lifetimes:
        path = lifetime.at(version).path if lifetime.is_in(version) else ()
        if len(path) >= depth and lower(path)[: len(above)] == above:
            yield lifetime, (*old, *path[depth:])


def _add_names_of_schemas(
    folder: TableFolder, lifetimes: Sequence[Lifetime], names: NamesBeforeHistory
) -> None:
    """Adds the names in schemas that are older than the known history.

    Columns are matched by id and physical path, because RESTORE and some other statements rename
    columns without recording the old name.
    """
    by_identity: dict[tuple[int, Path] | None, set[Lifetime]] = defaultdict(set)
    for lifetime in lifetimes:
        for _, column in lifetime.columns:
            by_identity[_identity(column)].add(lifetime)
    by_identity.pop(None, None)
    known = {path for lifetime in lifetimes for path in names.of(lifetime)}
    for column, version in _in_schemas(folder):
        same = by_identity.get(_identity(column), set())
        if not any(column.path in names.of(lifetime) for lifetime in same):
            for lifetime in same:
                names.add_former(lifetime, column.path)
        if not same and column.path not in known:
            name = NameInLog(quoted(column.path), version, None, IN_SCHEMA)
            # A commit that dropped a struct names none of its fields.
            above = (names.others.get(column.path[:end]) for end in range(1, len(column.path)))
            drops = [each for each in above if each is not None and each.source == DROP_COLUMNS]
            drop = replace(drops[0], path=name.path) if drops else name
            names.others.setdefault(column.path, drop)


def _identity(column: Column) -> tuple[int, Path] | None:
    id = column.known_id if column.has_physical_name else None
    return None if id is None else identity(id, column.physical_path)


def _dropped(parameters: Mapping[str, Any]) -> Iterator[Path]:
    try:
        columns = parameters.get("columns", "[]")
        found = columns if isinstance(columns, list) else json.loads(columns)
    except (TypeError, ValueError):  # a value of another writer
        return
    for name in found if isinstance(found, list) else ():
        if path := _path(name):
            yield path


def _path(name: Any) -> Path:
    if not isinstance(name, str) or not name:
        return ()
    parts = tuple(quoted or plain for quoted, plain in _AS_DELTA.findall(name))
    return path_of(name) or parts or (name,)


def _in_schemas(folder: TableFolder) -> Iterator[tuple[Column, int | None]]:
    """Yields the columns of the schemas in files of the log, with their versions, newest first."""
    for files in sorted(folder.log_files, key=lambda files: files.version or 0, reverse=True):
        for text in files.schemas:
            metadata = actions.metadata({"schemaString": text})
            if metadata is not None and metadata.schema is not None:
                for column in columns_of(metadata.schema):
                    yield column, files.version
