# SPDX-License-Identifier: Apache-2.0
"""Measures the removal of column mapping by byte copy while other sessions write.

The table has 5 GB in files of 64 MB, and its first column counts the rows. One session appends
every second, another deletes rows by deletion vectors every two seconds, and a third removes column
mapping from new copies of the table. The appends go to a separate partition, because a DELETE
conflicts with an append to the partitions that it reads.
"""

from __future__ import annotations

import json
import os
import shutil
import statistics
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import removal_by_copy
from delta_tables import NAME_MODE, NO_MODE, TRACKED, set_properties
from proved import discard
from remote import Remote, one_session
from report import NO_LIMIT, Figure, Report, table

MEGABYTES = 5_000
ROWS = MEGABYTES * 1_000_000 // removal_by_copy.BYTES_PER_ROW
ATTEMPTS = 10
APPEND_EVERY = 1.0  # seconds
DELETE_EVERY = 2.0
PROPERTIES = (TRACKED, NAME_MODE, "'delta.enableDeletionVectors' = 'true'")
DOUBLES = ", ".join(f"rand() AS c{number}" for number in range(1, removal_by_copy.COLUMNS))
APPEND = f"INSERT INTO delta.`{{path}}` SELECT id, {DOUBLES}, 'new' FROM range(0, 1000, 1, 1)"
# Deletes a few rows of one file after another, and rewrites no file.
DELETE = "DELETE FROM delta.`{path}` WHERE p = 'old' AND c0 BETWEEN {first} AND {first} + 9"
STEP = ROWS // 50 - 1


@dataclass(frozen=True)
class Attempt:
    """Contains the result of one removal, which may have failed."""

    is_removed: bool
    seconds: float
    rounds: int
    copied_again: float
    """The written bytes, divided by the bytes of the table and of the appends."""
    appends: int
    deletes: int
    failed_writes: int


@dataclass(frozen=True)
class Attempts:
    """Contains all attempts, and the seconds without writers."""

    attempts: tuple[Attempt, ...]
    quiet: float

    @property
    def seconds(self) -> float:
        return statistics.median(one.seconds for one in self.attempts)


class Writer:
    """Runs a statement at a steady pace in a separate session."""

    def __init__(self, session: Remote, every: float, statement: str) -> None:
        self.count = 0
        self.failed = 0
        self._session = session
        self._every = every
        self._statement = statement
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def _run(self) -> None:
        due = time.monotonic()
        while not self._stopped.is_set():
            first = (self.count + self.failed) * STEP % ROWS
            if self._session.attempt(self._statement.replace("{first}", str(first))) < 0:
                self.failed += 1
            else:
                self.count += 1
            due = max(due + self._every, time.monotonic())
            self._stopped.wait(due - time.monotonic())

    @contextmanager
    def running(self) -> Iterator[Writer]:
        self._thread.start()
        try:
            yield self
        finally:
            self._stopped.set()
            self._thread.join()


def run(folder: Path) -> Report:
    with (
        one_session("plugin", folder / "remover") as remover,
        one_session("plugin", folder / "appender") as appender,
        one_session("plugin", folder / "deleter") as deleter,
    ):
        attempts = measured(remover, (appender, deleter), folder)
    cells = (
        (
            "yes" if one.is_removed else "NO",
            f"{one.seconds:.1f} s",
            str(one.rounds),
            f"{one.copied_again:.3f} x",
            str(one.appends),
            str(one.deletes),
            str(one.failed_writes),
        )
        for one in attempts.attempts
    )
    headings = ("removed", "seconds", "rounds", "copied", "appends", "deletes", "failed writes")
    title = f"removal beside an append each {APPEND_EVERY:g} s, a DELETE each {DELETE_EVERY:g} s"
    return Report("removal beside writers", figures(attempts), [table(title, headings, cells)])


