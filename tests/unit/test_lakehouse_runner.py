# SPDX-License-Identifier: Apache-2.0
"""Tests runs of a plan in a session without a JVM, which has the rows of a survey and no files."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta, timezone
from threading import Barrier, Event
from types import SimpleNamespace
from typing import Any

import pytest
from pyspark.errors import PySparkException

import spark_ext
from spark_ext import LakehouseInterrupted, LakehouseProgress, SurveyedTable
from spark_ext.tables import calls, find, sql, threads
from spark_ext.tables import run as running
from spark_ext.tables.goals import Begun, Goal, Plan, Removal
from spark_ext.tables.progress import Reporter
from spark_ext.tables.run import Budget, Runner, Running
from spark_ext.tables.threads import Interrupts, receiving_signals
from tests.unit.connect import ConnectSession

A, B, C = (
    SurveyedTable(
        *(f"c.db.{name}", "name", True, False, 2, 0, 3, 300, "METADATA", "METADATA", "HISTORY"),
        version=5,
    )
    for name in "abc"
)
NAMES = [A.table, B.table]
TIMEOUT = 30


def surveying(done: int, tables: int) -> LakehouseProgress:
    finished = done == tables
    return LakehouseProgress(phase="survey", tables_done=done, tables=tables, finished=finished)


def done(row: SurveyedTable) -> SurveyedTable:
    return replace(row, mode="none", unmapped="NOTHING", version=6)


@dataclass
class Session(ConnectSession):
    """Contains the parts of a Spark Connect session that a run uses."""

    rows: dict[str, SurveyedTable] = field(
        default_factory=lambda: {row.table: row for row in (A, B)}
    )
    before: Callable[[str], object] = print
    statements: list[str] = field(default_factory=list)
    cancelled: Event = field(default_factory=Event)

    @property
    def conf(self) -> Any:
        return SimpleNamespace(get=lambda *_: "false")

    def sql(self, statement: str) -> None:
        """Runs a removal by metadata alone."""
        self.statements.append(statement)
        self.before(statement)
        command, _, name, *_ = statement.split()
        if command == "ALTER":
            self.rows[name] = done(self.rows[name])

    def getTags(self) -> set[str]:
        return set()

    def addTag(self, tag: str) -> None:
        pass

    def removeTag(self, tag: str) -> None:
        pass

    def interruptTag(self, tag: str) -> None:
        self.cancelled.set()

    def wait_for_cancellation(self) -> None:
        assert self.cancelled.wait(TIMEOUT)


@pytest.fixture
def session(monkeypatch: pytest.MonkeyPatch) -> Session:
    set_reader(monkeypatch, lambda spark, names: [spark.rows[name] for name in names])
    return Session()


def set_reader(
    monkeypatch: pytest.MonkeyPatch,
    rows_of: Callable[[Session, list[str]], list[SurveyedTable]],
) -> None:
    for module in (running, sql):
        monkeypatch.setattr(module, "rows_of", rows_of)


def runner(
    session: Session,
    *,
    goal: Goal | None = None,
    budget: Budget | None = None,
    interrupts: Interrupts | None = None,
    reporter: Any = None,
    rows: Sequence[SurveyedTable] = (A, B),
    parallel: int = 1,
) -> Runner:
    goal = goal or Removal("unmapped")
    return Runner(
        spark=session,  # type: ignore[arg-type]
        goal=goal,
        waiting=[goal.plan(row) for row in rows],
        budget=budget or Budget(),
        reporter=reporter or Reporter(None),
        interrupts=interrupts or Interrupts(),
        started=time.monotonic(),
        parallel=parallel,
    )


def outcomes(run: Runner) -> list[str]:
    return [run.results[row.table].outcome for row in (A, B)]


@pytest.mark.parametrize(
    ("max_bytes", "expected"),
    [(None, ["DONE", "DONE"]), (299, ["NOT_BEGUN", "DONE"])],
)
def test_bytes_of_a_table_are_counted_when_it_begins(
    session: Session, max_bytes: int | None, expected: list[str]
) -> None:
    # Another writer renamed a column after the survey.
    session.rows[A.table] = replace(A, has_dropped_or_renamed=True, unmapped="COPY", version=6)
    run = runner(session, budget=Budget(max_bytes=max_bytes))

    run.run()

    assert outcomes(run) == expected
    assert len(session.statements) == expected.count("DONE")
    if max_bytes is not None:
        refused = run.results[A.table]
        assert refused.reasons == ("BUDGET_OF_BYTES",)
        assert (refused.cost, refused.size_in_bytes) == ("COPY", 300)
        assert run.budget.begun_bytes == 0


def test_bytes_of_a_table_that_is_read_again_count_once(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    copied = replace(A, has_dropped_or_renamed=True, unmapped="COPY")
    session.rows[A.table] = copied
    monkeypatch.setattr(running, "unnamed_copies", lambda *_: None)
    monkeypatch.setattr(sql.Statements, "counts_since", lambda *_: {})
    monkeypatch.setattr(sql.Statements, "run", lambda self, text: bool(self._spark.sql(text)))
    run = runner(session, budget=Budget(max_bytes=300), rows=(copied,))

    run.run()

    assert run.results[A.table].outcome == "DONE"
    assert run.budget.begun_bytes == 300


def test_failure_of_a_thread_is_in_the_report(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise MemoryError("no memory")

    monkeypatch.setattr(Running, "attempt", fail)
    run = runner(session)

    run.run()

    assert outcomes(run) == ["FAILED", "NOT_BEGUN"]
    assert [run.results[row.table].reasons for row in (A, B)] == [("UNKNOWN",), ("CALL_FAILED",)]
    assert {result.error for result in run.results.values()} == {"MemoryError"}


def test_each_table_after_the_last_failure_has_the_limit_as_its_reason(session: Session) -> None:
    def fail(statement: str) -> None:
        raise OTHER

    session.before = fail
    session.rows[C.table] = C
    run = runner(session, budget=Budget(max_errors=1), rows=(A, B, C))

    run.run()

    assert run.results[A.table].outcome == "FAILED"
    others = [run.results[each.table] for each in (B, C)]
    assert {(each.outcome, each.reasons) for each in others} == {
        ("NOT_BEGUN", ("BUDGET_OF_ERRORS",))
    }


@pytest.mark.parametrize("parallel", [1, 2])
def test_as_many_tables_run_at_a_time_as_wanted(session: Session, parallel: int) -> None:
    at_once = Barrier(parallel)
    running: list[str] = []
    most: list[int] = []

    def together(statement: str) -> None:
        running.append(statement)
        most.append(len(running))
        at_once.wait(TIMEOUT)
        running.remove(statement)
        at_once.wait(TIMEOUT)

    session.before = together
    run = runner(session, parallel=parallel)

    run.run()

    assert outcomes(run) == ["DONE", "DONE"]
    assert max(most) == parallel


CANCELLATION = PySparkException("cancelled", errorClass="OPERATION_CANCELED", messageParameters={})
OTHER = PySparkException("full", errorClass="OUT_OF_SPACE", messageParameters={})


@pytest.mark.parametrize(
    ("error", "is_committed", "expected", "shown"),
    [
        (CANCELLATION, False, "CANCELLED", None),
        # The statement was cancelled after its commit.
        (CANCELLATION, True, "DONE", None),
        (OTHER, False, "FAILED", "OUT_OF_SPACE"),
    ],
)
def test_only_a_cancellation_counts_as_cancelled(
    session: Session, error: Exception, *, is_committed: bool, expected: str, shown: str | None
) -> None:
    interrupts = Interrupts()

    def fail(statement: str) -> None:
        interrupts.received = signal.SIGINT
        session.wait_for_cancellation()
        if is_committed:
            session.rows[A.table] = done(A)
        raise error

    session.before = fail
    run = runner(session, interrupts=interrupts)

    run.run()

    assert outcomes(run) == [expected, "NOT_BEGUN"]
    assert run.results[A.table].error == shown


def test_cancelled_reading_before_a_statement_counts_as_cancelled(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    interrupts = Interrupts()

    def rows_of(spark: Session, names: list[str]) -> list[SurveyedTable]:
        if interrupts.received is None:
            interrupts.received = signal.SIGINT
            session.wait_for_cancellation()
            raise CANCELLATION
        return [spark.rows[name] for name in names]

    set_reader(monkeypatch, rows_of)
    run = runner(session, budget=Budget(max_bytes=1000), interrupts=interrupts)

    run.run()

    assert outcomes(run) == ["CANCELLED", "NOT_BEGUN"]
    assert session.statements == []


def test_statement_before_a_cancelled_reading_is_in_the_report(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    interrupts = Interrupts()

    def rows_of(spark: Session, names: list[str]) -> list[SurveyedTable]:
        if spark.statements and interrupts.received is None:
            interrupts.received = signal.SIGINT
            session.wait_for_cancellation()
            raise CANCELLATION
        return [spark.rows[name] for name in names]

    set_reader(monkeypatch, rows_of)
    run = runner(session, interrupts=interrupts)

    run.run()

    assert outcomes(run) == ["DONE", "NOT_BEGUN"]
    result = run.results[A.table]
    assert [each.statement for each in result.statements] == session.statements
    assert (result.statements[0].version_after, result.version_after) == (None, 6)


def test_table_that_runs_when_the_time_is_over_is_cancelled(session: Session) -> None:
    def wait(statement: str) -> None:
        run.budget.max_seconds = 0
        session.wait_for_cancellation()
        raise CANCELLATION

    session.before = wait
    run = runner(session, budget=Budget(max_seconds=3600))

    run.run()

    assert [(each.outcome, each.reasons) for each in map(run.results.__getitem__, NAMES)] == [
        ("CANCELLED", ("BUDGET_OF_TIME",)),
        ("NOT_BEGUN", ("BUDGET_OF_TIME",)),
    ]
    assert len(session.statements) == 1


class KeyboardReporter(Reporter):
    """Interrupts the main thread, as a second Ctrl-C, when a statement runs."""

    def __init__(self, session: Session) -> None:
        super().__init__(None)
        self._session = session

    def report(self, progress: Any, *, at_once: bool = False) -> None:
        if self._session.statements:
            raise KeyboardInterrupt


def test_second_signal_cancels_running_statements_and_keeps_the_results(session: Session) -> None:
    released = Event()

    def wait(statement: str) -> None:
        assert released.wait(TIMEOUT)

    session.before = wait
    run = runner(session, reporter=KeyboardReporter(session))

    with pytest.raises(KeyboardInterrupt):
        run.run()

    assert session.cancelled.is_set()
    assert outcomes(run) == ["FAILED", "NOT_BEGUN"]
    assert run.results[A.table].reasons == ("UNKNOWN",)
    released.set()
    for thread in run._workers._threads:
        thread.join()
    assert len(session.statements) == 1


class TwoStatements(Removal):
    """Runs two statements for each table."""

    def plan(self, row: SurveyedTable, begun: Begun | None = None) -> Plan:
        if row.unmapped == "NOTHING":
            return Plan(row)
        first, second = (f"STATEMENT {number} {row.table}" for number in range(2))
        has_run = begun is not None and begun.statements[-1:] == [first]
        return Plan(row, (second,) if has_run else (first, second), ("METADATA",))


def test_no_statement_of_a_table_begins_after_a_signal(session: Session) -> None:
    interrupts = Interrupts()

    def stop(statement: str) -> None:
        interrupts.received = signal.SIGINT
        session.wait_for_cancellation()

    session.before = stop
    run = runner(session, goal=TwoStatements("unmapped"), interrupts=interrupts)

    run.run()

    assert session.statements == [f"STATEMENT 0 {A.table}"]
    assert outcomes(run) == ["CANCELLED", "NOT_BEGUN"]
    result = run.results[A.table]
    assert [each.statement for each in result.statements] == session.statements
    # No text of ours stands for an error.
    assert (result.reasons, result.error, result.message) == (("INTERRUPTED",), None, None)


def test_report_has_the_statements_before_the_one_that_failed(session: Session) -> None:
    def fail(statement: str) -> None:
        if statement.startswith("STATEMENT 1"):
            raise OTHER

    session.before = fail
    run = runner(session, goal=TwoStatements("unmapped"), rows=(A,))

    run.run()

    result = run.results[A.table]
    assert (result.outcome, result.error) == ("FAILED", "OUT_OF_SPACE")
    assert [each.statement for each in result.statements] == [f"STATEMENT 0 {A.table}"]


class MetadataChangedException(Exception):
    """Has the name of Delta's error."""


