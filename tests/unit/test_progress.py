# SPDX-License-Identifier: Apache-2.0
"""What becomes of a statement whose progress callback raises; without a Spark context."""

from __future__ import annotations

from collections.abc import Callable
from threading import Event, Thread
from types import SimpleNamespace
from typing import Any

import pytest

from spark_ext.api import progress
from spark_ext.api.progress import Progress, reported
from spark_ext.errors import ProgressFailedError


class Connected:
    """Of a Spark Connect session the part that progress is told by."""

    def __init__(self) -> None:
        self.handlers: list[Any] = []

    def registerProgressHandler(self, handler: Any) -> None:
        self.handlers.append(handler)

    def removeProgressHandler(self, handler: Any) -> None:
        self.handlers.remove(handler)

    def tell(self, *stages: tuple[int, int]) -> None:
        """As the client does in the thread that runs a statement."""
        told = [SimpleNamespace(num_completed_tasks=done, num_tasks=all) for done, all in stages]
        for handler in self.handlers:
            handler(stages=told, inflight_tasks=1, operation_id="o", done=not told)


CONNECTED: Any = Connected()


def raising_when(wanted: Callable[[list[Progress]], bool]) -> Callable[[Progress], None]:
    """A callback that raises KeyError once what it has seen so far is as wanted, and ever after."""
    seen: list[Progress] = []

    def callback(told: Progress) -> None:
        seen.append(told)
        if wanted(seen):
            raise KeyError("in the callback")

    return callback


class TestOnSparkConnect:
    def test_the_tasks_are_those_that_the_server_told_last(self) -> None:
        session: Any = Connected()
        calls: list[Progress] = []

        with reported(session, "S", calls.append):
            session.tell((2, 2), (0, 50))
            session.tell((2, 2), (7, 50))
            session.tell()

        assert [(told.tasks_done, told.tasks) for told in calls] == [(0, 0), (9, 52)]

    def test_the_tasks_of_another_thread_are_not_counted(self) -> None:
        session: Any = Connected()
        calls: list[Progress] = []

        with reported(session, "S", calls.append):
            session.tell((1, 2))
            other = Thread(target=session.tell, args=[(3, 9)])
            other.start()
            other.join()

        assert (calls[-1].tasks_done, calls[-1].tasks) == (1, 2)

    def test_handlers_of_the_user_stay(self) -> None:
        session: Any = Connected()
        session.registerProgressHandler(print)

        with pytest.raises(KeyError), reported(session, "S", lambda _: None):
            raise KeyError("of the statement")

        assert session.handlers == [print]


class TestACallbackThatRaises:
    def test_before_the_statement_keeps_it_from_running(self) -> None:
        ran = False

        with pytest.raises(KeyError), reported(CONNECTED, "S", raising_when(lambda _: True)):
            ran = True

        assert not ran

    def test_after_the_statement_says_that_it_stands(self) -> None:
        at_the_end = raising_when(lambda seen: seen[-1].finished)

        with pytest.raises(ProgressFailedError) as failed, reported(CONNECTED, "S", at_the_end):
            pass

        assert failed.value.params == {"statement": "S", "error": "KeyError('in the callback')"}
        assert isinstance(failed.value.__cause__, KeyError)

    def test_leaves_the_error_of_the_statement_as_it_is(self) -> None:
        at_the_end = raising_when(lambda seen: seen[-1].finished)
        error = ZeroDivisionError("of the statement")

        with pytest.raises(ZeroDivisionError) as failed, reported(CONNECTED, "S", at_the_end):
            raise error

        assert failed.value is error
        assert isinstance(error.__cause__, KeyError)

    def test_while_the_statement_runs_is_called_no_more(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Its error comes after the statement, and is no stray traceback of a thread."""
        monkeypatch.setattr(progress, "INTERVAL_SECONDS", 0.001)
        called = Event()
        calls: list[Progress] = []

        def callback(told: Progress) -> None:
            calls.append(told)
            if len(calls) > 1:
                called.set()
                raise KeyError("in the callback")

        with pytest.raises(ProgressFailedError), reported(CONNECTED, "S", callback):
            assert called.wait(timeout=20)

        assert [told.finished for told in calls] == [False, False]
