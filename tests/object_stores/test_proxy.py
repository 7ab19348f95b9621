# SPDX-License-Identifier: Apache-2.0
"""Tests that the proxy counts requests and applies faults."""

from __future__ import annotations

import http.client
import time
from collections.abc import Callable, Iterator

import pytest

from tests.object_stores.proxy import Proxy, running
from tests.object_stores.requests import Harm, Kind
from tests.object_stores.s3 import S3, S3Error
from tests.object_stores.uploads import LEAST_PART, Upload
from tests.support.waiting import wait_until

BODY = b"abcdefghij" * 100_000
GONE = (OSError, http.client.HTTPException)
REFUSALS = [Harm.ERROR_500, Harm.ERROR_403, Harm.ERROR_503]


@pytest.fixture
def bucket(s3proxy_server: S3) -> str:
    return s3proxy_server.new_bucket()


@pytest.fixture
def proxy(s3proxy_server: S3) -> Iterator[Proxy]:
    with running(s3proxy_server.url) as proxy:
        yield proxy


@pytest.fixture
def client(proxy: Proxy) -> S3:
    return S3(proxy.url)


def test_proxy_counts_requests_by_kind(bucket: str, proxy: Proxy, client: S3) -> None:
    client.put(bucket, "a b/ü%20", BODY)
    client.get(bucket, "a b/ü%20")
    client.ask("GET", f"{bucket}/a b/ü%20", range="bytes=0-9")
    client.head(bucket, "a b/ü%20")
    client.objects(bucket, "a b/")
    upload = Upload(client, bucket, "u")
    upload.copy("a b/ü%20", 0, len(BODY))
    upload.abort()
    upload = Upload(client, bucket, "u")
    upload.send(BODY)
    upload.complete()
    client.pending_uploads(bucket)
    client.delete(bucket, "u")

    wait_until(lambda: len(proxy.requests) == 13, "the last answer is noted")
    kinds = [request.kind for request in proxy.requests]
    assert kinds == [
        *(Kind.PUT, Kind.GET, Kind.GET_RANGE, Kind.HEAD, Kind.LIST),
        *(Kind.CREATE_UPLOAD, Kind.COPY_PART, Kind.ABORT_UPLOAD),
        *(Kind.CREATE_UPLOAD, Kind.UPLOAD_PART, Kind.COMPLETE_UPLOAD),
        *(Kind.LIST_UPLOADS, Kind.DELETE),
    ]
    assert proxy.counts("a b/*") == dict.fromkeys(kinds[:5], 1)
    of_bodies = [(request.sent, request.received) for request in proxy.requests[:4]]
    assert of_bodies == [(len(BODY), 0), (0, len(BODY)), (0, 10), (0, 0)]


@pytest.mark.every_variant
@pytest.mark.parametrize("harm", REFUSALS)
def test_refused_request_does_nothing(
    bucket: str, proxy: Proxy, client: S3, s3proxy_server: S3, harm: Harm
) -> None:
    fault = proxy.harm(harm, Kind.PUT, key="a*", nth=2, times=2)
    client.put(bucket, "a1", b"")
    client.put(bucket, "b1", b"")

    for key in ("a2", "a3"):
        with pytest.raises(S3Error) as refused:
            client.put(bucket, key, BODY)
        assert refused.value.status == harm.value

    client.put(bucket, "a4", b"")
    assert fault.harmed == 2
    assert list(s3proxy_server.objects(bucket)) == ["a1", "a4", "b1"]


@pytest.mark.parametrize("harm", [Harm.LOST, Harm.ERROR_IN_200])
def test_request_with_a_lost_response_was_executed(
    bucket: str, proxy: Proxy, client: S3, s3proxy_server: S3, harm: Harm
) -> None:
    proxy.harm(harm, Kind.COMPLETE_UPLOAD)
    upload = Upload(client, bucket, "u")
    upload.send(BODY)

    if harm is Harm.LOST:
        with pytest.raises(GONE):
            upload.complete()
    else:
        upload.complete()  # a client that only reads the status sees a success

    assert s3proxy_server.objects(bucket) == {"u": len(BODY)}
    with pytest.raises(S3Error):
        upload.abort()


def test_truncated_body_is_not_stored(
    bucket: str, proxy: Proxy, client: S3, s3proxy_server: S3
) -> None:
    client.put(bucket, "a", BODY)
    proxy.harm(Harm.CUT, times=None)

    for cut in (
        lambda: client.get(bucket, "a"),
        lambda: client.put(bucket, "b", BODY),
        lambda: client.objects(bucket),
        lambda: client.head(bucket, "a"),
    ):
        with pytest.raises(GONE):
            cut()

    assert proxy.requests[1].received == len(BODY) // 2
    assert proxy.requests[2].sent == len(BODY) // 2
    assert "b" not in s3proxy_server.objects(bucket)
    proxy.heal()
    assert client.get(bucket, "a") == BODY


@pytest.mark.parametrize("slow", [True, False])
def test_proxy_delays_requests(bucket: str, proxy: Proxy, client: S3, slow: bool) -> None:
    took = taken(lambda: client.put(bucket, "a", b""))
    if slow:
        proxy.slow = 1
        proxy.harm(Harm.SLOW, also=lambda request: request.method == "PUT")
    else:
        proxy.delay = 1

    assert taken(lambda: client.put(bucket, "a", b"")) > took + 0.5


def taken(call: Callable[[], object]) -> float:
    start = time.monotonic()
    call()
    return time.monotonic() - start


def test_proxy_forwards_large_parts(bucket: str, client: S3) -> None:
    upload = Upload(client, bucket, "u")
    upload.send(BODY * 10)
    upload.send(BODY)
    upload.complete()
    assert len(BODY * 10) > LEAST_PART

    assert client.get(bucket, "u") == BODY * 11
