# SPDX-License-Identifier: Apache-2.0
"""Tests runs of calls over many tables in a session without a JVM."""

from __future__ import annotations

import os
import re
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import datetime, timezone
from threading import Barrier, Event
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import Row

import spark_ext
from spark_ext import LakehouseInterrupted, LakehouseProgress, LakehouseReport, SurveyedTable
from spark_ext.errors import ProgressFailedError
from spark_ext.tables import find, sql, threads
from spark_ext.tables.threads import receiving_signals
from tests.unit.fake_session import (
    CANCELLATION,
    TIMEOUT,
    A,
    B,
    C,
    FakeSession,
    committed,
    listed,
    nothing,  # noqa: F401
)

COPIED = replace(A, has_dropped_or_renamed=True, unmapped="COPY", version=6)
UNTRACKED = replace(A, tracked=False, has_dropped_or_renamed=None)
DONE = replace(A, mode="none", unmapped="NOTHING", version=6)


def remove(session: Any, **options: Any) -> LakehouseReport:
    return spark_ext.remove_column_mapping(
        session, "db", **{"progress": None, "parallel": 1, **options}
    )


def ended(session: FakeSession, **options: Any) -> LakehouseReport:
    """Returns the report of a call, also of an interrupted one."""
    try:
        return remove(session, **options)
    except LakehouseInterrupted as interrupted:
        return interrupted.report


def results(report: LakehouseReport) -> list[str]:
    """Returns outcome, reasons and error of each table."""
    return [
        " ".join(filter(None, [each.outcome, *each.reasons, each.error])) for each in report.tables
    ]


@pytest.fixture
def session() -> FakeSession:
    return FakeSession()


# Failures of Delta, and other writers.


class MetadataChangedException(Exception):
    """Has the name of Delta's error."""


class EndOfThreadError(BaseException): ...


FULL = PySparkException("full", errorClass="OUT_OF_SPACE", messageParameters={})


def is_full(session: FakeSession) -> None:
    raise FULL


def is_full_after_a_signal(session: FakeSession) -> None:
    session.signal()
    raise FULL


def is_full_in_the_second_statement(session: FakeSession) -> None:
    if len(session.statements) == 2:
        raise FULL


def is_cancelled(session: FakeSession) -> None:
    session.signal()
    raise CANCELLATION


def is_cancelled_after_the_commit(session: FakeSession) -> None:
    session.rows[A.table] = DONE
    is_cancelled(session)


def is_cancelled_when_the_time_is_over(session: FakeSession) -> None:
    session.wait()
    raise CANCELLATION


def conflicts(session: FakeSession, number: int = 99) -> None:
    if 2 <= len(session.statements) <= 1 + number:
        raise MetadataChangedException


def conflicts_once(session: FakeSession) -> None:
    conflicts(session, 1)


def waits_after_a_conflict(session: FakeSession) -> None:
    session.rows[A.table] = replace(DONE, tracked=False, readers="NOTHING")
    session.history = [committed(7)]
    raise MetadataChangedException


def a_is_renamed(session: FakeSession) -> None:
    if not session.statements:
        session.rows[A.table] = COPIED


def a_is_undone(session: FakeSession) -> None:
    if session.statements:
        session.rows[A.table] = A


def a_copy_is_undone(session: FakeSession) -> None:
    session.rows[A.table] = COPIED


def reading_before_the_statement_is_cancelled(session: FakeSession) -> None:
    if len(session.asked) == 2:
        is_cancelled(session)


def reading_after_the_statement_is_cancelled(session: FakeSession) -> None:
    if session.statements and not session.cancelled.is_set():
        is_cancelled(session)


def reading_ends_the_thread(session: FakeSession) -> None:
    if session.statements:
        raise EndOfThreadError


