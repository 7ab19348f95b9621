# SPDX-License-Identifier: Apache-2.0
"""Finds and erases the data of dropped columns in many tables."""

from __future__ import annotations

import os
import time
import uuid
from collections import deque
from collections.abc import Callable, Sequence
from threading import Condition
from typing import TYPE_CHECKING

from spark_ext.api.survey import listed_tables
from spark_ext.errors import ProgressFailedError
from spark_ext.lakehouse.bar import shown
from spark_ext.lakehouse.certificate import Certificate, earlier_certificate
from spark_ext.lakehouse.erasure_report import (
    INTERRUPTED,
    OTHER_FORMAT,
    ErasureInterrupted,
    ErasureReport,
    TableErasure,
)
from spark_ext.lakehouse.erasure_run import table_erasure
from spark_ext.lakehouse.progress import LakehouseProgress, Reporter
from spark_ext.lakehouse.signals import Interrupts, interrupts
from spark_ext.lakehouse.workers import Workers
from spark_ext.model.schema import path_of
from spark_ext.removal.survey import SurveyedTable
from spark_ext.version import __version__

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_DELTA, _VIEW = "DELTA", "VIEW"
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
            (`*`, `?`, `[..]`). Letter case never counts. None for every dropped column.
        apply: Whether to run the steps of columns with the name that can run now: `PURGE`, and
            `VACUUM` once all files to delete are older than the table's retention period. Other
            steps need people, catalogs or other tables, and are listed only. So are steps of
            columns whose name is not known. The same call later continues.
        previous: An earlier certificate of the same column, or its file. It tells that a table had
            the column after log cleanup removed every trace of the drop.
        parallel: The number of tables at a time.
        progress: Called before the first table and now and then; None for no reports.

    Returns:
        A row for each table with its verdict, its dropped columns and their remaining steps. A
        table of another format has the verdict `NOT_READ`.

    Raises:
        ValueError: `column` is empty or has an open backtick, or `parallel` is less than 1.
        AnalysisException: SCHEMA_NOT_FOUND, if a name is that of no schema, catalog or table;
            USAGE_TRACKING_INVALID_SCHEMA_NAME.
        NotACertificateError: USAGE_TRACKING_NOT_A_CERTIFICATE.
        ErasureInterrupted: SIGINT or SIGTERM arrived; it has the report.
        ProgressFailedError: USAGE_TRACKING_PROGRESS_FAILED; its attribute `report` has the report.
        SessionWithoutExtensionError: USAGE_TRACKING_NOT_IN_SESSION.

    Example:
        `spark_ext.dropped_columns(spark, "sales", "main.hr", column="ssn", apply=True)`
    """
    _check(column, parallel)
    earlier = earlier_certificate(previous, column)
    places = tuple(os.fspath(place) for place in where) or (_current_schema(spark),)
    with interrupts() as received:
        listed = list(listed_tables(spark, where))
        names = [table.table for table, kind in listed if kind == _DELTA]
        reading = _Reading(spark, names, Reporter(progress), received)

        def erasure_of(place: str) -> TableErasure:
            return table_erasure(
                spark,
                place,
                column,
                lambda table_id: None if table_id is None else earlier.findings.get(table_id),
                lambda: apply and not reading.is_stopped,
            )

        done = reading.run(erasure_of, parallel)
    tables = tuple(
        done.get(table.table) or _without_reading(table, kind)
        for table, kind in listed
        if kind != _VIEW
    )
    report = ErasureReport(
        column=column,
        tables=tables,
        version=__version__,
        where=places,
        num_views=sum(kind == _VIEW for _, kind in listed),
        earlier=earlier.not_replaced_by({each.table: each.erasure for each in tables}),
        interrupted=None if received.received is None else received.received.name,
    )
    if received.received is not None:
        raise ErasureInterrupted(report, received.received) from reading.failure
    if reading.failure is not None:
        reading.failure.report = report  # type: ignore[attr-defined]
        raise reading.failure
    return report


def _check(column: str | None, parallel: int) -> None:
    if column == "":
        raise ValueError("Cannot find columns by an empty name: use a name, a pattern or None.")
    if column is not None and "`" in column and not path_of(column.strip()):
        raise ValueError(f"Cannot find columns by {column!r}: close each backtick, or double it.")
    if parallel < 1:
        raise ValueError(f"Cannot read {parallel} tables at a time: use 1 or more.")


def _current_schema(spark: SparkSession) -> str:
    (row,) = spark.sql("SELECT current_catalog(), current_schema()").collect()
    return f"{row[0]}.{row[1]}"


def _without_reading(table: SurveyedTable, kind: str | None) -> TableErasure:
    if kind is None:  # of a table that the catalog cannot read
        return TableErasure(table=table.table, error=table.error, message=table.message or "")
    reason = INTERRUPTED if kind == _DELTA else OTHER_FORMAT
    return TableErasure(table=table.table, not_read=reason)


class _Reading:
    """Reads some tables at a time, until a signal arrives.

    Args:
        spark: The session.
        names: The tables.
        reporter: Reports the progress.
        received: The signals of the call.

    Attributes:
        is_stopped: Whether no table and no step may begin.
        failure: What failed beside the tables, such as the callback; None if nothing did.
    """

    def __init__(
        self,
        spark: SparkSession,
        names: Sequence[str],
        reporter: Reporter,
        received: Interrupts,
    ) -> None:
        self._spark = spark
        self._number = len(names)
        self._waiting = deque(names)
        self._running: dict[str, str] = {}
        self._found: dict[str, TableErasure] = {}
        self._changed = Condition()
        self._started = time.monotonic()
        self._reporter = reporter
        self._received = received
        self.is_stopped = False
        self.failure: BaseException | None = None

    def run(
        self, erasure_of: Callable[[str], TableErasure], parallel: int
    ) -> dict[str, TableErasure]:
        """Returns the results by name, without the tables that a signal kept from their end.

        Args:
            erasure_of: Returns the result for the name or path of a table, and raises nothing.
            parallel: The number of tables at a time.
        """
        self._erasure_of = erasure_of
        self._workers = Workers(self._spark, self._work, min(parallel, self._number))
        self._reporter.report(self._progress, at_once=True)
        try:
            self._workers.start()
            while self._workers.is_alive():
                self._supervise()
        except BaseException:
            self._stop()
            # The second signal ends the wait for what runs. Its table has no result.
            if self._received.received is None:
                raise
        self._reporter.report(self._progress, at_once=True)
        self.failure = self.failure or self._workers.failure
        if self.failure is None and self._reporter.failure is not None:
            error = repr(self._reporter.failure)
            self.failure = ProgressFailedError(statement=_PHASE, error=error)
            self.failure.__cause__ = self._reporter.failure
        with self._changed:
            return dict(self._found)

    def _supervise(self) -> None:
        with self._changed:
            self._changed.wait(_SECONDS)
        if self._received.received is not None:
            # A job may begin after the cancellation of the job before, so this repeats.
            self._stop()
        self._reporter.report(self._progress)

    def _stop(self) -> None:
        with self._changed:
            self.is_stopped = True
            self._waiting.clear()
            tags = list(self._running.values())
        try:
            for tag in tags:
                self._workers.cancel(tag)
        except Exception as error:  # the JVM or the server has ended
            self.failure = error

    def _work(self, number: int) -> None:
        while True:
            with self._changed:
                if not self._waiting or self._received.received is not None:
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
