# SPDX-License-Identifier: Apache-2.0
"""Tests the next call in reports and certificates: its words, its time and its text."""

from __future__ import annotations

import argparse
import json
import shlex
from contextlib import nullcontext
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spark_ext import LakehouseReport, TableResult
from spark_ext.__main__ import COMMANDS, main
from spark_ext.cli import many_tables
from spark_ext.lakehouse import calls
from spark_ext.lakehouse.goals import Alignment, Goal, Removal, Tracking
from spark_ext.lakehouse.next_call import Call, NextCall
from spark_ext.lakehouse.options import Options

LATER = datetime(2026, 11, 28, 7, 1, tzinfo=timezone(timedelta(hours=2)))
CALL = Call(function="track", command="track", where=("sales",), options={"max_bytes": 500})


# Texts.


def parsed(line: str) -> argparse.Namespace:
    """Returns the arguments of a command line."""
    program, *words = shlex.split(line)
    assert program == "spark-ext"
    parser = argparse.ArgumentParser()
    commands = parser.add_subparsers()
    for command in COMMANDS:
        command.add_to(commands)
    return parser.parse_args(words)


def called(text: str) -> tuple[str, tuple[Any, ...], dict[str, Any]]:
    """Returns the name and the arguments of a call in Python."""

    class Names:
        def __getattr__(self, name: str) -> Any:
            return lambda *where, **options: (name, where[1:], options)

    found: tuple[str, tuple[Any, ...], dict[str, Any]] = eval(
        text, {"spark_ext": Names(), "spark": None}
    )
    return found


PATTERNS = st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\0"))).map(tuple)
OPTIONS = st.fixed_dictionaries(
    {},
    optional={
        "include": PATTERNS,
        "exclude": PATTERNS,
        "parallel": st.integers(1, 99),
        "max_bytes": st.integers(0, 10**15),
        "max_time": st.one_of(st.integers(0, 10**7), st.floats(0, 10**7)),
        "on_error": st.one_of(st.just("continue"), st.integers(1, 9)),
    },
)
PLACES = st.lists(st.sampled_from(["sales", "`a b`.c", "/data/it's", "-x/t"]), min_size=1)
GOALS: list[Goal] = [
    Removal("unmapped"),
    Removal("writers"),
    Alignment(),
    Alignment(to_name_mode=True),
    Tracking(wanted=True),
    Tracking(wanted=False),
]


@given(st.sampled_from(GOALS), PLACES, OPTIONS)
def test_command_and_python_have_the_arguments_of_the_call(
    goal: Goal, where: list[str], options: dict[str, Any]
) -> None:
    checked = Options(**options)
    call = replace(goal.call, where=tuple(where)).with_options(**checked.non_default)

    command, python = call.texts()

    arguments = vars(parsed(command))
    assert arguments["where"] == [f"./{each}" if each[0] == "-" else each for each in where]
    again = {name: arguments[name] for name in options if name in arguments}
    again = {**vars(Options(**again))}
    seconds, expected = again.pop("max_time"), {**vars(checked)}
    assert (seconds is None) == (expected["max_time"] is None)
    assert abs((seconds or 0) - (expected.pop("max_time") or 0)) < 1e-5
    assert again == expected
    if isinstance(goal, Removal):
        assert arguments["until"] == goal.until
    if isinstance(goal, Alignment):
        assert arguments["to_name_mode"] == goal.to_name_mode
    name, places, given_ = called(python)
    assert (name, list(places)) == (goal.call.function, where)
    assert given_ == {**goal.call.options, **checked.non_default}


def test_call_that_a_command_cannot_express_has_its_python_only() -> None:
    of_schema = replace(CALL, where=())
    by_function = CALL.with_options(only=lambda row: True)

    assert of_schema.texts() == ("spark_ext.track(spark, max_bytes=500)",)
    assert by_function.texts() == ("spark_ext.track(spark, 'sales', max_bytes=500, only=...)",)


def test_call_of_a_command_that_writes_files_has_the_files() -> None:
    report = LakehouseReport("track", ("sales",), (result("FAILED"),), call=CALL)

    (text,) = next_of(report.writing([Path("a b.csv"), Path("c.html")])).calls

    assert text == "spark-ext track sales --max-bytes 500B --report 'a b.csv' --report c.html"


def test_call_after_a_dry_run_does_not_replace_the_plan() -> None:
    tables = (result("PLANNED"),)
    report = LakehouseReport("track", ("sales",), tables, dry_run=True, call=CALL)

    command, _ = next_of(report.writing([Path("plan.json")])).calls

    assert command == "spark-ext track sales --max-bytes 500B"


# Calls over many tables.


def result(outcome: str, **facts: Any) -> TableResult:
    return TableResult(table=f"sales.{outcome}", outcome=outcome, **facts)


