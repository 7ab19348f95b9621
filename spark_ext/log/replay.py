# SPDX-License-Identifier: Apache-2.0
"""Replays a log: what protocol and metadata a table had, version by version."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from spark_ext.log.actions import Commit, LoggedMetadata, Summary, TableLog
from spark_ext.model.keys import COLUMN_ID, COLUMN_MAPPING_MODE, MODE_NONE, PHYSICAL_NAME
from spark_ext.model.metadata import Protocol
from spark_ext.model.schema import Field, Path, Schema, walk


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


@dataclass(frozen=True)
class State:
    """A table from one change of its metadata or protocol to the next.

    Args:
        version: The first that is so.
        commit: What made it so; None where that is gone and a checkpoint tells of it.
    """

    version: int
    commit: Commit | None
    protocol: Protocol
    metadata: LoggedMetadata

    @property
    def mode(self) -> str:
        """The column mapping mode, in lower case, whatever it is."""
        return str(self.metadata.configuration.get(COLUMN_MAPPING_MODE, MODE_NONE)).lower()

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        """Every column, parents first; none where the schema cannot be read."""
        schema = self.metadata.schema
        return () if schema is None else columns_of(schema)


def columns_of(schema: Schema) -> tuple[Column, ...]:
    """Every column of a schema, parents first."""
    physical = walk(schema, name=_physical_name)
    return tuple(
        Column(
            path=path,
            physical_path=physical_path,
            id=(field.get("metadata") or {}).get(COLUMN_ID),
            has_physical_name=PHYSICAL_NAME in (field.get("metadata") or {}),
            field=field,
        )
        for (path, field), (physical_path, _) in zip(walk(schema), physical, strict=True)
    )


def states(log: TableLog) -> tuple[State, ...]:
    """Every state that the log still tells of, oldest first.

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


def _oldest_checkpoint(log: TableLog) -> Summary | None:
    whole = (
        summary
        for summary in log.summaries
        if summary.first_version is None
        and summary.protocol is not None
        and summary.metadata is not None
    )
    return min(whole, key=lambda summary: summary.version, default=None)


def _physical_name(field: Field) -> str:
    return str((field.get("metadata") or {}).get(PHYSICAL_NAME, field["name"]))
