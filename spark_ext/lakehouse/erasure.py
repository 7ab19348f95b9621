# SPDX-License-Identifier: Apache-2.0
"""Finds and erases the data of dropped columns in many tables."""

from __future__ import annotations

import os
import time
import uuid
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from threading import Condition
from typing import TYPE_CHECKING

from spark_ext.api.survey import listed_tables
from spark_ext.errors import ProgressFailedError
from spark_ext.lakehouse.bar import shown
from spark_ext.lakehouse.certificate import Certificate, earlier_findings
from spark_ext.lakehouse.erasure_report import EarlierFinding, ErasureReport, TableErasure
from spark_ext.lakehouse.erasure_run import table_erasure
from spark_ext.lakehouse.progress import LakehouseProgress, Reporter
from spark_ext.lakehouse.workers import Workers
from spark_ext.version import __version__

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_DELTA = "DELTA"
_PHASE = "dropped columns"
_SECONDS = 0.2


def dropped_columns(
    spark: SparkSession,
    *where: str | os.PathLike[str],
    column: str | None = None,
    apply: bool = False,
    previous: Certificate | str | os.PathLike[str] | None = None,
    parallel: int = 4,
    progress: Callable[[LakehouseProgress], None] | None = shown,
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
        progress: Called before the first table and now and then; None for no reports.

    Returns:
        A row for each table with its verdict, its dropped columns and their remaining steps.

    Raises:
        ValueError: `column` is empty, or `parallel` is less than 1.
        AnalysisException: SCHEMA_NOT_FOUND, if a name is that of no schema, catalog or table;
            USAGE_TRACKING_INVALID_SCHEMA_NAME.
        NotACertificateError: USAGE_TRACKING_NOT_A_CERTIFICATE.
        ProgressFailedError: USAGE_TRACKING_PROGRESS_FAILED; its attribute `report` has the report.
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
    reading = _Reading(spark, erasure_of, names, Reporter(progress))
    done = reading.run(parallel)
    # The kind of a table that the catalog cannot read is not known.
    failed = {
        table.table: TableErasure(table=table.table, error=table.error, message=table.message)
        for table, kind in listed
        if kind is None
    }
    tables = [{**failed, **done}[table.table] for table, kind in listed if kind in (_DELTA, None)]
    report = ErasureReport(column=column, tables=tuple(tables), version=__version__)
    if reading.reporter.failure is not None:
        failure = ProgressFailedError(statement=_PHASE, error=repr(reading.reporter.failure))
        failure.report = report  # type: ignore[attr-defined]
        raise failure from reading.reporter.failure
    return report


def _by_id(
    findings: Mapping[str, EarlierFinding],
) -> Callable[[str | None], EarlierFinding | None]:
    return lambda table_id: None if table_id is None else findings.get(table_id)


class _Reading:
    """Reads some tables at a time.

    Args:
        spark: The session.
        erasure_of: Returns the result for the name or path of a table, and raises nothing.
        names: The tables.
        reporter: Reports the progress.
    """

    def __init__(
        self,
        spark: SparkSession,
        erasure_of: Callable[[str], TableErasure],
        names: Sequence[str],
        reporter: Reporter,
    ) -> None:
        self._spark = spark
        self._erasure_of = erasure_of
        self._number = len(names)
        self._waiting = deque(names)
        self._running: dict[str, str] = {}
        self._found: dict[str, TableErasure] = {}
        self._changed = Condition()
        self._started = time.monotonic()
        self.reporter = reporter

    def run(self, parallel: int) -> dict[str, TableErasure]:
        """Returns the results by name. An interrupt cancels what runs, and no table begins."""
        self._workers = Workers(self._spark, self._work, min(parallel, self._number))
        self.reporter.report(self._progress, at_once=True)
        self._workers.start()
        try:
            while self._workers.is_alive():
                with self._changed:
                    self._changed.wait(_SECONDS)
                self.reporter.report(self._progress)
        except BaseException:  # KeyboardInterrupt
            with self._changed:
                self._waiting.clear()
                tags = list(self._running.values())
            for tag in tags:
                self._workers.cancel(tag)
            raise
        self.reporter.report(self._progress, at_once=True)
        return self._found

    def _work(self, number: int) -> None:
        while True:
            with self._changed:
                if not self._waiting:
                    return
                name = self._waiting.popleft()
                tag = self._running[name] = f"spark-ext-{uuid.uuid4()}"
            with self._workers.properties(number, f"{_PHASE}: {name}", tag):
                found = self._erasure_of(name)
            with self._changed:
                self._found[name] = found
                del self._running[name]
                self._changed.notify_all()

    def _progress(self) -> LakehouseProgress:
        with self._changed:
            return LakehouseProgress(
                phase=_PHASE,
                tables_done=len(self._found),
                tables=self._number,
                seconds=time.monotonic() - self._started,
                running=tuple(self._running),
                finished=len(self._found) == self._number,
            )
