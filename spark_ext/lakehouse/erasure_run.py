# SPDX-License-Identifier: Apache-2.0
"""Reads one table for an erasure, and runs its steps that can run now."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING

from spark_ext.api.functions import is_path, literal
from spark_ext.api.named_table import NamedTable, named_table
from spark_ext.api.refusals import described
from spark_ext.api.statements import StatementRunner
from spark_ext.lakehouse.earlier import EarlierCertificate, EarlierFinding
from spark_ext.lakehouse.erasure_results import AppliedStep, TableErasure, due_steps
from spark_ext.model.dropped import DroppedColumn, ErasureStep
from spark_ext.model.erasure import ERASED, NEVER_HAD, UNKNOWN, ColumnErasure
from spark_ext.model.metadata import FileCount
from spark_ext.model.schema import Path, lower, path_of
from spark_ext.wire.rows import in_utc, of_row

if TYPE_CHECKING:
    from pyspark.sql import Row, SparkSession

Earlier = Callable[[str | None], EarlierFinding | None]


def read_table(
    spark: SparkSession, place: str, column: str | None, earlier: Earlier
) -> TableErasure:
    """Returns the remaining data in a table; an error becomes a part of the result.

    Args:
        spark: The session.
        place: The full name or the path of the table.
        column: The name or shell pattern of columns; None for every dropped column.
        earlier: Returns what an earlier certificate found in the table with an id.
    """
    found = TableErasure(table=place)
    try:
        found = replace(found, table=_name(spark, place))
        table = NamedTable(spark, found.table)
        erasure = _read(table, column)
        found = replace(found, erasure=erasure, earlier=earlier(erasure.table_id))
        return _with_earlier(table, found)
    except Exception as error:  # from Spark, Java or a storage
        return _failed(found, error)


def run_steps(
    spark: SparkSession,
    found: TableErasure,
    kind: str,
    column: str | None,
    may_go_on: Callable[[], bool],
) -> TableErasure:
    """Runs a step of a kind that can run now, at most twice, and returns the data that remains.

    Args:
        spark: The session.
        found: The table, as it was read last.
        kind: `PURGE` or `VACUUM`.
        column: As in `read_table`.
        may_go_on: Returns whether a step may begin.
    """
    table = NamedTable(spark, found.table)
    try:
        while may_go_on() and (step := due_step(found, kind)) is not None:
            if not found.applied:
                found = replace(found, earlier=_finding(found))
            # A second VACUUM deletes the folders that the first one emptied.
            is_again = any(each.step == kind for each in found.applied)
            before = found.columns
            found = replace(found, applied=(*found.applied, _run(table, step)))
            found = replace(found, erasure=_read(table, column))
            is_unchanged = _counts(found.columns) == _counts(before)
            if is_again or is_unchanged or found.applied[-1].message is not None:
                break
        return _with_earlier(table, found)
    except Exception as error:  # from Spark, Java or a storage
        return _failed(found, error)


def due_step(found: TableErasure, kind: str) -> ErasureStep | None:
    """Returns the step of a kind that can run now; None if there is none, or after an error."""
    if found.message is not None:
        return None
    due = (step for step in due_steps(found) if step.step == kind and step.earliest is None)
    return next(due, None)


def _failed(found: TableErasure, error: Exception) -> TableErasure:
    condition, message = described(error)
    return replace(found, error=condition, message=message)


def _name(spark: SparkSession, place: str) -> str:
    return str(named_table(spark, literal(place), "true")["name"]) if is_path(place) else place


def _read(table: NamedTable, column: str | None) -> ColumnErasure:
    arguments = () if column is None else (literal(column),)
    (row,) = table.answer("column_mapping_erasure", *arguments).collect()
    return of_row(ColumnErasure, row)


def _counts(columns: Iterable[DroppedColumn]) -> list[tuple[FileCount, ...]]:
    """Returns the number of files by column and by kind, which a step changes."""
    return [
        (
            column.live_files,
            column.removed_files,
            column.change_data_files,
            column.untracked_files,
            column.unknown_files,
        )
        for column in columns
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


def _with_earlier(table: NamedTable, found: TableErasure) -> TableErasure:
    """Returns `ERASED` in place of `NEVER_HAD` if an earlier certificate found the column.

    In files, a column without a known drop is found only if no schema contains its name. If the
    schema has the physical name of the erased column now, files may have either column, so the
    answer is `UNKNOWN`. The same holds for a column that neither this reading nor a certificate
    found as dropped: it may have another name now, also if a later column of the name is erased.
    If the log has every version since the earlier certificate, it shows each rename itself.
    """
    erasure, earlier = found.erasure, found.earlier
    if erasure is None or earlier is None or erasure.version < earlier.version:
        return found
    is_older = any(each.live and each.physical_path is None for each in earlier.columns)
    is_cut = is_older or erasure.oldest_version > earlier.version
    if erasure.verdict != NEVER_HAD and not (erasure.verdict == ERASED and is_cut):
        return found
    now = _physical_paths(table.answer("column_mapping").collect())
    if erasure.verdict == NEVER_HAD:
        names = {path[-1] for path in now}
        before = [column.physical_path for column in earlier.columns]
        hiding = tuple(each for each in before if each and lower(path_of(each))[-1] in names)
    else:
        # The log shows a drop. It may be that of a later column with the name.
        before = [column.physical_path for column in earlier.columns if column.live]
        hiding = tuple(each for each in before if each and lower(path_of(each)) in now)
    with_this_reading = _finding(found)
    may_be_renamed = with_this_reading is not None and bool(with_this_reading.only_live)
    verdict = UNKNOWN if hiding or may_be_renamed else ERASED
    return replace(found, erasure=replace(erasure, verdict=verdict, unnamed_columns=hiding))


def _physical_paths(rows: Iterable[Row]) -> set[Path]:
    """Returns the paths in files of the columns in an answer of `column_mapping`, in lower case."""
    found: dict[Path, Path] = {}
    for row in rows:
        path = path_of(row["name"])
        above = next((path[:end] for end in range(len(path) - 1, 0, -1) if path[:end] in found), ())
        name = row["physicalName"] or path[-1]
        found[path] = (*found.get(above, ()), *path[len(above) : -1], name)
    return set(map(lower, found.values()))
