# SPDX-License-Identifier: Apache-2.0
"""Command lines, as a user types them."""

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

# Longer than any of them takes on a machine that does other things as well.
SECONDS = 300


def environment(**variables: str) -> dict[str, str]:
    """The shell of a user who has the virtual environment on the path, and nothing else set.

    But for what makes each JVM of a run start faster.
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
    """A server that runs until the body is done; it is up when it has said so.

    What it prints goes on to be added to the list.
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
    said: list[str] = []
    up_or_gone = threading.Event()

    def read() -> None:
        assert process.stdout is not None
        for line in process.stdout:
            said.append(line)
            if up in line:
                up_or_gone.set()
        up_or_gone.set()

    reader = threading.Thread(target=read)
    reader.start()
    try:
        assert up_or_gone.wait(SECONDS), "".join(said)
        assert any(up in line for line in said), "".join(said)
        yield said
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGTERM)
        process.wait(SECONDS)
        reader.join(SECONDS)
        if process.stdout is not None:
            process.stdout.close()
