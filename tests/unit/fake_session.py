# SPDX-License-Identifier: Apache-2.0
"""Provides a session without a JVM, whose tables are rows of a survey."""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from threading import Event
from types import SimpleNamespace
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import Row

from spark_ext import SurveyedTable
from spark_ext.model.rows import as_row
from tests.unit.connect import ConnectSession

TIMEOUT = 30
A, B, C = (
    SurveyedTable(
        *(f"c.db.{name}", "name", True, False, 2, 0, 3, 300, "METADATA", "METADATA", "HISTORY"),
        version=5,
    )
    for name in "abc"
)
CANCELLATION = PySparkException("cancelled", errorClass="OPERATION_CANCELED", messageParameters={})


def nothing(session: FakeSession) -> None: ...


@dataclass
class FakeSession(ConnectSession):
    """Contains the parts of a Spark Connect session that calls over many tables use.

    Args:
        rows: The tables of the schema, by name, as a survey reads them.
        does: Called before each statement. The statement succeeds if the call does not raise.
        reads: Called before each reading of tables.
        listed: The answers of `column_mapping_tables` by schema; None for the rows.
        history: The answer of `column_mapping_commits`.
    """

    rows: dict[str, SurveyedTable] = field(default_factory=lambda: {r.table: r for r in (A, B)})
    does: Callable[[FakeSession], object] = nothing
    reads: Callable[[FakeSession], object] = nothing
    listed: dict[str, list[Row]] | None = None
    history: list[Row] = field(default_factory=list)
    statements: list[str] = field(default_factory=list)
    asked: list[list[str]] = field(default_factory=list)
    num_histories: int = 0
    settings: dict[str, str] = field(default_factory=dict)
    cancelled: Event = field(default_factory=Event)

    @property
    def conf(self) -> Any:
        return SimpleNamespace(
            get=lambda key, default="false": self.settings.get(key, default),
            set=self.settings.__setitem__,
            unset=self.settings.__delitem__,
        )

    def sql(self, text: str) -> Any:
        rows = self._alter(text) if text.startswith("ALTER") else self._answer(text)
        return SimpleNamespace(collect=lambda: rows)

    def _alter(self, text: str) -> list[Row]:
        self.statements.append(text)
        self.does(self)
        row = self.rows[text.split()[2]]
        changed: dict[str, Any] = {"version": (row.version or 0) + 1}
        if "'delta.columnMapping.mode' = 'none'" in text:
            changed |= {"mode": "none", "unmapped": "NOTHING"}
        elif "DROP FEATURE columnMapping" in text:
            changed |= {"readers": "NOTHING"}
        self.rows[row.table] = replace(row, **changed)
        return []

    def _answer(self, text: str) -> list[Row]:
        names = [bytes.fromhex(name).decode() for name in re.findall("X'(.*?)'", text)]
        found = re.match(r"SELECT \* FROM column_mapping_(\w+)\(", text)
        match found[1] if found else text.split()[0]:
            case "tables" if self.listed is not None:
                return self.listed["".join(names) or "current"]
            case "tables":
                return [listed(name) for name in self.rows]
            case "survey":
                self.asked.append(names)
                self.reads(self)
                return [Row(**as_row(self.rows[name]), ofANewerJar=1) for name in names]
            case "copies":
                return [Row(numFiles=0, sizeInBytes=0)]
            case "commits":
                self.num_histories += 1
                return self.history
            case "SHOW":
                assert self.history, "no table waits"
                key = "delta.requireCheckpointProtectionBeforeVersion"
                return [Row(key=key, value=str(row["version"])) for row in self.history]
        assert text.startswith("SELECT TIMESTAMP_NTZ"), text
        return [Row(end=datetime(1970, 1, 2))]

    def getTags(self) -> set[str]:
        return set()

    def addTag(self, tag: str) -> None: ...

    def removeTag(self, tag: str) -> None: ...

    def interruptTag(self, tag: str) -> None:
        self.cancelled.set()

    def registerProgressHandler(self, handler: object) -> None: ...

    def removeProgressHandler(self, handler: object) -> None: ...

    def wait(self) -> None:
        """Waits until the call cancels its statements."""
        assert self.cancelled.wait(TIMEOUT)

    def signal(self) -> None:
        """Sends a signal to the call, and waits until it cancels its statements."""
        os.kill(os.getpid(), signal.SIGINT)
        self.wait()


def listed(name: str, kind: str | None = "DELTA", error: str | None = None) -> Row:
    return Row(table=name, kind=kind, error=error, message=error)


def committed(version: int) -> Row:
    """Returns a commit of now."""
    now = datetime.now(timezone.utc)
    return Row(version=version, timestamp=now, operation="DROP FEATURE", operationMetrics={})
