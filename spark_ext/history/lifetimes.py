# SPDX-License-Identifier: Apache-2.0
"""Finds the versions in which each column of a table existed, and its paths there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from spark_ext.history.columns import difference
from spark_ext.log.replay import State
from spark_ext.model.columns import Column
from spark_ext.model.operations import CLONE, RESTORE
from spark_ext.model.schema import Path


@dataclass(eq=False)
class Lifetime:
    """A column, from the first state that contains it to the first state without the column.

    Args:
        since: The version of the first state.
        columns: The column after each of its changes, by version, oldest first.
        dropped_by: The state that no longer contains the column; None if the table contains it.
        gaps: Pairs of the version that dropped the column and the version that restored it.
    """

    since: int
    columns: list[tuple[int, Column]] = field(default_factory=list)
    dropped_by: State | None = None
    gaps: list[tuple[int, int]] = field(default_factory=list)

    @property
    def last(self) -> Column:
        """Returns the column after its last change."""
        return self.columns[-1][1]

    @property
    def paths(self) -> tuple[Path, ...]:
        """Returns the paths of the column, oldest first."""
        return tuple(dict.fromkeys(column.path for _, column in self.columns))

    def is_in(self, version: int) -> bool:
        """Returns whether the table contained the column in a version."""
        return (
            self.since <= version
            and (self.dropped_by is None or version < self.dropped_by.version)
            and not any(start <= version < end for start, end in self.gaps)
        )

    def at(self, version: int) -> Column:
        """Returns the column in a version that contains it."""
        known = [column for since, column in self.columns if since <= version]
        return known[-1] if known else self.columns[0][1]


def column_lifetimes(found: Sequence[State]) -> tuple[Lifetime, ...]:
    """Returns every column that a table had in any state, including its present columns.

    Columns of two states are the same column as for `column_history`. A dropped column continues
    if RESTORE restores it, or if a later version has its former id and physical path. A column from
    a CLONE is a new one. If column mapping was removed after the drop, only RESTORE continues the
    column.
    """
    lifetimes: list[Lifetime] = []
    now: dict[Path, Lifetime] = {}
    before: State | None = None
    unmapped: State | None = None
    for state in found:
        unmapped = unmapped if state.is_mapped else state
        if state.metadata.schema is None:
            continue
        change = difference(before, state)
        for column in change.dropped:
            lifetime = now.pop(column.path, None)
            if lifetime is not None:
                lifetime.dropped_by = state
        moved = [(now.pop(old.path, None), new) for old, new in change.kept]
        for lifetime, new in moved:
            if lifetime is not None:
                lifetime.columns.append((state.version, new))
                now[new.path] = lifetime
        for column in change.added:
            # If the log begins later, RESTORE may have restored columns of an older version.
            is_known = state.is_mapped or found[0].version == 0
            lifetime = _continued_column(lifetimes, column, state, unmapped) if is_known else None
            lifetime = lifetime or Lifetime(state.version)
            if lifetime.dropped_by is None:
                lifetimes.append(lifetime)
            else:
                lifetime.gaps.append((lifetime.dropped_by.version, state.version))
                lifetime.dropped_by = None
            lifetime.columns.append((state.version, column))
            now[column.path] = lifetime
        before = state
    return tuple(lifetimes)


def _continued_column(
    lifetimes: Sequence[Lifetime], column: Column, state: State, unmapped: State | None
) -> Lifetime | None:
    """Returns the dropped column that a new column continues; None if several are possible."""
    same = [lifetime for lifetime in lifetimes if _is_same(lifetime, column, state, unmapped)]
    return same[0] if len(same) == 1 else None


def _is_same(lifetime: Lifetime, new: Column, state: State, unmapped: State | None) -> bool:
    """Returns whether a dropped column may be the same as a new column.

    After `unmapped`, the last state without column mapping, ids start again.
    """
    if lifetime.dropped_by is None or state.operation == CLONE:  # a clone has other columns
        return False
    is_restored = state.operation == RESTORE
    if not state.is_mapped:
        return is_restored and new.path in lifetime.paths
    if not is_restored and unmapped is not None and unmapped.version >= lifetime.dropped_by.version:
        return False
    # RESTORE may restore a column as it was before later changes.
    known = [column for _, column in lifetime.columns] if is_restored else [lifetime.last]
    return any(
        old.has_physical_name and (old.id, old.physical_path) == (new.id, new.physical_path)
        for old in known
    )


def spans(lifetime: Lifetime, last_version: int) -> Iterator[range]:
    """Yields the versions that contain a column, up to the table's last version."""
    end = last_version + 1 if lifetime.dropped_by is None else lifetime.dropped_by.version
    start = lifetime.since
    for gap_start, gap_end in lifetime.gaps:
        yield range(start, gap_start)
        start = gap_end
    yield range(start, end)
