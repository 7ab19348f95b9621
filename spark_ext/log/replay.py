# SPDX-License-Identifier: Apache-2.0
"""Replays a log: returns the protocol and the metadata of a table after each change of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from spark_ext.log.actions import Commit, LoggedMetadata, TableLog
from spark_ext.model import keys
from spark_ext.model.column_mapping import Column, columns_of
from spark_ext.model.metadata import Protocol, parsed_flag
from spark_ext.model.schema import Path, lower


@dataclass(frozen=True)
class State:
    """The protocol and the metadata of a table from one change of them until the next.

    `commit` is None if log cleanup deleted it, and a checkpoint contains the state.
    """

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
        """Returns whether the commit may add columns of another table or version, with their ids.

        An unknown operation may add such columns: a writer may omit `commitInfo`.
        """
        return self.operation in (None, keys.CLONE, keys.RESTORE)

    @property
    def may_add_foreign_files(self) -> bool:
        """Returns whether the commit may add files of another table. An unknown operation may."""
        return self.operation in (None, keys.CLONE, keys.CONVERT)

    def name_in_files(self, column: Column) -> Path:
        """Returns the path by which readers find a column in data files, in lower case.

        Without column mapping, this is the logical path, even if the schema has physical names.
        """
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
