# SPDX-License-Identifier: Apache-2.0
"""The highest column id covers every id in the schema."""

from __future__ import annotations

from collections.abc import Iterator

from spark_ext.auditing.findings import Finding
from spark_ext.log.actions import TableLog
from spark_ext.log.replay import State, since
from spark_ext.model.keys import MAX_COLUMN_ID


def max_column_id_too_small(log: TableLog, states: tuple[State, ...]) -> Iterator[Finding]:
    """Finds a `maxColumnId` that is below an id in the schema, missing, or no number.

    Source:
        Protocol, "Writer Requirements for Column Mapping"; Delta 4.4.0, DeltaColumnMapping.scala,
        `checkColumnIdAndPhysicalNameAssignments`, which refuses such a table.

    Example:
        >>> one = table({"a": "5 a"}, "name", None, {"delta.columnMapping.maxColumnId": "4"})
        >>> [found.version for found in max_column_id_too_small(*history((one, ())))]
        [0]
    """
    version = since(states, _is_too_small)
    if version is not None:
        newest = states[-1]
        value = newest.metadata.configuration.get(MAX_COLUMN_ID)
        yield Finding(
            version=version,
            check="max_column_id_too_small",
            column=None,
            file=None,
            message=(
                f"`{MAX_COLUMN_ID}` is {value!r}, and the schema has the id"
                f" {max(_ids(newest))}: Delta refuses to write the table, and other writers give"
                " an id a second time."
            ),
            remedy="RESTORE the table to the last version before this one.",
        )


def _is_too_small(state: State) -> bool:
    ids = _ids(state)
    if not state.is_mapped or not ids:
        return False
    return state.max_column_id is None or state.max_column_id < max(ids)


def _ids(state: State) -> list[int]:
    ids = (id for column in state.columns for id in (column.id, *column.nested_ids.values()))
    return [id for id in ids if isinstance(id, int)]
