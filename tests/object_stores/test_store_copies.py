# SPDX-License-Identifier: Apache-2.0
"""Compares files that an object store copies with copies on a local disk, byte by byte."""

from __future__ import annotations

import base64
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from spark_ext import UsageTracking
from spark_ext.tables.goals import Until
from tests.object_stores.aws import hadoop_version
from tests.object_stores.requests import Harm, Kind, Request
from tests.object_stores.s3 import MIB, S3
from tests.object_stores.servers import s3proxy
from tests.object_stores.store import Store
from tests.object_stores.uploaded import (
    REMOVE_MAPPING,
    UNCOMPRESSED,
    Uploaded,
    insert_text,
    new_files,
    upload,
)
from tests.support.delta_table import Table
from tests.support.prepared import made_once
from tests.support.removal import counts
from tests.support.session_conf import session_conf

RETENTION_CHECK = "spark.databricks.delta.retentionDurationCheck.enabled"
STORE_COPY = "spark.sparkext.columnMapping.removal.storeCopy"
TEXTS = ("a", "b", "c")
EVERY = pytest.mark.every_variant


@made_once
def text_table(table: Table, /, **how: float) -> None:
    table.create_tracked("id BIGINT, a STRING, b STRING, c STRING")
    insert_text(table, *TEXTS, **{"megabytes": 12, **how})  # type: ignore[arg-type]


@made_once
def renamed_table(table: Table, /, **how: float) -> None:
    text_table(table, **how)
    table.alter("RENAME COLUMN a TO d")


@made_once
def table_with_a_vector(table: Table) -> None:
    text_table(table)
    table.alter("SET TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')")
    table.spark.sql(f"DELETE FROM {table.name} WHERE id % 3 = 0")
    assert any(add.get("deletionVector") for add in table.log.actions("add"))
    table.alter("RENAME COLUMN a TO d")


def remove_both(table: Table, store: Store) -> Uploaded:
    """Removes column mapping from both tables, and compares their new files."""
    uploaded = upload(table, store)
    before, files = uploaded.data(), set(table.path.rglob("*.parquet"))
    store.proxy.forget()

    table.alter(REMOVE_MAPPING)
    uploaded.remove_mapping()

    made = uploaded.data() - before
    assert uploaded.contents(made) == new_files(table, files)
    assert counts(uploaded.log) == counts(table.log)
    assert store.pending_uploads() == []
    assert not [key for key in made if key.endswith("/")]  # markers of folders
    return uploaded


def transferred_bytes(requests: list[Request]) -> int:
    """Returns the number of bytes of data files that the executor sent and received."""
    return sum(r.sent + r.received for r in requests if r.key.endswith(".parquet"))


def test_removal_transfers_little_data_when_a_column_was_renamed(
    table: Table, store: Store
) -> None:
    renamed_table(table)

    uploaded = remove_both(table, store)

    assert uploaded.counts() == {
        Kind.GET_RANGE: 1,
        Kind.CREATE_UPLOAD: 1,
        Kind.COPY_PART: 1,
        Kind.UPLOAD_PART: 1,
        Kind.COMPLETE_UPLOAD: 1,
    }
    assert transferred_bytes(store.proxy.requests) < 200_000
    # deltalake does not support column mapping, and so reads the physical names.
    assert len(store.rows(uploaded.key)) == table.frame().count()


@EVERY
@pytest.mark.parametrize(("megabytes", "is_copied"), [(1, False), (4.9, False), (5.2, True)])
def test_store_copies_files_from_5_mib_on(
    table: Table, store: Store, megabytes: float, is_copied: bool
) -> None:
    renamed_table(table, megabytes=megabytes)

    uploaded = remove_both(table, store)

    requests = uploaded.counts()
    assert (requests[Kind.COPY_PART] > 0) is is_copied
    assert (requests[Kind.PUT] > 0) is not is_copied
    assert sum(requests.values()) <= 5


