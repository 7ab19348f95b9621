# SPDX-License-Identifier: Apache-2.0
"""The calls over many tables."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from spark_ext.removal.stages import CHEAPEST_FIRST, METADATA
from spark_ext.tables.find import LakehouseOptions, Options, Place, chosen_tables, text_of
from spark_ext.tables.goals import Alignment, Goal, Plan, Removal, Tracking, Until
from spark_ext.tables.progress import Reporter
from spark_ext.tables.report import PLANNED, LakehouseInterrupted, LakehouseReport, TableResult
from spark_ext.tables.run import Runner, without_run
from spark_ext.tables.sql import SURVEYED, copying
from spark_ext.tables.threads import receiving_signals

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from typing_extensions import Unpack


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
