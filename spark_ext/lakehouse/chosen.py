# SPDX-License-Identifier: Apache-2.0
"""Surveys the tables that take part in a call."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TYPE_CHECKING

from spark_ext.api.survey import Each, SurveyProgress, surveyed_tables
from spark_ext.lakehouse.options import Options
from spark_ext.lakehouse.progress import SURVEYING, LakehouseProgress, Reporter
from spark_ext.lakehouse.signals import Interrupts
from spark_ext.lakehouse.workers import inheriting
from spark_ext.removal.survey import SurveyedTable

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Place = str | os.PathLike[str]

# While the rule process and Python work on a batch, the JVM reads the next one.
_BATCHES_AT_A_TIME = 2


def chosen_tables(
    spark: SparkSession,
    where: Sequence[Place],
    options: Options,
    reporter: Reporter,
    interrupts: Interrupts,
    kinds: Collection[str | None] | None = None,
) -> list[tuple[SurveyedTable, str | None]]:
    """Returns the rows of the tables that take part, in the order of the survey, with their kinds.

    A table with several names or paths takes part under the first of them. A table of another
    format has a row with its name alone.

    Args:
        spark: The session.
        where: The schemas, catalogs and paths.
        options: The options.
        reporter: Reports the progress.
        interrupts: The signals of the call.
        kinds: The kinds of tables that take part; None for all.

    Raises:
        KeyboardInterrupt: A signal arrived during the survey.
    """
    case_sensitive = str(spark.conf.get("spark.sql.caseSensitive")).lower() == "true"
    chosen = options.chooses(case_sensitive=case_sensitive)
    found: dict[str, tuple[SurveyedTable, str | None]] = {}
    report = _progress(reporter, interrupts)
    with _ahead(spark, options.parallel) as each:
        for row, kind in surveyed_tables(spark, where, report, chosen, each):
            found.setdefault(row.location or row.table, (row, kind))
    only = options.only
    rows = [(row, kind) for row, kind in found.values() if kinds is None or kind in kinds]
    return [(row, kind) for row, kind in rows if only is None or only(row)]


@contextmanager
def _ahead(spark: SparkSession, parallel: int) -> Iterator[Each]:
    """Yields a function that reads one or two batches at a time in threads, ahead of the caller.

    No batch begins after the body, such as after a signal.
    """
    threads = ThreadPoolExecutor(min(parallel, _BATCHES_AT_A_TIME), "spark-ext-survey")

    def each(
        read: Callable[[list[str]], list[SurveyedTable]], batches: Iterable[list[str]]
    ) -> Iterator[list[SurveyedTable]]:
        futures = [threads.submit(inheriting(spark, read), batch) for batch in batches]
        return (future.result() for future in futures)

    try:
        yield each
    finally:
        threads.shutdown(cancel_futures=True)


def _progress(reporter: Reporter, interrupts: Interrupts) -> Callable[[SurveyProgress], None]:
    """Returns a callback that reports the progress of a survey, and ends it after a signal."""

    def report(progress: SurveyProgress) -> None:
        mapped = LakehouseProgress(
            phase=SURVEYING,
            tables_done=progress.tables_done,
            tables=progress.tables,
            seconds=progress.seconds,
            finished=progress.tables_done == progress.tables,
        )
        reporter.report(lambda: mapped, at_once=mapped.finished)
        interrupts.check()

    return report
