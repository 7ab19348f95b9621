# SPDX-License-Identifier: Apache-2.0
"""Runs the S3 servers of these tests, each in a process with its own loopback port.

`make test` uses S3Proxy of Maven Central: one jar of 55 MB, which starts in 2 s (S3Mock: 10 s). It
behaves as S3 for copies of ranges, for their condition on the source's ETag, and for errors. The
table shows 1 GB in 16 objects by 4 threads, on 2 cores:

| | PUT | GET | copy by parts | memory | lacks |
|---|---|---|---|---|---|
| S3Proxy 4.1.0 on files | 6.7 s | 3.6 s | 8.7 s | 225 MB | encryption: 501 |
| S3Proxy 4.1.0 in memory | | | | all objects | |
| S3Mock 5.2.0 | 7.9 s | 3.1 s | 11.4 s | 298 MB | checked ranges, returned checksums |
| moto 5.2.5 | 13.2 s | 4.1 s | 8.8 s | 1.2 GB | the ETag's condition; checked digests, ranges |
| versitygw 1.8.0 | 5.9 s | 1.8 s | 6.5 s | 53 MB | encryption, storage classes (never returned) |

moto ignores `x-amz-copy-source-if-match`, so it copies a file that was changed meanwhile. S3Proxy
and versitygw cannot store an object `n` beside an object `n/m`, which no table needs.
"""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from tests.object_stores.s3 import ACCESS_KEY, S3, SECRET_KEY
from tests.support.fetched import FETCHED, alone, jars, java
from tests.support.waiting import wait_until

S3PROXY = "org.gaul:s3proxy:4.1.0:jar-with-dependencies"
VERSITYGW = "github.com/versity/versitygw/cmd/versitygw@v1.8.0"
# Options for a short run: see `tests/support/sessions.py`.
JAVA_OPTIONS = ("-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
STARTED = re.compile(r"Started .*ServerConnector.*\{127\.0\.0\.1:(\d+)\}")


@contextmanager
def s3proxy(home: Path, *, in_memory: bool = False) -> Iterator[S3]:
    """Starts S3Proxy on a folder, or in memory with support of encryption."""
    (home / "data").mkdir(parents=True)
    (home / "s3proxy.properties").write_text(
        "s3proxy.endpoint=http://127.0.0.1:0\n"
        "s3proxy.authorization=none\n"
        f"jclouds.provider={'transient' if in_memory else 'filesystem'}-nio2\n"
        f"jclouds.filesystem.basedir={home / 'data'}\n"
    )
    (jar,) = jars("s3proxy", [alone(S3PROXY)])
    command: list[str | Path] = [
        java(),
        *JAVA_OPTIONS,
        "-jar",
        jar,
        "--properties",
        home / "s3proxy.properties",
    ]
    with _running(home, command) as log:
        wait_until(lambda: STARTED.search(log.read_text()) is not None, "S3Proxy has started")
        found = STARTED.search(log.read_text())
        assert found is not None
        yield S3(f"http://127.0.0.1:{found[1]}")


@contextmanager
def versitygw(home: Path) -> Iterator[S3]:
    """Starts a server that shares no code with S3Proxy and verifies each signature."""
    for folder in ("data", "metadata"):
        (home / folder).mkdir(parents=True)
    port = _free_port()
    keys = {"ROOT_ACCESS_KEY_ID": ACCESS_KEY, "ROOT_SECRET_ACCESS_KEY": SECRET_KEY}
    command: list[str | Path] = [_versitygw(), "--quiet", "--port", f"127.0.0.1:{port}", "posix"]
    command += ["--sidecar", home / "metadata", home / "data"]
    with _running(home, command, keys):
        wait_until(lambda: _accepts(port), "versitygw has started")
        yield S3(f"http://127.0.0.1:{port}")


def has_go() -> bool:
    return shutil.which("go") is not None


def _versitygw() -> Path:
    program = FETCHED / f"versitygw-{VERSITYGW.rpartition('@')[2]}" / "versitygw"
    if not program.exists():
        environment = {**os.environ, "GOBIN": str(program.parent)}
        subprocess.run(["go", "install", VERSITYGW], check=True, env=environment)
    return program


@contextmanager
def _running(
    home: Path, command: list[str | Path], variables: Mapping[str, str] | None = None
) -> Iterator[Path]:
    """Starts a process with an output file, and ends the process afterwards."""
    output = home / "log"
    with output.open("w") as log:
        process = subprocess.Popen(
            command, stdout=log, stderr=log, env={**os.environ, **(variables or {})}
        )
    try:
        yield output
    finally:
        process.kill()
        process.wait()


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def _accepts(port: int) -> bool:
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) == 0