DROPS: dict[str, tuple[dict[str, float], list[str]]] = {
    "first": ({}, ["id"]),
    "in the middle": ({}, ["b"]),
    "last": ({}, ["c"]),
    "all but the last": ({}, ["id", "a", "b"]),
    "all but the first": ({}, ["a", "b", "c"]),
    "of short row groups": ({"row_group": 2 * MIB}, ["b"]),
    "of row groups that are long enough": ({"megabytes": 40, "row_group": 16 * MIB}, ["c"]),
    "far apart": ({"megabytes": 24, "row_group": 8 * MIB}, ["a", "b"]),
}


@EVERY
@pytest.mark.parametrize("layout", DROPS)
def test_store_copies_without_dropped_columns(table: Table, store: Store, layout: str) -> None:
    how, dropped = DROPS[layout]
    text_table(table, **how)
    table.alter(f"DROP COLUMNS ({', '.join(dropped)})")

    uploaded = remove_both(table, store)

    rest = [name for name in ("id", *TEXTS) if name not in dropped]
    assert store.rows(uploaded.key) == table.selected(", ".join(rest))
    assert uploaded.counts()[Kind.CREATE_UPLOAD] == 1


def test_store_copies_nested_columns_and_bloom_filters(table: Table, store: Store) -> None:
    table.create_tracked("id BIGINT, s STRUCT<x: STRING, y: STRING>, m MAP<STRING, STRING>")
    text = "repeat(sha2(CAST(id AS STRING), 256), 2)"
    frame = table.spark.range(30_000).selectExpr(
        "id", f"struct({text} x, {text} y) s", f"map('k', {text}) m"
    )
    options = {"parquet.bloom.filter.enabled": "true", "parquet.block.size": str(4 * MIB)}
    frame.coalesce(1).write.format("delta").mode("append").options(**options).save(str(table.path))
    table.alter("DROP COLUMN s.x")
    table.alter("RENAME COLUMN s.y TO z")

    remove_both(table, store)


def test_store_copies_to_partitions_with_odd_names(table: Table, store: Store) -> None:
    values = ["100%", "a b", "ä/ö=ü", "%20", "x:y", "日本"]
    table.create_tracked("id BIGINT, a STRING, p STRING", partitioned_by="p")
    rows = " UNION ALL ".join(
        f"SELECT id, repeat(sha2(CAST(id AS STRING), 256), 400), '{value}' FROM range(0, 300, 1, 1)"
        for value in values
    )
    with session_conf(table.spark, UNCOMPRESSED):
        table.spark.sql(f"INSERT INTO {table.name} {rows}")
    table.alter("RENAME COLUMN p TO q")

    uploaded = remove_both(table, store)

    assert uploaded.counts()[Kind.COPY_PART] == len(values)
    assert uploaded.selected() == table.selected()
    assert {row[2] for row in store.rows(uploaded.key)} == set(values)


def test_copies_keep_deletion_vectors(table: Table, store: Store) -> None:
    table_with_a_vector(table)

    uploaded = remove_both(table, store)

    assert uploaded.counts()[Kind.COPY_PART] == 1
    rows = uploaded.selected()
    assert rows == table.selected()
    assert all(row[0] % 3 for row in rows)  # type: ignore[operator]


def test_removal_copies_deletion_vectors_of_a_clones_source(table: Table, store: Store) -> None:
    table_with_a_vector(table)
    source = upload(table, store)
    clone = Uploaded(table.spark, store, "clone")
    table.spark.sql(f"CREATE TABLE {clone.name} SHALLOW CLONE {source.name}")

    clone.remove_mapping()

    table.spark.sql(f"DELETE FROM {source.name}")
    with session_conf(table.spark, {RETENTION_CHECK: "false"}):
        table.spark.sql(f"VACUUM {source.name} RETAIN 0 HOURS")
    other_keys = [key for key in source.data() if not key.endswith("/")]  # VACUUM keeps markers
    assert other_keys == []
    assert sorted(key.rsplit(".", 1)[1] for key in clone.data()) == ["bin", "parquet"]
    assert clone.selected() == table.selected()
    assert store.pending_uploads() == []


