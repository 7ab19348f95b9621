# SPDX-License-Identifier: Apache-2.0
"""Runs a proxy of an S3 server that counts requests, delays them, and lets chosen ones fail.

Each connection has a thread. Each request has a new connection to the server, because the server
may close an idle connection.
"""

from __future__ import annotations

import http.client
import re
import socket
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock, Thread
from typing import Any
from urllib.parse import urlsplit

from tests.object_stores.requests import CODES, Fault, Harm, Kind, Request, wanted

PIECE = 256 << 10
# Headers of one connection, which the proxy does not forward.
HOP = {"connection", "keep-alive", "transfer-encoding", "expect", "te", "upgrade"}
# Headers that S3Proxy refuses. Tests assert that the client sends them.
REFUSED = re.compile(
    "x-amz-(copy-source-)?server-side-encryption|x-amz-(storage-class|acl|request-payer)"
)


class Proxy:
    """Listens on a port, remembers requests, and applies faults."""

    def __init__(self, server: str, delay: float = 0) -> None:
        self.server = urlsplit(server).netloc
        self.delay = delay  # seconds for each request
        self.slow = 5.0  # seconds for a request with `Harm.SLOW`
        # Errors of the proxy itself; `close` asserts that there are none
        self.errors: list[BaseException | None] = []
        self._requests: list[Request] = []
        self._faults: list[Fault] = []
        self._lock = Lock()
        self._http = _Listener(self)
        self.url = f"http://127.0.0.1:{self._http.server_port}"
        self._thread = Thread(target=self._http.serve_forever, args=(0.05,), daemon=True)
        self._thread.start()

    @property
    def requests(self) -> list[Request]:
        """Returns the completed requests in order."""
        with self._lock:
            return list(self._requests)

    def counts(self, key: str = "*") -> Counter[Kind]:
        """Returns the number of requests of each kind for keys of a pattern."""
        matches = wanted(None, key, None, None)
        return Counter(request.kind for request in self.requests if matches(request))

    def forget(self) -> None:
        """Forgets all requests so far."""
        with self._lock:
            self._requests.clear()

    def harm(
        self,
        harm: Harm,
        kind: Kind | None = None,
        *,
        key: str = "*",
        method: str | None = None,
        also: Callable[[Request], bool] | None = None,
        nth: int = 1,
        times: int | None = 1,
    ) -> Fault:
        """Lets requests fail from now on. The first matching fault applies to a request.

        Args:
            harm: The fault.
            kind: The kind of the requests; None for all.
            key: A shell pattern of their keys.
            method: The HTTP method; None for all.
            also: Returns whether a request matches; None for all.
            nth: The number of the first matching request that fails.
            times: The number of requests that fail; None for all.

        Returns:
            The fault, which counts the requests.
        """
        fault = Fault(harm, wanted(kind, key, method, also), nth, times)
        with self._lock:
            self._faults.append(fault)
        return fault

    def heal(self) -> None:
        """Removes all faults."""
        with self._lock:
            self._faults.clear()

    def harm_of(self, request: Request) -> Harm | None:
        with self._lock:
            faults = list(self._faults)
        return next((fault.harm for fault in faults if fault.hits(request)), None)

    def note(self, request: Request) -> None:
        with self._lock:
            self._requests.append(request)

    def close(self) -> None:
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()
        assert self.errors == []


@contextmanager
def running(server: str, delay: float = 0) -> Iterator[Proxy]:
    proxy = Proxy(server, delay)
    try:
        yield proxy
    finally:
        proxy.close()


