# SPDX-License-Identifier: Apache-2.0
"""The goals. A goal says what remains to do for a table, from the table's row and what has run.

A call for one table and a call for many run the same loop: read the row, ask the goal, run the
first remaining statement, and read again. So a call continues after any interruption.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

from spark_ext.errors import (
    AlignmentConflictError,
    CannotAlignNamesError,
    CannotRemoveColumnMappingError,
    ModeIdLostError,
    NotMappedError,
    SparkExtError,
)
from spark_ext.model import keys
from spark_ext.model.metadata import FileCount
from spark_ext.removal import stages
from spark_ext.removal.reasons import (
    CONFLICT,
    EARLIER_STAGE,
    OTHER_FEATURE,
    in_words,
    reason_in_words,
    what_to_do,
)
from spark_ext.removal.stages import Obstacle, SurveyedTable
from spark_ext.tables.report import (
    ALREADY_DONE,
    BLOCKED,
    NO_FILES,
    PLANNED,
    UNREADABLE,
    StatementResult,
)

if TYPE_CHECKING:
    from spark_ext.tables.sql import Statements

_UNDONE = "Another writer undid the stage. Call again."
_TO_NAME_MODE = "Call align_names with to_name_mode=True: Delta does not set the mode id again."


@dataclass(frozen=True)
class Plan:
    """What remains to do for a table.

    `costs` are those of `statements`, as in `RemovalStage`. The error of a call for this table
    alone is `refusal`; `reasons` and `unblocking` say the same in a report. The first statement may
    run a second time if `again`.
    """

    row: SurveyedTable
    statements: tuple[str, ...] = ()
    costs: tuple[str, ...] = ()
    refusal: SparkExtError | None = None
    reasons: tuple[str, ...] = ()
    unblocking: str | None = None
    again: bool = False

    @property
    def outcome(self) -> str:
        """Returns the outcome without a run."""
        if self.row.error is not None:
            return UNREADABLE
        if self.statements:
            return PLANNED
        return BLOCKED if self.reasons else ALREADY_DONE

    @property
    def cost(self) -> str | None:
        """Returns the highest cost; None if nothing runs."""
        return max(self.costs, key=stages.CHEAPEST_FIRST.index, default=None)

    @property
    def files(self) -> FileCount:
        """Returns an upper bound of the files that are copied or rewritten."""
        return self.row.files_to_change(*self.costs)

    @property
    def only_waits(self) -> bool:
        """Returns whether only Delta's retention period keeps the table from the goal."""
        return self.costs == (stages.HISTORY,)

    @property
    def is_repeatable(self) -> bool:
        """Returns whether the plan commits nothing if another driver has run it meanwhile."""
        name = self.row.table
        one = {(stages.removal_statement(name),), (stages.drop_statement(name),)}
        return self.costs == (stages.METADATA,) and self.statements in one

    @property
    def removes_mapping(self) -> bool:
        """Returns whether the first statement removes column mapping."""
        return self.row.unmapped != stages.NOTHING and self.statements[:1] == (
            _unmapping(self.row),
        )


@dataclass
class Begun:
    """The statements of a call on a table; `removal` is the plan before the last removal."""

    first: SurveyedTable
    done: list[StatementResult] = field(default_factory=list)
    removal: Plan | None = None

    @property
    def statements(self) -> list[str]:
        """Returns the statements that ran."""
        return [each.statement for each in self.done]


class Goal:
    """The goal of a call for each table."""

    @property
    def words(self) -> str:
        """Returns the goal for people."""
        raise NotImplementedError

    def plan(self, row: SurveyedTable, begun: Begun | None = None) -> Plan:
        """Returns what remains after the statements that this call has run."""
        return Plan(row) if row.error is not None else self._remaining(row, begun)

    def _remaining(self, row: SurveyedTable, begun: Begun | None) -> Plan:
        raise NotImplementedError

    def starts_over(self, row: SurveyedTable, begun: Begun) -> bool:
        """Returns whether the statements that ran may run once more."""
        return False

    def conflict(self, plan: Plan, begun: Begun) -> SparkExtError:
        """Returns the error of a call for one table if another writer undid a statement."""
        raise NotImplementedError


Until = Literal["unmapped", "readers", "writers"]


