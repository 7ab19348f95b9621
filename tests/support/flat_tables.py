# SPDX-License-Identifier: Apache-2.0
"""Changes the model of a table without nested columns, and compares a table with its model.

The key of a column never changes and is never reused, so a model shows a value that moves to
another column.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from tests.support.reference_model import Column, Key, Row, State
from tests.support.table_files import Row as NamedRow
from tests.support.table_files import in_order
from tests.support.table_log import TableLog


class Impossible(Exception):
    """Reports that a statement cannot succeed on this table."""


def names(state: State) -> dict[Key, str]:
    """Returns the names of the columns by their keys, in order."""
    return {column.key: column.name for column in state.columns}


def key_of(state: State, name: str) -> Key:
    for key, known in names(state).items():
        if known == name:
            return key
    raise Impossible(f"no column {name}")


def require(state: State, *keys: Key) -> None:
    missing = set(keys) - names(state).keys()
    if missing:
        raise Impossible(f"the columns were dropped: {missing}")


def _require_free(state: State, name: str) -> None:
    if name in names(state).values():
        raise Impossible(f"{name} exists")


def renamed(state: State, key: Key, name: str) -> State:
    require(state, key)
    _require_free(state, name)
    columns = (replace(c, name=name) if c.key == key else c for c in state.columns)
    return state.altered(tuple(columns))


def without(state: State, key: Key) -> State:
    require(state, key)
    return state.altered(tuple(column for column in state.columns if column.key != key))


def with_column(state: State, name: str, key: Key, kind: str = "STRING") -> State:
    _require_free(state, name)
    return state.altered((*state.columns, Column(name, kind, key=key)))


def with_rows(state: State, rows: Iterable[Row]) -> State:
    return state.rewritten((*state.rows, *rows))


def replaced(state: State, like: State, mode: str, rows: Iterable[Row]) -> State:
    """Returns the version after REPLACE with the columns of another version.

    The columns have the keys of `like`. If the mode is unchanged, a column of the same name and
    type as in `state` has the id and the physical name from `state`.
    """
    columns = (replace(column, id=None, physical=None) for column in like.columns)
    return state.replaced(tuple(columns), rows, mode=mode, track=False)


def values(state: State) -> set[tuple[Key, object]]:
    """Returns the values of all rows, with the keys of their columns."""
    return {item for row in state.rows for item in row.items()}


def differences(state: State, log: TableLog, rows: list[NamedRow]) -> Iterator[str]:
    """Yields each part of the model from which the log or the rows of a table differ."""
    if tuple(names(state).values()) != tuple(log.fields):
        yield f"columns {tuple(names(state).values())}"
    if in_order(state.expected_rows()) != in_order(rows):
        yield f"rows {in_order(state.expected_rows())}"
    if state.is_mapped != log.is_mapped:
        yield f"mapped {state.is_mapped}"
    if state.is_tracked != log.is_tracked:
        yield f"tracked {state.is_tracked}"
    elif state.is_tracked and state.flag_text != log.flag:
        yield f"flag {state.flag_text}"
