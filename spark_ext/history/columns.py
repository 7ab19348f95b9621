# SPDX-License-Identifier: Apache-2.0
"""Finds the changes of a table's columns, from the oldest version of its log."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise

from spark_ext.log.actions import Commit, TableLog
from spark_ext.log.replay import State, states
from spark_ext.model.changes import identity
from spark_ext.model.columns import Column, columns_of
from spark_ext.model.schema import EMPTY_SCHEMA, Path, Schema, differing

ADD, DROP, RENAME = "add", "drop", "rename"


@dataclass(frozen=True)
class ColumnEvent:
    """A column at any level was added, dropped or renamed.

    Args:
        commit: The commit with the change; None for a column of a checkpoint that starts the log.
        change: `add`, `drop` or `rename`.
        id: The column's id: after the change, or before a `drop`; None if the column has no id.
        old: The path before; None for an `add`.
        new: The path after; None for a `drop`.
    """

    commit: Commit | None
    change: str
    id: int | None
    old: Path | None
    new: Path | None


@dataclass(frozen=True)
class ColumnVersions:
    """The versions that added a column and last renamed it.

    Args:
        added: None if that version is older than the log.
        renamed: None if no version of the log renamed the column.
    """

    added: int | None
    renamed: int | None = None


_UNKNOWN = ColumnVersions(None)


@dataclass(frozen=True)
class ColumnHistory:
    """The changes of a table's columns, and the resulting columns.

    Args:
        events: By version; within a version first drops, then renames, then adds.
        columns: The newest columns, by path.
    """

    events: tuple[ColumnEvent, ...]
    columns: Mapping[Path, ColumnVersions]


def column_history(log: TableLog) -> ColumnHistory:
    """Returns the history of a table's columns.

    If two versions are mapped, a column is the same in both if its id and physical path are, as for
    the flag (`spark_ext.model.changes`). Otherwise it is the same if its name is, including letter
    case. If REPLACE or overwriteSchema gives a column a new id, one column is dropped and another
    one added. The columns that RESTORE restores are listed as added. The children of a renamed
    column are not renamed. A new type or another order is not an event.

    Returns:
        The history. If the log starts at a checkpoint, the version that added the columns there is
        not known.

    Example:
        >>> from spark_ext.log.actions import Commit, LoggedMetadata
        >>> from spark_ext.model.metadata import Protocol
        >>> schema = {"type": "struct", "fields": [{"name": "a", "type": "long"}]}
        >>> created = Commit(0, protocol=Protocol(), metadata=LoggedMetadata(schema))
        >>> column_history(TableLog("t", 0, (created,), first_commit=0)).columns
        {('a',): ColumnVersions(added=0, renamed=None)}
    """
    # A schema that cannot be read is skipped.
    found = [state for state in states(log) if state.metadata.schema is not None]
    history = _Changing()
    for before, after in pairwise([None, *found]):
        if after is not None:
            history.take(after.commit, difference(before, after))
    return ColumnHistory(tuple(history.events), history.columns)


@dataclass(frozen=True)
class Difference:
    """The columns that differ between two states; `kept` has pairs of the same column."""

    dropped: tuple[Column, ...]
    kept: tuple[tuple[Column, Column], ...]
    added: tuple[Column, ...]


@dataclass
class _Changing:
    events: list[ColumnEvent] = field(default_factory=list)
    columns: dict[Path, ColumnVersions] = field(default_factory=dict)

    def take(self, commit: Commit | None, change: Difference) -> None:
        version = None if commit is None else commit.version
        for column in change.dropped:
            self.columns.pop(column.path, None)  # a broken schema has a name twice
            self.events.append(ColumnEvent(commit, DROP, column.known_id, column.path, None))
        # A path may pass from one column to another within a commit.
        known = [self.columns.pop(old.path, _UNKNOWN) for old, _ in change.kept]
        for (old, new), versions in zip(change.kept, known, strict=True):
            if old.path[-1] != new.path[-1]:
                self.events.append(ColumnEvent(commit, RENAME, new.known_id, old.path, new.path))
                versions = ColumnVersions(versions.added, version)
            self.columns[new.path] = versions
        for column in change.added:
            self.columns[column.path] = ColumnVersions(version)
            self.events.append(ColumnEvent(commit, ADD, column.known_id, None, column.path))


def difference(before: State | None, after: State) -> Difference:
    """Returns the columns that differ between two states; None means no table."""
    # The commits of a wide table change few columns: only those are compared.
    old, new = differing(_schema(before), _schema(after))
    both_mapped = before is not None and before.is_mapped and after.is_mapped
    key = _mapped_key if both_mapped else _named_key
    new_columns = columns_of(new)
    remaining = {key(column): column for column in new_columns}
    remaining.pop(None, None)
    kept: list[tuple[Column, Column]] = []
    dropped: list[Column] = []
    for column in columns_of(old):
        same = remaining.pop(key(column), None)
        if same is None:
            dropped.append(column)
        else:
            kept.append((column, same))
    known = {same.path for _, same in kept}
    added = tuple(column for column in new_columns if column.path not in known)
    return Difference(tuple(dropped), tuple(kept), added)


def _schema(state: State | None) -> Schema:
    return EMPTY_SCHEMA if state is None else state.metadata.schema or EMPTY_SCHEMA


def _mapped_key(column: Column) -> tuple[int, Path] | None:
    id = column.known_id
    return None if id is None else identity(id, column.physical_path)


def _named_key(column: Column) -> Path:
    return column.path
