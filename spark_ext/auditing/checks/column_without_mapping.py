# SPDX-License-Identifier: Apache-2.0
"""Every column of a mapped table has an id and a physical name."""

from __future__ import annotations

from collections.abc import Iterator

from spark_ext.auditing.findings import Finding
from spark_ext.log.actions import TableLog
from spark_ext.log.replay import Column, State
from spark_ext.model.schema import quoted


def column_without_mapping(log: TableLog, states: tuple[State, ...]) -> Iterator[Finding]:
    """Finds columns that lack one of the two, at any level, in the newest version.

    Source:
        Protocol, "Writer Requirements for Column Mapping".

    Example:
        >>> one = table({"a": "1 a", "b": ""}, "name", "false")
        >>> [found.column for found in column_without_mapping(*history(one))]
        ['b']
    """
    newest = states[-1]
    for column in newest.columns if newest.is_mapped else ():
        lacking = _lacking(column)
        if lacking:
            yield Finding(
                version=newest.version,
                check="column_without_mapping",
                column=quoted(column.path),
                file=None,
                message=(
                    f"Column mapping is on and the column has no {' and no '.join(lacking)}:"
                    " readers and writers refuse the table, or read the column as null."
                ),
                remedy="RESTORE the table to the last version in which the column has both.",
            )


def _lacking(column: Column) -> list[str]:
    has_id = isinstance(column.id, int) and not isinstance(column.id, bool)
    present = {"column id": has_id, "physical name": column.has_physical_name}
    return [what for what, is_there in present.items() if not is_there]
