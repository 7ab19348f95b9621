# SPDX-License-Identifier: Apache-2.0
"""Runs commands over a lakehouse in driver processes, which tests kill and interrupt."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import signal
import subprocess
import sys
import termios
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.support.sessions import FEW_ROWS
from tests.support.waiting import wait_until
from tests.ways_in.lakehouses import CATALOG, Lakehouse
from tests.ways_in.place import DEFAULTS
from tests.ways_in.shells import SECONDS, environment

# A session for many commands. Each line of the terminal contains the arguments of one command, and
# the file for its exit code.
COMMANDS = """
import json, sys
from pathlib import Path
from spark_ext.__main__ import main
from spark_ext.cli.session import own_session

with own_session("commands") as spark:
    for line in sys.stdin:
        arguments, code = json.loads(line)
        spark._jvm.org.apache.spark.sql.delta.DeltaLog.clearCache()
        done = Path(code)
        part = done.with_suffix(".part")
        part.write_text(str(main(arguments)))
        part.replace(done)
"""


class Terminal:
    """Runs a process in a terminal."""

    def __init__(self, arguments: list[str], folder: Path, variables: dict[str, str]) -> None:
        self._master, slave = pty.openpty()
        self.process = subprocess.Popen(
            [sys.executable, *arguments],
            cwd=folder,
            env=environment(**variables),
            stdin=slave,
            stdout=slave,
            stderr=slave,
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
        )
        os.close(slave)
        self._printed: list[bytes] = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    @property
    def shown(self) -> str:
        return b"".join(self._printed).decode(errors="replace")

    @property
    def ended(self) -> bool:
        return self.process.poll() is not None

    def type(self, text: str) -> None:
        os.write(self._master, text.encode())

    def kill(self) -> None:
        """Kills the process group: the driver, its JVM, and the rule process of this JVM."""
        if not self.ended:
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(SECONDS)
        self._reader.join(SECONDS)

    def close(self) -> None:
        self.kill()
        os.close(self._master)

    def _read(self) -> None:
        try:
            while printed := os.read(self._master, 4096):
                self._printed.append(printed)
        except OSError:
            pass  # no process has the terminal open


@dataclass(frozen=True)
class Running:
    """A command that runs in a terminal.

    Args:
        terminal: The terminal.
        report: The file of the report.
        code: The file of the exit code; None if it is the exit code of the process.
        first: The number of characters that the terminal had shown before.
    """

    terminal: Terminal
    report: Path
    code: Path | None
    first: int = 0

    @property
    def ended(self) -> bool:
        return self.terminal.ended or (self.code is not None and self.code.exists())

    @property
    def shown(self) -> str:
        return self.terminal.shown[self.first :]

    def kill(self) -> bool:
        """Kills the process group; returns whether the command was still running."""
        was_running = not self.ended
        self.terminal.kill()
        return was_running

    def kill_jvm(self) -> None:
        """Kills the JVM of the driver, and leaves its Python alone."""
        driver = self.terminal.process.pid
        children = Path(f"/proc/{driver}/task/{driver}/children").read_text().split()
        (jvm,) = [
            child for child in children if Path(f"/proc/{child}/comm").read_text() == "java\n"
        ]
        os.kill(int(jvm), signal.SIGKILL)

    def send(self, number: signal.Signals) -> None:
        """Sends a signal to the driver alone."""
        self.terminal.process.send_signal(number)

    def send_to_all(self, number: signal.Signals) -> None:
        """Sends a signal to the process group."""
        os.killpg(self.terminal.process.pid, number)

    def wait(self) -> int:
        """Returns the exit code."""
        wait_until(lambda: self.ended, "the end of a command", SECONDS)
        if self.code is None:
            return self.terminal.process.wait()
        assert self.code.exists(), self.shown
        return int(self.code.read_text())

    def sums(self) -> dict[str, Any]:
        """Returns the object of the report."""
        found: dict[str, Any] = json.loads(self.report.read_text())
        return found

    def rows(self) -> list[dict[str, Any]]:
        """Returns the objects of the tables in the report."""
        rows: list[dict[str, Any]] = self.sums()["tables"]
        return rows


@dataclass
class Driver:
    """Starts commands in one driver, or each in a separate driver."""

    folder: Path
    variables: dict[str, str]
    _terminals: list[Terminal] = field(default_factory=list)
    _shared: Terminal | None = None
    _number: int = 0

    def remove(self, lakehouse: Lakehouse, parallel: int = 2) -> Running:
        """Runs a command in the shared driver, and starts the driver if it does not run."""
        if self._shared is None or self._shared.ended:
            self._shared = self._start(["-c", COMMANDS])
        report, arguments = self._removal(lakehouse, parallel)
        code = report.with_suffix(".code")
        first = len(self._shared.shown)
        self._shared.type(json.dumps([arguments, str(code)]) + "\n")
        return Running(self._shared, report, code, first)

    def remove_alone(self, lakehouse: Lakehouse, parallel: int = 2) -> Running:
        """Runs a command in a separate driver."""
        report, arguments = self._removal(lakehouse, parallel)
        return Running(self._start(["-m", "spark_ext", *arguments]), report, None)

    def close(self) -> None:
        for terminal in self._terminals:
            terminal.close()

    def _start(self, arguments: list[str]) -> Terminal:
        self._terminals.append(Terminal(arguments, self.folder, self.variables))
        return self._terminals[-1]

    def _removal(self, lakehouse: Lakehouse, parallel: int) -> tuple[Path, list[str]]:
        self._number += 1
        report = self.folder / f"{self._number}.json"
        options = ["--parallel", str(parallel), "--report", str(report)]
        return report, ["remove", *lakehouse.where, *options]


@contextmanager
def start(home: Path, folder: Path) -> Iterator[Driver]:
    """Yields a driver whose sessions have the catalog below `home`, and kills all processes."""
    conf = folder / "conf"
    conf.mkdir()
    settings = {
        **FEW_ROWS,
        f"spark.sql.catalog.{CATALOG}": "ListingCatalog",
        f"spark.sql.catalog.{CATALOG}.root": home / "tables",
        "spark.driver.extraClassPath": home / "classes",
    }
    lines = [f"{key} {value}\n" for key, value in settings.items()]
    (conf / "spark-defaults.conf").write_text(DEFAULTS + "".join(lines))
    driver = Driver(folder, {"SPARK_CONF_DIR": str(conf)})
    try:
        yield driver
    finally:
        driver.close()
