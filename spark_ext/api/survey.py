# SPDX-License-Identifier: Apache-2.0
"""Surveys many tables, through SQL only."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark.errors import PySparkException

from spark_ext.api.functions import answer, is_path, literal
from spark_ext.api.named_table import named_table, rows_of
from spark_ext.api.removal_setting import copying
from spark_ext.api.survey_result import Survey
from spark_ext.removal.survey import SurveyedTable
from spark_ext.removal.survey_sums import sums

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# After each batch of tables, progress is reported, and an interrupt ends the survey.
_BATCH = 100

# The kinds of listed tables. A table that the catalog cannot read has none. A schema is listed only
# if the catalog cannot list its tables.
DELTA, VIEW, SCHEMA = "DELTA", "VIEW", "SCHEMA"
# The kinds whose rows a survey has.
SURVEYED = (DELTA, SCHEMA, None)
_NO_SCHEMA = ("SCHEMA_NOT_FOUND", "REQUIRES_SINGLE_PART_NAMESPACE")
_NO_TABLE = (
    *("DELTA_MISSING_DELTA_TABLE", "TABLE_OR_VIEW_NOT_FOUND", "SCHEMA_NOT_FOUND"),
    # The session catalog has no table `spark_catalog.name`.
    "REQUIRES_SINGLE_PART_NAMESPACE",
)

# Returns whether a table with a name and a kind is read.
Chosen = Callable[[str, str | None], bool]

# Calls a function for each batch of names, and yields the rows in order, as `map`.
Each = Callable[
    [Callable[[list[str]], list[SurveyedTable]], Iterable[list[str]]], Iterable[list[SurveyedTable]]
]


@dataclass(frozen=True)
class SurveyProgress:
    """The progress of a survey.

    Args:
        tables_done: The number of tables that were read.
        tables: The number of all tables.
        seconds: The seconds since the start.
    """

    tables_done: int
    tables: int
    seconds: float


def shown(progress: SurveyProgress) -> None:
    """Prints the progress as a line to standard error."""
    print(
        f"survey: {progress.tables_done:,} of {progress.tables:,} tables, {progress.seconds:.1f} s",
        file=sys.stderr,
    )


def survey(
    spark: SparkSession,
    *where: str | os.PathLike[str],
    progress: Callable[[SurveyProgress], None] | None = shown,
) -> Survey:
    """Returns the cost of removing column mapping from every Delta table of schemas or catalogs.

    The survey changes nothing. A table that cannot be read is in the result with its error. A cost
    of `COPY` means a copy as by `UsageTracking.remove_column_mapping`.

    Args:
        spark: A session with spark-ext, also of Spark Connect.
        where: Names of schemas, catalogs or tables, and paths of tables: texts with a slash outside
            of backticks. A catalog includes all its schemas. Without a name, the survey reads the
            current schema, as SHOW TABLES does.
        progress: Called before the first table and after each hundred; None for no reports.

    Returns:
        The tables in the order of the catalog, and the sums of all tables.

    Raises:
        AnalysisException: SCHEMA_NOT_FOUND; USAGE_TRACKING_INVALID_SCHEMA_NAME.
        SessionWithoutExtensionError: USAGE_TRACKING_NOT_IN_SESSION.

    Example:
        `spark_ext.survey(spark, "sales", "main.hr", "/data/trips")`
    """
    rows = surveyed_tables(spark, where, progress, lambda *_: True)
    tables = tuple(table for table, kind in rows if kind in SURVEYED)
    views = sum(kind == VIEW for _, kind in rows)
    others = len(rows) - len(tables) - views
    return Survey(tables, sums(tables, num_views=views, num_others=others))


def surveyed_tables(
    spark: SparkSession,
    where: Sequence[str | os.PathLike[str]],
    progress: Callable[[SurveyProgress], None] | None,
    chosen: Chosen,
    each: Each = map,
) -> list[tuple[SurveyedTable, str | None]]:
    """Returns the tables whose full names are chosen, each with its kind; reads those of Delta.

    Args:
        spark: The session.
        where: The places, as in `survey`.
        progress: Called before the first table and after each batch; None for no reports.
        chosen: Returns whether a table is read.
        each: Reads the batches; `map` reads one after the other.
    """
    started = time.monotonic()
    found = _listed_tables(spark, where)
    listed = [(table, kind) for table, kind in found if chosen(table.table, kind)]
    names = [table.table for table, kind in listed if kind == DELTA]

    def report(done: int) -> None:
        if progress is not None:
            progress(SurveyProgress(done, len(names), time.monotonic() - started))

    surveyed: dict[str, SurveyedTable] = {}
    with copying(spark):
        report(0)
        batches = [names[start : start + _BATCH] for start in range(0, len(names), _BATCH)]
        read = each(lambda batch: rows_of(spark, batch), batches)
        for batch, rows in zip(batches, read, strict=True):
            surveyed.update(zip(batch, rows, strict=True))
            report(len(surveyed))
    return [(surveyed.get(table.table, table), kind) for table, kind in listed]


def _listed_tables(
    spark: SparkSession, where: Sequence[str | os.PathLike[str]]
) -> Iterator[tuple[SurveyedTable, str | None]]:
    """Yields every table once with its kind; if the kind is unknown, the table has an error.

    A name that is neither a schema nor a catalog may be a table's name.
    """
    found: dict[str, tuple[SurveyedTable, str | None]] = {}
    for place in map(text_of, where) if where else (None,):
        if place is not None and is_path(place):
            found[place] = SurveyedTable(place), DELTA
            continue
        for table, kind in _in_schema(spark, place):
            found[table.table] = table, kind
    yield from found.values()


def _in_schema(
    spark: SparkSession, place: str | None
) -> Iterator[tuple[SurveyedTable, str | None]]:
    arguments = () if place is None else (literal(place),)
    try:
        rows = answer(spark, "column_mapping_tables", *arguments).collect()
    except PySparkException as refusal:
        if place is None or refusal.getCondition() not in _NO_SCHEMA:
            raise
        yield _table(spark, place, refusal), DELTA
        return
    for row in rows:
        yield SurveyedTable(row["table"], error=row["error"], message=row["message"]), row["kind"]


def _table(spark: SparkSession, name: str, refusal: PySparkException) -> SurveyedTable:
    """Returns the table of a name; raises the refusal of the schema if there is no such table."""
    try:
        return SurveyedTable(named_table(spark, literal(name))["name"])
    except PySparkException as error:
        if error.getCondition() in _NO_TABLE:
            raise refusal from error
        # A later reading of the table raises the same error.
        return SurveyedTable(name)


def text_of(place: str | os.PathLike[str]) -> str:
    """Returns a place as a text, in which a path has a slash."""
    text = os.fspath(place)
    return f"./{text}" if isinstance(place, os.PathLike) and not is_path(text) else text
