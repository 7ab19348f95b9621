# SPDX-License-Identifier: Apache-2.0
"""Runs a multipart upload by the small client."""

from __future__ import annotations

from urllib.parse import quote
from xml.etree import ElementTree

from tests.object_stores.s3 import S3


class Upload:
    """Contains one upload, which is pending until it is completed or aborted."""

    def __init__(self, server: S3, bucket: str, key: str) -> None:
        self.server = server
        self.bucket = bucket
        self.target = f"{bucket}/{key}"
        body = server.ask("POST", self.target, {"uploads": ""}).body
        self.id = ElementTree.fromstring(body).findtext("{*}UploadId") or ""
        self._etags: list[str] = []

    def copy(self, key: str, start: int, end: int, **headers: str) -> None:
        """Copies the bytes of an object from `start` up to but not including `end`."""
        answer = self.server.ask(
            "PUT",
            self.target,
            self._next(),
            b"",
            x_amz_copy_source=quote(f"/{self.bucket}/{key}"),
            x_amz_copy_source_range=f"bytes={start}-{end - 1}",
            **headers,
        )
        self._etags.append(ElementTree.fromstring(answer.body).findtext("{*}ETag") or "")

    def complete(self, **headers: str) -> None:
        parts = "".join(
            f"<Part><PartNumber>{number}</PartNumber><ETag>{etag}</ETag></Part>"
            for number, etag in enumerate(self._etags, 1)
        )
        body = f"<CompleteMultipartUpload>{parts}</CompleteMultipartUpload>".encode()
        self.server.ask("POST", self.target, {"uploadId": self.id}, body, **headers)

    def _next(self) -> dict[str, str]:
        return {"partNumber": str(len(self._etags) + 1), "uploadId": self.id}