@pytest.mark.parametrize(("conflicts", "outcome"), [(1, "DONE"), (99, "FAILED")])
def test_goal_continues_after_a_conflict_with_another_driver(
    session: Session, conflicts: int, outcome: str
) -> None:
    def fail(statement: str) -> None:
        if statement.startswith("STATEMENT 1"):
            if len(session.statements) > 1 + conflicts:
                session.rows[A.table] = done(A)
                return
            raise MetadataChangedException

    session.before = fail
    run = runner(session, goal=TwoStatements("unmapped"), rows=(A,))

    run.run()

    result = run.results[A.table]
    expected = {"FAILED": (1 + 6, "MetadataChangedException"), "DONE": (1 + 2, None)}
    assert (result.outcome, len(session.statements), result.error) == (
        outcome,
        *expected[outcome],
    )


def test_untracked_table_that_waits_after_a_conflict_gets_no_statement(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    waiting = replace(done(A), tracked=False, readers="NOTHING")

    def fail(statement: str) -> None:
        session.rows[A.table] = waiting
        raise MetadataChangedException

    session.before = fail
    end = datetime.now().astimezone() + timedelta(hours=1)
    monkeypatch.setattr(running, "end_of_retention", lambda *_: end)
    run = runner(session, goal=Removal("writers"), rows=(replace(A, tracked=False),))

    run.run()

    result = run.results[A.table]
    assert (result.outcome, result.come_back, len(session.statements)) == ("WAITING", end, 1)


def test_goal_that_another_writer_undoes_all_the_time_fails_without_an_error(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_reader(monkeypatch, lambda spark, names: [A for _ in names])
    run = runner(session, rows=(A,))

    run.run()

    result = run.results[A.table]
    assert (result.outcome, result.reasons, result.error) == ("FAILED", ("CONFLICT",), None)
    assert {each.statement for each in result.statements} == {*session.statements}


def test_copy_that_another_writer_undoes_is_not_made_again(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    copied = replace(A, has_dropped_or_renamed=True, unmapped="COPY")
    set_reader(monkeypatch, lambda spark, names: [copied for _ in names])
    monkeypatch.setattr(running, "unnamed_copies", lambda *_: None)
    monkeypatch.setattr(sql.Statements, "counts_since", lambda *_: {})
    monkeypatch.setattr(sql.Statements, "run", lambda self, text: bool(self._spark.sql(text)))
    run = runner(session, rows=(copied,))

    run.run()

    assert (run.results[A.table].outcome, run.results[A.table].reasons) == ("FAILED", ("CONFLICT",))
    assert [text.split()[0] for text in session.statements if "ALTER" in text] == ["ALTER"]


# Calls.


@pytest.fixture
def surveyed(session: Session, monkeypatch: pytest.MonkeyPatch) -> Session:
    """Returns a session whose survey has the rows."""

    def surveyed_tables(spark: Session, where: Any, progress: Any, chosen: Any, each: Any) -> Any:
        progress(surveying(0, 2))
        return [(row, "DELTA") for row in spark.rows.values()]

    @contextmanager
    def copying(spark: Session) -> Iterator[None]:
        yield

    monkeypatch.setattr(find, "surveyed_tables", surveyed_tables)
    monkeypatch.setattr(calls, "copying", copying)
    return session


def remove(session: Any, **options: Any) -> spark_ext.LakehouseReport:
    return spark_ext.remove_column_mapping(session, "db", **{"progress": None, **options})


def test_error_of_the_session_has_the_report(
    surveyed: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    @contextmanager
    def ended(spark: Session) -> Iterator[None]:
        yield
        raise ConnectionError("the server has ended")

    monkeypatch.setattr(calls, "copying", ended)

    with pytest.raises(ConnectionError) as raised:
        remove(surveyed)

    report: spark_ext.LakehouseReport = raised.value.report  # type: ignore[attr-defined]
    assert [each.outcome for each in report.tables] == ["DONE", "DONE"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signal_during_the_survey_ends_the_call_with_a_report(
    surveyed: Session, monkeypatch: pytest.MonkeyPatch, number: signal.Signals
) -> None:
    def surveyed_tables(spark: Session, where: Any, progress: Any, chosen: Any, each: Any) -> Any:
        os.kill(os.getpid(), number)
        progress(surveying(0, 2))
        raise AssertionError("the survey continues")

    monkeypatch.setattr(find, "surveyed_tables", surveyed_tables)
    handlers = [signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM)]

    with pytest.raises(LakehouseInterrupted) as raised:
        remove(surveyed)

    assert (raised.value.signal, raised.value.report.tables) == (number, ())
    assert isinstance(raised.value.__cause__, KeyboardInterrupt)
    assert surveyed.statements == []
    assert [signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM)] == handlers


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


def test_predicate_is_called_for_neither_views_nor_other_formats(
    surveyed: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows: list[tuple[SurveyedTable, str | None]]
    rows = [(A, "DELTA"), (SurveyedTable("v"), "VIEW"), (SurveyedTable("o"), "OTHER")]
    rows += [(SurveyedTable("u", error="E"), None), (SurveyedTable("s", error="E"), "SCHEMA")]
    monkeypatch.setattr(find, "surveyed_tables", lambda *_: rows)
    asked: list[str] = []

    def only(row: SurveyedTable) -> bool:
        asked.append(row.table)
        return True

    report = remove(surveyed, only=only)

    assert asked == [each.table for each in report.tables] == [A.table, "u", "s"]


def test_last_progress_of_a_survey_has_every_table(
    surveyed: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    def surveyed_tables(spark: Session, where: Any, progress: Any, chosen: Any, each: Any) -> Any:
        for done in range(3):
            progress(surveying(done, 2))
        return [(row, "DELTA") for row in spark.rows.values()]

    monkeypatch.setattr(find, "surveyed_tables", surveyed_tables)
    seen: list[LakehouseProgress] = []

    remove(surveyed, progress=seen.append, dry_run=True)

    assert [(each.phase, each.tables_done, each.finished) for each in seen] == [
        ("survey", 0, False),
        ("survey", 2, True),
    ]


def test_next_batch_of_a_survey_is_read_ahead_unless_the_call_has_ended(
    surveyed: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun: list[str] = []
    second, ended = Event(), Event()

    def read(batch: list[str]) -> list[SurveyedTable]:
        begun.extend(batch)
        if batch == ["1"]:
            assert second.wait(TIMEOUT)  # which begins meanwhile
        else:
            second.set()
            assert ended.wait(TIMEOUT)
        return []

    class Threads(ThreadPoolExecutor):
        def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
            super().shutdown(wait=False, cancel_futures=cancel_futures)
            ended.set()
            super().shutdown(wait)

    def surveyed_tables(spark: Session, where: Any, progress: Any, chosen: Any, each: Any) -> Any:
        rows = iter(each(read, [["1"], ["2"], ["3"], ["4"], ["5"]]))
        assert next(rows) == []
        os.kill(os.getpid(), signal.SIGTERM)
        progress(surveying(0, 5))

    monkeypatch.setattr(find, "ThreadPoolExecutor", Threads)
    monkeypatch.setattr(find, "surveyed_tables", surveyed_tables)

    with pytest.raises(LakehouseInterrupted):
        remove(surveyed)

    assert begun[:2] == ["1", "2"]
    assert "5" not in begun


def test_survey_reads_one_batch_at_a_time_when_parallel_is_1(
    surveyed: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    running: list[int] = []

    def read(batch: list[str]) -> list[SurveyedTable]:
        running.append(1)
        assert running == [1]
        running.pop()
        return []

    def surveyed_tables(spark: Session, where: Any, progress: Any, chosen: Any, each: Any) -> Any:
        assert list(each(read, [["1"], ["2"]])) == [[], []]
        return []

    monkeypatch.setattr(find, "surveyed_tables", surveyed_tables)

    assert remove(surveyed, parallel=1).tables == ()


def test_table_with_two_names_runs_under_the_first_one(surveyed: Session) -> None:
    surveyed.rows = {row.table: replace(row, location="file:/t") for row in (B, A)} | {
        "c.db.d": replace(A, table="c.db.d", location="file:/d")
    }

    report = remove(surveyed)

    assert [each.table for each in report.tables] == [B.table, "c.db.d"]


def test_no_thread_starts_when_pyspark_does_not_pin_threads(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("pyspark.util.inheritable_thread_target", lambda spark: spark)
    classic: Any = SimpleNamespace()

    with pytest.raises(RuntimeError, match="PYSPARK_PIN_THREAD"):
        threads.Workers(classic, print, 1)


def test_signal_after_the_survey_begins_no_table(surveyed: Session) -> None:
    def only(row: SurveyedTable) -> bool:
        if row is B:
            os.kill(os.getpid(), signal.SIGINT)
        return True

    with pytest.raises(LakehouseInterrupted) as raised:
        remove(surveyed, only=only)

    report = raised.value.report
    assert [(each.outcome, each.reasons) for each in report.tables] == [
        ("NOT_BEGUN", ("INTERRUPTED",))
    ] * 2
    assert surveyed.statements == []


# Lookups in the catalog.


@pytest.mark.parametrize("zone", ["Europe/Berlin", "UTC"])
def test_time_of_the_next_call_is_right_across_the_end_of_summer_time(
    monkeypatch: pytest.MonkeyPatch, zone: str
) -> None:
    monkeypatch.setenv("TZ", zone)
    time.tzset()
    at = datetime(2026, 10, 24, 12, 0, 30, tzinfo=timezone.utc)
    local = datetime.fromtimestamp(at.timestamp())
    property_ = "delta.requireCheckpointProtectionBeforeVersion"
    shown = SimpleNamespace(collect=lambda: [{"key": property_, "value": "7"}])
    monkeypatch.setattr(sql, "run", lambda *_: shown)
    monkeypatch.setattr(sql, "commits_since", lambda *_: [{"version": 7, "timestamp": local}])
    monkeypatch.setattr(sql, "_duration", lambda *_: timedelta(days=1))
    session: Any = None
    try:
        end = sql.end_of_retention(session, "c.db.t")
    finally:
        monkeypatch.undo()
        time.tzset()

    assert end == datetime(2026, 10, 25, 12, 1, tzinfo=timezone.utc)
