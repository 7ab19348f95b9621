# SPDX-License-Identifier: Apache-2.0
"""From when to when each column of a table was there, and under which paths."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from spark_ext.history.columns import difference
from spark_ext.log.replay import Column, State
from spark_ext.model.schema import Path


@dataclass(eq=False)
class ColumnLife:
    """A column, from the state that has it first to the one that has it no more.

    Args:
        since: The version of the first.
        columns: What it was, by the version since which it was so, oldest first; one that nothing
            changed has one entry.
        dropped_by: The state without it; None of a column that the table has.
        gaps: The versions between which it was not there, because RESTORE brought it back.
    """

    since: int
    columns: list[tuple[int, Column]] = field(default_factory=list)
    dropped_by: State | None = None
    gaps: list[tuple[int, int]] = field(default_factory=list)

    @property
    def last(self) -> Column:
        """What it was last."""
        return self.columns[-1][1]

    @property
    def paths(self) -> tuple[Path, ...]:
        """Each path that it had, oldest first."""
        return tuple(dict.fromkeys(column.path for _, column in self.columns))

    def is_in(self, version: int) -> bool:
        """Whether the column was the table's in a version."""
        return (
            self.since <= version
            and (self.dropped_by is None or version < self.dropped_by.version)
            and not any(start <= version < end for start, end in self.gaps)
        )

    def at(self, version: int) -> Column:
        """What it was in a version that has it."""
        known = [column for since, column in self.columns if since <= version]
        return known[-1] if known else self.columns[0][1]


def column_lives(found: Sequence[State]) -> tuple[ColumnLife, ...]:
    """Every column that a table had in any state, those that it has included.

    Two columns are one as for `column_history`. One that RESTORE brings back, or that comes back
    with the id and the physical path that it had, is the one that it was; but not one that CLONE
    brings, nor one that has them since column mapping was off.
    """
    lives: list[ColumnLife] = []
    now: dict[Path, ColumnLife] = {}
    before: State | None = None
    unmapped: State | None = None
    for state in found:
        unmapped = unmapped if state.is_mapped else state
        if state.metadata.schema is None:
            continue
        change = difference(before, state)
        for column in change.dropped:
            life = now.pop(column.path, None)
            if life is not None:
                life.dropped_by = state
        moved = [(now.pop(old.path, None), new) for old, new in change.kept]
        for life, new in moved:
            if life is not None:
                life.columns.append((state.version, new))
                now[new.path] = life
        for column in change.added:
            # Where the log begins later, RESTORE may have gone back to before.
            is_known = state.is_mapped or found[0].version == 0
            life = _returned(lives, column, state, unmapped) if is_known else None
            life = life or ColumnLife(state.version)
            if life.dropped_by is None:
                lives.append(life)
            else:
                life.gaps.append((life.dropped_by.version, state.version))
                life.dropped_by = None
            life.columns.append((state.version, column))
            now[column.path] = life
        before = state
    return tuple(lives)


def _returned(
    lives: Sequence[ColumnLife], column: Column, state: State, unmapped: State | None
) -> ColumnLife | None:
    """The column that was dropped and is here again; None where it may be one of several."""
    same = [life for life in lives if _is_same(life, column, state, unmapped)]
    return same[0] if len(same) == 1 else None


def _is_same(life: ColumnLife, new: Column, state: State, unmapped: State | None) -> bool:
    """Whether a dropped column may be a new one.

    After `unmapped`, the last state without column mapping, ids are counted anew.
    """
    if life.dropped_by is None or state.operation == "CLONE":  # which brings another table's
        return False
    is_restored = state.operation == "RESTORE"
    if not state.is_mapped:
        return is_restored and new.path in life.paths
    if not is_restored and unmapped is not None and unmapped.version >= life.dropped_by.version:
        return False
    # RESTORE may bring what a column was before it was something else.
    known = [column for _, column in life.columns] if is_restored else [life.last]
    return any(
        old.has_physical_name and (old.id, old.physical_path) == (new.id, new.physical_path)
        for old in known
    )


def spans(life: ColumnLife, last_version: int) -> Iterator[range]:
    """The versions that have a column, up to a table's last one."""
    end = last_version + 1 if life.dropped_by is None else life.dropped_by.version
    start = life.since
    for gap_start, gap_end in life.gaps:
        yield range(start, gap_start)
        start = gap_end
    yield range(start, end)