# The default stream of Hadoop 3.5 also requests the file's tag, and pieces of 8 MiB.
@EVERY
@pytest.mark.parametrize(("stream", "requests_pieces"), [("classic", False), ("analytics", True)])
def test_executors_copy_when_the_setting_is_false(
    table: Table,
    server: S3,
    new_store_on: Callable[..., Store],
    stream: str,
    requests_pieces: bool,
) -> None:
    options = {"input.stream.type": stream, "multipart.size": "5M"}
    store = new_store_on(server, options=options)
    renamed_table(table)

    with session_conf(table.spark, {STORE_COPY: "false"}):
        uploaded = remove_both(table, store)

    requests = uploaded.counts()
    assert requests.pop(Kind.COPY_PART, 0) == 0
    assert requests.pop(Kind.UPLOAD_PART) == 3
    limit = 6 + 2 + 12 // 8 if requests_pieces else 6
    assert sum(requests.values()) <= limit, requests


def test_executors_copy_when_multipart_uploads_are_disabled(
    table: Table, server: S3, new_store_on: Callable[..., Store]
) -> None:
    store = new_store_on(server, options={"multipart.uploads.enabled": "false"})
    renamed_table(table)

    uploaded = remove_both(table, store)

    assert uploaded.counts()[Kind.CREATE_UPLOAD] == 0
    assert uploaded.counts()[Kind.PUT] == 1


def test_executors_copy_all_files_when_the_store_forbids_copies(
    table: Table, server: S3, new_store_on: Callable[..., Store]
) -> None:
    """After the first refusals, the executor copies all files in the same statement."""
    store = new_store_on(server)
    text_table(table)
    insert_text(table, *TEXTS, megabytes=12)
    table.alter("RENAME COLUMN a TO d")
    store.proxy.harm(Harm.ERROR_403, Kind.COPY_PART, times=None)

    uploaded = remove_both(table, store)

    assert uploaded.counts()[Kind.COPY_PART] <= 2  # one for each task
    assert uploaded.counts()[Kind.ABORT_UPLOAD] == uploaded.counts()[Kind.COPY_PART]


def test_removal_aborts_an_upload_whose_first_response_is_lost(table: Table, store: Store) -> None:
    """The client retries, and only the server knows the first upload."""
    renamed_table(table)
    lost = store.proxy.harm(Harm.LOST, Kind.CREATE_UPLOAD)

    uploaded = remove_both(table, store)

    assert lost.harmed == 1
    assert uploaded.counts()[Kind.CREATE_UPLOAD] == 2
    assert uploaded.counts()[Kind.ABORT_UPLOAD] == 1


def test_removal_aborts_other_uploads_when_one_abort_fails(table: Table, store: Store) -> None:
    """An abort fails if the task of the upload aborts the upload after the listing."""
    text_table(table, megabytes=6)
    insert_text(table, *TEXTS, megabytes=6)
    table.alter("RENAME COLUMN a TO d")
    uploaded = upload(table, store)
    begun: set[str] = set()

    def is_first(request: Request) -> bool:
        is_new = request.key not in begun
        begun.add(request.key)
        return is_new

    store.proxy.harm(Harm.LOST, Kind.CREATE_UPLOAD, also=is_first, times=None)
    store.proxy.harm(Harm.ERROR_403, Kind.ABORT_UPLOAD)

    uploaded.remove_mapping()

    assert len(begun) == 2
    assert uploaded.counts()[Kind.ABORT_UPLOAD] == 2
    assert len(store.pending_uploads()) == 1


@pytest.fixture
def own_server(tmp_path: Path) -> Iterator[S3]:
    """Returns a server whose objects are files of the test."""
    with s3proxy(tmp_path / "s3") as server:
        yield server


def test_table_on_s3_reaches_each_removal_stage(
    table: Table, own_server: S3, new_store_on: Callable[..., Store], tmp_path: Path
) -> None:
    """The server's objects can be made older, because Delta's retention depends on their times."""
    table.create_tracked()
    table.insert("(1, 'x')")
    table.alter("RENAME COLUMN a TO c")
    uploaded = upload(table, new_store_on(own_server))
    tracking = UsageTracking.forPath(table.spark, uploaded.store.uri(uploaded.key))

    def reached(until: Until) -> list[bool]:
        stages = tracking.remove_column_mapping(until=until, progress=None)
        assert uploaded.store.rows(uploaded.key) == [(1, "x")]
        return [each.reached for each in stages]

    assert reached("unmapped") == [True, False, False]
    assert reached("readers") == [True, True, False]
    assert reached("writers") == [True, True, False]
    old = time.time() - 3 * 24 * 3600
    for file in (tmp_path / "s3" / "data").rglob("_delta_log/*"):
        os.utime(file, (old, old))
    assert reached("writers") == [True, True, True]
    assert uploaded.store.pending_uploads() == []


