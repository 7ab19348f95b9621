# SPDX-License-Identifier: Apache-2.0
"""The log has a protocol and metadata to start from."""

from __future__ import annotations

from collections.abc import Iterator

from spark_ext.auditing.findings import Finding
from spark_ext.log.actions import TableLog
from spark_ext.log.replay import State


def log_without_start(log: TableLog, states: tuple[State, ...]) -> Iterator[Finding]:
    """Finds a log without version 0 and without a checkpoint to start at; nothing else is checked.

    Source:
        Protocol, "Checkpoints"; "Metadata Cleanup".

    Example:
        >>> from spark_ext.log.actions import TableLog
        >>> [found.version for found in log_without_start(TableLog("t", 7, first_commit=5), ())]
        [7]
    """
    if not states:
        yield Finding(
            version=log.last_version,
            check="log_without_start",
            column=None,
            file=None,
            message=(
                "The log has neither version 0 nor a whole checkpoint from which on every commit is"
                " there: nothing tells the table's schema, and nothing reads it."
            ),
            remedy="Bring the missing files of `_delta_log` back from a backup.",
        )