def next_of(report: LakehouseReport) -> NextCall:
    found = report.next_call
    assert found is not None
    return found


BYTES: dict[str, Any] = {"reasons": ("BUDGET_OF_BYTES",)}
AGAIN = "the same call again"
REPAIR = "unblock or repair the tables, and then the same call again"
MORE = "the same call with more bytes"
FROM = "from 2026-11-28 07:01:00+02:00 on"
SEARCH = "check the catalog and the names: no table was found. Then the same call again"
WAITING = result("WAITING", come_back=LATER)
BLOCKED = result("BLOCKED")


@pytest.mark.parametrize(
    ("tables", "facts", "words", "earliest", "max_bytes"),
    [
        ([result("PLANNED"), BLOCKED], {"dry_run": True}, "run the plan", None, 500),
        ([BLOCKED], {"dry_run": True}, REPAIR, None, 500),
        ([result("NOT_BEGUN")], {}, AGAIN, None, 500),
        ([result("CANCELLED")], {}, AGAIN, None, 500),
        ([result("FAILED"), BLOCKED], {}, AGAIN, None, 500),
        ([result("FAILED", error="X", reasons=("UNKNOWN",))], {}, AGAIN, None, 500),
        ([result("FAILED", error="USAGE_TRACKING_X")], {}, REPAIR, None, 500),
        ([result("GONE")], {}, AGAIN, None, 500),
        ([], {"interrupted": "SIGINT"}, AGAIN, None, 500),
        ([result("DONE"), WAITING, BLOCKED], {}, f"{AGAIN}, {FROM}", LATER, 500),
        ([result("WAITING")], {}, AGAIN, None, 500),
        ([WAITING, result("FAILED")], {}, f"{AGAIN}, and once more {FROM}", None, 500),
        ([BLOCKED, result("UNREADABLE")], {}, REPAIR, None, 500),
        ([], {}, SEARCH, None, 500),
        # The next call has more bytes only if each table alone exceeds the budget.
        ([result("NOT_BEGUN", size_in_bytes=500, **BYTES)], {}, AGAIN, None, 500),
        (
            [result("NOT_BEGUN", size_in_bytes=size, **BYTES) for size in (900, 501)],
            {},
            *(MORE, None, 900),
        ),
        (
            [result("NOT_BEGUN", size_in_bytes=size, **BYTES) for size in (900, 500)],
            {},
            *(AGAIN, None, 500),
        ),
    ],
)
def test_next_call_of_a_report_continues_it(
    tables: list[TableResult],
    facts: dict[str, Any],
    words: str,
    earliest: datetime | None,
    max_bytes: int,
) -> None:
    report = LakehouseReport("track", ("sales",), tuple(tables), call=CALL, **facts)

    found = next_of(report)

    command = f"spark-ext track sales --max-bytes {max_bytes}B"
    assert (found.words, found.earliest, found.calls[0]) == (words, earliest, command)
    text = f"Next, {words}:\n  {command}\n  spark_ext.track(spark, 'sales', max_bytes={max_bytes})"
    assert repr(report).endswith(text)
    assert command in report.html()
    sums = next(report.as_objects())
    assert sums["nextCall"]["calls"] == list(found.calls)
    assert (sums["nextCall"]["earliest"] is None) == (earliest is None)


def test_complete_report_has_no_next_call() -> None:
    tables = (result("DONE"), result("ALREADY_DONE"))
    report = LakehouseReport("track", ("sales",), tables, call=CALL)

    assert report.next_call is None
    assert "Next" not in repr(report)
    assert next(report.as_objects())["nextCall"] is None


# Commands.


@pytest.fixture
def no_session(monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands start no session."""
    monkeypatch.setattr(many_tables, "own_session", lambda *_: nullcontext())


@pytest.mark.usefixtures("no_session")
def test_command_prints_itself_as_the_next_call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "out.json"

    def ended(spark: Any, goal: Goal, *where: str, **options: Any) -> LakehouseReport:
        given = Options(**options).non_default
        call = replace(goal.call, where=where).with_options(**given)
        return LakehouseReport(goal.words, where, (result("FAILED"),), call=call)

    monkeypatch.setattr(
        calls,
        "remove_column_mapping",
        lambda spark, *where, until, **options: ended(spark, Removal(until), *where, **options),
    )
    line = f"remove sales --until readers --exclude 'tmp_*' --max-time 6h --report {file}"

    assert main(shlex.split(line)) == 1

    assert capsys.readouterr().out.endswith(f"Next, {AGAIN}:\n  spark-ext {line}\n")
    assert json.loads(file.read_text())["nextCall"]["calls"] == [f"spark-ext {line}"]
