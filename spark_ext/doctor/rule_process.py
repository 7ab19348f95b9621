# SPDX-License-Identifier: Apache-2.0
"""The rule process, started and asked as the JVM does it.

Source:
    `sparkext.process.RuleProcess` and `ProcessSettings`; py4j's wire format, `py4j.protocol`.
"""

from __future__ import annotations

import json
import secrets
import socket
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from threading import Timer
from typing import Any

from spark_ext.doctor.diagnoses import OK, PROBLEM, Diagnosis, without_jar
from spark_ext.errors import ExtensionJarMissingError
from spark_ext.launch import session
from spark_ext.launch.session import DRIVER_PYTHON

_SETTINGS = ("spark.sparkext.worker.python", DRIVER_PYTHON, "spark.pyspark.python")
_VARIABLES = ("PYSPARK_DRIVER_PYTHON", "PYSPARK_PYTHON")
_NO_INTERPRETERS = ("jupyter", "ipython")
_SECONDS = 30
_STDERR = 2000
_QUESTION = "column_mapping"
_REQUEST: Mapping[str, Any] = {
    "table": {"schema": None, "configuration": {}},
    "log": {
        "lastVersion": 0,
        "firstCommit": None,
        "hintedCheckpoint": None,
        "tornCommits": [],
        "commits": [],
        "summaries": [],
        "files": None,
    },
}


def rule_process(environ: Mapping[str, str], settings: Mapping[str, str]) -> Diagnosis:
    """Whether the interpreter that the settings name serves the rules of our jar."""
    try:
        path = session.jar()
    except ExtensionJarMissingError:
        return without_jar("rule process")
    python, source = interpreter(environ, settings)
    found = f"{python} -E {path} ({source})"
    advice = (
        "Set spark.sparkext.worker.python to a Python 3.10 or later, and see what it says itself."
    )
    try:
        answer = _answer([python, "-E", str(path)], environ)
    except (OSError, ValueError) as failed:
        return Diagnosis("rule process", PROBLEM, found, f"It gave no answer: {failed}", advice)
    if "rows" not in answer:
        return Diagnosis("rule process", PROBLEM, found, f"It refused: {answer}", advice)
    return Diagnosis("rule process", OK, found)


def interpreter(environ: Mapping[str, str], settings: Mapping[str, str]) -> tuple[str, str]:
    """The interpreter, and what names it; this one where nothing does, as `configure` sets it."""
    for key in _SETTINGS:
        if settings.get(key):
            return settings[key], key
    for name in _VARIABLES:
        value = environ.get(name, "")
        if value and not Path(value).name.startswith(_NO_INTERPRETERS):
            return value, name
    return sys.executable, "spark_ext.configure"


def _answer(command: list[str], environ: Mapping[str, str]) -> dict[str, object]:
    token = secrets.token_hex(32)
    pipe = subprocess.PIPE
    with subprocess.Popen(
        command, bufsize=0, stdin=pipe, stdout=pipe, stderr=pipe, env=dict(environ)
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        # A program that says nothing and does not end is not an interpreter.
        limit = Timer(_SECONDS, process.kill)
        limit.start()
        try:
            # One that has ended by now says why on its standard error.
            with suppress(BrokenPipeError):
                process.stdin.write(f"{token}\n".encode())
            port = process.stdout.readline().decode(errors="replace").strip()
            if not port.isdigit():
                process.kill()
                stderr = process.communicate()[1].decode(errors="replace").strip()
                raise ValueError(f"it named `{port}` as its port; {stderr[-_STDERR:]}")
            return _asked(int(port), token)
        finally:
            limit.cancel()
            process.kill()


def _asked(port: int, token: str) -> dict[str, object]:
    request = json.dumps(_REQUEST)
    with socket.create_connection(("127.0.0.1", port), timeout=_SECONDS) as connection:
        stream = connection.makefile("rw", encoding="utf-8", newline="\n")
        for message in (f"A\n{token}\ne\n", f"c\nt\nask\ns{_QUESTION}\ns{request}\ne\n"):
            stream.write(message)
            stream.flush()
            reply = stream.readline().rstrip("\n")
            if not reply.startswith("!y"):
                raise ValueError(f"it replied `{reply}`")
    answer: dict[str, object] = json.loads(reply.removeprefix("!ys").replace("\\\\", "\\"))
    return answer
