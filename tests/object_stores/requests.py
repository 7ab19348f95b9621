# SPDX-License-Identifier: Apache-2.0
"""Sorts requests to an S3 server into kinds, and defines the faults that apply to them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, auto
from fnmatch import fnmatchcase
from threading import Lock
from urllib.parse import parse_qsl, unquote, urlsplit


class Kind(Enum):
    """Names the S3 operations of these tests, with two kinds of GET."""

    GET = auto()
    GET_RANGE = auto()
    HEAD = auto()
    LIST = auto()
    PUT = auto()
    COPY = auto()
    DELETE = auto()
    DELETE_MANY = auto()
    CREATE_UPLOAD = auto()
    UPLOAD_PART = auto()
    COPY_PART = auto()
    COMPLETE_UPLOAD = auto()
    ABORT_UPLOAD = auto()
    LIST_UPLOADS = auto()
    LIST_PARTS = auto()
    OTHER = auto()


@dataclass
class Request:
    """Contains one request, as far as it has been processed."""

    method: str
    target: str
    headers: dict[str, str]  # lower-case names
    status: int = 0  # of the response; 0 without a response
    sent: int = 0  # bytes of the request's body
    received: int = 0  # bytes of the response's body

    @property
    def path(self) -> str:
        return unquote(urlsplit(self.target).path)

    @property
    def query(self) -> dict[str, str]:
        return dict(parse_qsl(urlsplit(self.target).query, keep_blank_values=True))

    @property
    def key(self) -> str:
        """Returns the key below the bucket, or the prefix of a listing."""
        return self.path.lstrip("/").partition("/")[2] or self.query.get("prefix", "")

    @property
    def range(self) -> str | None:
        return self.headers.get("x-amz-copy-source-range") or self.headers.get("range")

    @property
    def kind(self) -> Kind:
        return _kind(self)

    def __str__(self) -> str:
        line = f"{self.kind.name} {self.key}"
        line += f" {self.range}" if self.range else ""
        return f"{line}: {self.status}, {self.sent} up, {self.received} down"


def _kind(request: Request) -> Kind:
    query, is_copy = request.query, "x-amz-copy-source" in request.headers
    has_key = bool(request.path.lstrip("/").partition("/")[2])
    if request.method == "PUT" and "partNumber" in query:
        return Kind.COPY_PART if is_copy else Kind.UPLOAD_PART
    if "uploadId" in query or "uploads" in query:
        return _UPLOADS.get((request.method, "uploads" in query), Kind.OTHER)
    if request.method == "GET" and not has_key:
        return Kind.LIST
    if request.method == "GET":
        return Kind.GET_RANGE if "range" in request.headers else Kind.GET
    if request.method == "PUT" and has_key:
        return Kind.COPY if is_copy else Kind.PUT
    if request.method == "POST" and "delete" in query:
        return Kind.DELETE_MANY
    return _PLAIN.get(request.method, Kind.OTHER) if has_key else Kind.OTHER


# The kind depends on the method, and on whether the request is for all uploads.
_UPLOADS = {
    ("POST", True): Kind.CREATE_UPLOAD,
    ("GET", True): Kind.LIST_UPLOADS,
    ("POST", False): Kind.COMPLETE_UPLOAD,
    ("DELETE", False): Kind.ABORT_UPLOAD,
    ("GET", False): Kind.LIST_PARTS,
}
_PLAIN = {"HEAD": Kind.HEAD, "DELETE": Kind.DELETE}


class Harm(Enum):
    """Names the fault of a request. A refusal has the status of its response."""

    ERROR_500 = 500  # the server does not get the request
    ERROR_403 = 403
    ERROR_503 = 503
    # The server runs the request, and the body of the response contains an error
    ERROR_IN_200 = 200
    CUT = 1  # the connection ends in the middle of the request's body, or of the response's
    SLOW = 2  # the request waits and succeeds
    LOST = 3  # the server runs the request, and the client gets no response


CODES = {500: "InternalError", 403: "AccessDenied", 503: "SlowDown", 200: "InternalError"}


class Fault:
    """Applies a fault to matching requests, from the nth on, a number of times."""

    def __init__(
        self, harm: Harm, matches: Callable[[Request], bool], nth: int, times: int | None
    ) -> None:
        self.harm = harm
        self.harmed = 0
        self._matches = matches
        self._seen = 0
        self._nth = nth
        self._times = times
        self._lock = Lock()

    def hits(self, request: Request) -> bool:
        with self._lock:
            if not self._matches(request):
                return False
            self._seen += 1
            if self._seen < self._nth or self.harmed == self._times:
                return False
            self.harmed += 1
            return True


def wanted(
    kind: Kind | None, key: str, method: str | None, also: Callable[[Request], bool] | None
) -> Callable[[Request], bool]:
    """Returns a predicate for requests by kind, key (a shell pattern), method and `also`."""

    def matches(request: Request) -> bool:
        return (
            kind in (None, request.kind)
            and method in (None, request.method)
            and fnmatchcase(request.key, key)
            and (also is None or also(request))
        )

    return matches
