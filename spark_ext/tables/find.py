# SPDX-License-Identifier: Apache-2.0
"""Finds the tables of a call by its options, and surveys them."""

from __future__ import annotations

import math
import os
import re
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, fields
from datetime import timedelta
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, Literal, TypedDict

from spark_ext.model.rows import as_row, in_camel_case
from spark_ext.removal.reasons import EARLIER_STAGE
from spark_ext.removal.stages import (
    COPY,
    METADATA,
    REWRITE,
    STAGES,
    UNMAPPED,
    WRITERS,
    SurveyedTable,
    SurveySums,
    sums,
)
from spark_ext.show import Facts, Lines, ManyTables, Part, Table, size
from spark_ext.tables.goals import Removal
from spark_ext.tables.progress import SURVEYING, LakehouseProgress, Reporter, progress_of, shown
from spark_ext.tables.report import cases
from spark_ext.tables.run import Budget, without_run
from spark_ext.tables.sql import (
    DELTA,
    SCHEMA,
    SURVEYED,
    VIEW,
    answer,
    condition_of,
    copying,
    is_path,
    literal,
    named_table,
    rows_of,
)
from spark_ext.tables.threads import Interrupts, inheriting

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


# Returns whether a table with a name and a kind is read.
Chosen = Callable[[str, str | None], bool]

CONTINUE = "continue"
_FILTERS = ("include", "exclude")
_PART = re.compile(r"`((?:[^`]|``)*)`|([^.`]+)")


class LakehouseOptions(TypedDict, total=False):
    """The options of a call over many tables.

    Args:
        include: Shell patterns of tables (`fnmatch`), by default all; on the command line
            repeatable. A pattern matches the name of a table with or without its catalog and
            schemas, or the path of a table or its last folder. Letter case counts if Spark is
            case-sensitive.
        exclude: Patterns of tables to omit, also if `include` matches; repeatable, too.
        only: Returns whether the table of a survey row is included. The row of a table that cannot
            be read has its name and its error alone.
        parallel: The number of tables that run at a time, 4 by default. Each runs in a thread, and
            in a separate scheduler pool if `spark.scheduler.mode` is FAIR.
        max_bytes: A limit for the planned bytes of all tables that begin; on the command line with
            a unit, such as 500GB (10^9 bytes each) or 500GiB. Each table is read again before it
            begins; files that other writers add later do not count.
        max_time: A limit in seconds, or a `timedelta`; on the command line such as 6h, 90m or
            1h30m. When the time is over, no table begins, and running tables are cancelled.
        on_error: `continue` (the default), or the number of failures after which no table begins.
        dry_run: Return the plan, and change nothing.
        progress: Called before the first table, every two seconds, and after tables; None for no
            reports.
    """

    include: str | Sequence[str]
    exclude: str | Sequence[str]
    only: Callable[[SurveyedTable], bool] | None
    parallel: int
    max_bytes: int | None
    max_time: float | timedelta | None
    on_error: Literal["continue"] | int
    dry_run: bool
    progress: Callable[[LakehouseProgress], None] | None


