# SPDX-License-Identifier: Apache-2.0
"""A drop or rename makes the flag true in its own commit."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from spark_ext.auditing.findings import Finding
from spark_ext.log.actions import TableLog
from spark_ext.log.replay import Column, State
from spark_ext.model.schema import Path, quoted


def drop_without_flag(log: TableLog, states: tuple[State, ...]) -> Iterator[Finding]:
    """Finds columns that were dropped or renamed while the flag stayed false.

    Columns of a mapped table are told apart by id, and where column mapping ends by name. Without
    it no column can be dropped while files keep it. Of a struct only the topmost column is found.

    Source:
        RFC, "Writer Requirements for Usage Tracking".

    Example:
        >>> one = table({"a": "1 a", "b": "2 b"}, "name", "false")
        >>> dropped, renamed = {"b": "2 b"}, {"a": "1 a", "c": "2 b"}
        >>> [found.column for found in drop_without_flag(*history(one, table(dropped, "name",
        ...     "false")))]
        ['a']
        >>> [found.column for found in drop_without_flag(*history(one, table(renamed, "name",
        ...     "false")))]
        ['b']
        >>> list(drop_without_flag(*history(one, table(renamed, "name", "true"))))
        []
    """
    for before, after in pairwise(states):
        if not (before.is_tracked and after.is_tracked) or not before.is_mapped:
            continue
        if before.flag is not False or after.flag is not False or after.metadata.schema is None:
            continue
        for column, happened in _changed(before, after):
            yield Finding(
                version=after.version,
                check="drop_without_flag",
                column=quoted(column.path),
                file=None,
                message=(
                    f"The column was {happened}, and the flag stayed false: a new column of this"
                    " name shows the old one's values, and removing column mapping keeps"
                    " files that it should not."
                ),
                remedy=(
                    "Run DROP FEATURE columnMappingUsageTracking and add the feature again, which"
                    " makes the flag true, before a column is added."
                ),
            )


def _changed(before: State, after: State) -> Iterator[tuple[Column, str]]:
    by_id = {column.id: column for column in after.columns if column.id is not None}
    names = {column.path for column in after.columns}
    gone: set[Path] = set()
    for column in before.columns:
        if any(column.path[:length] in gone for length in range(1, len(column.path))):
            continue
        if not after.is_mapped:
            if column.path not in names:
                gone.add(column.path)
                yield column, "dropped"
            continue
        if column.id is None:
            continue
        same = by_id.get(column.id)
        if same is None or same.physical_path != column.physical_path:
            gone.add(column.path)
            yield column, "dropped"
        elif same.path[-1] != column.path[-1]:
            yield column, f"renamed to {quoted(same.path)}"
