# SPDX-License-Identifier: Apache-2.0
"""Aligns names: makes every physical name equal to the logical name and keeps column mapping.

A removal of column mapping renames the columns in the files. The table is tracked at the latest in
the commit that enables column mapping again, so the flag starts as false. The statements depend on
the table's state only, so an interrupted alignment continues where it stopped.
"""

from __future__ import annotations

from spark_ext.errors import CannotAlignNamesError, ModeIdLostError, NotMappedError
from spark_ext.model.keys import (
    ALIGNING,
    COLUMN_MAPPING_MODE,
    MODE_ID,
    MODE_NAME,
    MODE_NONE,
)
from spark_ext.removal.reasons import in_words, what_to_do
from spark_ext.removal.stages import (
    BLOCKED,
    NOTHING,
    TRACKED,
    UNMAPPED,
    drop_statement,
    set_statement,
    unmapping_statement,
)
from spark_ext.removal.survey import SurveyedTable


def remaining_statements(row: SurveyedTable, *, to_name_mode: bool) -> tuple[str, ...]:
    """Returns the remaining statements in order; empty if the alignment is complete.

    A property of the table keeps the former mode during the alignment. The property distinguishes
    an interrupted alignment from a table that shall have no column mapping. The last statement
    removes the property.

    Args:
        row: The table, with its name for SQL.
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
    if row.is_aligned:
        return _end(row.table) if row.aligning else ()
    if row.mode == MODE_NONE and row.aligning is None:
        raise NotMappedError(table=row.table)
    if row.mode == MODE_ID and not to_name_mode:
        raise ModeIdLostError(table=row.table)
    if row.unmapped == BLOCKED:
        reasons = [known.why for known in row.blocked_by if known.stage == UNMAPPED]
        advice = what_to_do(reasons)
        raise CannotAlignNamesError(table=row.table, reasons=in_words(reasons), advice=advice)
    return (*_removing(row), *_tracking(row), *_end(row.table))


def marking_statement(name: str, mode: str) -> str:
    """Returns the statement that records the mode of a table in a property."""
    return set_statement(name, {ALIGNING: mode})


def tracking_statement(name: str) -> str:
    """Returns the statement that tracks a table and enables column mapping in one commit.

    So no other writer maps the table before the table is tracked.
    """
    return set_statement(name, TRACKED | {COLUMN_MAPPING_MODE: MODE_NAME})


def removing_statement(row: SurveyedTable) -> str:
    """Returns the statement of an alignment that removes column mapping."""
    return unmapping_statement(row.table, is_mapped=row.mode != MODE_NONE)


def _removing(row: SurveyedTable) -> tuple[str, ...]:
    if row.unmapped == NOTHING:
        return ()
    removing = removing_statement(row)
    if row.aligning is not None:
        return (removing,)
    return (marking_statement(row.table, str(row.mode)), removing)


def _tracking(row: SurveyedTable) -> tuple[str, ...]:
    if row.has_dropped_or_renamed is False:
        return (set_statement(row.table, {COLUMN_MAPPING_MODE: MODE_NAME}),)
    tracking = tracking_statement(row.table)
    return (drop_statement(row.table), tracking) if row.tracked else (tracking,)


def _end(name: str) -> tuple[str, ...]:
    return (f"ALTER TABLE {name} UNSET TBLPROPERTIES IF EXISTS ('{ALIGNING}')",)
