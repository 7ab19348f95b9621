# SPDX-License-Identifier: Apache-2.0
"""Builds logs: a commit is its operation and the table after it."""

from __future__ import annotations

from typing import Any

from spark_ext.log.actions import Commit, LoggedMetadata, Summary, TableLog
from spark_ext.model.metadata import Protocol, TableMetadata
from tests.unit.tables import TRACKED

Step = tuple[str, TableMetadata] | tuple[str, TableMetadata, tuple[str, ...]]


def log(*steps: Step, **facts: Any) -> TableLog:
    """Returns a log. Each commit changes the metadata, and the protocol if the features differ."""
    commits = []
    known: tuple[str, ...] | None = None
    for version, (operation, table, *rest) in enumerate(steps):
        features = rest[0] if rest else TRACKED
        commits.append(
            Commit(
                version,
                time=1000 * version,
                operation=operation,
                user="anna",
                protocol=None if features == known else protocol(features),
                metadata=LoggedMetadata(table.schema, dict(table.configuration)),
            )
        )
        known = features
    return TableLog("t", len(steps) - 1, tuple(commits), first_commit=0, **facts)


def cleaned_up(whole: TableLog, version: int) -> TableLog:
    """Returns the same log without the files before the checkpoint of a version."""
    protocols = [c.protocol for c in whole.commits if c.protocol and c.version <= version]
    metadata = [c.metadata for c in whole.commits if c.metadata and c.version <= version]
    name = f"{version:020}.checkpoint.parquet"
    checkpoint = Summary(name, version, None, protocols[-1], metadata[-1])
    kept = tuple(commit for commit in whole.commits if commit.version >= version)
    return TableLog("t", whole.last_version, kept, (checkpoint,), first_commit=version)


def protocol(features: tuple[str, ...]) -> Protocol:
    return Protocol(2, 7, None, frozenset(features))