# A case: options; what Delta does with a statement; what happens at a reading
#     -> the results; how many statements run, and are in the report of the first table
OUTCOMES = """
every table: ; ; -> DONE, DONE; 2 1
two stages: until="readers"; ; -> DONE, DONE; 4 2
rename after the survey: ; ; a_is_renamed -> DONE, DONE; 2 1
rename and a limit: max_bytes=299; ; a_is_renamed -> NOT_BEGUN BUDGET_OF_BYTES, DONE; 1 0
no time: max_time=0; ; -> NOT_BEGUN BUDGET_OF_TIME, NOT_BEGUN BUDGET_OF_TIME; 0 0
full: on_error=1; is_full; -> FAILED OUT_OF_SPACE, NOT_BEGUN BUDGET_OF_ERRORS; 1 0
full, three tables: include="?", on_error=1; is_full;
    -> FAILED OUT_OF_SPACE, NOT_BEGUN BUDGET_OF_ERRORS, NOT_BEGUN BUDGET_OF_ERRORS; 1 0
full, and continued: ; is_full; -> FAILED OUT_OF_SPACE, FAILED OUT_OF_SPACE; 2 0
full in the second statement: until="readers", include="a"; is_full_in_the_second_statement;
    -> FAILED OUT_OF_SPACE; 2 1
signal: ; is_cancelled; -> CANCELLED INTERRUPTED, NOT_BEGUN INTERRUPTED; 1 0
signal after the commit: ; is_cancelled_after_the_commit;
    -> DONE, NOT_BEGUN INTERRUPTED; 1 0
signal before an error: ; is_full_after_a_signal;
    -> FAILED OUT_OF_SPACE, NOT_BEGUN INTERRUPTED; 1 0
signal in the first of two statements: until="readers"; FakeSession.signal;
    -> CANCELLED INTERRUPTED, NOT_BEGUN INTERRUPTED; 1 1
signal in the reading before: until="readers"; ; reading_before_the_statement_is_cancelled
    -> CANCELLED INTERRUPTED, NOT_BEGUN INTERRUPTED; 0 0
signal in the reading after: ; ; reading_after_the_statement_is_cancelled
    -> DONE, NOT_BEGUN INTERRUPTED; 1 1
time: max_time=1; is_cancelled_when_the_time_is_over;
    -> CANCELLED BUDGET_OF_TIME, NOT_BEGUN BUDGET_OF_TIME; 1 0
conflict: until="readers", include="a"; conflicts_once; -> DONE; 3 2
conflicts: until="readers", include="a"; conflicts; -> FAILED MetadataChangedException; 7 1
undone: include="a"; ; a_is_undone -> FAILED CONFLICT; 6 6
end of a thread: ; ; reading_ends_the_thread
    -> FAILED UNKNOWN EndOfThreadError, NOT_BEGUN CALL_FAILED EndOfThreadError; 1 0
"""
CASES = re.findall(
    r"^(\S.*?): (.*); (\S*);\s+(\S*?) ?-> (.*); (\d) (\d)$", OUTCOMES.replace("\n    ", " "), re.M
)

assert len(CASES) == OUTCOMES.count("->")


@pytest.mark.parametrize("case", CASES, ids=lambda case: str(case[0]))
def test_report_has_the_outcome_of_each_table(session: FakeSession, case: Any) -> None:
    _, options, does, reads, expected, num_run, num_reported = case
    session.rows[C.table] = C
    session.does = eval(does or "nothing")

    def after_the_survey(row: SurveyedTable) -> bool:
        session.reads = eval(reads or "nothing")
        return True

    given = {"include": ["a", "b"], **eval(f"dict({options})")}
    report = ended(session, only=after_the_survey, **given)

    assert results(report) == expected.split(", ")
    assert len(session.statements) == int(num_run)
    assert session.num_histories <= reads.count("renamed")  # only a copy has counts
    first = [text for text in session.statements if A.table in text]
    reported = [each.statement for each in report.tables[0].statements]
    assert reported == first[: int(num_reported)]


def test_untracked_table_that_waits_after_a_conflict_gets_no_statement(
    session: FakeSession,
) -> None:
    session.rows = {A.table: UNTRACKED}
    session.does = waits_after_a_conflict

    report = remove(session, until="writers")

    assert (results(report), len(session.statements)) == (["WAITING"], 1)
    assert report.come_back is not None


def test_table_that_another_driver_does_first_gets_no_statement(session: FakeSession) -> None:
    session.rows = {A.table: UNTRACKED}

    def track(row: SurveyedTable) -> bool:
        session.rows[A.table] = A
        return True

    report = spark_ext.track(session, "db", only=track, progress=None)  # type: ignore[arg-type]

    assert (results(report), session.statements) == (["DONE"], [])


def test_copied_bytes_count_once_and_a_copy_that_is_undone_is_not_made_again(
    session: FakeSession,
) -> None:
    session.rows = {A.table: COPIED}
    assert results(remove(session, max_bytes=299)) == ["NOT_BEGUN BUDGET_OF_BYTES"]
    assert results(remove(session, max_bytes=300)) == ["DONE"]

    session.rows, session.reads = {A.table: COPIED}, a_copy_is_undone
    assert results(remove(session)) == ["FAILED CONFLICT"]
    assert len(session.statements) == 2


