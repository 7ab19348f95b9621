# SPDX-License-Identifier: Apache-2.0
"""The checkpoint that `_last_checkpoint` names is there."""

from __future__ import annotations

from collections.abc import Iterator

from spark_ext.auditing.findings import Finding
from spark_ext.log.actions import TableLog
from spark_ext.log.replay import State


def hinted_checkpoint_missing(log: TableLog, states: tuple[State, ...]) -> Iterator[Finding]:
    """Finds a hint to a version without a whole checkpoint.

    Source:
        Protocol, "Last Checkpoint File".

    Example:
        >>> log, states = history(table({"a": ""}))
        >>> found = hinted_checkpoint_missing(replace(log, hinted_checkpoint=0), states)
        >>> [each.version for each in found]
        [0]
        >>> found = hinted_checkpoint_missing(replace(log, hinted_checkpoint=-1), states)
        >>> [each.version for each in found]
        [None]
    """
    there = {summary.version for summary in log.summaries if summary.first_version is None}
    if log.hinted_checkpoint is not None and log.hinted_checkpoint not in there:
        is_told = log.hinted_checkpoint >= 0
        names = (
            f"a checkpoint of version {log.hinted_checkpoint}, which is not there"
            if is_told
            else "no version of a checkpoint"
        )
        yield Finding(
            version=log.hinted_checkpoint if is_told else None,
            check="hinted_checkpoint_missing",
            column=None,
            file="_last_checkpoint",
            message=(f"It names {names}: Delta looks for another one, and other readers fail."),
            remedy="Delete `_last_checkpoint`, or write a new checkpoint with Delta.",
        )
