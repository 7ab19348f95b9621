# SPDX-License-Identifier: Apache-2.0
"""Replays a log: what protocol and metadata a table had, version by version."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from spark_ext.log.actions import Commit, LoggedMetadata, Summary, TableLog
from spark_ext.model.column_mapping import field_metadata, has_physical_name, physical_name
from spark_ext.model.keys import (
    CATALOG_MANAGED_FEATURES,
    COLUMN_ID,
    COLUMN_MAPPING_MODE,
    FEATURE_NAME,
    HAS_DROPPED_OR_RENAMED,
    MAX_COLUMN_ID,
    MODE_NONE,
    NESTED_COLUMN_IDS,
)
from spark_ext.model.metadata import Protocol
from spark_ext.model.schema import Field, Path, Schema, lower, walk
from spark_ext.model.usage import parsed_flag

# Delta, DeltaOperations.scala: what brings columns with the ids and names of another table or time.
_COLUMNS_FROM_ELSEWHERE = ("CLONE", "RESTORE")


@dataclass(frozen=True)
class Column:
    """A column of a version, at any level.

    Args:
        physical_path: The names in data files, whether column mapping is on or not.
        id: As it stands in the schema, whatever that is; None without one.
    """

    path: Path
    physical_path: Path
    id: Any
    has_physical_name: bool
    field: Field

    @property
    def nested_ids(self) -> Mapping[str, Any]:
        """The ids of its elements, keys and values, by path; empty where that is not an object."""
        ids = field_metadata(self.field).get(NESTED_COLUMN_IDS)
        return ids if isinstance(ids, dict) else {}


@dataclass(frozen=True)
class State:
    """A table from one change of its metadata or protocol to the next.

    Args:
        version: The first that is so.
        commit: What made it so; None where that is gone and only a checkpoint has it.
    """

    version: int
    commit: Commit | None
    protocol: Protocol
    metadata: LoggedMetadata

    @property
    def mode(self) -> str:
        """The column mapping mode, in lower case, whatever it is."""
        return str(self.metadata.configuration.get(COLUMN_MAPPING_MODE, MODE_NONE)).lower()

    @property
    def is_mapped(self) -> bool:
        """Whether column mapping is on; in a mode that nobody knows, it is."""
        return self.mode != MODE_NONE

    @property
    def is_tracked(self) -> bool:
        """Whether the protocol lists the feature of usage tracking."""
        return self.protocol.has_writer_feature(FEATURE_NAME)

    @property
    def is_catalog_managed(self) -> bool:
        """Whether a catalog ratifies the table's commits, and decides who maintains it."""
        return any(map(self.protocol.has_writer_feature, CATALOG_MANAGED_FEATURES))

    @property
    def flag(self) -> bool | None:
        """The flag of usage tracking; None where it is absent or no boolean."""
        return parsed_flag(self.metadata.configuration.get(HAS_DROPPED_OR_RENAMED))

    @property
    def max_column_id(self) -> int | None:
        """The highest id that was ever given; None where the table does not say."""
        try:
            return int(self.metadata.configuration[MAX_COLUMN_ID])
        except (KeyError, TypeError, ValueError):
            return None

    @property
    def operation(self) -> str | None:
        """Of the commit that made it so; None where that is unknown."""
        return None if self.commit is None else self.commit.operation

    @property
    def may_bring_columns(self) -> bool:
        """Whether its columns may come from another table or time, with names and ids.

        A writer may leave `commitInfo` out, so a commit that does not say what it is may.
        """
        return self.operation is None or self.operation in _COLUMNS_FROM_ELSEWHERE

    def name_in_files(self, column: Column) -> Path:
        """Under which names readers look for a column in data files, letter case aside.

        Without column mapping that is its own name, whatever keys are left in the schema.
        """
        path = column.physical_path if self.is_mapped else column.path
        return lower(path)

    @cached_property
    def names_in_files(self) -> Mapping[Path, Column]:
        """Every column by its `name_in_files`; of two that have one, the first."""
        found: dict[Path, Column] = {}
        for column in self.columns:
            found.setdefault(self.name_in_files(column), column)
        return found

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        """Every column, parents first; none where the schema cannot be read."""
        schema = self.metadata.schema
        return () if schema is None else columns_of(schema)


def columns_of(schema: Schema) -> tuple[Column, ...]:
    """Every column of a schema, parents first."""
    physical = walk(schema, name=physical_name)
    return tuple(
        Column(
            path=path,
            physical_path=physical_path,
            id=field_metadata(field).get(COLUMN_ID),
            has_physical_name=has_physical_name(field),
            field=field,
        )
        for (path, field), (physical_path, _) in zip(walk(schema), physical, strict=True)
    )


def states(log: TableLog) -> tuple[State, ...]:
    """Every state that the log still has, oldest first.

    Where version 0 is gone it starts at the oldest checkpoint: what was before is not known.

    Returns:
        The states; none where there is neither version 0 nor a checkpoint with both actions.
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


def since(states: Sequence[State], is_so: Callable[[State], bool]) -> int | None:
    """The version from which on something is so without a break; None where it is not so now."""
    version = None
    for state in reversed(states):
        if not is_so(state):
            break
        version = state.version
    return version


def _oldest_checkpoint(log: TableLog) -> Summary | None:
    # Between an older one and the first commit, changes would be missing.
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
