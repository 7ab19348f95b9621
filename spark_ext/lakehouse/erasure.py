# SPDX-License-Identifier: Apache-2.0
"""Finds and erases the data of dropped columns in many tables."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from typing import TYPE_CHECKING

from spark_ext.api.survey import SurveyProgress, listed_tables
from spark_ext.lakehouse.certificate import Certificate, earlier_findings
from spark_ext.lakehouse.erasure_report import EarlierFinding, ErasureReport, TableErasure
from spark_ext.lakehouse.erasure_run import table_erasure
from spark_ext.version import __version__

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_DELTA = "DELTA"


def shown(progress: SurveyProgress) -> None:
    """Prints the progress as a line to standard error."""
    print(
        f"dropped columns: {progress.tables_done:,} of {progress.tables:,} tables,"
        f" {progress.seconds:.1f} s",
        file=sys.stderr,
    )


def dropped_columns(
    spark: SparkSession,
    *where: str | os.PathLike[str],
    column: str | None = None,
    apply: bool = False,
    previous: Certificate | str | os.PathLike[str] | None = None,
    parallel: int = 4,
    progress: Callable[[SurveyProgress], None] | None = shown,
) -> ErasureReport:
    """Returns where the data of dropped columns still exists in every Delta table, and what is due.

    The call reads each table as `UsageTracking.dropped_columns`. A table that cannot be read is in
    the result with its error, and affects no other table.

    Args:
        spark: A session with spark-ext, also of Spark Connect.
        where: Names of schemas, catalogs or tables, and paths of tables, as in `survey`.
        column: The last name, the path, or any former one of a column, or a shell pattern of them
            (`*`, `?`, `[..]`). Letter case counts if `spark.sql.caseSensitive` is true. None for
            every dropped column.
        apply: Whether to run the steps that can run now: `PURGE`, and `VACUUM` once all files to
            delete are older than the table's retention period. Other steps need people, catalogs
            or other tables, and are listed only. The same call later continues.
        previous: An earlier certificate of the same column, or its file. It tells that a table had
            the column after log cleanup removed every trace of the drop.
        parallel: The number of tables at a time.
        progress: Called before the first table and after each one; None for no reports.

    Returns:
        A row for each table with its verdict, its dropped columns and their remaining steps.

    Raises:
        ValueError: `column` is empty, or `parallel` is less than 1.
        AnalysisException: SCHEMA_NOT_FOUND, if a name is that of no schema, catalog or table;
            USAGE_TRACKING_INVALID_SCHEMA_NAME.
        NotACertificateError: USAGE_TRACKING_NOT_A_CERTIFICATE.
        SessionWithoutExtensionError: USAGE_TRACKING_NOT_IN_SESSION.

    Example:
        `spark_ext.dropped_columns(spark, "sales", "main.hr", column="ssn", apply=True)`
    """
    if column == "":
        raise ValueError("Cannot find columns by an empty name: use a name, a pattern or None.")
    if parallel < 1:
        raise ValueError(f"Cannot read {parallel} tables at a time: use 1 or more.")
    findings = earlier_findings(previous, column)
    listed = list(listed_tables(spark, where))

    def erasure_of(place: str) -> TableErasure:
        return table_erasure(spark, place, column, _by_id(findings), apply=apply)

    names = [table.table for table, kind in listed if kind == _DELTA]
    done = _in_parallel(spark, erasure_of, names, parallel, progress)
    # The kind of a table that the catalog cannot read is not known.
    failed = {
        table.table: TableErasure(table=table.table, error=table.error, message=table.message)
        for table, kind in listed
        if kind is None
    }
    tables = [{**failed, **done}[table.table] for table, kind in listed if kind in (_DELTA, None)]
    return ErasureReport(column=column, tables=tuple(tables), version=__version__)


def _by_id(
    findings: Mapping[str, EarlierFinding],
) -> Callable[[str | None], EarlierFinding | None]:
    return lambda table_id: None if table_id is None else findings.get(table_id)


def _in_parallel(
    spark: SparkSession,
    erasure_of: Callable[[str], TableErasure],
    names: Sequence[str],
    parallel: int,
    progress: Callable[[SurveyProgress], None] | None,
) -> dict[str, TableErasure]:
    started = time.monotonic()
    found: dict[str, TableErasure] = {}

    def report() -> None:
        if progress is not None:
            progress(SurveyProgress(len(found), len(names), time.monotonic() - started))

    report()
    threads = ThreadPoolExecutor(min(parallel, len(names) or 1), "spark-ext-erasure")
    try:
        futures: dict[Future[TableErasure], str] = {
            threads.submit(erasure_of, name): name for name in names
        }
        for future in as_completed(futures):
            found[futures[future]] = future.result()
            report()
    finally:
        # After an interrupt, no further table begins.
        threads.shutdown(wait=True, cancel_futures=True)
    return found
