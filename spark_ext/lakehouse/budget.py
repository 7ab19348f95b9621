# SPDX-License-Identifier: Apache-2.0
"""Decides whether a table may begin: the limits of bytes, time and errors."""

from __future__ import annotations

from dataclasses import dataclass, field

from spark_ext.lakehouse.plan import PlannedTable

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
    """

    max_bytes: int | None = None
    max_seconds: float | None = None
    max_errors: int | None = None
    begun_bytes: int = 0
    errors: int = 0
    _seconds: dict[bool, float] = field(default_factory=lambda: {True: 0.0, False: 0.0})
    _amounts: dict[bool, int] = field(default_factory=lambda: {True: 0, False: 0})

    def refusal(self, planned: PlannedTable, seconds: float) -> str | None:
        """Returns why a table may not begin; None if the table fits.

        Args:
            planned: The table.
            seconds: The seconds since the start of the call.
        """
        if self.max_errors is not None and self.errors >= self.max_errors:
            return ERRORS
        if self.is_over(seconds):
            return TIME
        needed = self.expected_seconds(planned)
        if self.max_seconds is not None and needed and seconds + needed > self.max_seconds:
            return TIME
        if self.max_bytes is not None:
            # A table without files to copy fits at any time.
            after = self.begun_bytes + planned.size_in_bytes
            if planned.size_in_bytes and after > self.max_bytes:
                return BYTES
        return None

    def is_over(self, seconds: float) -> bool:
        """Returns whether the time is over."""
        return self.max_seconds is not None and seconds >= self.max_seconds

    def begin(self, planned: PlannedTable) -> None:
        """Counts a table that begins."""
        self.begun_bytes += planned.size_in_bytes

    def end(
        self,
        planned: PlannedTable,
        seconds: float | None,
        changed_bytes: int | None,
        *,
        failed: bool,
    ) -> None:
        """Counts a table that ended, and frees the bytes that it did not change.

        Args:
            planned: The table.
            seconds: The seconds that the table took; None if no statement ran.
            changed_bytes: The bytes that were copied or rewritten; None if not known.
            failed: Whether an error ended the table. Its seconds do not count for the rate.
        """
        if changed_bytes is not None:
            self.begun_bytes -= planned.size_in_bytes - changed_bytes
        if failed:
            self.errors += 1
        elif seconds is not None:
            copies = planned.size_in_bytes > 0
            self._seconds[copies] += seconds
            self._amounts[copies] += planned.size_in_bytes if copies else 1

    def expected_seconds(self, planned: PlannedTable) -> float | None:
        """Returns the seconds that a table needs at the measured rate; None before the first."""
        copies = planned.size_in_bytes > 0
        if not self._amounts[copies]:
            return None
        amount = planned.size_in_bytes if copies else 1
        return amount * self._seconds[copies] / self._amounts[copies]
