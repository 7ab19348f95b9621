# SPDX-License-Identifier: Apache-2.0
"""Finds a table's state of column mapping and tracking, and the commit that made the flag true."""

from __future__ import annotations

from dataclasses import dataclass

from spark_ext.history.columns import ADD, ColumnEvent, column_history
from spark_ext.log.actions import Commit, TableLog
from spark_ext.log.replay import State, since, states
from spark_ext.model.metadata import Protocol


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
