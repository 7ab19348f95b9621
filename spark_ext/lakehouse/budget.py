# SPDX-License-Identifier: Apache-2.0
"""Decides whether a table may begin: the limits of bytes, time and errors."""

from __future__ import annotations

from dataclasses import dataclass

from spark_ext.api.goals import Plan

# Why a table did not begin.
BYTES, TIME, ERRORS = "BUDGET_OF_BYTES", "BUDGET_OF_TIME", "BUDGET_OF_ERRORS"
INTERRUPTED, PROGRESS_FAILED, CALL_FAILED = "INTERRUPTED", "PROGRESS_FAILED", "CALL_FAILED"


@dataclass
class Budget:
    """The limits of a call, and the bytes and failures so far.

    Args:
        max_bytes: The limit of planned bytes; None for no limit.
        max_seconds: The limit of time; None for no limit.
        max_errors: The number of failures after which no table begins; None for no limit.
        begun_bytes: The planned bytes of the tables that began.
        errors: The number of tables that failed.
    """

    max_bytes: int | None = None
    max_seconds: float | None = None
    max_errors: int | None = None
    begun_bytes: int = 0
    errors: int = 0

    def refusal(self, plan: Plan, seconds: float) -> str | None:
        """Returns why a table may not begin; None if the table fits.

        Args:
            plan: What the table would run.
            seconds: The seconds since the start of the call.
        """
        if self.max_errors is not None and self.errors >= self.max_errors:
            return ERRORS
        if self.is_over(seconds):
            return TIME
        size = plan.files.size_in_bytes
        # A table without files to copy fits at any time.
        if self.max_bytes is not None and size and self.begun_bytes + size > self.max_bytes:
            return BYTES
        return None

    def is_over(self, seconds: float) -> bool:
        """Returns whether the time is over."""
        return self.max_seconds is not None and seconds >= self.max_seconds
