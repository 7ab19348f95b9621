# SPDX-License-Identifier: Apache-2.0
"""Tests plans, budgets, options, patterns and reports of a call over many tables."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from typing import Any, cast

import pytest

import spark_ext
from spark_ext import LakehouseProgress, LakehouseReport, Obstacle, SurveyedTable, TableResult
from spark_ext.model.metadata import FileCount
from spark_ext.removal.stages import STAGES
from spark_ext.tables.calls import _cheapest_first
from spark_ext.tables.find import Options, spellings
from spark_ext.tables.goals import Alignment, Goal, Plan, Removal, Tracking
from spark_ext.tables.progress import Reporter, line
from spark_ext.tables.report import ALREADY_DONE as REACHED
from spark_ext.tables.report import (
    BLOCKED,
    BYTES,
    ERRORS,
    OUTCOMES,
    TIME,
    UNREADABLE,
    StatementResult,
)
from spark_ext.tables.report import PLANNED as RUN
from spark_ext.tables.run import Budget, Running, without_run
from spark_ext.tables.sql import SCHEMA

FREE = SurveyedTable(
    *("c.db.free", "name", True, False, 2, 0, 3, 300, "METADATA", "METADATA", "HISTORY"), version=5
)
COPIED = replace(FREE, table="c.db.copied", has_dropped_or_renamed=True, unmapped="COPY")
UNTRACKED = replace(
    COPIED,
    table="c.db.untracked",
    tracked=False,
    has_dropped_or_renamed=None,
    num_other_names=2,
)
NOTHING: dict[str, Any] = dict.fromkeys(STAGES, "NOTHING")
ALL_BLOCKED: dict[str, Any] = dict.fromkeys(STAGES, "BLOCKED")
PLAIN = replace(UNTRACKED, mode="none", num_other_names=0, table="c.db.plain", **NOTHING)
NO_NAME = Obstacle("unmapped", "INVALID_COLUMN_NAME", "`b c`", " ")
COMPAT_V2 = "delta.enableIcebergCompatV2"
BLOCKED_ROW = replace(
    COPIED,
    blocked_by=(NO_NAME, Obstacle("readers", "EARLIER_STAGE", "unmapped")),
    **ALL_BLOCKED,
)
BY_FEATURE = replace(
    FREE,
    readers="BLOCKED",
    writers="BLOCKED",
    blocked_by=(Obstacle("readers", "OTHER_FEATURE", "deletionVectors"),),
)
BROKEN = SurveyedTable("c.db.broken", error="DELTA_X", message="what")
RAN = [StatementResult("ALTER TABLE", 5, 6, 0.0)]


# Plans.


@pytest.mark.parametrize(
    ("goal", "row", "action", "cost", "size"),
    [
        (Removal("unmapped"), FREE, RUN, "METADATA", 0),
        (Removal("readers"), FREE, RUN, "METADATA", 0),
        (Removal("writers"), FREE, RUN, "HISTORY", 0),
        (Removal("writers"), COPIED, RUN, "COPY", 300),
        (Removal("unmapped"), replace(COPIED, unmapped="REWRITE"), RUN, "REWRITE", 300),
        (Removal("unmapped"), replace(FREE, unmapped="NOTHING"), REACHED, None, 0),
        (Removal("readers"), replace(FREE, unmapped="NOTHING"), RUN, "METADATA", 0),
        (Removal("writers"), PLAIN, REACHED, None, 0),
        (Removal("unmapped"), BLOCKED_ROW, BLOCKED, None, 0),
        (Removal("unmapped"), BY_FEATURE, RUN, "METADATA", 0),
        (Removal("readers"), BY_FEATURE, BLOCKED, None, 0),
        (Removal("unmapped"), BROKEN, UNREADABLE, None, 0),
        (Alignment(), FREE, REACHED, None, 0),
        (Alignment(), PLAIN, REACHED, None, 0),
        (Alignment(), COPIED, RUN, "COPY", 300),
        (Alignment(), UNTRACKED, RUN, "COPY", 300),
        (Alignment(), replace(FREE, num_other_names=1, unmapped="COPY"), RUN, "COPY", 300),
        # An interrupted alignment continues, and its last statement removes the property.
        (Alignment(), replace(PLAIN, aligning="name"), RUN, "METADATA", 0),
        (Alignment(), replace(FREE, aligning="name"), RUN, "METADATA", 0),
        (Alignment(), replace(COPIED, mode="id"), BLOCKED, None, 0),
        (Alignment(to_name_mode=True), replace(COPIED, mode="id"), RUN, "COPY", 300),
        (Alignment(), BLOCKED_ROW, BLOCKED, None, 0),
        (Alignment(), BROKEN, UNREADABLE, None, 0),
        (Tracking(wanted=True), UNTRACKED, RUN, "METADATA", 0),
        (Tracking(wanted=True), PLAIN, RUN, "METADATA", 0),
        (Tracking(wanted=True), BLOCKED_ROW, REACHED, None, 0),
        (Tracking(wanted=False), FREE, RUN, "METADATA", 0),
        (Tracking(wanted=False), PLAIN, REACHED, None, 0),
        (Tracking(wanted=False), BROKEN, UNREADABLE, None, 0),
    ],
)
def test_goal_decides_from_a_row(
    goal: Goal, row: SurveyedTable, action: str, cost: str | None, size: int
) -> None:
    plan = goal.plan(row)

    assert (plan.outcome, plan.cost, plan.files.size_in_bytes) == (action, cost, size)
    assert plan.files.num_files == (3 if size else 0)
    assert plan.row is row


@pytest.mark.parametrize(
    ("goal", "row", "reasons", "advice"),
    [
        (
            Removal("readers"),
            BLOCKED_ROW,
            ("unmapped: INVALID_COLUMN_NAME (`b c`, blank)",),
            "Rename the columns, and call again.",
        ),
        (
            Removal("writers"),
            BY_FEATURE,
            ("readers: OTHER_FEATURE (deletionVectors)",),
            "ALTER TABLE c.db.free DROP FEATURE deletionVectors",
        ),
        (
            Removal("unmapped"),
            replace(
                BLOCKED_ROW,
                blocked_by=(Obstacle("unmapped", "OTHER_FEATURE", "icebergCompatV2", COMPAT_V2),),
            ),
            (f"unmapped: OTHER_FEATURE (icebergCompatV2, {COMPAT_V2})",),
            f"ALTER TABLE c.db.copied SET TBLPROPERTIES ('{COMPAT_V2}' = 'false')",
        ),
        (Alignment(), replace(COPIED, mode="id"), ("MODE_ID",), "to_name_mode=True"),
        (
            Removal("readers"),
            replace(BY_FEATURE, blocked_by=(Obstacle("readers", "READER_VERSION", None, "3"),)),
            ("readers: READER_VERSION (3)",),
            "CREATE TABLE <new table> .. AS SELECT * FROM <table>",
        ),
    ],
)
def test_blocked_table_has_reasons_and_remedies(
    goal: Goal, row: SurveyedTable, reasons: tuple[str, ...], advice: str
) -> None:
    plan = goal.plan(row)

    assert plan.reasons == reasons
    assert advice in str(plan.unblocking)


@pytest.mark.parametrize(
    ("goal", "row", "is_repeatable"),
    [
        (Removal("unmapped"), FREE, True),
        (Removal("unmapped"), COPIED, False),
        # Mapping metadata that a former removal left needs DROP FEATURE.
        (Removal("unmapped"), replace(FREE, mode="none"), False),
        (Removal("readers"), FREE, False),
        (Alignment(), COPIED, False),
        # Delta would commit the statement again on a table that another writer tracks.
        (Tracking(wanted=True), PLAIN, False),
        (Tracking(wanted=False), FREE, True),
    ],
)
def test_table_is_not_read_again_before_a_statement_that_commits_once(
    goal: Goal, row: SurveyedTable, *, is_repeatable: bool
) -> None:
    assert goal.plan(row).is_repeatable == is_repeatable


def test_table_waits_only_when_nothing_else_remains() -> None:
    waiting = replace(PLAIN, writers="HISTORY")
    rows = [waiting, replace(waiting, readers="METADATA"), PLAIN]

    assert [Removal("writers").plan(row).only_waits for row in rows] == [True, False, False]


def planned(name: str, cost: str, size: int = 0) -> Plan:
    return Plan(SurveyedTable(name, num_files=1, size_in_bytes=size), ("S",), (cost,))


def test_cheapest_tables_begin_first() -> None:
    tables = [
        *(planned("rewritten", "REWRITE", 1), planned("large", "COPY", 9), planned("h", "HISTORY")),
        *(Plan(FREE), planned("small", "COPY", 2), planned("m", "METADATA")),
    ]

    cheapest = [plan.row.table for plan in _cheapest_first(tables)]

    assert cheapest == ["m", "h", "small", "large", "rewritten"]


# Budgets.


@pytest.mark.parametrize(
    ("budget", "cost", "size", "seconds", "refusal"),
    [
        (Budget(max_bytes=100), "COPY", 100, 0, None),
        (Budget(max_bytes=100, begun_bytes=60), "COPY", 40, 0, None),
        (Budget(max_bytes=100, begun_bytes=60), "COPY", 41, 0, BYTES),
        (Budget(max_bytes=100, begun_bytes=101), "METADATA", 0, 0, None),
        (Budget(max_seconds=10), "COPY", 1000, 9.9, None),
        (Budget(max_seconds=10), "METADATA", 0, 10.0, TIME),
        (Budget(max_errors=2, errors=1), "METADATA", 0, 0, None),
        (Budget(max_errors=2, errors=2), "METADATA", 0, 0, ERRORS),
    ],
)
def test_table_begins_while_the_limits_allow_it(
    budget: Budget, cost: str, size: int, seconds: float, refusal: str | None
) -> None:
    assert budget.refusal(planned("t", cost, size), seconds) == refusal


@pytest.mark.parametrize(
    ("ran", "outcome", "reasons"),
    [
        ({}, "DONE", ()),
        ({"statements": RAN}, "FAILED", ("CONFLICT",)),
        ({"statements": RAN, "cancelled": "TIME"}, "CANCELLED", ("TIME",)),
    ],
)
def test_alignment_fails_if_another_writer_removes_column_mapping_between_its_statements(
    ran: dict[str, Any], outcome: str, reasons: tuple[str, ...]
) -> None:
    plan = Alignment().plan(UNTRACKED)
    running = Running(cast("Any", None), Alignment(), plan, 1, lambda: None, **ran)

    result = running.result_with(replace(PLAIN, version=9))

    assert (result.outcome, result.reasons) == (outcome, reasons)


# Options.


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"parallel": 0}, ValueError),
        ({"parallel": 2.0}, TypeError),
        ({"parallel": True}, TypeError),
        ({"max_bytes": -1}, ValueError),
        ({"max_bytes": "500GB"}, TypeError),
        ({"max_time": -0.1}, ValueError),
        ({"max_time": timedelta(seconds=-1)}, ValueError),
        ({"max_time": float("inf")}, ValueError),
        ({"max_time": float("nan")}, ValueError),
        ({"max_time": "6h"}, TypeError),
        ({"on_error": 0}, ValueError),
        ({"on_error": "stop"}, TypeError),
        ({"include": [1]}, TypeError),
        ({"exclude": 1}, TypeError),
        ({"only": "t"}, TypeError),
        ({"progress": "bar"}, TypeError),
        ({"dry_run": "no"}, TypeError),
        ({"no_such_option": 1}, TypeError),
        ({"until": "none"}, ValueError),
    ],
)
def test_invalid_option_raises_before_the_session_is_used(
    options: dict[str, Any], error: type[Exception]
) -> None:
    session: Any = None  # any use would raise an AttributeError

    with pytest.raises(error):
        spark_ext.remove_column_mapping(session, "sales", **options)


@pytest.mark.parametrize("name", ["remove_column_mapping", "align_names", "track", "untrack"])
def test_unknown_option_is_refused_as_python_does(name: str) -> None:
    def expected() -> None: ...

    expected.__qualname__ = name
    with pytest.raises(TypeError) as of_python:
        expected(includ="t")  # type: ignore[call-arg]

    with pytest.raises(TypeError) as raised:
        getattr(spark_ext, name)(None, "sales", includ="t")

    assert str(raised.value) == str(of_python.value)


@pytest.mark.parametrize(
    ("include", "exclude", "name", "chosen"),
    [
        ((), (), "c.db.t", True),
        ("t*", (), "c.db.trips", True),
        ("T*", (), "c.db.trips", True),
        ("t*", (), "c.db.orders", False),
        (["a", "orders"], (), "c.db.orders", True),
        ((), "tmp_*", "c.db.tmp_1", False),
        ((), "*.tmp.*", "c.tmp.t", False),
        ((), "sales.secret", "c.sales.secret", False),
        ((), "sales.secret", "c.other.secret", True),
        ((), "sales.*", "c.deep.sales.t", False),
        ("sales.`a.b`", (), "c.sales.`a.b`", True),
        ("ales.t", (), "c.sales.t", False),
        ("t*", "tmp*", "c.db.tmp_1", False),
        ("a.b", (), "c.db.`a.b`", True),
        ("tick`", (), "c.db.`tick```", True),
        ("trips", (), "/data/trips", True),
        ("trips", (), "delta.`file:/data/trips`", True),
        ("/data/*", (), "/data/trips", True),
        ("trips", (), "s3://bucket/trips/", True),
        ((), "trips*", "/data/trips.delta", False),
        ("trips.v2", (), "s3://a.bucket/trips.v2", True),
        ("delta", (), "./trips.delta", False),
        # A schema that cannot be listed may have such a table.
        ("fact_*", (), "SCHEMA c.secret", True),
        ("fact_*", "tmp_*", "SCHEMA c.secret", True),
        ((), "secret", "SCHEMA c.secret", False),
        ((), "secret.*", "SCHEMA c.secret", False),
        ((), "c.*", "SCHEMA c.secret", False),
    ],
)
def test_patterns_match_the_name_or_its_last_part(
    include: Any, exclude: Any, name: str, *, chosen: bool
) -> None:
    chooses = Options(include=include, exclude=exclude).chooses(case_sensitive=False)

    kind = SCHEMA if name.startswith("SCHEMA") else None
    assert chooses(name.removeprefix("SCHEMA "), kind) == chosen


def test_patterns_compare_letter_case_as_spark_does() -> None:
    options, names = Options(include="Trips"), ("c.db.trips", "c.db.Trips")

    for case_sensitive, chosen in ((False, [True, True]), (True, [False, True])):
        chooses = options.chooses(case_sensitive=case_sensitive)
        assert [chooses(name, None) for name in names] == chosen


def test_filters_and_spellings_are_words() -> None:
    options = Options(include="a*", exclude=["b", "c"], only=lambda row: True, parallel=2)

    assert options.filters == ("include a*", "exclude b", "exclude c", "only: a function")
    assert Options(max_bytes=1).filters == ()
    assert spellings("db.`t 1`") == ("db.`t 1`", "db.t 1", "`t 1`", "t 1")


# Progress.


def progress(tables_done: int) -> LakehouseProgress:
    return LakehouseProgress(phase="run", tables_done=tables_done, tables=9)


def test_reports_are_not_more_frequent_than_every_half_second() -> None:
    seen: list[LakehouseProgress] = []
    reporter = Reporter(seen.append)

    for number in range(1000):
        reporter.report(lambda number=number: progress(number))  # type: ignore[misc]
    reporter.report(lambda: progress(1000), at_once=True)

    assert [seen[0].tables_done, seen[-1].tables_done] == [0, 1000]
    assert len(seen) < 100


def test_report_that_fails_is_the_last_one() -> None:
    calls = []

    def fail(progress: LakehouseProgress) -> None:
        calls.append(progress)
        raise RuntimeError

    reporter = Reporter(fail)
    for _ in range(3):
        reporter.report(lambda: progress(1), at_once=True)

    assert (len(calls), type(reporter.failure)) == (1, RuntimeError)


def test_line_of_progress_contains_the_known_values() -> None:
    assert line(progress(2)) == "run: 2 of 9 tables, 0 s"
    assert line(replace(progress(9), finished=True, running=())).endswith("done")


# Reports.


LATER = datetime(2026, 11, 28, 7, 1, tzinfo=timezone(timedelta(hours=2)))
RESULTS = tuple(
    replace(
        without_run(Removal("writers").plan(replace(COPIED, table=f"c.db.{outcome.lower()}"))),
        outcome=outcome,
    )
    for outcome in OUTCOMES
)
REPORT = LakehouseReport("remove column mapping until writers", ("sales", "/a"), RESULTS)
COMPLETE = {"DONE", "ALREADY_DONE"}


@pytest.mark.parametrize("result", RESULTS, ids=OUTCOMES)
def test_report_is_complete_when_no_later_call_has_work(result: TableResult) -> None:
    report = replace(REPORT, tables=(result,))

    assert report.complete == (result.outcome in COMPLETE)
    assert (report.next_call is None) == ("Next" not in repr(report)) == report.complete
    assert next(report.as_objects())["nextCall"] == report.next_call
    assert not replace(report, interrupted="SIGINT").complete
    assert not replace(REPORT, tables=()).complete


def of(outcome: str, **facts: Any) -> TableResult:
    return TableResult(table="t", outcome=outcome, **facts)


AGAIN = "the same call again"
REPAIR = "unblock or repair the tables, and then the same call again"
FROM = "from 2026-11-28 07:01:00+02:00 on"
WAITING = of("WAITING", come_back=LATER)
BYTES_REASON: dict[str, Any] = {"reasons": (BYTES,)}
TOO_LARGE = [of("NOT_BEGUN", size_in_bytes=size, **BYTES_REASON) for size in (900, 501)]


@pytest.mark.parametrize(
    ("tables", "facts", "words"),
    [
        (
            [of("PLANNED"), of("BLOCKED")],
            *({"dry_run": True}, "the same call without the dry run"),
        ),
        ([of("BLOCKED")], {"dry_run": True}, REPAIR),
        ([of("NOT_BEGUN")], {}, AGAIN),
        ([of("CANCELLED")], {}, AGAIN),
        ([of("FAILED"), of("BLOCKED")], {}, AGAIN),
        ([of("FAILED", error="X", reasons=("UNKNOWN",))], {}, AGAIN),
        ([of("FAILED", error="USAGE_TRACKING_X")], {}, REPAIR),
        ([of("GONE")], {}, AGAIN),
        ([], {"interrupted": "SIGINT"}, AGAIN),
        ([of("DONE"), WAITING, of("BLOCKED")], {}, f"{AGAIN}, {FROM}"),
        ([of("WAITING")], {}, AGAIN),
        ([WAITING, of("FAILED")], {}, f"{AGAIN}, and once more {FROM}"),
        ([of("BLOCKED"), of("UNREADABLE")], {}, REPAIR),
        ([], {}, "check the catalog and the names: no table was found. Then the same call again"),
        # The next call needs more bytes only if no table fitted into this one.
        (TOO_LARGE, {}, "the same call with a limit of at least 501 bytes"),
        ([*TOO_LARGE, of("DONE")], {}, AGAIN),
    ],
)
def test_next_call_of_a_report_continues_it(
    tables: list[TableResult], facts: dict[str, Any], words: str
) -> None:
    report = replace(REPORT, tables=tuple(tables), **facts)

    assert report.next_call == words
    assert repr(report).endswith(f"Next: {words}.")
    assert f"Next: {words}." in report.html()


def test_sums_count_changed_files_or_the_upper_bound() -> None:
    done = replace(RESULTS[1], copied=FileCount(1, 100), rewritten=FileCount(1, 1))
    report = replace(REPORT, tables=(done, RESULTS[1], RESULTS[5]))

    sums = {each.outcome: each for each in report.sums}

    assert set(sums) == {"DONE", "NOT_BEGUN"}
    assert (sums["DONE"].num_tables, sums["DONE"].num_files) == (2, 2 + 3)
    assert sums["DONE"].size_in_bytes == 101 + 300
    assert sums["NOT_BEGUN"].size_in_bytes == 300


def test_report_has_the_earliest_time_of_the_next_call() -> None:
    late = replace(WAITING, come_back=LATER + timedelta(hours=1))
    report = replace(REPORT, tables=(late, RESULTS[0], WAITING))

    assert report.come_back == LATER
    assert "come back: 2026-11-28 07:01:00+02:00" in repr(report)


def table_of(number: int, outcome: str, **facts: Any) -> TableResult:
    return TableResult(table=f"spark_catalog.sales.table_{number}", outcome=outcome, **facts)


GROUPS = (
    *(
        table_of(at, "DONE", cost="COPY", copied=FileCount(1, 685_000), rewritten=FileCount())
        for at in range(10, 30)
    ),
    *(table_of(at, "DONE", cost="METADATA") for at in range(10)),
    table_of(30, "BLOCKED", reasons=("unmapped: X",), unblocking="Rename the columns."),
    table_of(31, "FAILED", error="USAGE_TRACKING_X", message="Cannot copy: " + "the disk " * 40),
    table_of(32, "NOT_BEGUN", reasons=("BUDGET_OF_TIME",), size_in_bytes=80_000_000),
)


@pytest.mark.parametrize("columns", [80, 120])
def test_text_has_the_sums_and_the_tables_that_need_a_person_and_fits_the_terminal(
    monkeypatch: pytest.MonkeyPatch, columns: int
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    long = replace(GROUPS[0], table="/data/" + "x" * 200)

    text = replace(REPORT, tables=GROUPS).text()
    whole = replace(REPORT, tables=(*GROUPS, long)).text(all_tables=True)

    lines = text.splitlines()
    assert max(map(len, [*lines, *whole.splitlines()])) <= columns
    sums = "10 METADATA, 20 COPY 13.7 MB, 1 NOT_BEGUN (BUDGET_OF_TIME) 80.0 MB, 1 BLOCKED, 1 FAILED"
    assert re.sub(r"\s+", " ", text).count(f"tables: {sums} complete: false") == 1
    blocked = lines.index("BLOCKED  spark_catalog.sales.table_30")
    assert lines[blocked + 1 : blocked + 3] == ["  unmapped: X", "  Rename the columns."]
    assert lines[blocked + 3] == "FAILED   spark_catalog.sales.table_31"
    assert lines[blocked + 4].startswith("  [USAGE_TRACKING_X] Cannot copy: the disk")
    assert set(re.findall(r"table_\d+", text)) == {"table_30", "table_31"}
    assert {f"table_{at}" for at in range(33)} == set(re.findall(r"table_\d+", whole))
    assert re.sub(r"\s", "", whole).count("x" * 200) == 1
    assert "685.0 kB" in whole


def test_report_shows_a_hundred_tables_in_a_notebook() -> None:
    many = replace(REPORT, tables=RESULTS * 20)

    assert f"({len(RESULTS) * 20 - 100} more tables)" in many._repr_html_()
    assert "more tables)" not in many.html()
    assert "more tables)" in replace(REPORT, tables=GROUPS[30:31] * 101).text()


def test_html_wraps_no_size_and_has_what_to_do_in_the_fourth_column() -> None:
    html = replace(REPORT, tables=GROUPS).html()

    heads = [re.sub("<.*?>", "", head) for head in re.findall("<th .*?</th>", html)]
    assert heads[heads.index("outcome") :][:4] == ["outcome", "table", "because", "what to do"]
    sizes = re.findall(r"<td[^>]*>[\d.]+ [kM]?B</td>", html)
    assert len(sizes) == len(GROUPS)
    assert all("white-space:nowrap" in size for size in sizes)


def test_objects_have_the_sums_first() -> None:
    first, *others = [json.loads(json.dumps(each)) for each in REPORT.as_objects()]

    assert first["goal"] == REPORT.goal
    assert (first["complete"], first["dryRun"]) == (False, False)
    assert [each["outcome"] for each in first["sums"]] == list(OUTCOMES)
    assert [each["outcome"] for each in others] == list(OUTCOMES)
    assert others[0]["before"]["unmapped"] == "COPY"
    assert others[0]["freeSpace"] == 300
