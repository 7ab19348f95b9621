# SPDX-License-Identifier: Apache-2.0
"""No file shows what it holds of an older column under a newer one's name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from spark_ext.auditing.findings import Finding
from spark_ext.log.actions import FileGroup, TableLog
from spark_ext.log.replay import Column, State
from spark_ext.model.keys import MODE_ID
from spark_ext.model.schema import Path, lower, quoted

# Before everything that the log still has.
_ALWAYS = -1

_Key = tuple[object, ...]


def dropped_column_shown(log: TableLog, states: tuple[State, ...]) -> Iterator[Finding]:
    """Finds files that hold a column which came to the table after they did.

    Two columns of a mapped table are one if id and physical path agree. Where column mapping is
    switched on or off they are one by their own name, and their name in the files. A file that was
    added again, as a DELETE with deletion vectors does, counts as new. Of a struct only the
    topmost column is found.

    Source:
        RFC, introduction; docs/limits.md, "Statements".

    Example:
        >>> from spark_ext.log.actions import FileGroup, ParquetColumn
        >>> columns = (ParquetColumn(("a",)), ParquetColumn(("b",)))
        >>> files = (FileGroup("f", 1, 9, added_under=0, columns=columns),)
        >>> log, states = history(table({"a": ""}), table({"a": "", "b": ""}), files=files)
        >>> [(found.version, found.column) for found in dropped_column_shown(log, states)]
        [(1, 'b')]
    """
    newest = states[-1]
    births = _births(states)
    found: dict[Path, list[FileGroup]] = {}
    for group in log.files or ():
        added = _ALWAYS if group.added_under is None else group.added_under
        told: set[Path] = set()
        for column in _shown(group, newest):
            path = column.path
            is_told = any(path[:length] in told for length in range(1, len(path)))
            if births[path] > added and not is_told:
                told.add(path)
                found.setdefault(path, []).append(group)
    for path, groups in found.items():
        yield Finding(
            version=births[path],
            check="dropped_column_shown",
            column=quoted(path),
            file=groups[0].example,
            message=(
                f"The column was added in this version, and {sum(g.num_files for g in groups)}"
                " file(s) from before it, such as this, hold a column by which it is found: rows"
                " of these files show that one's values."
            ),
            remedy=(
                "Where the values are wrong, set the column to null in the rows of these files"
                " (UPDATE t SET .. = NULL WHERE _metadata.file_path = ..)."
            ),
        )


def _shown(group: FileGroup, state: State) -> Iterator[Column]:
    """The table's columns that readers find in files, parents first."""
    if state.mode == MODE_ID:
        by_id = {column.id: column for column in state.columns if column.id is not None}
        found = (by_id.get(column.field_id) for column in group.columns or ())
    else:
        names = state.names_in_files
        found = (names.get(lower(column.path)) for column in group.columns or ())
    yield from sorted(
        (column for column in found if column is not None), key=lambda column: len(column.path)
    )


def _births(states: tuple[State, ...]) -> Mapping[Path, int]:
    """The version in which each column of the newest state came, by its path."""
    ever: dict[_Key, int] = {}
    before: dict[_Key, int] = {}
    previous: State | None = None
    births: dict[Path, int] = {}
    for state in states:
        now: dict[_Key, int] = {}
        births = {}
        for column in state.columns:
            by_name = (lower(column.path), state.name_in_files(column))
            by_id = (column.id, column.physical_path)
            known = by_id if state.is_mapped and previous and previous.is_mapped else by_name
            birth = before.get(known)
            if birth is None and previous is not None and state.may_bring_columns:
                birth = ever.get(by_id if state.is_mapped else by_name)
                # What a RESTORE brings back was there, where the log still has it.
                is_known = state.operation == "RESTORE" and states[0].commit is not None
                birth = _ALWAYS if birth is None and not is_known else birth
            if birth is None:
                birth = _ALWAYS if previous is None else state.version
            births[column.path] = birth
            now[by_name] = birth
            if state.is_mapped:
                now[by_id] = birth
        ever = {**now, **ever}
        before, previous = now, state
    return births