@dataclass(frozen=True, kw_only=True)
class Options:
    """The checked options; `LakehouseOptions` documents each. Raises TypeError or ValueError."""

    include: str | Sequence[str] = ()
    exclude: str | Sequence[str] = ()
    only: Callable[[SurveyedTable], bool] | None = None
    parallel: int = 4
    max_bytes: int | None = None
    max_time: float | timedelta | None = None
    on_error: str | int = CONTINUE
    dry_run: bool = False
    progress: Callable[[LakehouseProgress], None] | None = shown

    def __post_init__(self) -> None:
        object.__setattr__(self, "include", _patterns("include", self.include))
        object.__setattr__(self, "exclude", _patterns("exclude", self.exclude))
        if isinstance(self.max_time, timedelta):
            object.__setattr__(self, "max_time", self.max_time.total_seconds())
        for name in ("only", "progress"):
            value = getattr(self, name)
            _require(value is None or callable(value), name, value, "a function or None", TypeError)
        require_number("parallel", self.parallel, 1)
        if self.max_bytes is not None:
            require_number("max_bytes", self.max_bytes, 0)
        if self.max_time is not None:
            require_number("max_time", self.max_time, 0, (int, float))
            _require(self.max_time != math.inf, "max_time", self.max_time, "None for no limit")
        if self.on_error != CONTINUE:
            require_number("on_error", self.on_error, 1)
        _require(isinstance(self.dry_run, bool), "dry_run", self.dry_run, "a boolean", TypeError)

    @classmethod
    def of(cls, function: str, options: Mapping[str, Any]) -> Options:
        """Returns the options of a call of a function. Raises also if an option is unknown."""
        for name in options.keys() - {each.name for each in fields(cls)}:
            raise TypeError(f"{function}() got an unexpected keyword argument {name!r}")
        return cls(**options)

    def budget(self) -> Budget:
        """Returns the limits."""
        assert not isinstance(self.max_time, timedelta)
        errors = self.on_error if isinstance(self.on_error, int) else None
        return Budget(self.max_bytes, self.max_time, errors)

    @property
    def filters(self) -> tuple[str, ...]:
        """Returns the options that choose tables, in words."""
        of_only = () if self.only is None else ("only: a function",)
        patterns = (f"{name} {each}" for name in _FILTERS for each in getattr(self, name))
        return (*patterns, *of_only)

    def chooses(self, *, case_sensitive: bool) -> Chosen:
        """Returns a function that returns whether the patterns choose the name of a table.

        A schema that cannot be listed may have a table that `include` chooses. It is not chosen if
        `exclude` has its name, or all its tables.
        """

        def matches(pattern: str, name: str) -> bool:
            if not case_sensitive:
                pattern, name = pattern.casefold(), name.casefold()
            return fnmatchcase(name, pattern)

        def chosen(name: str, kind: str | None) -> bool:
            if not self.include and not self.exclude:
                return True
            is_schema = kind == SCHEMA
            forms = {*spellings(name), *(spellings(f"{name}.`*`") if is_schema else ())}
            included, excluded = (
                any(matches(pattern, form) for pattern in patterns for form in forms)
                for patterns in (self.include, self.exclude)
            )
            return (included or is_schema or not self.include) and not excluded

        return chosen


def spellings(name: str) -> tuple[str, ...]:
    """Returns the texts that a pattern may match: ends of a name, or a path and its last folder.

    Example:
        >>> spellings("c.sales.`tmp-1`")
        ('c.sales.`tmp-1`', 'c.sales.tmp-1', 'sales.`tmp-1`', 'sales.tmp-1', '`tmp-1`', 'tmp-1')
        >>> spellings("/data/trips.delta")
        ('/data/trips.delta', 'trips.delta')
    """
    found = list(_PART.finditer(name))
    parts = [(part[1] or "").replace("``", "`") or part[2] for part in found]
    of_delta = len(parts) == 2 and parts[0] == "delta" and "/" in parts[1]
    if of_delta or is_path(name):
        place = parts[1] if of_delta else name
        forms = [name, place, place.rstrip("/").rpartition("/")[2]]
    else:
        starts = [(name[part.start() :], parts[number:]) for number, part in enumerate(found)]
        forms = [form for text, rest in starts for form in (text, ".".join(rest))]
    return tuple(dict.fromkeys(forms))


def _patterns(name: str, given: str | Sequence[str]) -> tuple[str, ...]:
    if isinstance(given, str):
        return (given,)
    is_list = isinstance(given, Sequence) and all(isinstance(each, str) for each in given)
    _require(is_list, name, given, "a text or a list of texts", TypeError)
    return tuple(given)


def require_number(
    name: str, value: object, least: int, types: type | tuple[type, ...] = int
) -> None:
    """Raises if an option is not a number, or too small."""
    is_number = isinstance(value, types) and not isinstance(value, bool)
    _require(is_number, name, value, "a number", TypeError)
    _require(value >= least, name, value, f"at least {least}")  # type: ignore[operator]


