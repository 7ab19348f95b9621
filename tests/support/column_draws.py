# SPDX-License-Identifier: Apache-2.0
"""Draws columns for the random histories, and changes of columns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from hypothesis import strategies as st

from tests.support.reference_model import (
    INSIDE,
    Column,
    Columns,
    State,
    edited,
    inside,
    walk,
)

# The list is short, so that the name of a dropped column is drawn again, also in other letter case.
NAMES = ["a", "b", "c", "A", "B", "é", "É", "d"]
NAMES_WITH_MAPPING = [*NAMES, "x y"]
MOST_COLUMNS, MOST_FIELDS, MOST_DEPTH = 5, 3, 2


# Questions about columns.


def siblings(columns: Columns, parent: tuple[str, ...]) -> Columns:
    found: Columns = ()

    def seen(old: Columns) -> Columns:
        nonlocal found
        found = old
        return old

    edited(columns, parent, seen)
    return found


def free_names(taken: Columns, mode: str) -> list[str]:
    used = {column.name.lower() for column in taken}
    names = NAMES if mode == "none" else NAMES_WITH_MAPPING
    return [name for name in names if name.lower() not in used]


def places(columns: Columns) -> list[tuple[str, ...]]:
    """Returns the paths of parents to which a column can be added."""
    structs = [
        inside(path, column)
        for path, column in walk(columns)
        if column.fields and len(column.fields) < MOST_FIELDS
    ]
    return [*[()] * (len(columns) < MOST_COLUMNS), *structs]


def depth(path: tuple[str, ...]) -> int:
    return len([name for name in path if name not in ("element", "value")])


def has_place(state: State) -> bool:
    return bool(places(state.columns))


def droppable(columns: Columns) -> list[tuple[str, ...]]:
    """Returns the columns that can be dropped: not the only one of a table or struct."""
    return [path for path, _ in walk(columns) if len(siblings(columns, path[:-1])) > 1]


def movable(columns: Columns) -> list[tuple[str, ...]]:
    """Returns the columns that have a sibling before them."""
    return [path for path, c in walk(columns) if siblings(columns, path[:-1])[0].key != c.key]


def has_unmappable_name(columns: Columns) -> bool:
    """Returns whether Delta allows the columns only with column mapping."""
    return any(" " in column.name for _, column in walk(columns))


def is_key(column: Column, row: Any) -> bool:
    return column.kind == "INT" and row.get(column.key) is not None


# Changes of columns.


def without(name: str) -> Callable[[Columns], Columns]:
    return lambda old: tuple(column for column in old if column.name != name)


def renamed(name: str, to: str) -> Callable[[Columns], Columns]:
    return lambda old: tuple(replace(c, name=to) if c.name == name else c for c in old)


def with_new(new: Column, *, first: bool) -> Callable[[Columns], Columns]:
    return lambda old: (new, *old) if first else (*old, new)


def moved_first(name: str) -> Callable[[Columns], Columns]:
    return lambda old: tuple(sorted(old, key=lambda column: column.name != name))


def widened(name: str) -> Callable[[Columns], Columns]:
    """Returns a change of INT to BIGINT, which leaves columns of other types as they are."""
    return lambda old: tuple(
        replace(c, kind="BIGINT") if c.name == name and c.kind == "INT" else c for c in old
    )


def fresh(column: Column) -> Column:
    """Returns a new column of the same name and type."""
    return Column(column.name, column.kind, tuple(map(fresh, column.fields)))


# Random columns.


def draw_column(data: Any, mode: str, taken: Columns = (), *, level: int = 0) -> Column:
    name = data.draw(st.sampled_from(free_names(taken, mode)), label="name")
    kinds = ["INT", "STRING", *[*INSIDE] * (level < MOST_DEPTH)]
    kind = data.draw(st.sampled_from(kinds), label="kind")
    if kind not in INSIDE:
        return Column(name, kind)
    fields: Columns = ()
    for _ in range(data.draw(st.integers(1, 2), label="fields")):
        fields = (*fields, draw_column(data, mode, fields, level=level + 1))
    return Column(name, kind, fields)


def draw_columns(data: Any, mode: str) -> Columns:
    columns: Columns = ()
    for _ in range(data.draw(st.integers(1, 3), label="columns")):
        columns = (*columns, draw_column(data, mode, columns))
    return columns


def draw_evolution(data: Any, state: State) -> tuple[Columns, Columns]:
    """Draws some columns, perhaps with a new one; returns them and all columns after the merge."""
    columns = state.columns
    given = [c for c in columns if data.draw(st.booleans(), label=f"with {c.name}")]
    parents = [p for p in places(columns) if not p or p[0] in {c.name for c in given}]
    some, everything = tuple(given), columns
    if parents and (not given or data.draw(st.booleans(), label="new column")):
        parent = data.draw(st.sampled_from(parents))
        new = draw_column(data, state.mode, siblings(columns, parent), level=depth(parent))
        some = edited(some, parent, lambda old: (*old, new))
        everything = edited(everything, parent, lambda old: (*old, new))
    return (some, everything) if some else (columns, columns)


def draw_successor(data: Any, columns: Columns, mode: str) -> Columns:
    """Draws the columns of an overwrite: the same, fewer, more, or of another case or type."""
    successor: Columns = ()
    for column in map(fresh, columns):
        change = data.draw(st.sampled_from(["same", "same", "gone", "case", "type", "field case"]))
        if change == "gone":
            continue
        if change == "case":
            column = replace(column, name=column.name.swapcase())
        elif change == "type":
            column = Column(column.name, "STRING" if column.kind == "INT" else "INT")
        elif change == "field case" and column.fields:
            first, *rest = column.fields
            column = replace(column, fields=(replace(first, name=first.name.swapcase()), *rest))
        successor = (*successor, column)
    if not successor or (len(successor) < MOST_COLUMNS and data.draw(st.booleans(), label="more")):
        successor = (*successor, draw_column(data, mode, successor))
    return successor
