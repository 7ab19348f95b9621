# SPDX-License-Identifier: Apache-2.0
"""The way to names in files that are the columns' own, with column mapping on: what is left of it.

Removing column mapping gives the files these names, and a table that is tracked then, before it is
mapped again, starts with the flag false. Each statement follows from where the table is, so that a
way that was interrupted goes on there.
"""

from __future__ import annotations

from dataclasses import dataclass

from spark_ext.errors import CannotAlignNamesError, ModeIdLostError, NotMappedError
from spark_ext.model.keys import (
    ALIGNING,
    COLUMN_MAPPING_MODE,
    FEATURE_NAME,
    FEATURE_PROPERTY,
    FEATURE_SUPPORTED,
    MODE_ID,
    MODE_NAME,
    MODE_NONE,
)
from spark_ext.removal.reasons import blocking, in_words, what_to_do
from spark_ext.removal.rewrite_reasons import (
    HAS_DROPPED_OR_RENAMED,
    NOT_TRACKED,
    PHYSICAL_NAME_DIFFERS,
)
from spark_ext.removal.stages import BLOCKED, RemovalStage

_ADVICE = "The section Reasons of docs/removal.md says what each reason needs."
_NOT_ALIGNED = {NOT_TRACKED, HAS_DROPPED_OR_RENAMED, PHYSICAL_NAME_DIFFERS}


@dataclass(frozen=True)
class AligningTable:
    """Where a table is on the way.

    Args:
        name: As SQL wants it.
        version: Its newest version, read before the rest was.
        mode: Its column mapping mode, in lower case.
        flag: None for an untracked table; one that is missing or no boolean counts as true.
        aligning: The mode that it had when the way began; None where none has.
        unmapped: The first stage from column mapping.
    """

    name: str
    version: int
    mode: str
    flag: bool | None
    aligning: str | None
    unmapped: RemovalStage

    @property
    def is_aligned(self) -> bool:
        """Whether mapping is on, the flag false, and every name in files the column's own."""
        reasons = {why.reason for why in self.unmapped.reasons}
        return self.mode != MODE_NONE and reasons.isdisjoint(_NOT_ALIGNED)


def statements_left(table: AligningTable, *, to_name_mode: bool) -> tuple[str, ...]:
    """The statements to run, in order; none where nothing is left to do.

    The mode of before is kept in a property of the table while it is on the way: without it nobody
    could tell a table that was interrupted from one that somebody wants without column mapping.

    Args:
        table: Where it is.
        to_name_mode: Whether a table in mode id may come back in mode name. There is no way to
            mode id for a table that exists.

    Raises:
        NotMappedError: USAGE_TRACKING_NOT_MAPPED.
        ModeIdLostError: USAGE_TRACKING_MODE_ID_LOST.
        CannotAlignNamesError: USAGE_TRACKING_CANNOT_ALIGN_NAMES.

    Source:
        RFC, "Writer Requirements for Usage Tracking"; Delta 4.4.0, DeltaColumnMapping.scala,
        `allowMappingModeChange`.
    """
    if table.is_aligned:
        return _end(table) if table.aligning else ()
    if table.mode == MODE_NONE and table.aligning is None:
        raise NotMappedError(table=table.name)
    if table.mode == MODE_ID and not to_name_mode:
        raise ModeIdLostError(table=table.name)
    if table.unmapped.cost == BLOCKED:
        raise CannotAlignNamesError(
            table=table.name,
            reasons=in_words(blocking(table.unmapped.reasons)),
            advice=what_to_do(table.unmapped.reasons) or _ADVICE,
        )
    return (*_leaving(table), *_tracking(table), *_end(table))


def marking_statement(name: str, mode: str) -> str:
    """Keeps the mode that a table had in one of its properties."""
    return _set(name, {ALIGNING: mode})


def _leaving(table: AligningTable) -> tuple[str, ...]:
    if table.unmapped.reached or table.aligning is not None:
        return table.unmapped.statements
    return (marking_statement(table.name, table.mode), *table.unmapped.statements)


def _tracking(table: AligningTable) -> tuple[str, ...]:
    mapped = {COLUMN_MAPPING_MODE: MODE_NAME}
    if table.flag is False:
        return (_set(table.name, mapped),)
    # One commit, so that nobody can map the table before it is tracked.
    tracked = _set(table.name, {FEATURE_PROPERTY: FEATURE_SUPPORTED} | mapped)
    if table.flag is None:
        return (tracked,)
    return (f"ALTER TABLE {table.name} DROP FEATURE {FEATURE_NAME}", tracked)


def _end(table: AligningTable) -> tuple[str, ...]:
    return (f"ALTER TABLE {table.name} UNSET TBLPROPERTIES IF EXISTS ('{ALIGNING}')",)


def _set(name: str, properties: dict[str, str]) -> str:
    pairs = ", ".join(f"'{key}' = '{value}'" for key, value in properties.items())
    return f"ALTER TABLE {name} SET TBLPROPERTIES ({pairs})"
