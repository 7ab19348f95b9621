# SPDX-License-Identifier: Apache-2.0
"""The history of a table: its states, the changes of columns, and the names that files may have."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from spark_ext.log.actions import Commit, LoggedMetadata, TableLog
from spark_ext.model import keys
from spark_ext.model.changes import identity
from spark_ext.model.column_mapping import Column, columns_of
from spark_ext.model.keys import INTERNAL_COLUMNS, MODE_ID, ROW_TRACKING_COLUMNS
from spark_ext.model.metadata import ColumnChange, FlagChange, Protocol, StatusRow, parsed_flag
from spark_ext.model.schema import (
    EMPTY_SCHEMA,
    DataType,
    Path,
    Schema,
    differing,
    inner_types,
    lower,
    quoted,
)


@dataclass(frozen=True)
class State:
    """The protocol and metadata until their next change; no `commit` if log cleanup deleted it."""

    version: int
    commit: Commit | None
    protocol: Protocol
    metadata: LoggedMetadata

    @property
    def mode(self) -> str:
        """Returns the column mapping mode in lower case; it may be one that Delta does not know."""
        return str(
            self.metadata.configuration.get(keys.COLUMN_MAPPING_MODE, keys.MODE_NONE)
        ).lower()

    @property
    def is_mapped(self) -> bool:
        """Returns whether column mapping is on. An unknown mode counts as on."""
        return self.mode != keys.MODE_NONE

    @property
    def is_tracked(self) -> bool:
        """Returns whether the protocol lists the feature of usage tracking."""
        return self.protocol.has_writer_feature(keys.FEATURE_NAME)

    @property
    def is_catalog_managed(self) -> bool:
        """Returns whether a catalog ratifies the commits of the table, and maintains it."""
        return bool(self.protocol.catalog_managed_features)

    @property
    def flag(self) -> bool | None:
        """Returns the flag of usage tracking; None if it is missing or not a boolean."""
        return parsed_flag(self.metadata.configuration.get(keys.HAS_DROPPED_OR_RENAMED))

    @property
    def max_column_id(self) -> int | None:
        """Returns the highest column id ever used; None if it is missing or not an integer."""
        try:
            return int(self.metadata.configuration[keys.MAX_COLUMN_ID])
        except (KeyError, TypeError, ValueError):
            return None

    @property
    def operation(self) -> str | None:
        """Returns the operation of the commit; None if it is not known."""
        return None if self.commit is None else self.commit.operation

    @property
    def may_add_foreign_columns(self) -> bool:
        """Returns whether the commit, or an unknown one, may add columns with ids of others."""
        return self.operation in (None, keys.CLONE, keys.RESTORE)

    @property
    def may_add_foreign_files(self) -> bool:
        """Returns whether the commit may add files of another table. An unknown operation may."""
        return self.operation in (None, keys.CLONE, keys.CONVERT)

    def name_in_files(self, column: Column) -> Path:
        """Returns the path of a column in data files, in lower case; logical if not mapped."""
        path = column.physical_path if self.is_mapped else column.path
        return lower(path)

    @cached_property
    def names_in_files(self) -> Mapping[Path, Column]:
        """Returns every column by its `name_in_files`; the first column if two names are equal."""
        found: dict[Path, Column] = {}
        for column in self.columns:
            found.setdefault(self.name_in_files(column), column)
        return found

    @cached_property
    def partition_columns(self) -> tuple[Column, ...]:
        """Returns the partition columns, in the order of the schema."""
        names = {(name,) for name in lower(self.metadata.partition_columns)}
        return tuple(column for column in self.columns if lower(column.path) in names)

    @property
    def ids(self) -> list[Any]:
        """Returns the ids of columns, elements, keys and values, which may have any type."""
        return [id for column in self.columns for id in (column.id, *column.nested_ids.values())]

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        """Returns every column, parents first; empty if the schema cannot be read."""
        schema = self.metadata.schema
        return () if schema is None else columns_of(schema)


def states(log: TableLog) -> tuple[State, ...]:
    """Returns every state of the log, oldest first.

    If log cleanup deleted version 0, the states start at the oldest checkpoint that has both
    actions, `metaData` and `protocol`, and that the commits follow without a gap. Without such a
    checkpoint, there are none.
    """
    start = None if log.first_commit == 0 else _oldest_checkpoint(log)
    if start is None and log.first_commit != 0:
        return ()
    found = [] if start is None else [start]
    protocol = None if start is None else start.protocol
    metadata = None if start is None else start.metadata
    for commit in log.commits:
        if found and commit.version <= found[-1].version:
            continue
        protocol = commit.protocol or protocol
        metadata = commit.metadata or metadata
        if protocol is not None and metadata is not None:
            found.append(State(commit.version, commit, protocol, metadata))
    return tuple(found)


def since(states: Sequence[State], holds: Callable[[State], bool]) -> int | None:
    """Returns the version since which all states meet a condition; None if the newest does not."""
    version = None
    for state in reversed(states):
        if not holds(state):
            break
        version = state.version
    return version


def _oldest_checkpoint(log: TableLog) -> State | None:
    """Returns the oldest checkpoint with both actions after which the log lacks no commit."""
    first_commit = log.last_version + 1 if log.first_commit is None else log.first_commit
    complete = (
        State(each.version, None, each.protocol, each.metadata)
        for each in log.summaries
        if each.first_version is None and each.version >= first_commit - 1
        if each.protocol is not None and each.metadata is not None
    )
    return min(complete, key=lambda state: state.version, default=None)


ADD, DROP, RENAME = "add", "drop", "rename"


@dataclass(frozen=True)
class ColumnVersions:
    """The versions that added a column and last renamed it; None if the log has no such version."""

    added: int | None
    renamed: int | None = None


_UNKNOWN = ColumnVersions(None)


@dataclass(frozen=True)
class ColumnHistory:
    """The changes of a table's columns, and the resulting columns by path.

    Events are by version; within a version first drops, then renames, then adds. Their timestamps
    are milliseconds since the epoch, of which the JVM makes timestamps: a log may have any 64-bit
    number, and Python's datetime ends with the year 9999.
    """

    events: tuple[ColumnChange, ...]
    columns: Mapping[Path, ColumnVersions]


def column_history(log: TableLog) -> ColumnHistory:
    """Returns the history of a table's columns.

    If two versions are mapped, a column is the same in both if its id and physical path are, as for
    the flag (`spark_ext.model.changes`). Otherwise it is the same if its name is, including letter
    case. If REPLACE or overwriteSchema gives a column a new id, one column is dropped and another
    one added. The columns that RESTORE restores are listed as added. The children of a renamed
    column are not renamed. A new type or another order is not an event. If the log starts at a
    checkpoint, the version that added the columns there is not known.
    """
    # A schema that cannot be read is skipped.
    found = [state for state in states(log) if state.metadata.schema is not None]
    events: list[ColumnChange] = []
    columns: dict[Path, ColumnVersions] = {}
    for before, after in zip([None, *found], found, strict=False):
        commit = after.commit
        version = None if commit is None else commit.version
        change = difference(before, after)
        for column in change.dropped:
            columns.pop(column.path, None)  # a broken schema has a name twice
            events.append(_event(commit, DROP, column, None))
        # A path may pass from one column to another within a commit.
        known = [columns.pop(old.path, _UNKNOWN) for old, _ in change.kept]
        for (old, new), versions in zip(change.kept, known, strict=True):
            if old.path[-1] != new.path[-1]:
                events.append(_event(commit, RENAME, old, new))
                versions = ColumnVersions(versions.added, version)
            columns[new.path] = versions
        for column in change.added:
            columns[column.path] = ColumnVersions(version)
            events.append(_event(commit, ADD, None, column))
    return ColumnHistory(tuple(events), columns)


def _event(
    commit: Commit | None, change: str, old: Column | None, new: Column | None
) -> ColumnChange:
    return ColumnChange(
        **_facts(commit),
        change=change,
        id=next(each.known_id for each in (new, old) if each is not None),
        old_name=None if old is None else quoted(old.path),
        new_name=None if new is None else quoted(new.path),
    )


def _facts(commit: Commit | None) -> dict[str, Any]:
    return {
        "version": commit and commit.version,
        "timestamp": commit and commit.time,
        "operation": commit and commit.operation,
        "user_name": commit and commit.user,
    }


@dataclass(frozen=True)
class Difference:
    """The columns that differ between two states; `kept` has pairs of the same column."""

    dropped: tuple[Column, ...]
    kept: tuple[tuple[Column, Column], ...]
    added: tuple[Column, ...]


def difference(before: State | None, after: State) -> Difference:
    """Returns the columns that differ between two states; None means no table."""
    # The commits of a wide table change few columns: only those are compared.
    old, new = differing(_schema(before), _schema(after))
    both_mapped = before is not None and before.is_mapped and after.is_mapped

    def key(column: Column) -> object:
        if not both_mapped:
            return column.path
        return None if column.known_id is None else identity(column.known_id, column.physical_path)

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


def status(log: TableLog) -> StatusRow:
    """Returns a table's status. The log must have a state.

    An unknown mode is returned as well. A flag of a tracked table that is missing or not a boolean
    counts as true. The commit since which it is true is None if that commit was cleaned up.
    """
    found = states(log)
    last = found[-1]
    protocol = last.protocol
    version = since(found, _is_true)
    commits = {state.version: state.commit for state in found}
    commit = None if version is None else commits[version]
    return StatusRow(
        mode=last.mode,
        tracked=last.is_tracked,
        has_dropped_or_renamed=_is_true(last) if last.is_tracked else None,
        min_reader_version=protocol.min_reader_version,
        min_writer_version=protocol.min_writer_version,
        reader_features=_sorted(protocol.reader_features),
        writer_features=_sorted(protocol.writer_features),
        true_since=None if commit is None else FlagChange(**_facts(commit)),
        dropped_or_renamed=tuple(
            event for event in column_history(log).events if event.change != ADD
        ),
        history_from=found[0].version,
    )


def _sorted(features: frozenset[str] | None) -> tuple[str, ...] | None:
    return None if features is None else tuple(sorted(features))


def _is_true(state: State) -> bool:
    return state.is_tracked and state.flag is not False


# Delta 4.4.0, RowTracking: prefixes of internal columns. Each table adds a UUID of its own, and
# files of a clone contain the UUID of the source.
_ROW_TRACKING_PREFIXES = ("_row-id-col-", "_row-commit-version-col-")


@dataclass(frozen=True)
class KnownNames:
    """The names and field ids that the data files of a table may contain, in any letter case."""

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
        return (
            self.is_internal(path)
            or _is_in(path, self._present)
            or not self._dropped_are_known
            or _is_in(path, self._former)
        )

    def allows_id(self, id: int) -> bool:
        """Returns whether a file may contain a column with this field id."""
        return id in self._present_ids or not self._dropped_are_known or id in self._former_ids

    def is_internal(self, path: Path) -> bool:
        """Returns whether a path belongs to a column that only Delta itself uses."""
        name = path[0].lower()
        return name in self._internal or name.startswith(_ROW_TRACKING_PREFIXES)

    def is_only_internal(self, path: Path) -> bool:
        """Returns whether a path in lower case is internal, and no known column has its name."""
        return path[0] not in self._named and self.is_internal(path)

    def type_of(self, id: int) -> DataType | str | None:
        """Returns the type of a present or dropped column; None for any other id."""
        return self._present_ids.get(id) or self._former_ids.get(id)

    @property
    def _states_with_dropped(self) -> Sequence[State]:
        """Returns the states with columns that live files may contain after a drop."""
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
    def _present_ids(self) -> dict[int, DataType | str | None]:
        return _types_by_id(self.states[-1:])

    @cached_property
    def _former_ids(self) -> dict[int, DataType | str | None]:
        return _types_by_id(state for state in self._states_with_dropped if state.is_mapped)

    @cached_property
    def _named(self) -> set[str]:
        return {path[0] for state in self.states for path in state.names_in_files}

    @cached_property
    def _internal(self) -> frozenset[str]:
        properties = (
            state.metadata.configuration.get(key)
            for state in self.states
            for key in ROW_TRACKING_COLUMNS
        )
        return INTERNAL_COLUMNS | {str(name).lower() for name in properties if name}


def _is_in(path: Path, known: Mapping[Path, DataType | str]) -> bool:
    if path in known:
        return True
    # The schema names every column of a struct. The file format names the parts of other types,
    # such as variants, so any path below them is known.
    above = (path[:length] for length in range(len(path) - 1, 0, -1))
    nearest = next((known[each] for each in above if each in known), "struct")
    return (nearest if isinstance(nearest, str) else nearest["type"]) != "struct"


def _types_by_id(states: Iterable[State]) -> dict[int, DataType | str | None]:
    """Returns the newest type by id; None for ids of elements, keys and values."""
    types: dict[int, DataType | str | None] = {}
    for state in states:
        for id in state.ids:
            if type(id) is int:
                types.setdefault(id)
        columns = ((column.known_id, column.field["type"]) for column in state.columns)
        types |= {id: kind for id, kind in columns if id is not None}
    return types


def _typed(state: State) -> Iterator[tuple[Path, DataType | str]]:
    """Yields the path in files and the type of each column, element, key and value."""
    for column in state.columns:
        yield from inner_types(state.name_in_files(column), column.field["type"])