def test_largest_table_does_not_begin_if_its_bytes_exceed_the_limit(session: FakeSession) -> None:
    sizes = {"c.db.large": 9, "c.db.small": 1, "c.db.middle": 3}
    session.rows = {n: replace(COPIED, table=n, size_in_bytes=size) for n, size in sizes.items()}

    report = remove(session, max_bytes=12)

    assert results(report) == ["NOT_BEGUN BUDGET_OF_BYTES", "DONE", "DONE"]
    assert [text.split()[2] for text in session.statements] == ["c.db.small", "c.db.middle"]
    assert not report.complete


def test_progress_counts_tables_and_bytes(session: FakeSession) -> None:
    session.rows[A.table] = COPIED
    seen: list[LakehouseProgress] = []

    remove(session, progress=seen.append)

    survey, run = ([each for each in seen if each.phase == phase] for phase in ("survey", "run"))
    assert (survey[0].tables_done, survey[0].tables) == (0, 2)
    assert (run[0].tables_done, run[0].tables, run[0].bytes) == (0, 2, 300)
    assert (run[-1].tables_done, run[-1].bytes_done, run[-1].finished) == (2, 300, True)
    assert (run[0].rate, run[0].seconds_left) == (None, None)
    assert (run[-1].rate or 0) * (run[-1].seconds - survey[-1].seconds) >= 300
    assert (run[-1].seconds_left, run[-1].running) == (0, ())


def test_error_of_progress_has_the_report_and_begins_no_table(session: FakeSession) -> None:
    with pytest.raises(ProgressFailedError) as raised:
        remove(session, progress=lambda progress: 1 / progress.tables_done)

    report: LakehouseReport = raised.value.report  # type: ignore[attr-defined]
    assert ({each.outcome for each in report.tables}, session.statements) == ({"NOT_BEGUN"}, [])


def test_cancelled_reading_and_statement_leave_no_version_and_no_error() -> None:
    read = ended(FakeSession(reads=reading_after_the_statement_is_cancelled)).tables[0]
    ran = ended(FakeSession(does=FakeSession.signal), until="readers").tables[0]

    assert (read.statements[0].version_after, read.version_after) == (None, 6)
    assert (ran.outcome, ran.message) == ("CANCELLED", None)


@pytest.mark.parametrize("parallel", [1, 2])
def test_as_many_tables_run_at_a_time_as_wanted(session: FakeSession, parallel: int) -> None:
    at_once = Barrier(parallel)
    running: list[str] = []
    most: list[int] = []

    def together(session: FakeSession) -> None:
        running.append("")
        most.append(len(running))
        at_once.wait(TIMEOUT)
        running.pop()
        at_once.wait(TIMEOUT)

    session.does = together

    assert results(remove(session, parallel=parallel)) == ["DONE", "DONE"]
    assert max(most) == parallel


def test_second_signal_cancels_running_statements_and_keeps_the_results(
    session: FakeSession,
) -> None:
    released = Event()
    running: list[threading.Thread] = []

    def wait(session: FakeSession) -> None:
        running.append(threading.current_thread())
        session.signal()
        os.kill(os.getpid(), signal.SIGINT)
        assert released.wait(TIMEOUT)

    session.does = wait

    assert results(ended(session)) == ["FAILED UNKNOWN", "NOT_BEGUN INTERRUPTED"]
    released.set()
    running[0].join()
    assert len(session.statements) == 1


# Calls.


def test_error_of_the_session_has_the_report(session: FakeSession) -> None:
    def unset(key: str) -> None:
        raise ConnectionError("the server has ended")

    def end(session: Any) -> None:
        session.settings = type("Settings", (dict,), {"__delitem__": lambda self, key: unset(key)})(
            session.settings
        )

    session.does = end

    with pytest.raises(ConnectionError) as raised:
        remove(session)

    assert results(raised.value.report) == ["DONE", "DONE"]  # type: ignore[attr-defined]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signal_during_the_survey_ends_the_call_with_a_report(
    session: FakeSession, number: signal.Signals
) -> None:
    session.reads = lambda _: os.kill(os.getpid(), number)
    handlers = [signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM)]

    with pytest.raises(LakehouseInterrupted) as raised:
        remove(session)

    assert (raised.value.signal, raised.value.report.tables) == (number, ())
    assert isinstance(raised.value.__cause__, KeyboardInterrupt)
    assert session.statements == []
    assert [signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM)] == handlers


def test_signal_after_the_survey_begins_no_table(session: FakeSession) -> None:
    def only(row: SurveyedTable) -> bool:
        if row == B:
            os.kill(os.getpid(), signal.SIGINT)
        return True

    assert results(ended(session, only=only)) == ["NOT_BEGUN INTERRUPTED"] * 2
    assert session.statements == []


