# SPDX-License-Identifier: Apache-2.0
"""Runs a Spark Connect server in a separate process, and connects sessions."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread, Timer
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql.connect.session import SparkSession as ConnectSession

from tests.support import class_archive
from tests.support.sessions import small_session, with_one_driver

STARTED = re.compile(r"Spark Connect server started at: (\S+):(\d+)")
START_SECONDS = 300
# A free port of the loopback interface.
ADDRESS = {
    "spark.connect.grpc.binding.address": "127.0.0.1",
    "spark.connect.grpc.binding.port": "0",
}


@contextmanager
def connect_server(
    command: str, home: Path, environment: dict[str, str], **settings: str
) -> Iterator[str]:
    """Runs a server by a shell command until the body ends, and yields its address.

    Further settings are in `spark-defaults.conf` of its configuration folder, so the command is
    unchanged.
    """
    builder = with_one_driver(small_session(SparkSession.Builder(), home / "warehouse"))
    _write_defaults(home / "conf", builder._options | ADDRESS | settings)
    server = subprocess.Popen(
        ["bash", "-c", command],
        cwd=home,
        env={**environment, "SPARK_CONF_DIR": str(home / "conf")},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert server.stderr is not None
    with server.stderr:
        try:
            address = _address(server)
            reader = Thread(target=_read_on, args=[server.stderr])
            reader.start()
            yield address
        finally:
            # The group is the shell's, which may have a child or may have become the JVM.
            os.killpg(server.pid, signal.SIGTERM)
            server.wait(timeout=60)
        reader.join()


def user_environment() -> dict[str, str]:
    """Returns the environment without Spark's and Python's variables, with this Python on PATH."""
    kept = class_archive.environment("PYTHON", "SPARK_", "PYSPARK_")
    return {**kept, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}


def connected(address: str, options: dict[str, str] | None = None) -> SparkSession:
    """Returns a new session in this process, which may have a classic session too."""
    session: Any = ConnectSession.builder.remote(address).config(map={**(options or {})}).create()
    return session  # another class, with the methods of the classic session


def _write_defaults(folder: Path, settings: dict[str, str]) -> None:
    folder.mkdir()
    lines = [f"{key} {value}\n" for key, value in settings.items()]
    (folder / "spark-defaults.conf").write_text("".join(lines))


def _address(server: subprocess.Popen[str]) -> str:
    """Returns the address that the server prints."""
    assert server.stderr is not None
    hung = Timer(START_SECONDS, os.killpg, (server.pid, signal.SIGKILL))
    hung.start()
    log = []
    for line in server.stderr:
        log.append(line)
        started = STARTED.search(line)
        if started:
            hung.cancel()
            return f"sc://{started[1]}:{started[2]}"
    hung.cancel()
    raise AssertionError("The server ended:\n" + "".join(log[-50:]))


def _read_on(log: Iterable[str]) -> None:
    """Reads the log, because the server would wait for a full pipe."""
    for _ in log:
        pass