def _require(
    is_right: bool, name: str, value: object, expected: str, error: type[Exception] = ValueError
) -> None:
    if not is_right:
        raise error(f"Cannot run with {name}={value!r}: use {expected}. No table was changed.")


_TABLES = {
    in_camel_case(name): name
    for name in (
        *("table", "mode", "tracked", "has_dropped_or_renamed", "num_columns", "num_other_names"),
        *("num_files", "size_in_bytes", *STAGES),
    )
}
_NARROW = (*STAGES, "numFiles", "sizeInBytes", "table")
_NEXT = (
    "spark-ext remove <the same places> --dry-run",
    "spark_ext.remove_column_mapping(spark, <the same places>, dry_run=True)",
)


@dataclass(frozen=True, repr=False)
class Survey(ManyTables):
    """The cost of removing column mapping from many tables, in the order of the catalog."""

    tables: tuple[SurveyedTable, ...]
    sums: SurveySums

    def as_objects(self) -> Iterator[dict[str, Any]]:
        """Yields an object for each table, then one with the sums, for `json_lines`."""
        yield from map(as_row, self.tables)
        yield {"sums": self.sums}

    def _parts(self) -> Iterator[Part]:
        sums = self.sums
        errors = ", ".join(f"{each.num_tables:,} {each.error}" for each in sums.errors)
        yield Facts(
            {
                "tables": f"{sums.num_tables:,}",
                **{stage: self._groups(stage) for stage in STAGES},
                "cannot be read": errors or "0",
                "files": f"{sums.num_files:,}, {size(sums.size_in_bytes)}",
                "views left out": sums.num_views,
                "other tables left out": sums.num_others,
            },
            fits=True,
        )
        obstacles = [
            (each.stage, f"{each.reason} {each.name or ''}".rstrip(), each.num_tables)
            for each in sums.blocked_by
            if each.reason != EARLIER_STAGE
        ]
        if obstacles:
            yield Table(("stage", "blocked by", "tables"), obstacles, "What blocks a stage")
        # The cases of a dry run of the whole removal.
        goal = Removal(WRITERS)
        yield cases("state", [without_run(goal.plan(each), dry_run=True) for each in self.tables])
        yield Table.of(_TABLES, self.tables, "The tables", *_NARROW)
        if any(sums.cost(UNMAPPED, cost).num_tables for cost in (METADATA, COPY)):
            yield Lines("Next, plan the removal:", _NEXT)

    def _groups(self, stage: str) -> str:
        """Returns the tables by the cost of a stage, with the bytes to copy or rewrite."""
        costs = [each for each in self.sums.costs if each.stage == stage]
        return ", ".join(
            f"{each.num_tables:,} {each.cost}"
            + (f" {size(each.size_in_bytes)}" if each.cost in (COPY, REWRITE) else "")
            for each in costs
        )


# After each batch of tables, progress is reported, and an interrupt ends the survey.
_BATCH = 100

_NO_SCHEMA = ("SCHEMA_NOT_FOUND", "REQUIRES_SINGLE_PART_NAMESPACE")
_NO_TABLE = (
    *("DELTA_MISSING_DELTA_TABLE", "TABLE_OR_VIEW_NOT_FOUND", "SCHEMA_NOT_FOUND"),
    # The session catalog has no table `spark_catalog.name`.
    "REQUIRES_SINGLE_PART_NAMESPACE",
)

Place = str | os.PathLike[str]
# A table and its kind; if the kind is unknown, the table has an error.
Listed = tuple[SurveyedTable, str | None]


