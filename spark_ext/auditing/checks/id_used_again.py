# SPDX-License-Identifier: Apache-2.0
"""A column id belongs to one column for ever."""

from __future__ import annotations

from collections.abc import Iterator

from spark_ext.auditing.findings import Finding
from spark_ext.log.actions import TableLog
from spark_ext.log.replay import Column, State
from spark_ext.model.schema import Path, quoted


def id_used_again(log: TableLog, states: tuple[State, ...]) -> Iterator[Finding]:
    """Finds ids that two columns have, at one time or one after the other.

    It is another column where the id has another physical name, and where it comes back after it
    was dropped. A struct that is replaced by one of another type gives its fields' ids and names to
    those that are called alike. RESTORE, CLONE, and removing column mapping and on again start
    anew: they bring ids of another table or time, or give all of them again.

    Source:
        Protocol, "Writer Requirements for Column Mapping"; Delta 4.4.0, DeltaColumnMapping.scala,
        `assignColumnIdAndPhysicalNameToSchema`, for replaced structs.

    Example:
        >>> one = table({"a": "1 col-1", "b": "2 col-2"}, "name", "true")
        >>> other = table({"b": "2 col-2", "c": "1 col-3"}, "name", "true")
        >>> [(found.column, found.version) for found in id_used_again(*history(one, other))]
        [('c', 1)]
    """
    taken: dict[int, Path] = {}
    current: set[int] = set()
    told: set[tuple[int, Path]] = set()
    for state in states:
        if not state.is_mapped or state.may_bring_columns:
            taken, current = {}, set()
        here: dict[int, Path] = {}
        for id, path, column in _ids(state) if state.is_mapped else ():
            owner = here.get(id, taken.get(id, path))
            came_back = id in taken and id not in current
            if (owner != path or came_back) and (id, path) not in told:
                told.add((id, path))
                yield _finding(state, id, column, came_back=came_back and owner == path)
            here.setdefault(id, path)
        taken |= here
        current = set(here)


def _ids(state: State) -> Iterator[tuple[int, Path, Column]]:
    """Every id with the name in files that it goes with; of elements, keys and values too."""
    for column in state.columns:
        if isinstance(column.id, int):
            yield column.id, column.physical_path[-1:], column
        for path, id in column.nested_ids.items():
            if isinstance(id, int):
                yield id, (column.physical_path[-1], path), column


def _finding(state: State, id: int, column: Column, *, came_back: bool) -> Finding:
    whose = "dropped before and is back" if came_back else "that of another column before"
    return Finding(
        version=state.version,
        check="id_used_again",
        column=quoted(column.path),
        file=None,
        message=(
            f"The column id {id} was {whose}: who finds columns by id, as readers of mode id and"
            " Iceberg do, reads the other column's values in older files."
        ),
        remedy=(
            "Copy the column into a new one that is added in a session with spark-ext, and drop"
            " this one, or RESTORE the table to the version before."
        ),
    )
