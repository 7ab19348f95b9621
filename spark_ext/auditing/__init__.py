# SPDX-License-Identifier: Apache-2.0
"""The audit: finds what is wrong in a table's log and data files.

The checks are pure functions of parsed actions. They share the replay of the log with the history.
They call no rule that writes tables, and share only `spark_ext.model` with the rules, so that the
audit sees a defect of a rule.
"""

from __future__ import annotations

from spark_ext.auditing import columns, files, log_files  # noqa: F401
from spark_ext.auditing.check import DECLARED, Finding
from spark_ext.log.actions import TableLog
from spark_ext.log.history import states

__all__ = ["CHECKS", "Finding", "audit"]

# Every module with checks is imported above. The worst is first, as in the list of findings.
CHECKS = tuple(sorted(DECLARED, key=lambda check: check.order))


def audit(log: TableLog) -> tuple[Finding, ...]:
    """Returns the findings of every check, worst first; a healthy table has none."""
    replayed = states(log)
    return tuple(
        finding
        for check in CHECKS
        if replayed or not check.needs_start
        for finding in check.findings(log, replayed)
    )
