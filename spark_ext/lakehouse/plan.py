# SPDX-License-Identifier: Apache-2.0
"""The plan of a call: the action for each table of a survey."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from spark_ext.removal.stages import COPY, HISTORY, METADATA, REWRITE
from spark_ext.removal.survey import SurveyedTable

# The actions of a plan.
RUN, REACHED, BLOCKED, UNREADABLE = "RUN", "REACHED", "BLOCKED", "UNREADABLE"

CHEAPEST_FIRST = (METADATA, HISTORY, COPY, REWRITE)


@dataclass(frozen=True)
class PlannedTable:
    """A table of a plan.

    Args:
        table: The full name of the table.
        action: `RUN`; `REACHED` if the table has reached the goal; `BLOCKED`; `UNREADABLE`.
        before: The row of the survey.
        cost: The highest cost of the statements to run, as in `RemovalStage`; None if none runs.
        num_files: An upper bound of the files that are copied or rewritten.
        size_in_bytes: The size of these files.
        reasons: The reasons that block the table, in words.
        unblocking: Sentences and statements that remove the reasons.
    """

    table: str
    action: str
    before: SurveyedTable
    cost: str | None = None
    num_files: int = 0
    size_in_bytes: int = 0
    reasons: tuple[str, ...] = ()
    unblocking: str | None = None


def unreadable(row: SurveyedTable) -> PlannedTable:
    """Returns the plan of a table that cannot be read."""
    return PlannedTable(row.table, UNREADABLE, row)


def reached(row: SurveyedTable) -> PlannedTable:
    """Returns the plan of a table that has reached the goal."""
    return PlannedTable(row.table, REACHED, row)


def to_run(row: SurveyedTable, *costs: str | None) -> PlannedTable:
    """Returns the plan of a table for which statements of these costs run.

    Example:
        >>> to_run(SurveyedTable("db.t"), "NOTHING", "COPY", "METADATA").cost
        'COPY'
    """
    known = [cost for cost in costs if cost in CHEAPEST_FIRST]
    highest = max(known, key=CHEAPEST_FIRST.index)
    files = row.files_to_change(*costs)
    return PlannedTable(row.table, RUN, row, highest, files.num_files, files.size_in_bytes)


def cheapest_first(tables: Iterable[PlannedTable]) -> list[PlannedTable]:
    """Returns the tables to run, in the order in which they begin."""
    return sorted((table for table in tables if table.action == RUN), key=_price)


def _price(table: PlannedTable) -> tuple[int, int]:
    return CHEAPEST_FIRST.index(table.cost or METADATA), table.size_in_bytes
