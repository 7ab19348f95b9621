# SPDX-License-Identifier: Apache-2.0
"""Tests that the servers of these tests behave as S3 for the requests of a copy."""

from __future__ import annotations

import os

import pytest

from tests.object_stores.s3 import S3, S3Error
from tests.object_stores.uploads import LEAST_PART, MIB, Upload

SOURCE = os.urandom(12 * MIB)
ODD_KEYS = [
    "t/p=a b/f 1.parquet",
    "t/p=a%20b/f+2.parquet",
    "t/p=a%2Fb/f&3=x.parquet",
    "t/p=ü€𝄞/f.parquet",
    "t/q='\"?#/f;4.parquet",
]

pytestmark = pytest.mark.every_variant


@pytest.fixture
def bucket(server: S3) -> str:
    return server.new_bucket()


@pytest.fixture
def source(server: S3, bucket: str) -> str:
    """Writes an object of 12 MiB, and returns its ETag."""
    return server.put(bucket, "source", SOURCE)


def test_server_copies_ranges_to_parts(server: S3, bucket: str, source: str) -> None:
    upload = Upload(server, bucket, "target")
    upload.copy("source", 0, LEAST_PART + 1, x_amz_copy_source_if_match=source)
    upload.copy("source", 7 * MIB, 12 * MIB)
    upload.send(b"the footer")
    upload.complete()

    expected = SOURCE[: LEAST_PART + 1] + SOURCE[7 * MIB :] + b"the footer"
    assert server.get(bucket, "target") == expected
    assert server.pending_uploads(bucket) == {}


def test_server_refuses_a_replaced_source(server: S3, bucket: str, source: str) -> None:
    upload = Upload(server, bucket, "target")

    with pytest.raises(S3Error) as refused:
        upload.copy("source", 0, 6 * MIB, x_amz_copy_source_if_match='"0123"')

    assert (refused.value.status, refused.value.code) == (412, "PreconditionFailed")


@pytest.mark.parametrize("copied", [False, True])
def test_server_refuses_a_small_part(server: S3, bucket: str, source: str, copied: bool) -> None:
    upload = Upload(server, bucket, "target")
    if copied:
        upload.copy("source", 0, LEAST_PART - 1)
    else:
        upload.send(SOURCE[: LEAST_PART - 1])
    upload.send(b"the footer")

    with pytest.raises(S3Error) as refused:
        upload.complete()

    assert (refused.value.status, refused.value.code) == (400, "EntityTooSmall")
    assert list(server.objects(bucket)) == ["source"]


def test_server_refuses_a_range_beyond_the_end(server: S3, bucket: str, source: str) -> None:
    upload = Upload(server, bucket, "target")

    with pytest.raises(S3Error) as refused:
        upload.copy("source", 6 * MIB, 13 * MIB)

    assert refused.value.status in (400, 416)


def test_upload_is_listed_until_aborted(server: S3, bucket: str) -> None:
    upload = Upload(server, bucket, "a/target")
    upload.send(b"x")
    assert server.pending_uploads(bucket) == {upload.id: "a/target"}

    upload.abort()

    assert server.pending_uploads(bucket) == {}
    assert server.objects(bucket) == {}


def test_server_does_not_overwrite_with_the_condition(server: S3, bucket: str) -> None:
    server.put(bucket, "target", b"old")
    upload = Upload(server, bucket, "target")
    upload.send(b"new")

    with pytest.raises(S3Error) as of_put:
        server.put(bucket, "target", b"new", if_none_match="*")
    with pytest.raises(S3Error) as of_upload:
        upload.complete(if_none_match="*")

    assert [of_put.value.status, of_upload.value.status] == [412, 412]
    assert server.get(bucket, "target") == b"old"


def test_server_keeps_keys_unchanged(server: S3, bucket: str) -> None:
    for key in ODD_KEYS:
        server.put(bucket, key, key.encode())
        upload = Upload(server, bucket, f"{key}.copy")
        upload.copy(key, 0, len(key.encode()))
        upload.complete()

    assert sorted(server.objects(bucket)) == sorted([*ODD_KEYS, *(f"{k}.copy" for k in ODD_KEYS)])
    for key in ODD_KEYS:
        assert server.get(bucket, f"{key}.copy") == key.encode()


def test_long_listing_is_complete(server: S3, bucket: str) -> None:
    keys = [f"k{number:04}" for number in range(1050)]
    for key in keys:
        server.put(bucket, key, b"")

    assert list(server.objects(bucket)) == keys


def test_server_refuses_a_body_with_another_checksum(server: S3, bucket: str) -> None:
    with pytest.raises(S3Error) as refused:
        server.put(bucket, "target", b"hello", x_amz_checksum_crc32="AAAAAA==")

    assert (refused.value.status, refused.value.code) == (400, "BadDigest")
    assert server.objects(bucket) == {}


def test_response_names_the_encryption(s3proxy_in_memory: S3) -> None:
    s3proxy_in_memory.create_bucket("encrypted")
    s3proxy_in_memory.put("encrypted", "a", b"x", x_amz_server_side_encryption="AES256")

    response = s3proxy_in_memory.head("encrypted", "a")

    assert response["x-amz-server-side-encryption"] == "AES256"
