# SPDX-License-Identifier: Apache-2.0
"""Audits the tables that a test made, from their files alone: a healthy one has no finding."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from spark_ext.auditing import Finding, audit
from spark_ext.wire.logs import parse_log
from tests.support import log_request

# Findings of a sound table after renames and drops.
HARMLESS = {"misleading_name"}


def findings(table: Path) -> tuple[Finding, ...]:
    """Returns the findings of the audit in a table on the local disk."""
    return audit(parse_log(log_request.request(table)))


class Auditor:
    """Remembers what it saw: a table that stayed as it was is not read again."""

    def __init__(self) -> None:
        self._seen: dict[Path, int] = {}

    def require(self, tables: Iterable[Path], *, expected: set[str]) -> None:
        """Fails where a table has a finding of another check than these."""
        lines = [
            f"{table}: {finding}"
            for table in sorted(tables)
            if self._is_new(table)
            for finding in findings(table)
            if finding.check not in expected | HARMLESS
        ]
        if lines:
            pytest.fail("The audit has findings:\n" + "\n".join(lines), pytrace=False)

    def _is_new(self, table: Path) -> bool:
        seen = (table / "_delta_log").stat().st_mtime_ns
        is_new = self._seen.get(table) != seen
        self._seen[table] = seen
        return is_new


def tables_below(folder: Path) -> Iterator[Path]:
    """Every folder with a log that has a version in it; of what is inside a table, none."""
    for path, folders, _ in os.walk(folder):
        if "_delta_log" in folders:
            folders.clear()
            if any((Path(path) / "_delta_log").glob("[0-9]*")):
                yield Path(path)
