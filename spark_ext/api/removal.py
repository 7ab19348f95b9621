# SPDX-License-Identifier: Apache-2.0
"""Removes column mapping stage by stage, and raises if a wanted stage is blocked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from spark_ext.api.removal_stages import RemovalStages
from spark_ext.api.statements import StatementResult
from spark_ext.errors import CannotRemoveColumnMappingError
from spark_ext.removal.reasons import (
    CONFLICT,
    EARLIER_STAGE,
    Reason,
    blocking,
    in_words,
    what_to_do,
)
from spark_ext.removal.stages import BLOCKED, STAGES, UNMAPPED, RemovalStage, waiting

_UNDONE = "Another writer undid the stage. Call again."


@dataclass(frozen=True)
class RemovalState:
    """A table during a removal of column mapping.

    Args:
        name: The name of the table as SQL reads it.
        version: The newest version, read before the stages.
        stages: The three stages.
    """

    name: str
    version: int
    stages: RemovalStages


def remove(
    read: Callable[[], RemovalState],
    run: Callable[[str, int, RemovalStage | None], StatementResult],
    *,
    until: str,
) -> RemovalStages:
    """Runs the statements of each stage, and reads the table again after each stage.

    Args:
        read: Reads the table.
        run: Runs a statement on a version of the table, with the stage if it removes mapping.
        until: The last stage.

    Raises:
        CannotRemoveColumnMappingError: USAGE_TRACKING_CANNOT_REMOVE_COLUMN_MAPPING, if a wanted
            stage is blocked, or if another writer undid a stage. `done` has the statements that
            ran.
    """
    wanted = STAGES[: STAGES.index(until) + 1]
    done: list[StatementResult] = []
    table = read()
    for number, name in enumerate(wanted):
        _refuse_blocked(table, wanted, done)
        stage = table.stages[number]
        if stage.reached:
            continue
        waits = False
        for statement in stage.statements:
            removal = stage if name == UNMAPPED else None
            done.append(run(statement, done[-1].version_after if done else table.version, removal))
            waits = done[-1].waits
            if waits:
                break
        table = read()
        if waits and not table.stages[number].reached:
            table.stages[number] = waiting(table.stages[number])
            break
        if not table.stages[number].reached:
            _refuse_blocked(table, wanted, done)
            raise _refusal(table, name, f"{name}: {CONFLICT}", _UNDONE, done)
    return RemovalStages(table.stages, tuple(done))


def _refuse_blocked(
    table: RemovalState, wanted: Sequence[str], done: Sequence[StatementResult]
) -> None:
    reasons = {
        stage.stage: _own_reasons(stage)
        for stage in table.stages
        if stage.stage in wanted and stage.cost == BLOCKED
    }
    if reasons:
        texts = (f"{name}: {in_words(whys)}" for name, whys in reasons.items() if whys)
        advice = what_to_do(why for whys in reasons.values() for why in whys)
        raise _refusal(table, wanted[-1], "; ".join(texts), advice, done)


def _own_reasons(stage: RemovalStage) -> tuple[Reason, ...]:
    return tuple(why for why in blocking(stage.reasons) if why.reason != EARLIER_STAGE)


def _refusal(
    table: RemovalState, stage: str, reasons: str, advice: str, done: Sequence[StatementResult]
) -> CannotRemoveColumnMappingError:
    statements = "; ".join(result.statement for result in done) or "none"
    return CannotRemoveColumnMappingError(
        table=table.name, stage=stage, reasons=reasons, advice=advice, done=statements
    )
