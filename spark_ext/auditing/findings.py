# SPDX-License-Identifier: Apache-2.0
"""The findings of an audit, as users read them."""

from __future__ import annotations

from dataclasses import dataclass

# The severities, which `Finding` explains.
DAMAGE, RISK = "damage", "risk"


@dataclass(frozen=True)
class Finding:
    """A problem that a check found.

    Args:
        version: The version that caused the problem, or the first version with the problem; None
            if that version is unknown. Versions count from 0.
        check: The name of the check, one of `spark_ext.auditing.CHECKS`.
        column: The path of the column as SQL reads it; None if the problem is of no column.
        file: A data file as its `add` action names it, the file of a deletion vector, or a file of
            `_delta_log`; None if the problem is of no file.
        message: The problem and its effect on users of the table.
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