def survey(
    spark: SparkSession, *where: Place, progress: Callable[[LakehouseProgress], None] | None = shown
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
    where: Sequence[Place],
    progress: Callable[[LakehouseProgress], None] | None,
    chosen: Chosen,
    each: Callable[..., Iterable[list[SurveyedTable]]] = map,
) -> list[Listed]:
    """Returns the chosen tables, with the rows of Delta's; `each` reads the batches as `map`."""
    started = time.monotonic()
    found = _listed_tables(spark, where)
    listed = [(table, kind) for table, kind in found if chosen(table.table, kind)]
    names = [table.table for table, kind in listed if kind == DELTA]

    def report(done: int) -> None:
        if progress is not None:
            progress(progress_of(SURVEYING, done, len(names), started))

    surveyed: dict[str, SurveyedTable] = {}
    with copying(spark):
        report(0)
        batches = [names[start : start + _BATCH] for start in range(0, len(names), _BATCH)]
        read = each(lambda batch: rows_of(spark, batch), batches)
        for batch, rows in zip(batches, read, strict=True):
            surveyed.update(zip(batch, rows, strict=True))
            report(len(surveyed))
    return [(surveyed.get(table.table, table), kind) for table, kind in listed]


def _listed_tables(spark: SparkSession, where: Sequence[Place]) -> Iterable[Listed]:
    """Returns every table once, under its full name or its path."""
    found: dict[str, Listed] = {}
    for place in map(text_of, where) if where else (None,):
        if place is not None and is_path(place):
            found[place] = SurveyedTable(place), DELTA
        else:
            found |= {table.table: (table, kind) for table, kind in _in_schema(spark, place)}
    return found.values()


def _in_schema(spark: SparkSession, place: str | None) -> list[Listed]:
    """Returns the tables of a schema or catalog, or else the table of the name."""
    arguments = () if place is None else (literal(place),)
    try:
        rows = answer(spark, "column_mapping_tables", *arguments).collect()
    except Exception as refusal:
        if place is None or condition_of(refusal) not in _NO_SCHEMA:
            raise
        return [(_table(spark, place, refusal), DELTA)]
    return [
        (SurveyedTable(row["table"], error=row["error"], message=row["message"]), row["kind"])
        for row in rows
    ]


def _table(spark: SparkSession, name: str, refusal: Exception) -> SurveyedTable:
    """Returns the table of a name; raises the refusal of the schema if there is none."""
    from pyspark.errors import PySparkException

    try:
        return SurveyedTable(named_table(spark, literal(name))["name"])
    except PySparkException as error:
        if error.getCondition() in _NO_TABLE:
            raise refusal from error
        # A later reading of the table raises the same error.
        return SurveyedTable(name)


def text_of(place: Place) -> str:
    """Returns a place as a text, in which a path has a slash."""
    text = os.fspath(place)
    return f"./{text}" if isinstance(place, os.PathLike) and not is_path(text) else text


# While the rule process and Python work on a batch, the JVM reads the next one.
_BATCHES_AT_A_TIME = 2


def chosen_tables(
    spark: SparkSession,
    where: Sequence[Place],
    options: Options,
    reporter: Reporter,
    interrupts: Interrupts,
    kinds: Collection[str | None] | None = None,
) -> list[Listed]:
    """Returns the tables of these kinds that take part, in the order of the survey.

    A table with several names or paths takes part under the first of them. A table of another
    format has a row with its name alone. Raises KeyboardInterrupt if a signal arrived.
    """
    case_sensitive = str(spark.conf.get("spark.sql.caseSensitive")).lower() == "true"
    chosen = options.chooses(case_sensitive=case_sensitive)
    found: dict[str, Listed] = {}

    def report(progress: LakehouseProgress) -> None:
        reporter.report(lambda: progress, at_once=progress.finished)
        interrupts.check()

    def ahead(
        read: Callable[[list[str]], list[SurveyedTable]], batches: Iterable[list[str]]
    ) -> Iterable[list[SurveyedTable]]:
        futures = [threads.submit(inheriting(spark, read), batch) for batch in batches]
        return (future.result() for future in futures)

    threads = ThreadPoolExecutor(min(options.parallel, _BATCHES_AT_A_TIME), "spark-ext-survey")
    try:
        for row, kind in surveyed_tables(spark, where, report, chosen, ahead):
            found.setdefault(row.location or row.table, (row, kind))
    finally:
        threads.shutdown(cancel_futures=True)  # no batch begins after a signal
    only = options.only
    rows = [(row, kind) for row, kind in found.values() if kinds is None or kind in kinds]
    return [(row, kind) for row, kind in rows if only is None or only(row)]