@dataclass(frozen=True)
class Removal(Goal):
    """Removes column mapping up to the stage `until`; another text raises a ValueError."""

    until: str = stages.UNMAPPED

    def __post_init__(self) -> None:
        if self.until not in stages.STAGES:
            raise ValueError(
                f"Cannot remove column mapping until {self.until!r}: use one of {stages.STAGES}."
            )

    @property
    def words(self) -> str:
        """Returns the goal for people."""
        return f"remove column mapping until {self.until}"

    def _remaining(self, row: SurveyedTable, begun: Begun | None) -> Plan:
        wanted = stages.STAGES[: stages.STAGES.index(self.until) + 1]
        costs = {stage: str(getattr(row, stage)) for stage in wanted}
        if stages.BLOCKED in costs.values():
            known = _obstacles(row, wanted)
            whys = {stage: [each.why for each in known if each.stage == stage] for stage in wanted}
            reasons = "; ".join(f"{stage}: {in_words(why)}" for stage, why in whys.items() if why)
            advice = what_to_do(each.why for each in known)
            return _blocked(row, known, self._refusal(row, self.until, reasons, advice, begun))
        left = {stage: cost for stage, cost in costs.items() if cost != stages.NOTHING}
        statements = (each for stage in left for each in _of_stage(row, stage))
        return Plan(row, tuple(statements), tuple(left.values()))

    def conflict(self, plan: Plan, begun: Begun) -> SparkExtError:
        """Returns the error: another writer undid the stage."""
        stage = next(each for each in stages.STAGES if getattr(plan.row, each) != stages.NOTHING)
        return self._refusal(plan.row, stage, f"{stage}: {CONFLICT}", _UNDONE, begun)

    def _refusal(
        self, row: SurveyedTable, stage: str, reasons: str, advice: str, begun: Begun | None
    ) -> SparkExtError:
        done = "; ".join(begun.statements if begun else ()) or "none"
        return CannotRemoveColumnMappingError(
            table=row.table, stage=stage, reasons=reasons, advice=advice, done=done
        )


@dataclass(frozen=True)
class Alignment(Goal):
    """Makes every physical name equal to the logical name, and keeps column mapping.

    A removal of column mapping renames the columns in the files. The table is tracked at the latest
    in the commit that enables column mapping again, so the flag starts as false. Meanwhile a
    property keeps the former mode; it distinguishes an interrupted alignment from a table that
    shall have no column mapping. Delta sets the mode `id` for new tables only.

    Source: RFC, "Writer Requirements for Usage Tracking"; Delta 4.4.0, DeltaColumnMapping.scala,
    `allowMappingModeChange`.
    """

    to_name_mode: bool = False
    words = "align names"

    def _remaining(self, row: SurveyedTable, begun: Begun | None) -> Plan:
        end = f"ALTER TABLE {row.table} UNSET TBLPROPERTIES IF EXISTS ('{keys.ALIGNING}')"
        if row.is_aligned:
            return Plan(row, (end,), (stages.METADATA,)) if row.aligning else Plan(row)
        if row.mode == keys.MODE_NONE and row.aligning is None:
            return _unmapped(row, begun)
        if row.mode == keys.MODE_ID and not self.to_name_mode:
            lost = ModeIdLostError(table=row.table)
            return Plan(row, refusal=lost, reasons=("MODE_ID",), unblocking=_TO_NAME_MODE)
        if row.unmapped == stages.BLOCKED:
            known = _obstacles(row, (stages.UNMAPPED,))
            whys = [each.why for each in known]
            refusal = CannotAlignNamesError(
                table=row.table, reasons=in_words(whys), advice=what_to_do(whys)
            )
            return _blocked(row, known, refusal)
        statements = (*_tracking(row), end)
        if row.unmapped == stages.NOTHING:
            return Plan(row, statements, (stages.METADATA,))
        # Records the mode in a property.
        mark = (
            ()
            if row.aligning
            else (stages.set_statement(row.table, {keys.ALIGNING: str(row.mode)}),)
        )
        return Plan(
            row, (*mark, _unmapping(row), *statements), (stages.METADATA, str(row.unmapped))
        )

    def starts_over(self, row: SurveyedTable, begun: Begun) -> bool:
        """Returns whether the flag is true although this call has tracked the table.

        The untracked table had a flag, or another writer has renamed or dropped a column. The
        removal and tracking run once more, with a DROP FEATURE that deletes the flag.
        """
        return bool(row.has_dropped_or_renamed) and _track(row.table) in begun.statements

    def conflict(self, plan: Plan, begun: Begun) -> SparkExtError:
        """Returns the error: another writer undid the statement."""
        return AlignmentConflictError(table=plan.row.table, statement=plan.statements[0])


@dataclass(frozen=True)
class Tracking(Goal):
    """Adds usage tracking if it is wanted, and else drops it."""

    wanted: bool

    @property
    def words(self) -> str:
        """Returns the goal for people."""
        return "track" if self.wanted else "untrack"

    def _remaining(self, row: SurveyedTable, begun: Begun | None) -> Plan:
        if row.tracked == self.wanted:
            return Plan(row)
        statement = (
            stages.set_statement(row.table, stages.TRACKED)
            if self.wanted
            else stages.drop_statement(row.table)
        )
        return Plan(row, (statement,), (stages.METADATA,))


def run_remaining(goal: Goal, table: Statements, begun: Begun) -> Plan:
    """Runs the first remaining statement and reads the table again, until none remains.

    `begun` has each result, also if a later statement fails. Returns the last plan, with the table
    as it is now: a statement remains only if it waits for Delta's retention period, or if another
    writer undid it. Raises the refusal of the goal.
    """
    ran: set[str] = set()
    has_started_over = False
    plan = goal.plan(begun.first, begun)
    while plan.refusal is None and plan.statements:
        if not has_started_over and goal.starts_over(plan.row, begun):
            ran, has_started_over = set(), True
        statement = plan.statements[0]
        if statement in ran and not plan.again:
            return plan
        ran.add(statement)
        plan = _after(statement, plan, goal, table, begun)
    if plan.refusal is not None:
        raise plan.refusal
    return plan


