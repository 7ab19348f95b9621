# SPDX-License-Identifier: Apache-2.0
"""The four goals. A goal plans a table from its row of a survey, and runs the statements."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Protocol

from spark_ext.api.named_table import NamedTable, sql_name
from spark_ext.api.progress import Progress
from spark_ext.api.statements import StatementResult, StatementRunner
from spark_ext.api.table import Until, UsageTracking
from spark_ext.errors import NotMappedError
from spark_ext.lakehouse.lookups import end_of_retention
from spark_ext.lakehouse.plan import BLOCKED, PlannedTable, reached, to_run, unreadable
from spark_ext.model.keys import MODE_ID, MODE_NONE
from spark_ext.removal.reasons import (
    EARLIER_STAGE,
    OTHER_FEATURE,
    Reason,
    reason_in_words,
    what_to_do,
)
from spark_ext.removal.stages import BLOCKED as BLOCKED_STAGE
from spark_ext.removal.stages import (
    COPY,
    HISTORY,
    METADATA,
    NOTHING,
    STAGES,
    TRACKED,
    UNMAPPED,
    drop_statement,
    removal_statement,
    set_statement,
)
from spark_ext.removal.survey import SurveyedTable

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Watch = Callable[[Progress], None]
Ran = Callable[[StatementResult], object]

_TO_NAME_MODE = "Call align_names with to_name_mode=True: Delta does not set the mode id again."


class Goal(Protocol):
    """Defines the goal of a call for each table."""

    @property
    def words(self) -> str:
        """Returns the goal for people."""

    def plan(self, row: SurveyedTable) -> PlannedTable:
        """Returns the plan for a table."""

    def statement(self, planned: PlannedTable) -> str | None:
        """Returns the statement if one statement without files reaches the goal, whoever runs it.

        Returns None if only `run` can reach the goal.
        """

    def run(self, spark: SparkSession, planned: PlannedTable, watch: Watch, ran: Ran) -> None:
        """Runs every statement that remains, and calls `ran` with the result of each."""


@dataclass(frozen=True)
class Removal:
    """Removes column mapping.

    Args:
        until: The last stage.
    """

    until: Until

    @property
    def words(self) -> str:
        """Returns the goal for people."""
        return f"remove column mapping until {self.until}"

    def plan(self, row: SurveyedTable) -> PlannedTable:
        """Returns the plan for a table."""
        if row.error is not None:
            return unreadable(row)
        wanted = STAGES[: STAGES.index(self.until) + 1]
        costs = [getattr(row, stage) for stage in wanted]
        if BLOCKED_STAGE in costs:
            return _blocked(row, wanted)
        if all(cost == NOTHING for cost in costs):
            return reached(row)
        return to_run(row, *costs)

    def statement(self, planned: PlannedTable) -> str | None:
        """Returns the statement if one statement without files reaches the goal, whoever runs it.

        Returns None if only `run` can reach the goal.
        """
        row = planned.before
        # Mapping metadata that a former removal left is removed by another statement.
        if self.until != UNMAPPED or planned.cost != METADATA or row.mode == MODE_NONE:
            return None
        return removal_statement(row.table)

    def run(self, spark: SparkSession, planned: PlannedTable, watch: Watch, ran: Ran) -> None:
        """Runs every statement that remains, and calls `ran` with the result of each.

        While the retention period of an untracked table lasts, nothing runs: each try of Delta adds
        a commit.
        """
        if waits(planned.before) and not planned.before.tracked:
            end = end_of_retention(spark, planned.table)
            if end is not None and datetime.now().astimezone() < end:
                return
        if self.until == UNMAPPED and planned.cost == COPY:
            _copy(spark, planned, watch, ran)
            return
        tracking = UsageTracking(spark, planned.table, ran=ran)
        tracking.remove_column_mapping(until=self.until, progress=watch)


@dataclass(frozen=True)
class Alignment:
    """Makes every physical name equal to the logical name.

    A table without column mapping has no physical names. Unless an alignment was interrupted, the
    table has reached the goal before the run.

    Args:
        to_name_mode: Whether a table in mode `id` may come back in mode `name`.
    """

    to_name_mode: bool = False

    @property
    def words(self) -> str:
        """Returns the goal for people."""
        return "align names"

    def plan(self, row: SurveyedTable) -> PlannedTable:
        """Returns the plan for a table."""
        if row.error is not None:
            return unreadable(row)
        is_mapped = row.mode != MODE_NONE
        if row.aligning is None and (not is_mapped or row.is_aligned):
            return reached(row)
        if row.is_aligned:
            return to_run(row, METADATA)
        if row.mode == MODE_ID and not self.to_name_mode:
            return PlannedTable(
                row.table, BLOCKED, row, reasons=("MODE_ID",), unblocking=_TO_NAME_MODE
            )
        if row.unmapped == BLOCKED_STAGE:
            return _blocked(row, (UNMAPPED,))
        return to_run(row, METADATA, row.unmapped)

    def statement(self, planned: PlannedTable) -> str | None:
        """Returns None: an alignment has several statements."""
        return None

    def run(self, spark: SparkSession, planned: PlannedTable, watch: Watch, ran: Ran) -> None:
        """Runs every statement that remains, and calls `ran` with the result of each."""
        tracking = UsageTracking(spark, planned.table, ran=ran)
        # Another writer may have removed column mapping: the outcome says so.
        with suppress(NotMappedError):
            tracking.align_names(to_name_mode=self.to_name_mode, progress=watch)


@dataclass(frozen=True)
class Tracking:
    """Adds or drops usage tracking.

    Args:
        wanted: Whether the tables shall be tracked.
    """

    wanted: bool

    @property
    def words(self) -> str:
        """Returns the goal for people."""
        return "track" if self.wanted else "untrack"

    def plan(self, row: SurveyedTable) -> PlannedTable:
        """Returns the plan for a table."""
        if row.error is not None:
            return unreadable(row)
        return reached(row) if row.tracked == self.wanted else to_run(row, METADATA)

    def statement(self, planned: PlannedTable) -> str | None:
        """Returns the statement; None to track, as Delta would commit it on a tracked table too."""
        return None if self.wanted else self._statement(planned.before.table)

    def run(self, spark: SparkSession, planned: PlannedTable, watch: Watch, ran: Ran) -> None:
        """Reads the table, and runs the statement if another writer has not run it before."""
        table = NamedTable(spark, planned.table)
        row = table.row()
        if row["tracked"] != self.wanted:
            runner = StatementRunner(spark, table.row, progress=None, ran=ran)
            runner.run(self._statement(row["sqlName"]), row["version"])

    def _statement(self, table: str) -> str:
        return set_statement(table, TRACKED) if self.wanted else drop_statement(table)


def _copy(spark: SparkSession, planned: PlannedTable, watch: Watch, ran: Ran) -> None:
    """Runs the statement that copies the files of a table.

    The runner reads the table before and afterwards, so its stages need not be read here: many
    small tables take longer to read than to copy. The call has set the session to copy.
    """
    version = planned.before.version
    assert version is not None
    statement = removal_statement(sql_name(spark, planned.table))
    runner = StatementRunner(spark, NamedTable(spark, planned.table).row, watch, ran=ran)
    runner.run(statement, version, planned)


def waits(row: SurveyedTable) -> bool:
    """Returns whether only Delta's retention period keeps a table from the last stage."""
    return (row.unmapped, row.readers, row.writers) == (NOTHING, NOTHING, HISTORY)


def _blocked(row: SurveyedTable, stages: Sequence[str]) -> PlannedTable:
    obstacles = [
        known for known in row.blocked_by if known.stage in stages and known.reason != EARLIER_STAGE
    ]
    reasons = [known.why for known in obstacles]
    words = tuple(
        f"{known.stage}: {reason_in_words(why)}"
        for known, why in zip(obstacles, reasons, strict=True)
    )
    advice = [what_to_do(reasons), *dict.fromkeys(_statements(row, reasons))]
    return PlannedTable(row.table, BLOCKED, row, reasons=words, unblocking=" ".join(advice))


def _statements(row: SurveyedTable, reasons: Iterable[Reason]) -> Iterable[str]:
    for why in reasons:
        if why.reason == OTHER_FEATURE and why.detail:
            yield set_statement(row.table, {why.detail: "false"})
        elif why.reason == OTHER_FEATURE and why.name and not why.is_never_dropped:
            yield drop_statement(row.table, why.name)
