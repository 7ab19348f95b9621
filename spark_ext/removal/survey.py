# SPDX-License-Identifier: Apache-2.0
"""What removing column mapping costs, one row for each of many tables."""

from __future__ import annotations

from dataclasses import dataclass

from spark_ext.model.column_mapping import has_physical_name, mode_of, physical_name
from spark_ext.model.keys import FEATURE_NAME
from spark_ext.model.metadata import TableFacts
from spark_ext.model.schema import walk
from spark_ext.model.usage import flag
from spark_ext.removal.reasons import blocking
from spark_ext.removal.stages import BLOCKED, stages


@dataclass(frozen=True)
class Obstacle:
    """What blocks a stage of a table.

    Args:
        stage: Which one.
        reason: That of a `Reason`, as are the next two.
        name: The column or the feature that it is about.
        detail: More about it.
    """

    stage: str
    reason: str
    name: str | None = None
    detail: str | None = None


@dataclass(frozen=True)
class SurveyedTable:
    """A table of a survey. One that cannot be read has its name and its error, and else None.

    Args:
        table: Its full name.
        mode: `none`, `name` or `id`.
        tracked: Whether its protocol lists the feature.
        has_dropped_or_renamed: The flag; None for an untracked table.
        num_columns: How many columns it has, at every level.
        num_other_names: How many of them have another name in the files.
        num_files: The files of its newest version.
        size_in_bytes: Their size.
        unmapped: What this stage costs, as the `cost` of `RemovalStage`.
        readers: What this one costs.
        writers: What this one costs.
        blocked_by: What is in the way of stages that are `BLOCKED`.
        error: The condition of the error.
        message: What the error says.
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
    error: str | None = None
    message: str | None = None


def surveyed(facts: TableFacts) -> SurveyedTable:
    """The row of a table that can be read.

    Raises:
        UnsupportedModeError: DELTA_MODE_NOT_SUPPORTED.

    Example:
        >>> facts = TableFacts(table({"a": "1 a"}, "name", "false"), protocol(), "db.t")
        >>> surveyed(facts).unmapped
        'METADATA'
    """
    metadata = facts.table
    tracked = FEATURE_NAME in (facts.protocol.writer_features or ())
    fields = [field for _, field in walk(metadata.schema)]
    steps = stages(facts)
    costs = {step.stage: step.cost for step in steps}
    return SurveyedTable(
        table=facts.name,
        mode=mode_of(metadata.configuration),
        tracked=tracked,
        has_dropped_or_renamed=flag(metadata) is not False if tracked else None,
        num_columns=len(fields),
        num_other_names=sum(
            has_physical_name(field) and physical_name(field) != field["name"] for field in fields
        ),
        num_files=facts.files.num_files,
        size_in_bytes=facts.files.size_in_bytes,
        **costs,
        blocked_by=tuple(
            Obstacle(step.stage, why.reason, why.name, why.detail)
            for step in steps
            if step.cost == BLOCKED
            for why in blocking(step.reasons)
        ),
    )
