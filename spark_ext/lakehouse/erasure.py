# SPDX-License-Identifier: Apache-2.0
"""Reads what remains of dropped columns in many tables. Nothing here changes a table."""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Callable, Sequence
from datetime import datetime, timezone
from threading import Event
from typing import TYPE_CHECKING

from spark_ext.api.dropped import DroppedColumns, dropped_columns_of
from spark_ext.api.refusals import described
from spark_ext.api.survey import DELTA, SURVEYED, VIEW, text_of
from spark_ext.lakehouse.certificate import Certificate, Checked
from spark_ext.lakehouse.chosen import Place, chosen_tables
from spark_ext.lakehouse.options import Options
from spark_ext.lakehouse.progress import LakehouseProgress, Reporter, shown
from spark_ext.lakehouse.signals import receiving_signals
from spark_ext.lakehouse.workers import Workers
from spark_ext.model.dropped import Asked
from spark_ext.model.schema import path_of
from spark_ext.removal.survey import SurveyedTable
from spark_ext.version import __version__

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

READING = "dropped columns"
_WAIT_SECONDS = 0.1


def dropped_columns(
    spark: SparkSession,
    *where: Place,
    column: str | None = None,
    certificate: Certificate | str | os.PathLike[str] | None = None,
    include: str | Sequence[str] = (),
    exclude: str | Sequence[str] = (),
    only: Callable[[SurveyedTable], bool] | None = None,
    parallel: int = 4,
    progress: Callable[[LakehouseProgress], None] | None = shown,
) -> Certificate:
    """Returns what remains of dropped columns in every Delta table, and the next steps.

    The call reads each table as `UsageTracking.dropped_columns`, and changes nothing. A table that
    cannot be read is in the result with its error, and affects no other table.

    Args:
        spark: A session with spark-ext, also of Spark Connect.
        where: Names of schemas, catalogs or tables, and paths of tables, as in `survey`. A table
            that is found under several names is read once, under the first one.
        column: The last name, the path, or any former one of a column, or a shell pattern of them
            (`*`, `?`, `[..]`). Letter case never counts. None for every dropped column.
        certificate: An earlier certificate of the same column, or its file. The moment from which
            a table is clean, and that it had the column, are taken from it as long as the log of
            the table has every version since.
        include: As `LakehouseOptions` documents, as are `exclude` and `only`.
        exclude: Patterns of tables to omit.
        only: Returns whether a row of the survey takes part. A table of another format has a row
            with its name alone.
        parallel: The number of tables at a time.
        progress: Called before the first table, every two seconds, and after tables; None for no
            reports.

    Returns:
        A row for each table with its verdict and its places. A table of another format has the
        verdict `NOT_READ`.

    Raises:
        ValueError: `column` is empty or has an open backtick, or an option is invalid; TypeError
            for a wrong type.
        AnalysisException: SCHEMA_NOT_FOUND, if a name is that of no schema, catalog or table;
            USAGE_TRACKING_INVALID_SCHEMA_NAME.
        NotACertificateError: USAGE_TRACKING_NOT_A_CERTIFICATE.
        KeyboardInterrupt: SIGINT or SIGTERM arrived.
        ProgressFailedError: USAGE_TRACKING_PROGRESS_FAILED; its attribute `report` has the result.
        SessionWithoutExtensionError: USAGE_TRACKING_NOT_IN_SESSION.

    Example:
        `spark_ext.dropped_columns(spark, "sales", "main.hr", column="ssn")`
    """
    _check(column)
    options = Options(
        include=include, exclude=exclude, only=only, parallel=parallel, progress=progress
    )
    checked = None if certificate is None else Checked(certificate, column)
    reporter = Reporter(progress)
    with receiving_signals() as interrupts:
        chosen = chosen_tables(spark, where, options, reporter, interrupts)
        # The survey has the error of a path without a table.
        rows = [row for row, kind in chosen if kind == DELTA and row.location is not None]
        found: dict[str, DroppedColumns] = {}
        waiting, over, begun = deque(rows), Event(), time.monotonic()

        def work(number: int) -> None:
            while not over.is_set():
                try:
                    row = waiting.popleft()
                except IndexError:  # another thread took the last one
                    return
                known = None if checked is None else checked.at(row.location)
                with workers.properties(number, f"spark-ext reads {row.table}"):
                    found[row.table] = _read(spark, row.table, Asked(column, known))

        def report() -> LakehouseProgress:
            return LakehouseProgress(
                phase=READING,
                tables_done=len(found),
                tables=len(rows),
                seconds=time.monotonic() - begun,
                finished=len(found) == len(rows),
            )

        workers = Workers(spark, work, min(parallel, len(rows)))
        workers.start()
        while workers.is_alive():
            time.sleep(_WAIT_SECONDS)
            reporter.report(report)
            if interrupts.received is not None:
                over.set()
                workers.cancel()
        interrupts.check()
        if workers.failure is not None:
            raise workers.failure
        reporter.report(report, at_once=True)
    result = Certificate(
        column=column,
        where=tuple(map(text_of, where)) or (_current_schema(spark),),
        filters=options.filters,
        tables=tuple(
            found.get(row.table) or _not_read(row, kind) for row, kind in chosen if kind != VIEW
        ),
        num_views=sum(kind == VIEW for _, kind in chosen),
        time=datetime.now(timezone.utc),
        version=__version__,
    )
    failure = reporter.error(READING)
    if failure is not None:
        failure.report = result  # type: ignore[attr-defined]
        raise failure
    return result


def _read(spark: SparkSession, name: str, asked: Asked) -> DroppedColumns:
    """Returns what remains in one table, or its error."""
    try:
        return dropped_columns_of(spark, name, asked)
    except Exception as error:  # from Spark, Java, a catalog or a storage
        condition, message = described(error)
        return DroppedColumns(name, error=condition, message=message)


def _check(column: str | None) -> None:
    if column == "":
        raise ValueError("Cannot find columns by an empty name: use a name, a pattern or None.")
    if column is not None and "`" in column and not path_of(column.strip()):
        raise ValueError(f"Cannot find columns by {column!r}: close each backtick, or double it.")


def _current_schema(spark: SparkSession) -> str:
    (row,) = spark.sql("SELECT current_catalog(), current_schema()").collect()
    return f"{row[0]}.{row[1]}"


def _not_read(table: SurveyedTable, kind: str | None) -> DroppedColumns:
    if kind not in SURVEYED:
        return DroppedColumns(table.table)
    # The catalog cannot read the table, or cannot list the schema.
    return DroppedColumns(table.table, error=table.error, message=table.message or "")