def is_undone(plan: Plan, begun: Begun) -> bool:
    """Returns whether another writer undid a statement, by the last plan of a call."""
    waiting = {each.statement for each in begun.done if each.waits}
    return bool(plan.statements) and plan.statements[0] not in waiting


def reach(goal: Goal, table: Statements, begun: Begun) -> Plan:
    """Runs the remaining statements of one table. Raises also if another writer undid one."""
    plan = run_remaining(goal, table, begun)
    if is_undone(plan, begun):
        raise goal.conflict(plan, begun)
    return plan


def _after(statement: str, plan: Plan, goal: Goal, table: Statements, begun: Begun) -> Plan:
    """Runs a statement, adds its result, and returns what remains then."""
    before, started = plan.row.version, time.monotonic()
    waits = table.run(statement)
    assert before is not None
    # If the table cannot be read now, the statement has run anyway.
    done = StatementResult(statement, before, None, time.monotonic() - started, waits)
    begun.done.append(done)
    row = table.read()
    assert row.version is not None
    counts: Mapping[str, Any] = {}
    if plan.removes_mapping:
        begun.removal = plan
        counts = _counts(plan, row.version - before, table)
    begun.done[-1] = replace(done, version_after=row.version, **counts)
    return goal.plan(row, begun)


def _counts(plan: Plan, num_commits: int, table: Statements) -> Mapping[str, FileCount]:
    """Returns the files that a removal kept, copied and rewrote, by name."""
    if num_commits == 0:  # another writer had removed column mapping
        return NO_FILES
    if num_commits == 1 and plan.row.unmapped in (stages.METADATA, stages.REWRITE):
        # No other writer committed since these files were counted, so the counts are exact.
        return {**NO_FILES, "rewritten": plan.row.files_to_change(plan.row.unmapped)}
    return table.counts_since(int(plan.row.version or 0))


def _of_stage(row: SurveyedTable, stage: str) -> tuple[str, ...]:
    """Returns the statements that reach a stage from the one before."""
    if stage == stages.UNMAPPED:
        return (_unmapping(row),)
    if stage == stages.READERS:
        return (stages.drop_statement(row.table, keys.COLUMN_MAPPING_FEATURE),)
    return stages.writers_statements(
        row.table, tracked=bool(row.tracked), history=row.writers == stages.HISTORY
    )


def _unmapping(row: SurveyedTable) -> str:
    return stages.unmapping_statement(row.table, is_mapped=row.mode != keys.MODE_NONE)


def _unmapped(row: SurveyedTable, begun: Begun | None) -> Plan:
    """Returns the plan for a table without column mapping and without an alignment."""
    if begun is None or not begun.done:
        return Plan(row, refusal=NotMappedError(table=row.table))
    marking = stages.set_statement(
        row.table, {keys.ALIGNING: begun.first.aligning or str(begun.first.mode)}
    )
    if begun.done[-1].statement == stages.removal_statement(row.table):
        # Another call has ended and unset the property before this call removed mapping.
        return Plan(row, (marking,), (stages.METADATA,), again=True)
    return Plan(row, refusal=AlignmentConflictError(table=row.table, statement=marking))


def _tracking(row: SurveyedTable) -> tuple[str, ...]:
    if row.has_dropped_or_renamed is False:
        return (stages.set_statement(row.table, {keys.COLUMN_MAPPING_MODE: keys.MODE_NAME}),)
    return (*([stages.drop_statement(row.table)] if row.tracked else []), _track(row.table))


def _track(name: str) -> str:
    """Returns the statement that tracks and maps a table: no other writer maps it before."""
    return stages.set_statement(name, stages.TRACKED | {keys.COLUMN_MAPPING_MODE: keys.MODE_NAME})


def _obstacles(row: SurveyedTable, wanted: Iterable[str]) -> tuple[Obstacle, ...]:
    return tuple(
        each for each in row.blocked_by if each.stage in wanted and each.reason != EARLIER_STAGE
    )


def _blocked(row: SurveyedTable, known: Iterable[Obstacle], refusal: SparkExtError) -> Plan:
    features = [each.why for each in known if each.reason == OTHER_FEATURE]
    statements = [
        stages.set_statement(row.table, {why.detail: "false"})
        if why.detail
        else stages.drop_statement(row.table, str(why.name))
        for why in features
        if not why.is_never_dropped and (why.detail or why.name)
    ]
    return Plan(
        row,
        refusal=refusal,
        reasons=tuple(f"{each.stage}: {reason_in_words(each.why)}" for each in known),
        unblocking=" ".join([str(refusal.params["advice"]), *dict.fromkeys(statements)]),
    )
