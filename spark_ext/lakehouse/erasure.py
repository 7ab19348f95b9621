# SPDX-License-Identifier: Apache-2.0
"""Finds and erases the data of dropped columns in many tables."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from spark_ext.api.survey import DELTA, SURVEYED, VIEW, text_of
from spark_ext.lakehouse.bar import shown
from spark_ext.lakehouse.certificate import Certificate, earlier_certificate
from spark_ext.lakehouse.chosen import Place, chosen_tables
from spark_ext.lakehouse.erasure_phases import READING, ErasurePhases
from spark_ext.lakehouse.erasure_report import ErasureInterrupted, ErasureReport
from spark_ext.lakehouse.erasure_results import INTERRUPTED, OTHER_FORMAT, TableErasure
from spark_ext.lakehouse.next_call import Call
from spark_ext.lakehouse.options import Options
from spark_ext.lakehouse.progress import LakehouseProgress, Reporter
from spark_ext.lakehouse.signals import receiving_signals
from spark_ext.model.schema import path_of
from spark_ext.removal.survey import SurveyedTable
from spark_ext.version import __version__

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def dropped_columns(
    spark: SparkSession,
    *where: Place,
    column: str | None = None,
    apply: bool = False,
    previous: Certificate | str | os.PathLike[str] | None = None,
    include: str | Sequence[str] = (),
    exclude: str | Sequence[str] = (),
    only: Callable[[SurveyedTable], bool] | None = None,
    parallel: int = 4,
    progress: Callable[[LakehouseProgress], None] | None = shown,
) -> ErasureReport:
    """Returns the remaining data of dropped columns in every Delta table, and the next steps.

    The call reads each table as `UsageTracking.dropped_columns`. A table that cannot be read is in
    the result with its error, and affects no other table.

    Args:
        spark: A session with spark-ext, also of Spark Connect.
        where: Names of schemas, catalogs or tables, and paths of tables, as in `survey`. A table
            that is found under several names is read once, under the first one.
        column: The last name, the path, or any former one of a column, or a shell pattern of them
            (`*`, `?`, `[..]`). Letter case never counts. None for every dropped column.
        apply: Whether to run the steps that can run now: `PURGE`, and `VACUUM` once all files to
            delete are older than the table's retention period. `VACUUM` does not run while another
            table of the call reads files in the table's folder, as a shallow clone does. Other
            steps need people, catalogs or other tables, and are listed only. A column of unknown
            name is erased if `column` is None or matches its physical name. Otherwise its steps
            are listed only. The same call later continues.
        previous: An earlier certificate of the same column, or its file. It shows that a table had
            the column, even if log cleanup has removed every trace of the drop.
        include: As `LakehouseOptions` documents, as are `exclude` and `only`.
        exclude: Patterns of tables to omit.
        only: Returns whether a row of the survey takes part. A table of another format has a row
            with its name alone.
        parallel: The number of tables at a time.
        progress: Called before the first table, every two seconds, and after tables; None for no
            reports.

    Returns:
        A row for each table with its verdict, its dropped columns and their remaining steps. A
        table of another format has the verdict `NOT_READ`.

    Raises:
        ValueError: `column` is empty or has an open backtick, or an option is invalid; TypeError
            for a wrong type. No table was changed.
        AnalysisException: SCHEMA_NOT_FOUND, if a name is that of no schema, catalog or table;
            USAGE_TRACKING_INVALID_SCHEMA_NAME.
        NotACertificateError: USAGE_TRACKING_NOT_A_CERTIFICATE.
        ErasureInterrupted: SIGINT or SIGTERM arrived; it has the report.
        ProgressFailedError: USAGE_TRACKING_PROGRESS_FAILED; its attribute `report` has the report.
        SessionWithoutExtensionError: USAGE_TRACKING_NOT_IN_SESSION.

    Example:
        `spark_ext.dropped_columns(spark, "sales", "main.hr", column="ssn", apply=True)`
    """
    _check(column)
    options = Options(
        include=include, exclude=exclude, only=only, parallel=parallel, progress=progress
    )
    earlier = earlier_certificate(previous, column)
    places = tuple(map(text_of, where)) or (_current_schema(spark),)
    reporter = Reporter(progress)
    chosen: list[tuple[SurveyedTable, str | None]] = []
    failure: BaseException | None = None
    with receiving_signals() as interrupts:
        phases = ErasurePhases(spark, column, earlier, reporter, interrupts, parallel=parallel)
        try:
            chosen = chosen_tables(spark, where, options, reporter, interrupts)
            phases.run([each.table for each, kind in chosen if kind == DELTA], applies=apply)
        except BaseException as error:  # such as the end of the driver's JVM, or a second signal
            if not chosen and interrupts.received is None:
                raise
            failure = error
    tables = tuple(
        phases.found.get(table.table) or _without_reading(table, kind)
        for table, kind in chosen
        if kind != VIEW
    )
    report = ErasureReport(
        column=column,
        tables=tables,
        version=__version__,
        where=places,
        filters=options.filters,
        num_views=sum(kind == VIEW for _, kind in chosen),
        earlier=earlier.not_replaced_by({each.table: each.erasure for each in tables}),
        interrupted=interrupts.name,
        call=_call(places, column, previous, options, applies=apply),
    )
    return interrupts.end(report, failure or reporter.error(READING), ErasureInterrupted)


def _call(
    where: tuple[str, ...],
    column: str | None,
    previous: Certificate | str | os.PathLike[str] | None,
    options: Options,
    *,
    applies: bool,
) -> Call:
    known = previous if isinstance(previous, Certificate | None) else os.fspath(previous)
    own = {"column": column, "apply": applies or None, "previous": known}
    given = {name: value for name, value in own.items() if value is not None}
    return Call(
        function="dropped_columns",
        command="dropped",
        where=where,
        options={**given, **options.non_default},
    )


def _check(column: str | None) -> None:
    if column == "":
        raise ValueError("Cannot find columns by an empty name: use a name, a pattern or None.")
    if column is not None and "`" in column and not path_of(column.strip()):
        raise ValueError(f"Cannot find columns by {column!r}: close each backtick, or double it.")


def _current_schema(spark: SparkSession) -> str:
    (row,) = spark.sql("SELECT current_catalog(), current_schema()").collect()
    return f"{row[0]}.{row[1]}"


def _without_reading(table: SurveyedTable, kind: str | None) -> TableErasure:
    if kind == DELTA or kind not in SURVEYED:
        reason = INTERRUPTED if kind == DELTA else OTHER_FORMAT
        return TableErasure(table=table.table, not_read=reason)
    # The catalog cannot read the table, or cannot list the schema.
    return TableErasure(table=table.table, error=table.error, message=table.message or "")
