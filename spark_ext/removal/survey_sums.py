# SPDX-License-Identifier: Apache-2.0
"""The sums of a survey: tables by stage and cost, by blocking reason, and by error."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from spark_ext.removal.reasons import OTHER_FEATURE
from spark_ext.removal.stages import (
    BLOCKED,
    COPY,
    HISTORY,
    METADATA,
    NOTHING,
    REWRITE,
    STAGES,
)
from spark_ext.removal.survey import Obstacle, SurveyedTable

_COSTS = (NOTHING, METADATA, COPY, REWRITE, HISTORY, BLOCKED)


@dataclass(frozen=True)
class CostSum:
    """The tables for which a stage has one cost.

    Args:
        stage: The stage.
        cost: The cost; `NOTHING` means that the tables have reached the stage.
        num_tables: The number of tables.
        num_files: The number of their files; for a copy, an upper bound of the copied files.
        size_in_bytes: The size of these files.
    """

    stage: str
    cost: str
    num_tables: int
    num_files: int
    size_in_bytes: int


@dataclass(frozen=True)
class ObstacleSum:
    """The tables whose stage is blocked for the same reason.

    Args:
        stage: The stage.
        reason: The `reason` of a `Reason`.
        name: The feature for the reason `OTHER_FEATURE`; None for all other reasons.
        num_tables: The number of tables.
    """

    stage: str
    reason: str
    name: str | None
    num_tables: int


@dataclass(frozen=True)
class ErrorSum:
    """The tables that cannot be read because of the same error.

    Args:
        error: The condition of the error.
        num_tables: The number of tables.
    """

    error: str
    num_tables: int


@dataclass(frozen=True)
class SurveySums:
    """The sums of a survey.

    Args:
        num_tables: The number of tables, including tables that cannot be read.
        num_files: The number of files of the tables that can be read.
        size_in_bytes: The size of these files.
        costs: The sums for each stage and each cost that a table has.
        blocked_by: The blocking reasons, most frequent first. A table counts for each reason.
        errors: The errors, most frequent first.
        num_views: The number of omitted views.
        num_others: The number of omitted tables that are not Delta tables.
    """

    num_tables: int
    num_files: int
    size_in_bytes: int
    costs: tuple[CostSum, ...]
    blocked_by: tuple[ObstacleSum, ...]
    errors: tuple[ErrorSum, ...]
    num_views: int = 0
    num_others: int = 0

    def cost(self, stage: str, cost: str) -> CostSum:
        """Returns the sum of the tables for which a stage has a cost; the sum may be zero."""
        for known in self.costs:
            if (known.stage, known.cost) == (stage, cost):
                return known
        return CostSum(stage, cost, 0, 0, 0)


def sums(tables: Sequence[SurveyedTable], *, num_views: int = 0, num_others: int = 0) -> SurveySums:
    """Returns the sums of these tables.

    Example:
        >>> sums([SurveyedTable("db.t", error="DELTA_MISSING_DELTA_TABLE")]).errors
        (ErrorSum(error='DELTA_MISSING_DELTA_TABLE', num_tables=1),)
    """
    costs = (_cost(tables, stage, cost) for stage in STAGES for cost in _COSTS)
    return SurveySums(
        num_tables=len(tables),
        num_files=_files(tables),
        size_in_bytes=_bytes(tables),
        costs=tuple(found for found in costs if found.num_tables),
        blocked_by=obstacles(tables),
        errors=tuple(
            ErrorSum(error, number)
            for error, number in Counter(table.error for table in tables).most_common()
            if error is not None
        ),
        num_views=num_views,
        num_others=num_others,
    )


def obstacles(tables: Iterable[SurveyedTable]) -> tuple[ObstacleSum, ...]:
    """Returns the blocking reasons of these tables, most frequent first."""
    numbers = Counter(
        about for table in tables for about in dict.fromkeys(map(_about, table.blocked_by))
    )
    return tuple(ObstacleSum(*about, number) for about, number in numbers.most_common())


def _about(obstacle: Obstacle) -> tuple[str, str, str | None]:
    """Returns the key of a sum: many tables share a feature, and no two share a column."""
    feature = obstacle.name if obstacle.reason == OTHER_FEATURE else None
    return obstacle.stage, obstacle.reason, feature


def _cost(tables: Sequence[SurveyedTable], stage: str, cost: str) -> CostSum:
    costly = [table for table in tables if getattr(table, stage) == cost]
    return CostSum(stage, cost, len(costly), _files(costly), _bytes(costly))


def _files(tables: Iterable[SurveyedTable]) -> int:
    return sum(table.num_files or 0 for table in tables)


def _bytes(tables: Iterable[SurveyedTable]) -> int:
    return sum(table.size_in_bytes or 0 for table in tables)
