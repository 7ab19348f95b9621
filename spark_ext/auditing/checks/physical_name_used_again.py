# SPDX-License-Identifier: Apache-2.0
"""A physical name belongs to one column for ever."""

from __future__ import annotations

from collections.abc import Iterator

from spark_ext.auditing.findings import Finding
from spark_ext.log.actions import TableLog
from spark_ext.log.replay import Column, State
from spark_ext.model.schema import Path, lower, quoted


def physical_name_used_again(log: TableLog, states: tuple[State, ...]) -> Iterator[Finding]:
    """Finds physical paths that two columns have, at one time or one after the other.

    Letter case is ignored, since Parquet readers may ignore it. RESTORE, CLONE, and
    removing column mapping and on again start anew, as in `id_used_again`. Of a struct only
    the topmost column is found.

    Source:
        RFC, "Writer Requirements for Column Mapping": "Assign a unique physical name to each
        column".

    Example:
        >>> one = table({"a": "1 col-1", "b": "2 col-2"}, "name", "true")
        >>> other = table({"b": "2 col-2", "c": "3 COL-1"}, "name", "true")
        >>> [(found.column, found.version)
        ...  for found in physical_name_used_again(*history(one, other))]
        [('c', 1)]
    """
    taken: dict[Path, object] = {}
    told: set[tuple[Path, object]] = set()
    for state in states:
        if not state.is_mapped or state.may_bring_columns:
            taken = {}
        here: dict[Path, object] = {}
        again: set[Path] = set()
        for column in state.columns if state.is_mapped else ():
            path = lower(column.physical_path)
            if any(path[:length] in again for length in range(1, len(path))):
                continue
            is_twin = path in here
            if is_twin or taken.get(path, column.id) != column.id:
                again.add(path)
                if (path, column.id) not in told:
                    told.add((path, column.id))
                    yield _finding(state, column)
            here[path] = column.id
        taken |= here


def _finding(state: State, column: Column) -> Finding:
    return Finding(
        version=state.version,
        check="physical_name_used_again",
        column=quoted(column.path),
        file=None,
        message=(
            f"Its name in the files, `{column.physical_path[-1]}`, is or was that of another"
            " column: in older files it shows the other column's values."
        ),
        remedy=(
            "Compare the column with what should be in it, copy it into a new one that is added"
            " in a session with spark-ext, and drop this one."
        ),
    )
