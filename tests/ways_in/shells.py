# SPDX-License-Identifier: Apache-2.0
"""Runs command lines as a user types them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.support import class_archive

# No command takes this long, even on a busy machine.
SECONDS = 300


def environment(**variables: str) -> dict[str, str]:
    """Returns an environment without PYTHONPATH; PATH begins with the virtual environment.

    It omits Spark's variables, except options that make each JVM of a run start faster.
    """
    kept = class_archive.environment("PYTHONPATH", "SPARK_", "PYSPARK_")
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return {**kept, "PATH": path, **variables}


def shell(
    command: str, directory: Path, *, typed: str | None = None, **variables: str
) -> subprocess.CompletedProcess[str]:
    """Returns the result of a command with this input."""
    return subprocess.run(
        ["bash", "-c", f"set -euo pipefail; {command}"],
        cwd=directory,
        env=environment(**variables),
        input=typed,
        stdin=subprocess.DEVNULL if typed is None else None,
        capture_output=True,
        text=True,
        timeout=SECONDS,
    )


def output_of(command: str, directory: Path, **variables: str) -> str:
    """Returns the output of a command that succeeds."""
    finished = shell(command, directory, **variables)
    assert finished.returncode == 0, finished.stdout + finished.stderr
    return finished.stdout


@contextmanager
def server(command: str, directory: Path, *, up: str, **variables: str) -> Iterator[list[str]]:
    """Runs a server until the body ends. The server is up when it has printed `up`.

    The yielded list also gets all later lines.
    """
    process = subprocess.Popen(
        ["bash", "-c", f"set -euo pipefail; {command}"],
        cwd=directory,
        env=environment(**variables),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    printed: list[str] = []
    up_or_gone = threading.Event()

    def read() -> None:
        assert process.stdout is not None
        for line in process.stdout:
            printed.append(line)
            if up in line:
                up_or_gone.set()
        up_or_gone.set()

    reader = threading.Thread(target=read)
    reader.start()
    try:
        assert up_or_gone.wait(SECONDS), "".join(printed)
        assert any(up in line for line in printed), "".join(printed)
        yield printed
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGTERM)
        process.wait(SECONDS)
        reader.join(SECONDS)
        if process.stdout is not None:
            process.stdout.close()
