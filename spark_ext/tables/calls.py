# SPDX-License-Identifier: Apache-2.0
"""The calls over many tables, and their options."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import timedelta
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, Literal, TypedDict

from spark_ext.removal.stages import CHEAPEST_FIRST, METADATA, SurveyedTable
from spark_ext.tables.find import Place, chosen_tables, text_of
from spark_ext.tables.goals import Alignment, Goal, Plan, Removal, Tracking
from spark_ext.tables.progress import LakehouseProgress, Reporter, shown
from spark_ext.tables.report import PLANNED, LakehouseInterrupted, LakehouseReport, TableResult
from spark_ext.tables.run import Budget, Runner, without_run
from spark_ext.tables.sql import SCHEMA, SURVEYED, copying, is_path
from spark_ext.tables.threads import receiving_signals

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from typing_extensions import Unpack

    from spark_ext.tables.table import Until


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


def remove_column_mapping(
    spark: SparkSession,
    *where: Place,
    until: Until = "unmapped",
    **options: Unpack[LakehouseOptions],
) -> LakehouseReport:
    """Removes column mapping from every Delta table of schemas or catalogs.

    The call plans from one survey, and runs the tables as `UsageTracking.remove_column_mapping`.
    Each statement is committed as a whole or not at all; `unmapped` has one statement. A table that
    fails or is blocked affects no other. The same call again continues, because each call reads the
    tables to see what remains.

    Args:
        spark: A session with spark-ext, also of Spark Connect.
        where: As in `survey`. A table that is found under several names has a row for the first
            name only.
        until: The last stage: `unmapped` (the default), `readers` or `writers`. A table that waits
            for Delta's retention period before `writers` has the outcome `WAITING` and the time for
            the next call.
        options: As `LakehouseOptions` documents.

    Returns:
        A row for each table and the sums; with `dry_run` the plan.

    Raises:
        ValueError: `until` or an option is invalid; TypeError for a wrong type or an unknown
            option. No table was changed.
        AnalysisException: SCHEMA_NOT_FOUND; USAGE_TRACKING_INVALID_SCHEMA_NAME.
        SessionWithoutExtensionError: USAGE_TRACKING_NOT_IN_SESSION.
        LakehouseInterrupted: SIGINT or SIGTERM arrived; it has the report.
        ProgressFailedError: USAGE_TRACKING_PROGRESS_FAILED; its attribute `report` has the report.
            Every other error after the survey has this attribute too.

    Example:
        `spark_ext.remove_column_mapping(spark, "sales", until="readers", exclude="tmp_*")`
    """
    return _call(remove_column_mapping, spark, where, Removal(until), options)


def align_names(
    spark: SparkSession,
    *where: Place,
    to_name_mode: bool = False,
    **options: Unpack[LakehouseOptions],
) -> LakehouseReport:
    """Makes every physical name equal to the logical name, as `UsageTracking.align_names`.

    A table without column mapping and without an interrupted alignment has the outcome
    `ALREADY_DONE`. A table in mode `id` is blocked, unless `to_name_mode` lets it end in mode
    `name`. `remove_column_mapping` documents the other arguments, the result and the errors.
    """
    return _call(align_names, spark, where, Alignment(to_name_mode), options)


def track(
    spark: SparkSession, *where: Place, **options: Unpack[LakehouseOptions]
) -> LakehouseReport:
    """Adds usage tracking to every Delta table, as `UsageTracking.enable`.

    The call also tracks tables without column mapping: writers without spark-ext or support of the
    feature can no longer write them. `only=lambda row: row.mode != "none"` omits them.
    `remove_column_mapping` documents the other arguments, the result and the errors.
    """
    return _call(track, spark, where, Tracking(wanted=True), options)


def untrack(
    spark: SparkSession, *where: Place, **options: Unpack[LakehouseOptions]
) -> LakehouseReport:
    """Drops usage tracking from every tracked Delta table, as `UsageTracking.disable`.

    Call this before you remove spark-ext: writers without it refuse tracked tables.
    `remove_column_mapping` documents the arguments, the result and the errors.
    """
    return _call(untrack, spark, where, Tracking(wanted=False), options)


def _call(
    function: Callable[..., LakehouseReport],
    spark: SparkSession,
    where: tuple[Place, ...],
    goal: Goal,
    given: LakehouseOptions,
) -> LakehouseReport:
    started = time.monotonic()
    options = Options.of(function.__name__, given)
    reporter = Reporter(options.progress)
    results: dict[str, TableResult] = {}
    failure: BaseException | None = None
    with receiving_signals() as interrupts:
        try:
            found = chosen_tables(spark, where, options, reporter, interrupts, SURVEYED)
            plans = [goal.plan(row) for row, _ in found]
            for each in plans:
                results[each.row.table] = without_run(each, dry_run=options.dry_run)
            waiting = [] if options.dry_run else _cheapest_first(plans)
            if waiting:
                runner = Runner(
                    spark=spark,
                    goal=goal,
                    waiting=waiting,
                    budget=options.budget(),
                    reporter=reporter,
                    interrupts=interrupts,
                    started=started,
                    parallel=options.parallel,
                    results=results,
                )
                with copying(spark):
                    runner.run()
        except BaseException as error:  # such as the end of the driver's JVM, or a second signal
            if not results and interrupts.received is None:
                raise
            failure = error
    report = LakehouseReport(
        goal=goal.words,
        where=tuple(map(text_of, where)),
        tables=tuple(results.values()),
        dry_run=options.dry_run,
        seconds=time.monotonic() - started,
        interrupted=interrupts.name,
    )
    if interrupts.received is not None:
        raise LakehouseInterrupted(report, interrupts.received) from failure
    if failure is not None:
        failure.report = report  # type: ignore[attr-defined]
        raise failure
    reporter.raise_failure(goal.words, report)
    return report


def _cheapest_first(plans: Iterable[Plan]) -> list[Plan]:
    """Returns the tables to run, in the order in which they begin."""

    def price(plan: Plan) -> tuple[int, int]:
        return CHEAPEST_FIRST.index(plan.cost or METADATA), plan.files.size_in_bytes

    return sorted((plan for plan in plans if plan.outcome == PLANNED), key=price)