def test_only_a_second_signal_during_the_body_raises() -> None:
    with receiving_signals() as interrupts:
        signal.raise_signal(signal.SIGTERM)
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        assert (interrupts.received, interrupts.name) == (signal.SIGTERM, "SIGTERM")

    interrupts(signal.SIGINT, None)  # the signal arrives before the former handlers are restored


def test_signal_of_the_body_around_a_call_ends_the_call() -> None:
    with receiving_signals():
        signal.raise_signal(signal.SIGTERM)
        with receiving_signals() as interrupts, pytest.raises(KeyboardInterrupt):
            interrupts.check()
    with receiving_signals(), receiving_signals() as interrupts:
        interrupts.check()


def test_predicate_is_called_for_neither_views_nor_other_formats(session: FakeSession) -> None:
    kinds = {A.table: "DELTA", "v": "VIEW", "o": "OTHER", "u": None, "s": "SCHEMA"}
    session.listed = {"db": [listed(name, kind, "E") for name, kind in kinds.items()]}
    asked: list[str] = []

    report = remove(session, only=lambda row: asked.append(row.table) or True)  # type: ignore[func-returns-value]

    assert asked == [each.table for each in report.tables] == [A.table, "u", "s"]


def test_last_progress_of_a_survey_has_every_table(session: FakeSession) -> None:
    session.rows = tables(250)
    seen: list[LakehouseProgress] = []

    remove(session, progress=seen.append, dry_run=True)

    assert [(each.phase, each.tables_done, each.finished) for each in seen] == [
        ("survey", 0, False),
        ("survey", 250, True),
    ]


def tables(number: int) -> dict[str, SurveyedTable]:
    """Returns tables for a survey, which reads a hundred in a batch."""
    return {f"t{at}": replace(A, table=f"t{at}") for at in range(number)}


def test_next_batch_of_a_survey_is_read_ahead_unless_the_call_has_ended(
    session: FakeSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    session.rows = tables(500)
    second, ended = Event(), Event()

    def read(session: FakeSession) -> None:
        if len(session.asked) == 1:
            assert second.wait(TIMEOUT)  # which begins meanwhile
            os.kill(os.getpid(), signal.SIGTERM)
        else:
            second.set()
            assert ended.wait(TIMEOUT)

    class Threads(ThreadPoolExecutor):
        def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
            super().shutdown(wait=False, cancel_futures=cancel_futures)
            ended.set()
            super().shutdown(wait)

    session.reads = read
    monkeypatch.setattr(find, "ThreadPoolExecutor", Threads)

    with pytest.raises(LakehouseInterrupted):
        remove(session, parallel=2)

    begun = [batch[0] for batch in session.asked]
    assert {"t0", "t100"} <= set(begun)
    assert "t400" not in begun


def test_survey_reads_one_batch_at_a_time_when_parallel_is_1(session: FakeSession) -> None:
    session.rows = tables(300)
    running: list[int] = []

    def read(session: FakeSession) -> None:
        running.append(1)
        time.sleep(0.01)
        assert running == [1]
        running.pop()

    session.reads = read

    assert len(remove(session, dry_run=True).tables) == 300


def test_table_with_two_names_runs_under_the_first_one(session: FakeSession) -> None:
    session.rows = {row.table: replace(row, location="file:/t") for row in (B, A)} | {
        "c.db.d": replace(A, table="c.db.d", location="file:/d")
    }

    assert [each.table for each in remove(session).tables] == [B.table, "c.db.d"]


def test_no_thread_starts_when_pyspark_does_not_pin_threads(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("pyspark.util.inheritable_thread_target", lambda spark: spark)
    classic: Any = object()

    with pytest.raises(RuntimeError, match="PYSPARK_PIN_THREAD"):
        threads.Workers(classic, print, 1)


@pytest.mark.parametrize("zone", ["Europe/Berlin", "UTC"])
def test_time_of_the_next_call_is_right_across_the_end_of_summer_time(
    session: Any, monkeypatch: pytest.MonkeyPatch, zone: str
) -> None:
    monkeypatch.setenv("TZ", zone)
    time.tzset()
    at = datetime(2026, 10, 24, 12, 0, 30, tzinfo=timezone.utc)
    session.history = [Row(version=7, timestamp=datetime.fromtimestamp(at.timestamp()))]
    try:
        end = sql.end_of_retention(session, "c.db.t")
    finally:
        monkeypatch.undo()
        time.tzset()

    assert end == datetime(2026, 10, 25, 12, 1, tzinfo=timezone.utc)
