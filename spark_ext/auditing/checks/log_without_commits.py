# SPDX-License-Identifier: Apache-2.0
"""The log has a commit beside its checkpoint."""

from __future__ import annotations

from collections.abc import Iterator

from spark_ext.auditing.findings import Finding
from spark_ext.log.actions import TableLog
from spark_ext.log.replay import State


def log_without_commits(log: TableLog, states: tuple[State, ...]) -> Iterator[Finding]:
    """Finds a log of a checkpoint alone, as a copy that passes over old files leaves it.

    Source:
        Delta 4.4.0, SnapshotManagement.scala, `createLogSegment`: "Could not find any delta files";
        its own cleanup keeps the commit of the checkpoint that it starts at.

    Example:
        >>> log, states = history(table({"a": ""}))
        >>> log = replace(log, first_commit=None)
        >>> [found.version for found in log_without_commits(log, states)]
        [0]
    """
    if log.first_commit is None:
        yield Finding(
            version=log.last_version,
            check="log_without_commits",
            column=None,
            file=None,
            message=(
                "The log has a checkpoint and no commit. The checkpoint says all of the table, but"
                " Delta opens it with the commit of the same version only."
            ),
            remedy=(
                f"Bring `{log.last_version:020}.json` back from a backup, or from where the table"
                " was copied from."
            ),
        )
