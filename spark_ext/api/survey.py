# SPDX-License-Identifier: Apache-2.0
"""A survey of many tables, through SQL only."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from spark_ext.api.functions import answer, is_path, literal
from spark_ext.api.removal_setting import copying
from spark_ext.api.survey_result import Survey
from spark_ext.removal.survey import SurveyedTable
from spark_ext.removal.survey_sums import sums
from spark_ext.wire.rows import of_row

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# After so many tables, progress is reported and an interrupt heard.
_AT_ONCE = 100

_DELTA, _VIEW = "DELTA", "VIEW"


@dataclass(frozen=True)
class SurveyProgress:
    """How far a survey is.

    Args:
        tables_done: Tables that were looked at.
        tables: Those that there are.
        seconds: Since it was started.
    """

    tables_done: int
    tables: int
    seconds: float


def shown(progress: SurveyProgress) -> None:
    """Prints a line to standard error."""
    print(
        f"survey: {progress.tables_done:,} of {progress.tables:,} tables, {progress.seconds:.1f} s",
        file=sys.stderr,
    )


def survey(
    spark: SparkSession,
    *where: str | os.PathLike[str],
    progress: Callable[[SurveyProgress], None] | None = shown,
) -> Survey:
    """What removing column mapping costs, for every Delta table of a schema, a catalog, or many.

    Nothing is changed. A table that cannot be read is in the result with its error. What costs
    `COPY` is counted as `UsageTracking.remove_column_mapping` would do it.

    Args:
        spark: A session with spark-ext, of Spark Connect as well.
        where: Names of schemas or catalogs, and paths of tables: texts with a slash outside of
            backticks. A catalog is surveyed with all its schemas; without a name, it is the current
            schema, as for SHOW TABLES.
        progress: Called after each hundred tables; None for silence.

    Raises:
        AnalysisException: SCHEMA_NOT_FOUND; USAGE_TRACKING_INVALID_SCHEMA_NAME.
        SessionWithoutExtensionError: USAGE_TRACKING_NOT_IN_SESSION.

    Example:
        `spark_ext.survey(spark, "sales", "main.hr", "/data/trips")`
    """
    started = time.monotonic()
    listed = list(_listed(spark, where))
    names = [table.table for table, kind in listed if kind == _DELTA]

    def tell(done: int) -> None:
        if progress is not None:
            progress(SurveyProgress(done, len(names), time.monotonic() - started))

    looked: dict[str, SurveyedTable] = {}
    with copying(spark):
        tell(0)
        for start in range(0, len(names), _AT_ONCE):
            batch = names[start : start + _AT_ONCE]
            looked.update(zip(batch, _looked(spark, batch), strict=True))
            tell(start + len(batch))
    tables = tuple(
        looked.get(table.table, table) for table, kind in listed if kind in (_DELTA, None)
    )
    views = sum(kind == _VIEW for _, kind in listed)
    others = len(listed) - len(tables) - views
    return Survey(tables, sums(tables, num_views=views, num_others=others))


def _listed(
    spark: SparkSession, where: Sequence[str | os.PathLike[str]]
) -> Iterator[tuple[SurveyedTable, str | None]]:
    """Every table once with its kind; one whose kind is unknown, with its error."""
    found: dict[str, tuple[SurveyedTable, str | None]] = {}
    for place in where or (None,):
        path = _path(place)
        if path is not None:
            found[path] = SurveyedTable(path), _DELTA
            continue
        arguments = () if place is None else (literal(os.fspath(place)),)
        for row in answer(spark, "column_mapping_tables", *arguments).collect():
            table = SurveyedTable(row["table"], error=row["error"], message=row["message"])
            found[table.table] = table, row["kind"]
    yield from found.values()


def _path(place: str | os.PathLike[str] | None) -> str | None:
    """The path that is meant; None where it is a name."""
    if isinstance(place, os.PathLike):
        path = os.fspath(place)
        return path if "/" in path else f"./{path}"
    return place if place is not None and is_path(place) else None


def _looked(spark: SparkSession, names: Sequence[str]) -> list[SurveyedTable]:
    array = f"array({', '.join(map(literal, names))})"
    rows = answer(spark, "column_mapping_survey", array).collect()
    return [of_row(SurveyedTable, row) for row in rows]
