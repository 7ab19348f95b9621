# SPDX-License-Identifier: Apache-2.0
"""Runs sessions of `session.py` in separate processes."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

LAST_READING = re.compile(r"Committed (\d+) ms after reading")


class Remote:
    """Controls a session. A method that runs statements returns their seconds."""

    def __init__(self, kind: str, folder: Path, settings: Mapping[str, str] | None = None) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        script = str(Path(__file__).parent / "session.py")
        self.stderr = folder / f"{kind}.stderr"
        self.process = subprocess.Popen(
            [sys.executable, script, kind, str(folder), json.dumps(dict(settings or {}))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.stderr.open("w"),
            text=True,
        )
        self.start_seconds = self._answer()

    def sql(self, statement: str) -> float:
        return self._call(do="sql", statement=statement)

    def attempt(self, statement: str) -> float:
        """Runs a statement that may fail, and returns a negative number if it failed."""
        return self._call(do="attempt", statement=statement)

    def hold(self, path: Path) -> float:
        """Makes a DeltaTable for `held_update`."""
        return self._call(do="hold", path=str(path))

    def held_update(self, path: Path, condition: str) -> float:
        return self._call(do="held_update", path=str(path), condition=condition)

    def forget(self) -> float:
        """Empties Delta's cache of logs."""
        return self._call(do="forget")

    def survey(self, paths: Sequence[str]) -> float:
        """Surveys the tables at these paths."""
        return self._call(do="survey", paths=list(paths))

    def remove_column_mapping(self, paths: Sequence[str], parallel: int) -> float:
        """Removes column mapping from the tables at these paths in one call."""
        return self._call(do="remove_column_mapping", paths=list(paths), parallel=parallel)

    def statements(self, statements: Sequence[str], parallel: int) -> float:
        """Runs statements, `parallel` at a time."""
        return self._call(do="statements", statements=list(statements), parallel=parallel)

    def collect_garbage(self) -> float:
        """Runs the JVM's collector."""
        return self._call(do="collect_garbage")

    def live_megabytes(self) -> float:
        """Returns the memory of the driver: the JVM's live objects and Python's peak."""
        return self._call(do="live_megabytes")

    def last_reading(self) -> float:
        """Returns the seconds from the last reading of the table to the commit of a removal."""
        return int(LAST_READING.findall(self.stderr.read_text())[-1]) / 1000

    def cpu_seconds(self) -> float:
        """Returns the CPU time, user and system, of the session, its JVM and the rule process."""
        return sum(time.clock_gettime(_cpu_clock(pid)) for pid in _tree(self.process.pid))

    def rule_call(self, path: Path) -> float:
        """Runs one rule call for the newest column of a table."""
        return self._call(do="rule_call", path=str(path))

    def stop(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()

    def _call(self, **command: Any) -> float:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(command) + "\n")
        self.process.stdin.flush()
        return self._answer()

    def _answer(self) -> float:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            code = self.process.wait()
            raise RuntimeError(f"the session ended with {code}: {self.stderr.read_text()[-2000:]}")
        return float(json.loads(line))


def _cpu_clock(pid: int) -> int:
    """Returns the clock of a process for `clock_gettime`.

    Source: Linux, include/linux/posix-timers_types.h, `make_process_cpuclock`, `CPUCLOCK_SCHED`.
    """
    return (~pid << 3) | 2


def _tree(root: int) -> list[int]:
    """Returns a process and its descendants."""
    children: dict[int, list[int]] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(FileNotFoundError, ProcessLookupError):
            parent = stat.read_text().rpartition(")")[2].split()[1]
            children.setdefault(int(parent), []).append(int(stat.parent.name))
    found = [root]
    for pid in found:
        found += children.get(pid, [])
    return found


@contextmanager
def one_session(
    kind: str, folder: Path, settings: Mapping[str, str] | None = None
) -> Iterator[Remote]:
    """Runs a session of the kind `plugin` or `plain` until the body ends."""
    session = Remote(kind, folder, settings)
    try:
        yield session
    finally:
        session.stop()


@contextmanager
def both_sessions(
    folder: Path, settings: Mapping[str, str] | None = None
) -> Iterator[tuple[Remote, Remote]]:
    """Runs a session with the plugin and one with plain delta-spark until the body ends."""
    with (
        one_session("plugin", folder, settings) as ours,
        one_session("plain", folder, settings) as plain,
    ):
        yield ours, plain
