# SPDX-License-Identifier: Apache-2.0
"""Replays a log: the protocol and the metadata of a table, version by version."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from spark_ext.log.actions import Commit, LoggedMetadata, Summary, TableLog
from spark_ext.model.columns import Column, columns_of
from spark_ext.model.keys import (
    COLUMN_MAPPING_MODE,
    FEATURE_NAME,
    HAS_DROPPED_OR_RENAMED,
    MAX_COLUMN_ID,
    MODE_NONE,
)
from spark_ext.model.metadata import Protocol
from spark_ext.model.operations import CLONE, CONVERT, RESTORE
from spark_ext.model.schema import Path, lower
from spark_ext.model.usage import parsed_flag


@dataclass(frozen=True)
class State:
    """A table from one change of its metadata or protocol to the next.

    Args:
        version: The first version of the state.
        commit: The commit of that version; None if it was cleaned up and the state is known from a
            checkpoint.
    """

    version: int
    commit: Commit | None
    protocol: Protocol
    metadata: LoggedMetadata

    @property
    def mode(self) -> str:
        """Returns the column mapping mode in lower case, also if the mode is unknown."""
        return str(self.metadata.configuration.get(COLUMN_MAPPING_MODE, MODE_NONE)).lower()

    @property
    def is_mapped(self) -> bool:
        """Returns whether column mapping is on. An unknown mode counts as on."""
        return self.mode != MODE_NONE

    @property
    def is_tracked(self) -> bool:
        """Returns whether the protocol lists the feature of usage tracking."""
        return self.protocol.has_writer_feature(FEATURE_NAME)

    @property
    def is_catalog_managed(self) -> bool:
        """Returns whether a catalog ratifies the commits of the table, and maintains it."""
        return bool(self.protocol.catalog_managed_features)

    @property
    def flag(self) -> bool | None:
        """Returns the flag of usage tracking; None if it is missing or not a boolean."""
        return parsed_flag(self.metadata.configuration.get(HAS_DROPPED_OR_RENAMED))

    @property
    def max_column_id(self) -> int | None:
        """Returns the highest column id ever used; None if it is missing or not an integer."""
        try:
            return int(self.metadata.configuration[MAX_COLUMN_ID])
        except (KeyError, TypeError, ValueError):
            return None

    @property
    def operation(self) -> str | None:
        """Returns the operation of the commit; None if it is not known."""
        return None if self.commit is None else self.commit.operation

    @property
    def may_add_foreign_columns(self) -> bool:
        """Returns whether the columns may come from another table or version, with names and ids.

        A writer may omit `commitInfo`, so the operation may be unknown.
        """
        return self.operation in (None, CLONE, RESTORE)

    @property
    def may_add_foreign_files(self) -> bool:
        """Returns whether files may come from another table, as by an unknown operation."""
        return self.operation in (None, CLONE, CONVERT)

    @property
    def may_add_foreign_mapped_files(self) -> bool:
        """Returns whether files may have physical names of another table; CONVERT has none."""
        return self.operation in (None, CLONE)

    def name_in_files(self, column: Column) -> Path:
        """Returns the path by which readers find a column in data files, in lower case.

        Without column mapping that is the logical path. Remaining keys in the schema are ignored.
        """
        path = column.physical_path if self.is_mapped else column.path
        return lower(path)

    @cached_property
    def names_in_files(self) -> Mapping[Path, Column]:
        """Returns every column by its `name_in_files`; the first one if two have the same."""
        found: dict[Path, Column] = {}
        for column in self.columns:
            found.setdefault(self.name_in_files(column), column)
        return found

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

    If version 0 was cleaned up, the states start at the oldest checkpoint.

    Returns:
        The states. Empty without version 0 and without a checkpoint that has both actions.
    """
    start = None if log.first_commit == 0 else _oldest_checkpoint(log)
    if start is not None and start.protocol is not None and start.metadata is not None:
        found = [State(start.version, None, start.protocol, start.metadata)]
    elif log.first_commit == 0:
        found = []
    else:
        return ()
    protocol = found[0].protocol if found else None
    metadata = found[0].metadata if found else None
    for commit in log.commits:
        if found and commit.version <= found[-1].version:
            continue
        protocol = commit.protocol or protocol
        metadata = commit.metadata or metadata
        if protocol is not None and metadata is not None:
            found.append(State(commit.version, commit, protocol, metadata))
    return tuple(found)


def since(states: Sequence[State], holds: Callable[[State], bool]) -> int | None:
    """Returns the version since which a condition holds; None if it does not hold now."""
    version = None
    for state in reversed(states):
        if not holds(state):
            break
        version = state.version
    return version


def _oldest_checkpoint(log: TableLog) -> Summary | None:
    # Changes between an older checkpoint and the first commit would be missing.
    first_commit = log.last_version + 1 if log.first_commit is None else log.first_commit
    whole = (
        summary
        for summary in log.summaries
        if summary.first_version is None
        and summary.version >= first_commit - 1
        and summary.protocol is not None
        and summary.metadata is not None
    )
    return min(whole, key=lambda summary: summary.version, default=None)
