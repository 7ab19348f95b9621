# SPDX-License-Identifier: Apache-2.0
"""New columns have a UUID in their physical name once the flag is true."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from spark_ext.auditing.findings import Finding
from spark_ext.log.actions import TableLog
from spark_ext.log.replay import Column, State
from spark_ext.model.schema import Path, quoted

_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)


def uuid_missing(log: TableLog, states: tuple[State, ...]) -> Iterator[Finding]:
    """Finds columns added under a true flag, or in the commit that makes it so, without a UUID.

    Columns keep their names where column mapping is switched on for an existing table, and arrive
    with names by RESTORE and CLONE. Of a struct only the topmost column is found.

    Source:
        RFC, "Writer Requirements for Column Mapping": "Otherwise the physical column name must
        contain a universally unique identifier".

    Example:
        >>> one = table({"a": "1 a"}, "name", "true")
        >>> other = table({"a": "1 a", "b": "2 b"}, "name", "true")
        >>> [(found.column, found.version) for found in uuid_missing(*history(one, other))]
        [('b', 1)]
    """
    for before, after in pairwise(states):
        if after.flag is False or after.may_bring_columns or not before.columns:
            continue
        if all(state.is_tracked and state.is_mapped for state in (before, after)):
            yield from (_finding(after, column) for column in _unnamed(before, after))


def _unnamed(before: State, after: State) -> Iterator[Column]:
    known = {column.id for column in before.columns}
    found: set[Path] = set()
    for column in after.columns:
        if any(column.path[:length] in found for length in range(1, len(column.path))):
            continue
        if column.id not in known and not _UUID.search(column.physical_path[-1]):
            found.add(column.path)
            yield column


def _finding(state: State, column: Column) -> Finding:
    return Finding(
        version=state.version,
        check="uuid_missing",
        column=quoted(column.path),
        file=None,
        message=(
            f"The column was added while the flag was true, and is called"
            f" `{column.physical_path[-1]}` in the files: where a dropped or renamed column left"
            " that name in older files, it shows that one's values."
        ),
        remedy=(
            "Compare the column with what should be in it in rows from before this version, copy"
            " it into a new one that is added in a session with spark-ext, and drop this one."
        ),
    )
