# SPDX-License-Identifier: Apache-2.0
"""The process that serves the rules to the JVM through py4j.

The JVM starts it from the jar (`jars/src/main/resources/__main__.py`); by hand it is `python -m
spark_ext.process`. It takes an authentication token as one line from its standard input, writes its
port to its standard output, listens on `LOOPBACK` only, never calls the JVM, and ends when its
standard input does, as happens when the JVM ends in whatever way.

Only the standard library and the jar's own py4j are imported: a start takes 0.2 seconds.
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

# The same in `RuleProcess.java`: what "localhost" is, the two may see differently.
LOOPBACK = "127.0.0.1"


class RuleService:
    """What the JVM calls.

    Source:
        `sparkext.process.RuleService`, the same in Java.
    """

    def ask(self, question: str, request: str) -> str:
        """The answer to one of `spark_ext.process.questions`."""
        return ask(question, request)

    class Java:
        """The Java interface, by py4j's convention."""

        implements: ClassVar[list[str]] = ["sparkext.process.RuleService"]


def main() -> None:
    """Serves until standard input ends."""
    # Ctrl-C in a shell reaches the whole process group; whether to go on is the JVM's decision.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # A wide request is some 100,000 objects, all of them garbage without cycles after its answer.
    gc.set_threshold(1_000_000)
    token = sys.stdin.readline().strip()
    if not token:
        # py4j takes an empty token for none, and would then let anyone in.
        print("No authentication token on standard input.", file=sys.stderr)
        sys.exit(2)
    port = serve(token)
    print(port, flush=True)
    # The JVM reads one line and no more: what else is printed must not fill the pipe.
    sys.stdout = sys.stderr
    # Nor need it wait for what a commit does not ask. Now, since the jar may be another one later.
    import_module("spark_ext.process.table_functions")
    while sys.stdin.read(1):
        pass
    # py4j's threads may be in a call, and nobody waits for its answer.
    os._exit(0)


def serve(token: str) -> int:
    """Starts to listen on a free port of the loopback interface; returns the port."""
    server = ClientServer(
        java_parameters=JavaParameters(address=LOOPBACK, auth_token=token),
        python_parameters=PythonParameters(
            address=LOOPBACK, port=0, daemonize=True, daemonize_connections=True, auth_token=token
        ),
        python_server_entry_point=RuleService(),
    )
    callbacks = server.get_callback_server()
    # Accepted connections inherit it. With Nagle's algorithm a call may wait 40 ms for an ACK.
    callbacks.server_socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    # py4j listens in its thread, perhaps after the JVM read the port.
    callbacks.server_socket.listen()
    port: int = callbacks.get_listening_port()
    return port


if __name__ == "__main__":
    main()
