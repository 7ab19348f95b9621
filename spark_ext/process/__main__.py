# SPDX-License-Identifier: Apache-2.0
"""The process that serves the rules to the JVM through py4j.

The JVM starts the process from the jar (`jars/src/main/resources/__main__.py`); by hand, run
`python -m spark_ext.process`. The process reads an authentication token as one line from its
standard input, writes its port to its standard output, listens on `LOOPBACK` only, and never calls
the JVM. It ends when its standard input closes, as happens at every end of the JVM.

The process imports only the standard library and the jar's own py4j. A start takes 0.2 seconds.
"""

from __future__ import annotations

import gc
import os
import signal
import socket
import sys
from importlib import import_module
from typing import ClassVar

from py4j.clientserver import ClientServer, JavaParameters, PythonParameters

from spark_ext.process.questions import ask

# `RuleProcess.java` has the same address. The two halves may resolve "localhost" differently.
LOOPBACK = "127.0.0.1"


class RuleService:
    """The object that the JVM calls: `sparkext.process.RuleService` is its interface in Java."""

    def ask(self, question: str, request: str) -> str:
        """Returns the answer to a question of `spark_ext.process.questions`."""
        return ask(question, request)

    class Java:
        """The Java interface, by py4j's convention."""

        implements: ClassVar[list[str]] = ["sparkext.process.RuleService"]


def main() -> None:
    """Serves until standard input ends."""
    # Ctrl-C in a shell reaches the whole process group, and the JVM decides whether to continue.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # A wide request has about 100,000 objects, which reference counting frees after the answer.
    gc.set_threshold(1_000_000)
    token = sys.stdin.readline().strip()
    if not token:
        # py4j treats an empty token as none, and would accept every connection.
        print("No authentication token on standard input.", file=sys.stderr)
        sys.exit(2)
    port = serve(token)
    print(port, flush=True)
    # The JVM reads one line only. Further output must not fill the pipe.
    sys.stdout = sys.stderr
    # Loaded after the port is written, because commits do not need it. Later, an upgrade may have
    # replaced the jar.
    import_module("spark_ext.process.table_functions")
    while sys.stdin.read(1):
        pass
    # A thread of py4j may still run a call, whose answer is not needed.
    os._exit(0)


def serve(token: str) -> int:
    """Starts to listen on a free port of the loopback interface, and returns the port."""
    server = ClientServer(
        java_parameters=JavaParameters(address=LOOPBACK, auth_token=token),
        python_parameters=PythonParameters(
            address=LOOPBACK, port=0, daemonize=True, daemonize_connections=True, auth_token=token
        ),
        python_server_entry_point=RuleService(),
    )
    callbacks = server.get_callback_server()
    # Accepted connections inherit the option. With Nagle's algorithm a call may wait 40 ms.
    callbacks.server_socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    # py4j itself listens later in its thread, possibly after the JVM read the port.
    callbacks.server_socket.listen()
    port: int = callbacks.get_listening_port()
    return port


if __name__ == "__main__":
    main()
