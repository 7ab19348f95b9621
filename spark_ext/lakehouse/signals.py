# SPDX-License-Identifier: Apache-2.0
"""Receives SIGINT and SIGTERM during a call."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from threading import current_thread, main_thread
from types import FrameType

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Interrupts:
    """The first signal that arrived.

    Attributes:
        received: The signal; None before.
    """

    def __init__(self) -> None:
        self.received: signal.Signals | None = None

    def __call__(self, number: int, frame: FrameType | None) -> None:
        """Notes a signal. The second one raises at once."""
        if self.received is not None:
            raise KeyboardInterrupt
        self.received = signal.Signals(number)

    def check(self) -> None:
        """Raises KeyboardInterrupt if a signal has arrived."""
        if self.received is not None:
            raise KeyboardInterrupt


@contextmanager
def interrupts() -> Iterator[Interrupts]:
    """Receives the signals in the body, and restores the former handlers afterwards.

    PySpark's handler of SIGINT would cancel all jobs of the application. Python has handlers in the
    main thread only: in another thread the body receives no signal.
    """
    received = Interrupts()
    if current_thread() is not main_thread():
        yield received
        return
    before = {number: signal.getsignal(number) for number in _SIGNALS}
    for number in _SIGNALS:
        signal.signal(number, received)
    try:
        yield received
    finally:
        for number, handler in before.items():
            # None stands for a handler of C code, which Python cannot set again.
            signal.signal(number, signal.SIG_DFL if handler is None else handler)
