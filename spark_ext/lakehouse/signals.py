# SPDX-License-Identifier: Apache-2.0
"""Receives SIGINT and SIGTERM during a call, and ends the call with its report."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from threading import current_thread, main_thread
from types import FrameType
from typing import Any, TypeVar

_Report = TypeVar("_Report")

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Interrupted(KeyboardInterrupt):
    """SIGINT or SIGTERM ended a call over many tables.

    No table and no statement began after the signal, and running statements were cancelled.

    Attributes:
        report: The report, including tables and statements before the signal.
        signal: The signal; a command exits with 128 plus the number of the signal.
    """

    report: Any

    def __init__(self, report: object, number: signal.Signals) -> None:
        super().__init__(f"{number.name} ended the call. The attribute `report` has its report.")
        self.report = report
        self.signal = number


class Interrupts:
    """The first signal that arrived.

    Attributes:
        received: The signal; None before.
    """

    def __init__(self) -> None:
        self.received: signal.Signals | None = None
        self._is_over = False

    def __call__(self, number: int, frame: FrameType | None) -> None:
        """Notes a signal. The second one raises at once, unless the body has ended."""
        if self.received is not None and not self._is_over:
            raise KeyboardInterrupt
        self.received = signal.Signals(number)

    @property
    def name(self) -> str | None:
        """Returns the name of the signal; None before."""
        return None if self.received is None else self.received.name

    def check(self) -> None:
        """Raises KeyboardInterrupt if a signal has arrived."""
        if self.received is not None:
            raise KeyboardInterrupt

    def end(
        self, report: _Report, failure: BaseException | None, interrupted: type[Interrupted]
    ) -> _Report:
        """Returns the report of a call, or raises the error that ended the call.

        Args:
            report: The report.
            failure: The error that ended the call; None if none did.
            interrupted: The error for a signal.
        """
        if self.received is not None:
            raise interrupted(report, self.received) from failure
        if failure is not None:
            failure.report = report  # type: ignore[attr-defined]
            raise failure
        return report


@contextmanager
def receiving_signals() -> Iterator[Interrupts]:
    """Receives the signals in the body, and restores the former handlers afterwards.

    PySpark's handler of SIGINT would cancel all jobs of the application. Python has handlers in the
    main thread only: in another thread the body receives no signal.
    """
    interrupts = Interrupts()
    if current_thread() is not main_thread():
        yield interrupts
        return
    before = {number: signal.getsignal(number) for number in _SIGNALS}
    for number in _SIGNALS:
        signal.signal(number, interrupts)
    outer = before[signal.SIGINT]
    if isinstance(outer, Interrupts) and interrupts.received is None:
        interrupts.received = outer.received  # it arrived before this body
    try:
        yield interrupts
    finally:
        interrupts._is_over = True
        for number, handler in before.items():
            # None means a handler of C code, which Python cannot set again.
            signal.signal(number, signal.SIG_DFL if handler is None else handler)
