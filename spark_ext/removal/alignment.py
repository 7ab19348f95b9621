# SPDX-License-Identifier: Apache-2.0
"""Aligns names: makes every physical name equal to the logical name and keeps column mapping.

A removal of column mapping renames the columns in the files. A table that is tracked before column
mapping is enabled again starts with the flag false. The statements depend on the table's state
only, so an interrupted alignment continues where it stopped.
"""

from __future__ import annotations

from dataclasses import dataclass

from spark_ext.errors import CannotAlignNamesError, ModeIdLostError, NotMappedError
from spark_ext.model.keys import (
    ALIGNING,
    COLUMN_MAPPING_MODE,
    MODE_ID,
    MODE_NAME,
    MODE_NONE,
)
from spark_ext.removal.reasons import blocking, in_words, what_to_do_or_read
from spark_ext.removal.rewrite_reasons import (
    HAS_DROPPED_OR_RENAMED,
    NOT_TRACKED,
    PHYSICAL_NAME_DIFFERS,
)
from spark_ext.removal.stages import (
    BLOCKED,
    TRACKED,
    RemovalStage,
    drop_statement,
    set_statement,
)

_NOT_ALIGNED = {NOT_TRACKED, HAS_DROPPED_OR_RENAMED, PHYSICAL_NAME_DIFFERS}


@dataclass(frozen=True)
class AligningTable:
    """The state of a table during an alignment.

    Args:
        name: The table's name for SQL.
        version: The newest version, read before the other facts.
        mode: The column mapping mode in lower case.
        flag: The flag; None for an untracked table. A missing or invalid flag counts as true.
        aligning: The mode when the alignment began; None if no alignment has begun.
        unmapped: The first removal stage.
    """

    name: str
    version: int
    mode: str
    flag: bool | None
    aligning: str | None
    unmapped: RemovalStage

    @property
    def is_aligned(self) -> bool:
        """Returns whether mapping is on, the flag is false and every physical name is logical."""
        reasons = {why.reason for why in self.unmapped.reasons}
        return self.mode != MODE_NONE and reasons.isdisjoint(_NOT_ALIGNED)


def remaining_statements(table: AligningTable, *, to_name_mode: bool) -> tuple[str, ...]:
    """Returns the remaining statements in order; empty if the names are aligned.

    A property of the table keeps the former mode during the alignment. The property distinguishes
    an interrupted alignment from a table that shall have no column mapping.

    Args:
        table: The state of the table.
        to_name_mode: Whether a table in mode `id` may end in mode `name`. Delta sets the mode `id`
            for new tables only.

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
            advice=what_to_do_or_read(table.unmapped.reasons),
        )
    return (*_removing(table), *_tracking(table), *_end(table))


def marking_statement(name: str, mode: str) -> str:
    """Returns the statement that records the mode of a table in a property."""
    return set_statement(name, {ALIGNING: mode})


def _removing(table: AligningTable) -> tuple[str, ...]:
    if table.unmapped.reached or table.aligning is not None:
        return table.unmapped.statements
    return (marking_statement(table.name, table.mode), *table.unmapped.statements)


def _tracking(table: AligningTable) -> tuple[str, ...]:
    mapped = {COLUMN_MAPPING_MODE: MODE_NAME}
    if table.flag is False:
        return (set_statement(table.name, mapped),)
    # In one commit, so that no writer maps the table before the table is tracked.
    tracked = set_statement(table.name, TRACKED | mapped)
    if table.flag is None:
        return (tracked,)
    return (drop_statement(table.name), tracked)


def _end(table: AligningTable) -> tuple[str, ...]:
    return (f"ALTER TABLE {table.name} UNSET TBLPROPERTIES IF EXISTS ('{ALIGNING}')",)
