# SPDX-License-Identifier: Apache-2.0
"""Tests the progress of a statement, and callbacks that raise, without a Spark context."""

from __future__ import annotations

from collections.abc import Callable
from threading import Event, Thread
from types import SimpleNamespace
from typing import Any

import pytest

from spark_ext.errors import ProgressFailedError
from spark_ext.tables import progress
from spark_ext.tables.progress import Progress, reported
from tests.unit.connect import ConnectSession


class Connected(ConnectSession):
    """Contains the progress handlers of a Spark Connect session."""

    def __init__(self) -> None:
        self.handlers: list[Any] = []

    def registerProgressHandler(self, handler: Any) -> None:
        self.handlers.append(handler)

    def removeProgressHandler(self, handler: Any) -> None:
        self.handlers.remove(handler)

    def send(self, *stages: tuple[int, int]) -> None:
        """Calls the handlers as the client does, in the thread that runs a statement."""
        infos = [SimpleNamespace(num_completed_tasks=done, num_tasks=all) for done, all in stages]
        for handler in self.handlers:
            handler(stages=infos, inflight_tasks=1, operation_id="o", done=not infos)


CONNECTED: Any = Connected()


def raising_when(wanted: Callable[[list[Progress]], bool]) -> Callable[[Progress], None]:
    """Returns a callback that raises KeyError when the reports so far match."""
    seen: list[Progress] = []

    def callback(report: Progress) -> None:
        seen.append(report)
        if wanted(seen):
            raise KeyError("in the callback")

    return callback


class TestSparkConnect:
    def test_tasks_are_the_latest_of_the_server(self) -> None:
        session: Any = Connected()
        calls: list[Progress] = []

        with reported(session, "S", calls.append):
            session.send((2, 2), (0, 50))
            session.send((2, 2), (7, 50))
            session.send()

        assert [(report.tasks_done, report.tasks) for report in calls] == [(0, 0), (9, 52)]

    def test_tasks_of_another_thread_are_not_counted(self) -> None:
        session: Any = Connected()
        calls: list[Progress] = []

        with reported(session, "S", calls.append):
            session.send((1, 2))
            other = Thread(target=session.send, args=[(3, 9)])
            other.start()
            other.join()

        assert (calls[-1].tasks_done, calls[-1].tasks) == (1, 2)

    def test_handlers_of_the_user_are_kept(self) -> None:
        session: Any = Connected()
        session.registerProgressHandler(print)

        with pytest.raises(KeyError), reported(session, "S", lambda _: None):
            raise KeyError("of the statement")

        assert session.handlers == [print]


class TestCallback:
    def test_callback_that_raises_first_prevents_the_statement(self) -> None:
        ran = False

        with pytest.raises(KeyError), reported(CONNECTED, "S", raising_when(lambda _: True)):
            ran = True

        assert not ran

    def test_callback_that_raises_last_raises_after_the_statement(self) -> None:
        at_the_end = raising_when(lambda seen: seen[-1].finished)

        with pytest.raises(ProgressFailedError) as failed, reported(CONNECTED, "S", at_the_end):
            pass

        assert failed.value.params == {"statement": "S", "error": "KeyError('in the callback')"}
        assert isinstance(failed.value.__cause__, KeyError)

    def test_callback_that_raises_keeps_the_error_of_the_statement(self) -> None:
        at_the_end = raising_when(lambda seen: seen[-1].finished)
        error = ZeroDivisionError("of the statement")

        with pytest.raises(ZeroDivisionError) as failed, reported(CONNECTED, "S", at_the_end):
            raise error

        assert failed.value is error
        assert isinstance(error.__cause__, KeyError)

    def test_callback_that_raises_during_the_statement_is_not_called_again(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(progress, "INTERVAL_SECONDS", 0.001)
        called = Event()
        calls: list[Progress] = []

        def callback(report: Progress) -> None:
            calls.append(report)
            if len(calls) > 1:
                called.set()
                raise KeyError("in the callback")

        with pytest.raises(ProgressFailedError), reported(CONNECTED, "S", callback):
            assert called.wait(timeout=20)

        assert [report.finished for report in calls] == [False, False]
