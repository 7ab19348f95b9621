# SPDX-License-Identifier: Apache-2.0
"""The process `python -m spark_ext.worker`, which serves the rules to the JVM through py4j.

The JVM starts it, writes an authentication token as one line to its standard input and reads the
port from its standard output. It listens on the loopback interface only, never calls the JVM, and
ends when its standard input does, as happens when the JVM ends in whatever way.

Only the standard library and py4j are imported: a start takes under a tenth of a second.
"""

from __future__ import annotations

import gc
import os
import signal
import socket
import sys
import traceback
from collections.abc import Callable
from typing import ClassVar

from py4j.clientserver import ClientServer, JavaParameters, PythonParameters

from spark_ext.worker import table_functions
from spark_ext.errors import RuleFailedError, SparkExtError
from spark_ext.rules import next_metadata
from spark_ext.leave.removal import removal, render_reasons
from spark_ext.worker.wire import (
    parse_removal_request,
    parse_request,
    render_answer,
    render_error,
)

LOOPBACK = "127.0.0.1"
_TRACEBACK_LINES = 12


class RuleService:
    """What the JVM calls.

    Source:
        `sparkext.rule.MetadataRules.Service`, the same in Java.
    """

    def next_metadata(self, request: str) -> str:
        """The metadata to commit, in the shape of `spark_ext.worker.wire`; every error is data."""
        return _answered(_next_metadata, request)

    def removal(self, request: str) -> str:
        """Whether metadata alone may remove column mapping; every error is data."""
        return _answered(_removal, request)

    def table_function(self, name: str, request: str) -> str:
        """The relation that a table function makes of a table; every error is data."""
        return _answered(lambda text: table_functions.call(name, text), request)

    class Java:
        """The Java interface, by py4j's convention."""

        implements: ClassVar[list[str]] = ["sparkext.rule.MetadataRules$Service"]


def _next_metadata(request: str) -> str:
    parsed = parse_request(request)
    result = next_metadata(old=parsed.old, new=parsed.new, commit=parsed.commit)
    return render_answer(result, parsed.new)


def _removal(request: str) -> str:
    table, protocol = parse_removal_request(request)
    return render_reasons(removal(table=table, protocol=protocol))


def _answered(answer: Callable[[str], str], request: str) -> str:
    try:
        return answer(request)
    except SparkExtError as refusal:
        return render_error(refusal)
    except Exception as error:
        # py4j would hand the JVM an error's text without condition or SQLSTATE.
        lines = traceback.format_exc().splitlines()[-_TRACEBACK_LINES:]
        return render_error(RuleFailedError(error=repr(error), traceback="\n".join(lines)))


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
