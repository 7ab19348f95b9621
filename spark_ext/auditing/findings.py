# SPDX-License-Identifier: Apache-2.0
"""What a check found."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final

from spark_ext.log.actions import TableLog
from spark_ext.log.replay import State

# The remedy for files that are missing or broken.
BRING_BACK: Final = (
    "Bring the files back from a backup or the storage's own versions. Where there is none, RESTORE"
    " the table to a version that did not need them."
)
# How bad a finding is. Damage: by the protocol or the RFC the table is not as it must be. Risk:
# it is, and readers that do not follow the protocol may be misled.
DAMAGE, RISK = "damage", "risk"


@dataclass(frozen=True)
class Finding:
    """What a check found.

    Args:
        version: The version in which it came, or that it is about; None where that is not known.
        check: The name of the check, one of `spark_ext.auditing.CHECKS`.
        column: The column's path as SQL wants it; None where it is about no column.
        file: A data file as its `add` action has it, the file of a deletion vector, or one in
            `_delta_log`.
        message: What is wrong, and what it means for who uses the table.
        remedy: What to do.
        severity: `damage` if the table is not as the protocol or the RFC demand; `risk` if it is,
            and readers that do not follow the protocol may be misled.
    """

    version: int | None
    check: str
    column: str | None
    file: str | None
    message: str
    remedy: str
    severity: str = DAMAGE


# The table's log, and its replay: at least one state, oldest first.
Check = Callable[[TableLog, tuple[State, ...]], Iterable[Finding]]
