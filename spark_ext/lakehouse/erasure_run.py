# SPDX-License-Identifier: Apache-2.0
"""Reads one table for an erasure, and runs the steps that can run now."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING

from spark_ext.api.functions import is_path, literal
from spark_ext.api.named_table import NamedTable, named_table
from spark_ext.api.refusals import described
from spark_ext.api.statements import StatementRunner
from spark_ext.lakehouse.earlier import EarlierCertificate, EarlierFinding
from spark_ext.lakehouse.erasure_results import APPLIED, AppliedStep, TableErasure, due_steps
from spark_ext.model.dropped import ErasureStep
from spark_ext.model.erasure import ERASED, NEVER_HAD, UNKNOWN, ColumnErasure
from spark_ext.model.metadata import FileCount
from spark_ext.model.schema import path_of
from spark_ext.wire.rows import in_utc, of_row

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Earlier = Callable[[str | None], EarlierFinding | None]


def table_erasure(
    spark: SparkSession,
    place: str,
    column: str | None,
    earlier: Earlier,
    applies: Callable[[], bool],
) -> TableErasure:
    """Returns the remaining data in a table; an error becomes a part of the result.

    Args:
        spark: The session.
        place: The full name or the path of the table.
        column: The name or shell pattern of columns; None for every dropped column.
        earlier: Returns what an earlier certificate found in the table with an id.
        applies: Returns whether a step may run now.
    """
    name = place
    applied: list[AppliedStep] = []
    erasure, known = None, None
    try:
        name = _name(spark, place)
        table = NamedTable(spark, name)
        erasure = _read(table, column)
        known = earlier(erasure.table_id)
        ended: set[str] = set()
        while applies() and (step := _due(erasure, known, ended)) is not None:
            if not applied:
                known = _finding(TableErasure(table=name, erasure=erasure, earlier=known))
            before = _counts(erasure)
            is_again = any(each.step == step.step for each in applied)
            applied.append(_run(table, step))
            erasure = _read(table, column)
            # A VACUUM deletes files, and the next one deletes the folders that are empty then.
            if is_again or applied[-1].message is not None or _counts(erasure) == before:
                ended.add(step.step)
        return TableErasure(
            table=name,
            erasure=_with_earlier(table, erasure, known),
            applied=tuple(applied),
            earlier=known,
        )
    except Exception as error:  # from Spark, Java or a storage
        condition, message = described(error)
        return TableErasure(
            table=name,
            erasure=erasure,
            applied=tuple(applied),
            earlier=known,
            error=condition,
            message=message,
        )


def _name(spark: SparkSession, place: str) -> str:
    return str(named_table(spark, literal(place), "true")["name"]) if is_path(place) else place


def _read(table: NamedTable, column: str | None) -> ColumnErasure:
    arguments = () if column is None else (literal(column),)
    (row,) = table.answer("column_mapping_erasure", *arguments).collect()
    return of_row(ColumnErasure, row)


def _due(
    erasure: ColumnErasure, known: EarlierFinding | None, ended: set[str]
) -> ErasureStep | None:
    """Returns the first step that can run now, and that has not failed or ended without effect."""
    due = {step.step: step for step in due_steps(erasure, known) if step.earliest is None}
    return next((due[step] for step in APPLIED if step in due and step not in ended), None)


def _counts(erasure: ColumnErasure) -> list[tuple[FileCount, ...]]:
    """Returns the number of files by column and by kind, which a step changes."""
    return [
        (
            column.live_files,
            column.removed_files,
            column.change_data_files,
            column.untracked_files,
            column.unknown_files,
        )
        for column in erasure.columns
    ]


def _finding(table: TableErasure) -> EarlierFinding | None:
    """Returns what the call has found. The commit of a step may delete the names from the log."""
    found = {"time": in_utc(datetime.now()), **table.as_object()}
    return EarlierCertificate((found,)).of(found["erasure"]["tableId"])


def _run(table: NamedTable, step: ErasureStep) -> AppliedStep:
    version = table.row()["version"]
    started = time.monotonic()
    try:
        done = StatementRunner(table.spark, table.row, progress=None).run(step.statement, version)
    except Exception as error:  # from Spark, Java or a storage
        condition, message = described(error)
        seconds = time.monotonic() - started
        return AppliedStep(step.step, step.statement, version, None, seconds, condition, message)
    return AppliedStep(
        step.step, step.statement, done.version_before, done.version_after, done.seconds
    )


def _with_earlier(
    table: NamedTable, erasure: ColumnErasure, earlier: EarlierFinding | None
) -> ColumnErasure:
    """Returns `ERASED` in place of `NEVER_HAD` if an earlier certificate found the column.

    A column of files is known by every name that no schema contains. If the schema has the physical
    name of the erased column now, files may have either column, so the answer is `UNKNOWN`. The
    same holds for a column that no certificate found as dropped: it may have another name now.
    """
    if erasure.verdict != NEVER_HAD or earlier is None or erasure.version < earlier.version:
        return erasure
    rows = table.answer("column_mapping").collect()
    now = {(row["physicalName"] or row["name"]).lower() for row in rows}
    before = [column.physical_path for column in earlier.columns]
    hiding = tuple(path for path in before if path is not None and path_of(path)[-1].lower() in now)
    verdict = UNKNOWN if hiding or earlier.only_live else ERASED
    return replace(erasure, verdict=verdict, unnamed_columns=hiding)
