# SPDX-License-Identifier: Apache-2.0
"""The row of a table in a survey, and the sums of many rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import product

from spark_ext.model.changes import aligning_mode
from spark_ext.model.column_mapping import mode_of, physical_name
from spark_ext.model.keys import ALIGNING, FEATURE_NAME, MODE_NONE
from spark_ext.model.metadata import FileCount, TableFacts, flag
from spark_ext.model.schema import walk
from spark_ext.removal import stages
from spark_ext.removal.reasons import OTHER_FEATURE, Reason, blocking


@dataclass(frozen=True)
class Obstacle:
    """A blocked stage of a table, with the fields of the `Reason`."""

    stage: str
    reason: str
    name: str | None = None
    detail: str | None = None

    @property
    def why(self) -> Reason:
        """Returns the reason without the stage."""
        return Reason(self.reason, self.name, self.detail)


@dataclass(frozen=True)
class SurveyedTable:
    """A table of a survey. If the table cannot be read, only its name and the error are set.

    Args:
        mode: `none`, `name` or `id`.
        tracked: Whether the protocol of the table lists the feature.
        has_dropped_or_renamed: Whether the flag is anything but `false`; None for an untracked
            table.
        num_columns: The number of columns at every level.
        num_other_names: The number of columns whose physical name differs from the logical name.
        num_files: The number of files of the newest version; `size_in_bytes` is their total size.
        unmapped: The cost of the stage, as in `RemovalStage`, as are `readers` and `writers`.
        blocked_by: The reasons that block stages whose cost is `BLOCKED`.
        version: The newest version, from 0.
        aligning: The mode before the current alignment of names; None if none has begun.
        location: The table's folder. If two names have one location, they name the same table.
        error: The condition of the error; None if the table can be read.
    """

    table: str
    mode: str | None = None
    tracked: bool | None = None
    has_dropped_or_renamed: bool | None = None
    num_columns: int | None = None
    num_other_names: int | None = None
    num_files: int | None = None
    size_in_bytes: int | None = None
    unmapped: str | None = None
    readers: str | None = None
    writers: str | None = None
    blocked_by: tuple[Obstacle, ...] = ()
    version: int | None = None
    aligning: str | None = None
    location: str | None = None
    error: str | None = None
    message: str | None = None

    @property
    def is_aligned(self) -> bool:
        """Returns whether mapping is on, the flag is false and no physical name differs."""
        is_mapped = self.mode is not None and self.mode != MODE_NONE
        return is_mapped and self.has_dropped_or_renamed is False and self.num_other_names == 0

    def files_to_change(self, *costs: str | None) -> FileCount:
        """Returns an upper bound of the files that statements of these costs copy or rewrite.

        Example:
            >>> row = SurveyedTable("db.t", num_files=2, size_in_bytes=10)
            >>> row.files_to_change("METADATA", "COPY").size_in_bytes
            10
            >>> row.files_to_change("METADATA").size_in_bytes
            0
        """
        if {stages.COPY, stages.REWRITE}.isdisjoint(costs):
            return FileCount()
        return FileCount(self.num_files or 0, self.size_in_bytes or 0)


def surveyed(facts: TableFacts) -> SurveyedTable:
    """Returns the row of a table that can be read. Raises UnsupportedModeError."""
    metadata = facts.table
    tracked = facts.protocol.has_writer_feature(FEATURE_NAME)
    fields = [field for _, field in walk(metadata.schema)]
    steps = stages.stages(facts)
    aligning = metadata.configuration.get(ALIGNING)
    costs = {step.stage: step.cost for step in steps}
    return SurveyedTable(
        table=facts.name,
        mode=mode_of(metadata.configuration),
        tracked=tracked,
        has_dropped_or_renamed=flag(metadata) is not False if tracked else None,
        num_columns=len(fields),
        num_other_names=sum(physical_name(field) != field["name"] for field in fields),
        num_files=facts.files.num_files,
        size_in_bytes=facts.files.size_in_bytes,
        # By name, because a missing stage must be an error.
        unmapped=costs[stages.UNMAPPED],
        readers=costs[stages.READERS],
        writers=costs[stages.WRITERS],
        blocked_by=tuple(
            Obstacle(step.stage, why.reason, why.name, why.detail)
            for step in steps
            if step.cost == stages.BLOCKED
            for why in blocking(step.reasons)
        ),
        aligning=None if aligning is None else aligning_mode(aligning),
    )


_COSTS = (
    stages.NOTHING,
    stages.METADATA,
    stages.COPY,
    stages.REWRITE,
    stages.HISTORY,
    stages.BLOCKED,
)


@dataclass(frozen=True)
class CostSum:
    """The tables for which a stage has one cost, and all their files.

    For a copy, the files are an upper bound of the copied files.
    """

    stage: str
    cost: str
    num_tables: int
    num_files: int
    size_in_bytes: int


@dataclass(frozen=True)
class ObstacleSum:
    """The tables whose stage is blocked for the same `reason` of a `Reason`.

    `name` is the feature for the reason `OTHER_FEATURE`; None for all other reasons.
    """

    stage: str
    reason: str
    name: str | None
    num_tables: int


@dataclass(frozen=True)
class ErrorSum:
    """The tables that cannot be read because of the same condition."""

    error: str
    num_tables: int


@dataclass(frozen=True)
class SurveySums:
    """The sums of a survey.

    Args:
        num_tables: The number of tables, including tables that cannot be read.
        num_files: The number of files of the tables that can be read.
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
        found = (each for each in self.costs if (each.stage, each.cost) == (stage, cost))
        return next(found, CostSum(stage, cost, 0, 0, 0))


def sums(tables: Sequence[SurveyedTable], *, num_views: int = 0, num_others: int = 0) -> SurveySums:
    """Returns the sums of these tables."""
    costs = []
    for stage, cost in product(stages.STAGES, _COSTS):
        found = [table for table in tables if getattr(table, stage) == cost]
        if found:
            costs.append(CostSum(stage, cost, len(found), *_files(found)))
    blocked_by = Counter(
        about for table in tables for about in dict.fromkeys(map(_about, table.blocked_by))
    )
    errors = Counter(table.error for table in tables if table.error is not None)
    return SurveySums(
        len(tables),
        *_files(tables),
        costs=tuple(costs),
        blocked_by=tuple(ObstacleSum(*of, number) for of, number in blocked_by.most_common()),
        errors=tuple(ErrorSum(error, number) for error, number in errors.most_common()),
        num_views=num_views,
        num_others=num_others,
    )


def _about(obstacle: Obstacle) -> tuple[str, str, str | None]:
    """Returns the key of a sum: many tables share a feature, and no two share a column."""
    feature = obstacle.name if obstacle.reason == OTHER_FEATURE else None
    return obstacle.stage, obstacle.reason, feature


def _files(tables: Iterable[SurveyedTable]) -> tuple[int, int]:
    return (
        sum(table.num_files or 0 for table in tables),
        sum(table.size_in_bytes or 0 for table in tables),
    )
