# SPDX-License-Identifier: Apache-2.0
"""Runs an S3 server in a process with its own loopback port.

S3Proxy of Maven Central is one jar of 55 MB, which starts in 2 s. It behaves as S3 for copies of
ranges, for their condition on the source's ETag, and for errors. It refuses encryption, which the
proxy of these tests hides from it. moto 5.2.5 ignores `x-amz-copy-source-if-match`, so it copies a
file that was changed meanwhile, and S3Mock 5.2.0 does not check ranges.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.object_stores.s3 import S3
from tests.support.fetched import alone, jars, java
from tests.support.waiting import wait_until

S3PROXY = "org.gaul:s3proxy:4.1.0:jar-with-dependencies"
# Options for a short run: see `tests/support/sessions.py`.
JAVA_OPTIONS = ("-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
STARTED = re.compile(r"Started .*ServerConnector.*\{127\.0\.0\.1:(\d+)\}")


@contextmanager
def s3proxy(home: Path) -> Iterator[S3]:
    """Starts S3Proxy on a folder."""
    (home / "data").mkdir(parents=True)
    (home / "s3proxy.properties").write_text(
        "s3proxy.endpoint=http://127.0.0.1:0\n"
        "s3proxy.authorization=none\n"
        "jclouds.provider=filesystem-nio2\n"
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
    output = home / "log"
    with output.open("w") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log)
    try:
        wait_until(lambda: STARTED.search(output.read_text()) is not None, "S3Proxy has started")
        found = STARTED.search(output.read_text())
        assert found is not None
        yield S3(f"http://127.0.0.1:{found[1]}")
    finally:
        process.kill()
        process.wait()
