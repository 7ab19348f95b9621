# SPDX-License-Identifier: Apache-2.0
"""Tests the rule process over a socket with py4j's protocol, as the JVM uses it."""

from __future__ import annotations

import contextlib
import json
import socket
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from spark_ext.model.keys import FEATURE_PROPERTY, HAS_DROPPED_OR_RENAMED
from spark_ext.process.questions import ask
from tests.unit import test_messages
from tests.unit.tables import struct

TOKEN = "cafe"
SECONDS = 10


@dataclass
class Worker:
    process: subprocess.Popen[str]
    port: int = field(init=False)

    def __post_init__(self) -> None:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(TOKEN + "\n")
        self.process.stdin.flush()
        self.port = int(self.process.stdout.readline())

    def connect(self, token: str) -> tuple[socket.socket, str]:
        connection = socket.create_connection(("127.0.0.1", self.port), timeout=SECONDS)
        connection.sendall(f"A\n{token}\ne\n".encode())
        return connection, read_line(connection)

    def answer(self, sent: bytes) -> bytes:
        """Returns everything that the process sends before it closes the connection."""
        received = b""
        address = ("127.0.0.1", self.port)
        connection = socket.create_connection(address, timeout=SECONDS)
        with connection, contextlib.suppress(ConnectionResetError):
            connection.sendall(sent)
            while part := connection.recv(65536):
                received += part
        return received


@pytest.fixture
def worker() -> Iterator[Worker]:
    with start() as process:
        yield Worker(process)
        process.kill()


def start() -> subprocess.Popen[str]:
    pipe = subprocess.PIPE
    command = [sys.executable, "-m", "spark_ext.process"]
    return subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True)


def read_line(connection: socket.socket) -> str:
    line = b""
    while not line.endswith(b"\n"):
        part = connection.recv(65536)
        if not part:
            break
        line += part
    return line.decode().rstrip("\n")


def call(connection: socket.socket, request: str) -> Any:
    escaped = request.replace("\\", "\\\\").replace("\n", "\\n")
    connection.sendall(f"c\nt\nask\nsnext_metadata\ns{escaped}\ne\n".encode())
    answer = read_line(connection)
    assert answer.startswith("!ys"), answer
    return json.loads(answer.removeprefix("!ys").replace("\\\\", "\\"))


def creation() -> str:
    """Returns a request to create a tracked table, whose column name needs every escape."""
    name = 'é "\\ \n日'
    request = json.loads(test_messages.with_value("commit.flagDefault", False))
    request["old"] = {"schema": None, "configuration": {}}
    configuration = {FEATURE_PROPERTY: "supported", "delta.columnMapping.mode": "name"}
    for key, words in (("proposed", ""), ("assigned", "1 col-1")):
        request[key] = {"schema": struct({name: words}), "configuration": configuration}
    return json.dumps(request, ensure_ascii=False)


class TestProcess:
    def test_wrong_token_or_call_without_token_is_refused(self, worker: Worker) -> None:
        assert worker.answer(b"A\nbeef\ne\n") in (b"", b"!xn\n")
        assert worker.answer(b"c\nt\nask\nsnext_metadata\ns{}\ne\n") == b""

    def test_process_ends_without_a_token_on_standard_input(self) -> None:
        with start() as process:
            out, err = process.communicate("\n", timeout=SECONDS)

        assert (process.returncode, out) == (2, "")
        assert "token" in err

    def test_process_answers_a_request(self, worker: Worker) -> None:
        connection, greeting = worker.connect(TOKEN)

        with connection:
            answer = call(connection, creation())
            again = call(connection, creation())

        assert greeting == "!yv"
        assert answer == again
        assert answer["configuration"][HAS_DROPPED_OR_RENAMED] == "false"
        column = answer["schema"]["fields"][0]
        assert column["metadata"]["delta.columnMapping.physicalName"] == column["name"]

    @pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
    def test_process_listens_on_the_loopback_interface_only(self, worker: Worker) -> None:
        sockets = [line.split()[1] for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]

        assert [s for s in sockets if s.endswith(f":{worker.port:04X}")] == [
            f"0100007F:{worker.port:04X}"
        ]

    def test_process_ends_when_standard_input_closes(self, worker: Worker) -> None:
        connection, _ = worker.connect(TOKEN)
        assert worker.process.stdin is not None

        with connection:
            worker.process.stdin.close()

            assert worker.process.wait(timeout=SECONDS) == 0


class TestQuestions:
    @pytest.mark.parametrize(
        ("question", "request_", "path"),
        [("next_metadata", "{", "$"), ("nothing", "{}", "question")],
    )
    def test_malformed_request_or_unknown_question_gets_an_error_answer(
        self, question: str, request_: str, path: str
    ) -> None:
        error = json.loads(ask(question, request_))["error"]

        assert error["condition"] == "USAGE_TRACKING_MALFORMED_MESSAGE"
        assert (error["sqlState"], error["parameters"]["path"]) == ("XX000", path)

    def test_defect_gets_an_error_answer(self) -> None:
        request = json.loads(test_messages.with_value("commit.flagDefault", False))
        request["assigned"]["configuration"] = {FEATURE_PROPERTY: "supported"}
        request["proposed"]["schema"] = struct({"s": {"type": {"type": "struct"}}})

        answer = json.loads(ask("next_metadata", json.dumps(request)))

        assert answer["error"]["condition"] == "USAGE_TRACKING_RULE_FAILED"
        assert answer["error"]["parameters"]["error"] == "KeyError('fields')"
        assert "schema.py" in answer["error"]["parameters"]["traceback"]
