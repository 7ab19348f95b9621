# SPDX-License-Identifier: Apache-2.0
"""Tests what a report says of the next call: its words, and its time."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import Any

import pytest

from spark_ext import LakehouseReport, TableResult

LATER = datetime(2026, 11, 28, 7, 1, tzinfo=timezone(timedelta(hours=2)))


def result(outcome: str, **facts: Any) -> TableResult:
    return TableResult(table=f"sales.{outcome}", outcome=outcome, **facts)


BYTES: dict[str, Any] = {"reasons": ("BUDGET_OF_BYTES",)}
AGAIN = "the same call again"
RUN = "the same call without the dry run"
REPAIR = "unblock or repair the tables, and then the same call again"
MORE = "the same call with a limit of at least 501 bytes"
FROM = "from 2026-11-28 07:01:00+02:00 on"
SEARCH = "check the catalog and the names: no table was found. Then the same call again"
WAITING = result("WAITING", come_back=LATER)
BLOCKED = result("BLOCKED")
TOO_LARGE = [result("NOT_BEGUN", size_in_bytes=size, **BYTES) for size in (900, 501)]


@pytest.mark.parametrize(
    ("tables", "facts", "words"),
    [
        ([result("PLANNED"), BLOCKED], {"dry_run": True}, RUN),
        ([BLOCKED], {"dry_run": True}, REPAIR),
        ([result("NOT_BEGUN")], {}, AGAIN),
        ([result("CANCELLED")], {}, AGAIN),
        ([result("FAILED"), BLOCKED], {}, AGAIN),
        ([result("FAILED", error="X", reasons=("UNKNOWN",))], {}, AGAIN),
        ([result("FAILED", error="USAGE_TRACKING_X")], {}, REPAIR),
        ([result("GONE")], {}, AGAIN),
        ([], {"interrupted": "SIGINT"}, AGAIN),
        ([result("DONE"), WAITING, BLOCKED], {}, f"{AGAIN}, {FROM}"),
        ([result("WAITING")], {}, AGAIN),
        ([WAITING, result("FAILED")], {}, f"{AGAIN}, and once more {FROM}"),
        ([BLOCKED, result("UNREADABLE")], {}, REPAIR),
        ([], {}, SEARCH),
        # The next call needs more bytes only if no table fitted into this one.
        (TOO_LARGE, {}, MORE),
        ([*TOO_LARGE, result("DONE")], {}, AGAIN),
    ],
)
def test_next_call_of_a_report_continues_it(
    tables: list[TableResult], facts: dict[str, Any], words: str
) -> None:
    report = LakehouseReport("track", ("sales",), tuple(tables), **facts)

    assert report.next_call == words
    assert repr(report).endswith(f"Next: {words}.")
    assert f"Next: {words}." in report.html()
    assert next(report.as_objects())["nextCall"] == words


def test_complete_report_has_no_next_call() -> None:
    report = LakehouseReport("track", ("sales",), (result("DONE"), result("ALREADY_DONE")))

    assert report.next_call is None
    assert "Next" not in repr(report)
    assert next(report.as_objects())["nextCall"] is None
