# SPDX-License-Identifier: Apache-2.0
"""The highest column id never goes down while column mapping is on."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from spark_ext.auditing.findings import Finding
from spark_ext.log.actions import TableLog
from spark_ext.log.replay import State
from spark_ext.model.keys import MAX_COLUMN_ID


def max_column_id_went_down(log: TableLog, states: tuple[State, ...]) -> Iterator[Finding]:
    """Finds versions with a lower `maxColumnId` than the one before.

    On an untracked table a RESTORE or CLONE may bring that of another time or table.

    Source:
        Protocol, "Writer Requirements for Column Mapping": it "must increase monotonically".

    Example:
        >>> def highest(id):
        ...     return table({"a": "1 a"}, "name", "true", {"delta.columnMapping.maxColumnId": id})
        >>> [found.version for found in max_column_id_went_down(*history(highest("7"),
        ...     highest("4")))]
        [1]
    """
    for before, after in pairwise(states):
        if not before.is_mapped or not after.is_mapped:
            continue
        if after.may_bring_columns and not (before.is_tracked and after.is_tracked):
            continue
        old, new = before.max_column_id, after.max_column_id
        if old is not None and new is not None and new < old:
            yield Finding(
                version=after.version,
                check="max_column_id_went_down",
                column=None,
                file=None,
                message=(
                    f"`{MAX_COLUMN_ID}` went from {old} down to {new}: new columns get ids that"
                    " dropped ones had, and who finds columns by id reads the wrong ones."
                ),
                remedy=(
                    "Switch column mapping off before a column is added"
                    " (UsageTracking.remove_column_mapping()), and on again."
                ),
            )
