# SPDX-License-Identifier: Apache-2.0
"""The history of a table: changes of columns, the state, and the names that files may have."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Any

from spark_ext.log.actions import Commit, TableLog
from spark_ext.log.replay import State, since, states
from spark_ext.model.changes import identity
from spark_ext.model.column_mapping import Column, columns_of
from spark_ext.model.keys import INTERNAL_COLUMNS, MODE_ID, ROW_TRACKING_COLUMNS
from spark_ext.model.metadata import Protocol
from spark_ext.model.schema import (
    EMPTY_SCHEMA,
    DataType,
    Path,
    Schema,
    differing,
    inner_types,
    lower,
)

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


@dataclass(frozen=True)
class Status:
    """A table's mode, feature and flag, the commit that made the flag true, and drops and renames.

    Args:
        mode: The column mapping mode, in lower case; an unknown mode as well.
        tracked: Whether the protocol lists the feature.
        has_dropped_or_renamed: The flag; None for an untracked table. A flag that is missing or not
            a boolean counts as true.
        true_since: The commit since which the flag is true; None if the flag is false, or if that
            commit was cleaned up.
        dropped_or_renamed: The drops and renames, oldest first.
        history_from: The oldest version whose protocol and metadata the log has.
    """

    mode: str
    protocol: Protocol
    tracked: bool
    has_dropped_or_renamed: bool | None
    true_since: Commit | None
    dropped_or_renamed: tuple[ColumnEvent, ...]
    history_from: int


def status(log: TableLog) -> Status | None:
    """Returns a table's status by its log; None if the log has no state.

    Source:
        RFC, "Usage Tracking".
    """
    found = states(log)
    if not found:
        return None
    last = found[-1]
    events = column_history(log).events
    return Status(
        mode=last.mode,
        protocol=last.protocol,
        tracked=last.is_tracked,
        has_dropped_or_renamed=_is_true(last) if last.is_tracked else None,
        true_since=_true_since(found),
        dropped_or_renamed=tuple(event for event in events if event.change != ADD),
        history_from=found[0].version,
    )


def _true_since(found: tuple[State, ...]) -> Commit | None:
    version = since(found, _is_true)
    return next((state.commit for state in found if state.version == version), None)


def _is_true(state: State) -> bool:
    return state.is_tracked and state.flag is not False


# Delta 4.4.0, RowTracking: prefixes of internal columns. Each table adds a UUID of its own, and
# files of a clone contain the UUID of the source.
_ROW_TRACKING_PREFIXES = ("_row-id-col-", "_row-commit-version-col-")


@dataclass(frozen=True)
class KnownNames:
    """The names and field ids that the data files of a table may contain, in any letter case.

    Args:
        states: Every known state of the table, oldest first.
    """

    states: Sequence[State]

    @property
    def by_id(self) -> bool:
        """Returns whether readers find columns by field id, and ignore names."""
        return self.states[-1].mode == MODE_ID

    def allows(self, path: Path) -> bool:
        """Returns whether a file may contain a column with this path.

        A file may contain present, dropped and internal columns. If the log does not name every
        dropped column, a file may contain any path.
        """
        path = lower(path)
        if self.is_internal(path):
            return True
        return self._is_in(path, self._present) or not (
            self._dropped_are_known and not self._is_in(path, self._former)
        )

    def allows_id(self, id: int) -> bool:
        """Returns whether a file may contain a column with this field id."""
        if id in self._types_by_id:
            return True
        return not (self._dropped_are_known and id not in self._former_ids)

    def is_internal(self, path: Path) -> bool:
        """Returns whether a path belongs to a column that only Delta itself uses."""
        name = path[0].lower()
        return name in self._internal or name.startswith(_ROW_TRACKING_PREFIXES)

    def type_of(self, id: int) -> DataType | str | None:
        """Returns the type of a present or dropped column; None for any other id."""
        return self._types_by_id.get(id) or self._former_types_by_id.get(id)

    @property
    def _states_with_dropped(self) -> Sequence[State]:
        """Returns the states with columns that live files may contain after a drop.

        If the table has no column mapping, its files contain present columns only.
        """
        return self.states if self.states[-1].is_mapped else ()

    @cached_property
    def _dropped_are_known(self) -> bool:
        """Returns whether the states name every dropped column that files may contain."""
        newest = self.states[-1]
        if not newest.is_mapped or (newest.is_tracked and newest.flag is False):
            return True
        # Foreign files may contain columns that no state names. A state from a checkpoint has no
        # operation, and counts as one that may add such files.
        return not any(state.may_add_foreign_files for state in self.states)

    @cached_property
    def _present(self) -> dict[Path, DataType | str]:
        newest = self.states[-1]
        # After a removal, the schema may still contain physical names. The check
        # `mapping_keys_remain` reports them.
        physical = {lower(each.physical_path): each.field["type"] for each in newest.columns}
        return {**physical, **dict(_typed(newest))}

    @cached_property
    def _former(self) -> dict[Path, DataType | str]:
        return {path: kind for state in self._states_with_dropped for path, kind in _typed(state)}

    @cached_property
    def _types_by_id(self) -> dict[int, DataType | str | None]:
        newest = self.states[-1]
        by_id = ((column.known_id, column.field["type"]) for column in newest.columns)
        types = {id: kind for id, kind in by_id if id is not None}
        return dict.fromkeys(_integers(newest.ids)) | types

    @cached_property
    def _former_types_by_id(self) -> dict[int | None, DataType | str]:
        mapped = (state for state in self._states_with_dropped if state.is_mapped)
        columns = (column for state in mapped for column in state.columns)
        return {column.known_id: column.field["type"] for column in columns}

    @cached_property
    def _former_ids(self) -> set[int]:
        mapped = (state for state in self._states_with_dropped if state.is_mapped)
        return {id for state in mapped for id in _integers(state.ids)}

    @cached_property
    def _internal(self) -> frozenset[str]:
        properties = (
            state.metadata.configuration.get(key)
            for state in self.states
            for key in ROW_TRACKING_COLUMNS
        )
        return INTERNAL_COLUMNS | {str(name).lower() for name in properties if name}

    def _is_in(self, path: Path, known: dict[Path, DataType | str]) -> bool:
        if path in known:
            return True
        # The schema names every column of a struct. The file format names the parts of other types,
        # such as variants, so any path below them is known.
        above = (path[:length] for length in range(len(path) - 1, 0, -1))
        nearest = next((known[each] for each in above if each in known), "struct")
        return (nearest if isinstance(nearest, str) else nearest["type"]) != "struct"


def _integers(ids: Iterable[Any]) -> list[int]:
    return [id for id in ids if type(id) is int]


def _typed(state: State) -> Iterator[tuple[Path, DataType | str]]:
    """Yields the path in files and the type of each column, element, key and value."""
    for column in state.columns:
        yield from inner_types(state.name_in_files(column), column.field["type"])