KEY = base64.b64encode(bytes(32)).decode()
KMS_KEY = "arn:aws:kms:us-east-1:1:key/k"
SSE = "x-amz-server-side-encryption"
CUSTOMERS_KEY = {f"{SSE}-customer-algorithm": "AES256", f"{SSE}-customer-key": KEY}
SOURCE_KEY = {"x-amz-copy-source-server-side-encryption-customer-algorithm": "AES256"}
REQUESTER = {"x-amz-request-payer": "requester"}
# Settings of S3A, and the headers of the requests for data files.
SETTINGS: dict[str, tuple[dict[str, str], dict[Kind, dict[str, str]]]] = {
    "SSE-S3": ({"encryption.algorithm": "AES256"}, {Kind.CREATE_UPLOAD: {SSE: "AES256"}}),
    "SSE-KMS": (
        {"encryption.algorithm": "SSE-KMS", "encryption.key": KMS_KEY},
        {Kind.CREATE_UPLOAD: {SSE: "aws:kms", f"{SSE}-aws-kms-key-id": KMS_KEY}},
    ),
    "SSE-C": (
        {"encryption.algorithm": "SSE-C", "encryption.key": KEY},
        {
            **dict.fromkeys((Kind.GET_RANGE, Kind.CREATE_UPLOAD, Kind.UPLOAD_PART), CUSTOMERS_KEY),
            Kind.COPY_PART: CUSTOMERS_KEY | SOURCE_KEY,
        },
    ),
    "storage class": (
        {"create.storage.class": "standard_ia"},
        {Kind.CREATE_UPLOAD: {"x-amz-storage-class": "STANDARD_IA"}},
    ),
    "ACL": (
        {"acl.default": "BucketOwnerFullControl"},
        {Kind.CREATE_UPLOAD: {"x-amz-acl": "bucket-owner-full-control"}},
    ),
    "requester pays": (
        {"requester.pays.enabled": "true"},
        dict.fromkeys((Kind.GET_RANGE, Kind.COPY_PART, Kind.COMPLETE_UPLOAD), REQUESTER),
    ),
}


@EVERY
@pytest.mark.parametrize(("options", "headers"), SETTINGS.values(), ids=SETTINGS)
def test_requests_have_the_settings_of_the_file_system(
    table: Table,
    server: S3,
    new_store_on: Callable[..., Store],
    options: dict[str, str],
    headers: dict[Kind, dict[str, str]],
) -> None:
    store = new_store_on(server, options=options)
    renamed_table(table)

    uploaded = remove_both(table, store)

    for kind, expected in headers.items():
        assert_headers(uploaded, kind, expected)


@pytest.mark.skipif(hadoop_version() == "3.4.1", reason="Hadoop 3.4.1 has no such setting")
def test_uploads_declare_the_checksum_algorithm(
    table: Table, server: S3, new_store_on: Callable[..., Store]
) -> None:
    store = new_store_on(server, options={"create.checksum.algorithm": "SHA256"})
    text_table(table)
    table.alter("DROP COLUMN b")

    uploaded = remove_both(table, store)

    assert_headers(uploaded, Kind.CREATE_UPLOAD, {"x-amz-checksum-algorithm": "SHA256"})
    assert uploaded.counts()[Kind.COMPLETE_UPLOAD] == 1


def assert_headers(uploaded: Uploaded, kind: Kind, headers: dict[str, str]) -> None:
    """Asserts that all requests of a kind for the table's files had these headers."""
    sent = [
        request.headers
        for request in uploaded.store.proxy.requests
        if request.kind is kind and request.key.startswith(uploaded.key)
        if request.key.endswith(".parquet")
    ]
    assert sent
    assert all(headers.items() <= each.items() for each in sent)
