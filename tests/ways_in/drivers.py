# SPDX-License-Identifier: Apache-2.0
"""Commands over a lakehouse in drivers of their own, which tests kill and interrupt."""

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
from tests.ways_in.lakehouses import CATALOG, Lakehouse
from tests.ways_in.place import DEFAULTS
from tests.ways_in.shells import SECONDS, environment


class Running:
    """A command that runs in a process group of its own."""

    def __init__(self, process: subprocess.Popen[bytes], report: Path, stderr: Path) -> None:
        self._process = process
        self._report = report
        self._stderr = stderr

    @property
    def ended(self) -> bool:
        return self._process.poll() is not None

    @property
    def stderr(self) -> str:
        return self._stderr.read_text()

    def kill(self) -> bool:
        """Kills the driver with its JVM and its rule process; returns whether it was running."""
        was_running = not self.ended
        if was_running:
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait(SECONDS)
        return was_running

    def send(self, number: signal.Signals) -> None:
        """Sends a signal to the driver alone."""
        self._process.send_signal(number)

    def wait(self) -> int:
        """Returns the exit code."""
        return self._process.wait(SECONDS)

    def sums(self) -> dict[str, Any]:
        """The first object of the report."""
        return self._objects()[0]

    def rows(self) -> list[dict[str, Any]]:
        """The objects of the tables in the report."""
        return self._objects()[1:]

    def _objects(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self._report.read_text().splitlines()]


class Terminal(Running):
    """A terminal, which shows what a command prints."""

    def __init__(self, running: Running, master: int) -> None:
        super().__init__(running._process, running._report, running._stderr)
        self._master = master
        self._printed: list[bytes] = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    @property
    def shown(self) -> str:
        return b"".join(self._printed).decode(errors="replace")

    @property
    def stderr(self) -> str:
        return self.shown

    def type(self, text: str) -> None:
        os.write(self._master, text.encode())

    def close(self) -> None:
        self._reader.join(SECONDS)
        os.close(self._master)

    def _read(self) -> None:
        try:
            while printed := os.read(self._master, 4096):
                self._printed.append(printed)
        except OSError:
            pass  # no process has the terminal open any longer


@dataclass
class Driver:
    """Starts commands."""

    folder: Path
    variables: dict[str, str]
    started: list[Running] = field(default_factory=list)

    def remove(self, lakehouse: Lakehouse, parallel: int = 2) -> Running:
        return self._run(["remove", *lakehouse.where], parallel)

    @contextmanager
    def in_terminal(self, lakehouse: Lakehouse) -> Iterator[Terminal]:
        """Runs a command in a terminal, one table at a time, until the body is done."""
        master, slave = pty.openpty()
        running = self._run(["remove", *lakehouse.where], 1, slave)
        os.close(slave)
        terminal = Terminal(running, master)
        try:
            yield terminal
        finally:
            running.kill()
            terminal.close()

    def _run(self, arguments: list[str], parallel: int, stdin: int | None = None) -> Running:
        number = len(self.started)
        report, stderr = (self.folder / f"{number}.{end}" for end in ("json", "stderr"))
        options = ["--parallel", str(parallel), "--report", str(report)]
        command = [sys.executable, "-m", "spark_ext", *arguments, *options]

        def take_terminal() -> None:
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)

        with stderr.open("wb") as errors:
            process = subprocess.Popen(
                command,
                cwd=self.folder,
                env=environment(**self.variables),
                stdin=subprocess.DEVNULL if stdin is None else stdin,
                stdout=subprocess.DEVNULL if stdin is None else stdin,
                stderr=errors if stdin is None else stdin,
                start_new_session=True,
                preexec_fn=None if stdin is None else take_terminal,
            )
        running = Running(process, report, stderr)
        self.started.append(running)
        return running


@contextmanager
def start(home: Path, folder: Path) -> Iterator[Driver]:
    """Yields a driver whose sessions have the catalog below `home`, and kills what still runs."""
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
        for running in driver.started:
            running.kill()
