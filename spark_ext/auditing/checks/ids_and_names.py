# SPDX-License-Identifier: Apache-2.0
"""Checks of the ids, the physical names and the highest id that the history assigned."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from spark_ext.auditing.check import (
    NEXT_CHANGE,
    WRONG_ROWS,
    Problem,
    check,
    is_below,
    state_check,
    topmost,
)
from spark_ext.log.actions import TableLog
from spark_ext.log.replay import State
from spark_ext.model.column_mapping import Column
from spark_ext.model.keys import MAX_COLUMN_ID
from spark_ext.model.schema import Path, lower

_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_REPLACE_COLUMN = (
    "Add a column in a session with spark-ext, copy the values into it, and drop this column"
)


@check(WRONG_ROWS + 25)
def physical_name_used_again(log: TableLog, states: tuple[State, ...]) -> Iterator[Problem]:
    """Finds physical paths that two columns have, at one time or one after the other.

    Letter case is ignored, because Parquet readers may ignore it. The comparison starts again after
    RESTORE, CLONE and a removal of column mapping, as in `id_used_again`. If this holds
    for a whole struct, only the struct is found.

    Source:
        RFC, "Writer Requirements for Column Mapping": "Assign a unique physical name to each
        column".

    Example:
        >>> one = table({"a": "1 col-1", "b": "2 col-2"}, "name", "true")
        >>> other = table({"b": "2 col-2", "c": "3 COL-1"}, "name", "true")
        >>> [(found.column, found.version)
        ...  for found in physical_name_used_again(*history(one, other))]
        [(('c',), 1)]
    """
    assigned: dict[Path, object] = {}
    reported: set[tuple[Path, object]] = set()
    for state in states:
        if not state.is_mapped or state.may_add_foreign_columns:
            assigned = {}
        current: dict[Path, object] = {}
        used_again: set[Path] = set()
        for column in state.columns if state.is_mapped else ():
            path = lower(column.physical_path)
            if is_below(path, used_again):
                continue
            if path in current or assigned.get(path, column.id) != column.id:
                used_again.add(path)
                if (path, column.known_id) not in reported:
                    reported.add((path, column.known_id))
                    yield _physical_name(state, column)
            current[path] = column.id
        assigned |= current


@check(WRONG_ROWS + 30)
def id_used_again(log: TableLog, states: tuple[State, ...]) -> Iterator[Problem]:
    """Finds ids that two columns have, at one time or one after the other.

    An id belongs to another column if it has another physical name, or if it is used after a drop.
    If a struct is replaced by a value of another type, fields of the same name keep their ids and
    physical names. The comparison starts again after RESTORE, CLONE and a removal of column
    mapping: ids are then of another table or version, or all ids are assigned again.

    Source:
        Protocol, "Writer Requirements for Column Mapping"; Delta 4.4.0, DeltaColumnMapping.scala,
        `assignColumnIdAndPhysicalNameToSchema`, for replaced structs.

    Example:
        >>> one = table({"a": "1 col-1", "b": "2 col-2"}, "name", "true")
        >>> other = table({"b": "2 col-2", "c": "1 col-3"}, "name", "true")
        >>> [(found.column, found.version) for found in id_used_again(*history(one, other))]
        [(('c',), 1)]
    """
    assigned: dict[int, Path] = {}
    before: set[int] = set()
    reported: set[tuple[int, Path]] = set()
    for state in states:
        if not state.is_mapped or state.may_add_foreign_columns:
            assigned, before = {}, set()
        if state.metadata.schema is None:
            continue
        current: dict[int, Path] = {}
        for id, path, column in _named_ids(state) if state.is_mapped else ():
            owner = current.get(id, assigned.get(id, path))
            is_reused = id in assigned and id not in before
            if (owner != path or is_reused) and (id, path) not in reported:
                reported.add((id, path))
                yield _id(state, id, column, is_reused=is_reused and owner == path)
            current.setdefault(id, path)
        assigned |= current
        before = set(current)


@check(NEXT_CHANGE + 15)
def uuid_missing(log: TableLog, states: tuple[State, ...]) -> Iterator[Problem]:
    """Finds columns without a UUID that were added while the flag was true, or as it became true.

    The check skips RESTORE, CLONE and the commit that enables column mapping on an existing table:
    their columns already have names. If this holds for a whole struct, only the struct is found.

    Source:
        RFC, "Writer Requirements for Column Mapping": "Otherwise the physical column name must
        contain a universally unique identifier".

    Example:
        >>> one = table({"a": "1 a"}, "name", "true")
        >>> other = table({"a": "1 a", "b": "2 b"}, "name", "true")
        >>> [(found.column, found.version) for found in uuid_missing(*history(one, other))]
        [(('b',), 1)]
    """
    for before, after in pairwise(states):
        if after.flag is False or after.may_add_foreign_columns or not before.columns:
            continue
        if not all(state.is_tracked and state.is_mapped for state in (before, after)):
            continue
        known = {column.known_id for column in before.columns}
        added = (
            column
            for column in after.columns
            if column.known_id not in known and not _UUID.search(column.physical_path[-1])
        )
        for column in topmost(added, lambda column: column.path):
            yield _no_uuid(after, column)


@state_check(NEXT_CHANGE + 20, remedy="RESTORE the table to the last version before this one.")
def max_column_id_too_small(state: State) -> str | None:
    """Finds a `maxColumnId` that is below an id in the schema, missing, or not a number.

    Source:
        Protocol, "Writer Requirements for Column Mapping"; Delta 4.4.0, DeltaColumnMapping.scala,
        `checkColumnIdAndPhysicalNameAssignments`, which refuses such a table.

    Example:
        >>> one = table({"a": "5 a"}, "name", None, {"delta.columnMapping.maxColumnId": "4"})
        >>> max_column_id_too_small(history(one)[1][0])
        "`delta.columnMapping.maxColumnId` is '4', and the schema has the id 5. ..."
    """
    ids = [
        id
        for column in state.columns
        for id in (column.id, *column.nested_ids.values())
        if isinstance(id, int)
    ]
    highest = max(ids, default=None)
    if not state.is_mapped or highest is None:
        return None
    if state.max_column_id is not None and state.max_column_id >= highest:
        return None
    value = state.metadata.configuration.get(MAX_COLUMN_ID)
    return (
        f"`{MAX_COLUMN_ID}` is {value!r}, and the schema has the id {highest}. Delta refuses to"
        " write the table, and other writers assign an id a second time."
    )


@check(NEXT_CHANGE + 25)
def max_column_id_decreased(log: TableLog, states: tuple[State, ...]) -> Iterator[Problem]:
    """Finds versions of a mapped table with a lower `maxColumnId` than the version before.

    On an untracked table a RESTORE or CLONE may set the value of another version or table.

    Source:
        Protocol, "Writer Requirements for Column Mapping": it "must increase monotonically".

    Example:
        >>> def highest(id):
        ...     return table({"a": "1 a"}, "name", "true", {"delta.columnMapping.maxColumnId": id})
        >>> [found.version for found in max_column_id_decreased(*history(highest("7"),
        ...     highest("4")))]
        [1]
    """
    for before, after in pairwise(states):
        if not before.is_mapped or not after.is_mapped:
            continue
        if after.may_add_foreign_columns and not (before.is_tracked and after.is_tracked):
            continue
        old, new = before.max_column_id, after.max_column_id
        if old is not None and new is not None and new < old:
            yield Problem(
                version=after.version,
                message=(
                    f"`{MAX_COLUMN_ID}` decreased from {old} to {new}. New columns get ids of"
                    " dropped columns, and readers that find columns by id read the wrong column."
                ),
                remedy=(
                    "Remove column mapping before a column is added"
                    " (UsageTracking.remove_column_mapping()), and enable it again."
                ),
            )


def _named_ids(state: State) -> Iterator[tuple[int, Path, Column]]:
    """Yields every id, also of elements, keys and values, with the physical name it belongs to."""
    for column in state.columns:
        if isinstance(column.id, int):
            yield column.id, column.physical_path[-1:], column
        for path, id in column.nested_ids.items():
            if isinstance(id, int):
                yield id, (column.physical_path[-1], path), column


def _physical_name(state: State, column: Column) -> Problem:
    return Problem(
        version=state.version,
        column=column.path,
        message=(
            f"The physical name `{column.physical_path[-1]}` is or was the name of another column."
            " In older files the column shows the values of the other column."
        ),
        remedy=f"Compare the column with the values that it should have. {_REPLACE_COLUMN}.",
    )


def _id(state: State, id: int, column: Column, *, is_reused: bool) -> Problem:
    problem = "was dropped and is used again" if is_reused else "was the id of another column"
    return Problem(
        version=state.version,
        column=column.path,
        message=(
            f"The column id {id} {problem}. Readers that find columns by id, such as readers of"
            " mode id and Iceberg, read the values of the other column in older files."
        ),
        remedy=f"{_REPLACE_COLUMN}, or RESTORE the table to the version before.",
    )


def _no_uuid(state: State, column: Column) -> Problem:
    return Problem(
        version=state.version,
        column=column.path,
        message=(
            "The column was added while the flag was true, and its physical name is"
            f" `{column.physical_path[-1]}`. If a dropped or renamed column has that name in older"
            " files, the column shows the values of the older column."
        ),
        remedy=(
            "Compare the column with the values that it should have in rows of earlier versions."
            f" {_REPLACE_COLUMN}."
        ),
    )
