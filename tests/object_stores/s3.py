# SPDX-License-Identifier: Apache-2.0
"""Calls an S3 server by a small client of the standard library.

The client shares nothing with hadoop-aws, with the AWS SDK or with spark-ext. The server of the
tests checks no signature.
"""

from __future__ import annotations

import http.client
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple
from urllib.parse import quote, urlsplit
from xml.etree import ElementTree

REGION = "us-east-1"
ACCESS_KEY, SECRET_KEY = "key", "secret-of-the-tests"
MIB = 1 << 20


class Answer(NamedTuple):
    status: int
    headers: Mapping[str, str]  # lower-case names
    body: bytes


class S3Error(Exception):
    """Reports a response with an error."""

    def __init__(self, answer: Answer) -> None:
        super().__init__(f"{answer.status} {answer.body.decode(errors='replace')}")


@dataclass(frozen=True)
class S3:
    """Calls the server at the address `http://127.0.0.1:port`."""

    url: str

    def ask(
        self,
        method: str,
        path: str,
        query: Mapping[str, str] | None = None,
        body: bytes = b"",
        **headers: str,
    ) -> Answer:
        """Sends a request, and returns the response.

        Args:
            method: The HTTP method.
            path: The bucket, or the bucket and the key, without escapes.
            query: The parameters of the query.
            body: The body of the request.
            headers: The headers, with `_` instead of `-`.

        Raises:
            S3Error: The status is 300 or above.
        """
        target = quote(f"/{path}", safe="/-_.~")
        encoded = "&".join(f"{_quoted(k)}={_quoted(v)}" for k, v in sorted((query or {}).items()))
        named = {name.replace("_", "-").lower(): value for name, value in headers.items()}
        connection = http.client.HTTPConnection(urlsplit(self.url).netloc, timeout=60)
        try:
            connection.request(method, f"{target}?{encoded}", body=body, headers=named)
            response = connection.getresponse()
            found = {name.lower(): value for name, value in response.getheaders()}
            answer = Answer(response.status, found, response.read())
        finally:
            connection.close()
        if answer.status >= 300:
            raise S3Error(answer)
        return answer

    def create_bucket(self, bucket: str) -> None:
        self.ask("PUT", bucket)

    def new_bucket(self) -> str:
        """Creates a bucket with a unique name, and returns the name."""
        bucket = f"b-{uuid.uuid4().hex[:12]}"
        self.create_bucket(bucket)
        return bucket

    def get(self, bucket: str, key: str) -> bytes:
        return self.ask("GET", f"{bucket}/{key}").body

    def put(self, bucket: str, key: str, body: bytes) -> None:
        self.ask("PUT", f"{bucket}/{key}", None, body)

    def delete(self, bucket: str, key: str) -> None:
        self.ask("DELETE", f"{bucket}/{key}")

    def objects(self, bucket: str, prefix: str = "") -> dict[str, int]:
        """Returns the size of each object by key."""
        query = {"list-type": "2", "prefix": prefix}
        return {
            _text(item, "Key"): int(_text(item, "Size"))
            for page in self._pages(bucket, query, {"NextContinuationToken": "continuation-token"})
            for item in page.findall("{*}Contents")
        }

    def pending_uploads(self, bucket: str) -> dict[str, str]:
        """Returns the key of each pending multipart upload by id."""
        markers = {"NextKeyMarker": "key-marker", "NextUploadIdMarker": "upload-id-marker"}
        return {
            _text(item, "UploadId"): _text(item, "Key")
            for page in self._pages(bucket, {"uploads": ""}, markers)
            for item in page.findall("{*}Upload")
        }

    def _pages(
        self, bucket: str, query: dict[str, str], markers: Mapping[str, str]
    ) -> Iterator[ElementTree.Element]:
        while True:
            page = ElementTree.fromstring(self.ask("GET", bucket, query).body)
            yield page
            if _text(page, "IsTruncated") != "true":
                return
            query = query | {parameter: _text(page, found) for found, parameter in markers.items()}


def _text(element: ElementTree.Element, name: str) -> str:
    return element.findtext(f"{{*}}{name}") or ""


def _quoted(text: str) -> str:
    return quote(text, safe="-_.~")