class _Listener(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False  # clients keep connections open
    request_queue_size = 128

    def __init__(self, proxy: Proxy) -> None:
        self.proxy = proxy
        super().__init__(("127.0.0.1", 0), _Connection)

    def handle_error(self, request: Any, client_address: Any) -> None:
        error = sys.exc_info()[1]
        if not isinstance(error, OSError):  # clients may close their connections
            self.proxy.errors.append(error)


class _Connection(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = PIECE
    server: _Listener

    def log_message(self, *_: Any) -> None:
        pass

    def __getattr__(self, name: str) -> Any:
        if name.startswith("do_"):
            return self._pass_on
        raise AttributeError(name)

    def handle_expect_100(self) -> bool:
        done = super().handle_expect_100()
        self.wfile.flush()
        return done

    def _pass_on(self) -> None:
        proxy = self.server.proxy
        named = {name.lower(): value for name, value in self.headers.items()}
        request = Request(self.command, self.requestline.split(" ")[1], named)
        harm = proxy.harm_of(request)
        self._up = http.client.HTTPConnection(proxy.server, timeout=300)
        try:
            time.sleep(proxy.delay + (proxy.slow if harm is Harm.SLOW else 0))
            if harm in (Harm.ERROR_500, Harm.ERROR_403, Harm.ERROR_503):
                for _ in self._body(request):
                    pass
                self._refuse(request, harm.value)
            elif harm is Harm.CUT and self._has_body():
                self._send_half(request)
            else:
                self._answer(request, self._send(request), harm)
        except OSError:
            self.close_connection = True  # the client or the server has closed the connection
        finally:
            self._up.close()
            proxy.note(request)

    def _has_body(self) -> bool:
        return "chunked" in self._encoding() or int(self.headers.get("content-length", "0")) > 0

    def _encoding(self) -> str:
        return str(self.headers.get("transfer-encoding", "")).lower()

    def _body(self, request: Request) -> Iterator[bytes]:
        """Yields the client's body, and counts its bytes."""
        if "chunked" in self._encoding():
            while (size := int(self.rfile.readline().split(b";")[0], 16)) > 0:
                yield from self._pieces(request, size)
                self.rfile.readline()
            while self.rfile.readline().strip():
                pass
        else:
            yield from self._pieces(request, int(self.headers.get("content-length", "0")))

    def _pieces(self, request: Request, size: int) -> Iterator[bytes]:
        while size > 0:
            piece = self.rfile.read1(min(size, PIECE))
            if not piece:
                raise ConnectionError("the client went away")
            size -= len(piece)
            request.sent += len(piece)
            yield piece

    def _send(self, request: Request) -> http.client.HTTPResponse:
        self._send_head(request)
        chunked = "chunked" in self._encoding()
        for piece in self._body(request):
            self._up.send(b"%x\r\n%b\r\n" % (len(piece), piece) if chunked else piece)
        if chunked:
            self._up.send(b"0\r\n\r\n")
        return self._up.getresponse()

    def _send_half(self, request: Request) -> None:
        """Forwards half of the body, but none of a chunked body, then closes both connections."""
        self._send_head(request)
        half = int(self.headers.get("content-length", "0")) // 2
        for piece in self._pieces(request, half):
            self._up.send(piece)
        self._hang_up()

    def _send_head(self, request: Request) -> None:
        self._up.putrequest(
            request.method, request.target, skip_host=True, skip_accept_encoding=True
        )
        for name, value in self.headers.items():
            if name.lower() not in HOP and not REFUSED.match(name.lower()):
                self._up.putheader(name, value)
        if "chunked" in self._encoding():
            self._up.putheader("Transfer-Encoding", "chunked")
        self._up.endheaders()

    def _answer(
        self, request: Request, response: http.client.HTTPResponse, harm: Harm | None
    ) -> None:
        if harm in (Harm.LOST, Harm.ERROR_IN_200):
            response.read()
            if harm is Harm.LOST:
                self._hang_up()
            else:
                self._refuse(request, 200)
            return
        request.status = response.status
        length = response.headers.get("content-length")
        bodiless = request.method == "HEAD" or response.status in (204, 304)
        self.send_response_only(response.status, response.reason)
        for name, value in response.getheaders():
            if name.lower() not in HOP:
                self.send_header(name, value)
        chunked = length is None and not bodiless
        if chunked:
            self.send_header("Transfer-Encoding", "chunked")
        if harm is Harm.CUT and (bodiless or length == "0"):
            self._hang_up()  # the response has no body
            return
        self.end_headers()
        remaining = int(length or PIECE) // 2 if harm is Harm.CUT else None
        while piece := response.read1(PIECE if remaining is None else min(PIECE, remaining)):
            self.wfile.write(b"%x\r\n%b\r\n" % (len(piece), piece) if chunked else piece)
            request.received += len(piece)
            remaining = remaining and remaining - len(piece)
            if remaining == 0:
                break
        if remaining is not None:
            self._hang_up()
        elif chunked:
            self.wfile.write(b"0\r\n\r\n")
        self.wfile.flush()

    def _refuse(self, request: Request, status: int) -> None:
        request.status = status
        body = f"<Error><Code>{CODES[status]}</Code><Message>of the proxy</Message></Error>"
        if request.method == "HEAD":
            body = ""
        self.send_response_only(status)
        self.send_header("Content-Type", "application/xml")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body.encode())
        self.wfile.flush()

    def _hang_up(self) -> None:
        """Closes both connections at once."""
        self.wfile.flush()
        self._up.close()
        self.close_connection = True
        self.connection.shutdown(socket.SHUT_RDWR)
