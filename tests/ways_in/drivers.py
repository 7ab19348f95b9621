# SPDX-License-Identifier: Apache-2.0
"""Runs commands over a lakehouse in driver processes, which tests kill and interrupt."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.support.sessions import FEW_ROWS
from tests.ways_in.lakehouses import CATALOG, Lakehouse
from tests.ways_in.place import DEFAULTS
from tests.ways_in.shells import SECONDS, environment


@dataclass(frozen=True)
class Running:
    """A command that runs in a process group, with the files of its report and of its output."""

    process: subprocess.Popen[bytes]
    report: Path
    output: Path

    @property
    def ended(self) -> bool:
        return self.process.poll() is not None

    @property
    def shown(self) -> str:
        return self.output.read_text(errors="replace")

    def kill(self) -> bool:
        """Kills the driver, its JVM and the rule process; returns whether the command still ran."""
        was_running = not self.ended
        if was_running:
            self.send_to_all(signal.SIGKILL)
        self.process.wait(SECONDS)
        return was_running

    def kill_jvm(self) -> None:
        """Kills the JVM of the driver, and leaves its Python alone."""
        driver = self.process.pid
        children = Path(f"/proc/{driver}/task/{driver}/children").read_text().split()
        (jvm,) = [
            child for child in children if Path(f"/proc/{child}/comm").read_text() == "java\n"
        ]
        os.kill(int(jvm), signal.SIGKILL)

    def send(self, number: signal.Signals) -> None:
        """Sends a signal to the driver alone."""
        self.process.send_signal(number)

    def send_to_all(self, number: signal.Signals) -> None:
        """Sends a signal to the process group, as a terminal does for Ctrl+C."""
        os.killpg(self.process.pid, number)

    def wait(self) -> int:
        """Returns the exit code."""
        return self.process.wait(SECONDS)

    def sums(self) -> dict[str, Any]:
        """Returns the object of the report."""
        found: dict[str, Any] = json.loads(self.report.read_text())
        return found

    def rows(self) -> list[dict[str, Any]]:
        """Returns the objects of the tables in the report."""
        rows: list[dict[str, Any]] = self.sums()["tables"]
        return rows


@dataclass
class Drivers:
    """Starts commands, each in a driver of its own."""

    folder: Path
    variables: dict[str, str]
    _running: list[Running] = field(default_factory=list)

    def remove(self, lakehouse: Lakehouse, parallel: int = 2) -> Running:
        report, output = (self.folder / f"{len(self._running)}{end}" for end in (".json", ".txt"))
        options = ["--parallel", str(parallel), "--report", str(report)]
        with output.open("wb") as file:
            process = subprocess.Popen(
                [sys.executable, "-m", "spark_ext", "remove", *lakehouse.where, *options],
                cwd=self.folder,
                env=environment(**self.variables),
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=file,
                start_new_session=True,
            )
        self._running.append(Running(process, report, output))
        return self._running[-1]

    def close(self) -> None:
        for running in self._running:
            running.kill()


@contextmanager
def start(home: Path, folder: Path) -> Iterator[Drivers]:
    """Yields drivers whose sessions have the catalog below `home`, and kills all processes."""
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
    drivers = Drivers(folder, {"SPARK_CONF_DIR": str(conf)})
    try:
        yield drivers
    finally:
        drivers.close()