def figures(attempts: Attempts) -> list[Figure]:
    count = len(attempts.attempts)
    removed = sum(one.is_removed for one in attempts.attempts)
    most = max(one.copied_again for one in attempts.attempts)
    return [
        Figure("not removed, of all", str(count - removed), "", 1 - removed / count, 0),
        Figure("bytes copied / table and appended", "", "", most, 1.1),
        Figure(
            "with writers / without",
            f"{attempts.seconds:.1f} s",
            f"{attempts.quiet:.1f} s",
            attempts.seconds / attempts.quiet,
            NO_LIMIT,
        ),
    ]


def measured(remover: Remote, writers: tuple[Remote, Remote], folder: Path) -> Attempts:
    """Removes column mapping from copies of a table, first without writers."""
    original = folder / "beside"
    remover.sql(
        f"CREATE TABLE delta.`{original}` USING delta PARTITIONED BY (p) AS"
        f" SELECT id AS c0, {DOUBLES}, 'old' AS p"
        f" FROM range(0, {ROWS}, 1, {MEGABYTES // removal_by_copy.FILE_MB})"
    )
    quiet = [attempted(remover, None, original, folder / f"quiet-{n}").seconds for n in range(3)]
    attempts = tuple(
        attempted(remover, writers, original, folder / f"try-{n}") for n in range(ATTEMPTS)
    )
    discard(original)
    return Attempts(attempts, statistics.median(quiet))


def attempted(
    remover: Remote, sessions: tuple[Remote, Remote] | None, original: Path, path: Path
) -> Attempt:
    """Removes column mapping from one copy, with or without writers."""
    shutil.copytree(original, path, copy_function=os.link)
    for properties in PROPERTIES:
        set_properties(remover, path, properties)
    remover.sql(f"ALTER TABLE delta.`{path}` RENAME COLUMN c1 TO d1")
    set_properties(remover, path, "'a' = 'warm'")
    os.sync()
    with ExitStack() as running:
        writers = []
        if sessions is not None:
            append, delete = (text.replace("{path}", str(path)) for text in (APPEND, DELETE))
            pace = ((sessions[0], APPEND_EVERY, append), (sessions[1], DELETE_EVERY, delete))
            writers = [running.enter_context(Writer(*how).running()) for how in pace]
            while not all(writer.count for writer in writers):
                time.sleep(0.05)
                if any(writer.failed for writer in writers):
                    raise RuntimeError("a write failed before the removal")
        started = time.perf_counter()
        is_removed = remover.attempt(removal_statement(path)) >= 0
        seconds = time.perf_counter() - started
    metrics, appended = log_of(path)
    size = sum(file.stat().st_size for file in original.rglob("*=old/*.parquet"))
    appends, deletes = [writer.count for writer in writers] or [0, 0]
    result = Attempt(
        is_removed,
        seconds,
        int(metrics.get("numRounds", 0)),
        (int(metrics.get("numOutputBytes", 0)) + int(metrics.get("numDiscardedBytes", 0)))
        / (size + appended),
        appends,
        deletes,
        sum(writer.failed for writer in writers),
    )
    discard(path)
    return result


def removal_statement(path: Path) -> str:
    """Returns the statement that removes column mapping."""
    return f"ALTER TABLE delta.`{path}` SET TBLPROPERTIES ({NO_MODE})"


def log_of(path: Path) -> tuple[dict[str, Any], int]:
    """Returns the metrics of the removal, and the bytes that were appended before its commit."""
    appended = 0
    for commit in sorted((path / "_delta_log").glob("*.json")):
        actions = [json.loads(line) for line in commit.read_text().splitlines()]
        info = next(action["commitInfo"] for action in actions if "commitInfo" in action)
        if info["operation"] == "REMOVE COLUMN MAPPING":
            return info["operationMetrics"], appended
        if info["operation"] == "WRITE":
            appended += sum(action["add"]["size"] for action in actions if "add" in action)
    return {}, appended
