# SPDX-License-Identifier: Apache-2.0
"""Waits for other threads and processes."""

from __future__ import annotations

import time
from collections.abc import Callable

PATIENCE = 120.0  # seconds, because the machine may be busy


def wait_until(is_true: Callable[[], bool], what: str, patience: float = PATIENCE) -> None:
    deadline = time.monotonic() + patience
    while not is_true():
        assert time.monotonic() < deadline, f"not in {patience} s: {what}"
        time.sleep(0.02)
