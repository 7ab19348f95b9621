# SPDX-License-Identifier: Apache-2.0
"""Tests a removal on S3 while requests fail once or always."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from typing import NamedTuple

import pytest
from py4j.protocol import Py4JJavaError
from pyspark import InheritableThread
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from tests.object_stores.requests import Harm, Kind, Request
from tests.object_stores.s3 import S3
from tests.object_stores.store import Store
from tests.object_stores.uploaded import Uploaded, insert_text, upload
from tests.support.delta_table import Table
from tests.support.removal import OPERATION, insert_one_file
from tests.support.waiting import wait_until

EVERY = pytest.mark.every_variant
COPY_FAILED = "USAGE_TRACKING_COPY_FAILED"
STORAGE_FAILED = "USAGE_TRACKING_STORAGE_FAILED"
COMMIT_STATUS_UNKNOWN = "USAGE_TRACKING_COMMIT_STATUS_UNKNOWN"
FAILED_AFTER_COMMIT = "USAGE_TRACKING_FAILED_AFTER_COMMIT"
ROW = (-1, "x", "y")
TABLE = "the table"
VERSION = 3  # of the table before the removal
COMMIT = f"*/{VERSION + 1:020}.json"


class Step(NamedTuple):
    """Describes requests of a removal, and the conditions with which a removal may fail."""

    kind: Kind
    key: str
    conditions: set[str | None]


# The requests for a file that the store copies, for a file that the task writes, and for the log.
STEPS = {
    "footer": Step(Kind.GET_RANGE, "*-c000.parquet", {COPY_FAILED}),
    "small file": Step(Kind.GET_RANGE, "*-c000.snappy.parquet", {COPY_FAILED}),
    "upload": Step(Kind.CREATE_UPLOAD, "*.parquet", {COPY_FAILED}),
    "copied part": Step(Kind.COPY_PART, "*.parquet", set()),
    "sent part": Step(Kind.UPLOAD_PART, "*.parquet", {COPY_FAILED}),
    "end of upload": Step(Kind.COMPLETE_UPLOAD, "*.parquet", {COPY_FAILED}),
    "small copy looked for": Step(Kind.HEAD, "*.snappy.parquet", {COPY_FAILED}),
    "small copy listed": Step(Kind.LIST, "*.snappy.parquet/", {COPY_FAILED}),
    "small copy": Step(Kind.PUT, "*.snappy.parquet", {COPY_FAILED}),
    "copies listed": Step(Kind.LIST, TABLE, {STORAGE_FAILED}),
    # Delta lists the log as well, before our code runs.
    "log listed": Step(Kind.LIST, "*/_delta_log/", {STORAGE_FAILED, None}),
    "commit looked for": Step(Kind.HEAD, COMMIT, {COMMIT_STATUS_UNKNOWN}),
    "commit": Step(Kind.PUT, COMMIT, {COMMIT_STATUS_UNKNOWN, FAILED_AFTER_COMMIT}),
    "checksum": Step(Kind.PUT, "*/_delta_log/.*.tmp", set()),
    "uploads listed": Step(Kind.LIST_UPLOADS, "*", set()),
}
# `CORE` omits these steps, because other steps fail in the same way.
LIKE_OTHERS = {
    *("small file", "sent part", "small copy looked for", "small copy listed"),
    *("commit looked for", "uploads listed"),
}
CORE = {
    *((step, Harm.ERROR_503, None) for step in STEPS if step not in LIKE_OTHERS),
    ("end of upload", Harm.LOST, 1),
    ("end of upload", Harm.ERROR_IN_200, None),
    ("copied part", Harm.ERROR_IN_200, 1),
    ("commit", Harm.LOST, 1),
    ("commit", Harm.LOST, None),
}
CASES = [
    pytest.param(
        step,
        harm,
        times,
        id=f"{step}-{harm.name}-{'once' if times else 'for ever'}",
        marks=pytest.mark.every_variant if (step, harm, times) in CORE else pytest.mark.matrix,
    )
    for step in STEPS
    for harm in Harm
    for times in (1, None)
]


@pytest.fixture(scope="module")
def local_table(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Table]:
    """Makes a table of a large and a small file with a renamed column."""
    table = Table(spark, tmp_path_factory.mktemp("renamed") / "t")
    table.create_tracked("id BIGINT, a STRING, b STRING")
    insert_text(table, "a", "b", megabytes=6)
    insert_one_file(table, f"({ROW[0]}L, '{ROW[1]}', '{ROW[2]}')")
    table.alter("RENAME COLUMN a TO d")
    yield table
    shutil.rmtree(table.path)


@pytest.fixture(scope="module")
def local_rows(local_table: Table) -> list[tuple[object, ...]]:
    return local_table.selected()


@pytest.fixture
def uploaded(local_table: Table, store: Store) -> Uploaded:
    store.proxy.slow = 0.5
    return upload(local_table, store)


def failure_of(remove: Callable[[], None]) -> tuple[bool, str | None]:
    """Returns whether a removal failed, and its condition."""
    try:
        remove()
    except PySparkException as refused:
        return True, refused.getCondition()
    except Py4JJavaError:
        return True, None
    return False, None


@pytest.mark.parametrize(("step", "harm", "times"), CASES)
def test_removal_leaves_a_valid_table_and_no_other_files_when_a_request_fails(
    server: S3,
    new_store_on: Callable[..., Store],
    local_table: Table,
    local_rows: list[tuple[object, ...]],
    step: str,
    harm: Harm,
    times: int | None,
) -> None:
    # A second attempt would fail too, after a wait of a second.
    store = new_store_on(server, options={} if times else {"attempts.maximum": "1"})
    store.proxy.slow = 0.5
    uploaded = upload(local_table, store)
    version, before = uploaded.log.version, uploaded.data()
    assert version == VERSION
    kind, key, conditions = STEPS[step]
    key = f"{uploaded.key}/" if key == TABLE else key
    fault = store.proxy.harm(harm, kind, key=key, times=times)

    failed, condition = failure_of(uploaded.remove_mapping)

    store.proxy.heal()
    assert fault.harmed > 0
    log = uploaded.log
    assert log.version in (version, version + 1)
    is_off = log.version > version
    if failed:
        assert condition in conditions
        assert is_off == (condition == FAILED_AFTER_COMMIT)
    else:
        assert is_off
        assert log.operation == OPERATION
    if condition != COMMIT_STATUS_UNKNOWN and not (failed and step == "copies listed"):
        live = {f"{path}" for path in log.live_files} if is_off else before
        assert uploaded.data() == before | live
    if kind is not Kind.LIST_UPLOADS:
        assert store.pending_uploads() == []
    if is_off:
        rows = store.rows(uploaded.key)
        assert len(rows) == len(local_rows)
        assert rows[0] == ROW
    assert uploaded.selected() == local_rows


def test_copy_is_used_when_the_last_response_is_lost(uploaded: Uploaded) -> None:
    """The object exists, and its name is unique."""
    fault = uploaded.store.proxy.harm(Harm.LOST, Kind.COMPLETE_UPLOAD, times=None)

    uploaded.remove_mapping()

    assert fault.harmed > 0
    assert uploaded.counts()[Kind.PUT] == 1  # of the small file: the store copies the large file


@EVERY
@pytest.mark.parametrize("stream", ["default", "classic"])
def test_lost_connection_is_not_reported_as_a_truncated_file(
    local_table: Table, server: S3, new_store_on: Callable[..., Store], stream: str
) -> None:
    """S3A throws an EOFException for both, but the file is complete."""
    options = {} if stream == "default" else {"input.stream.type": stream}
    uploaded = upload(local_table, new_store_on(server, options=options))
    key = STEPS["small file"].key
    fault = uploaded.store.proxy.harm(Harm.LOST, Kind.GET_RANGE, key=key, times=None)

    failed, condition = failure_of(uploaded.remove_mapping)

    assert fault.harmed > 0
    assert failed
    assert condition == COPY_FAILED


def test_cancelled_removal_leaves_no_files(uploaded: Uploaded) -> None:
    context, store, before = uploaded.spark.sparkContext, uploaded.store, uploaded.data()
    store.proxy.slow = 3
    fault = store.proxy.harm(Harm.SLOW, Kind.COPY_PART, times=None)
    failures: list[bool] = []

    def remove_mapping() -> None:
        context.setJobGroup("on S3", "of the test", interruptOnCancel=False)
        failures.append(failure_of(uploaded.remove_mapping)[0])

    thread = InheritableThread(target=remove_mapping)
    thread.start()
    wait_until(lambda: fault.harmed > 0, "the store copies")
    context.cancelJobGroup("on S3")
    thread.join()

    assert failures == [True]
    store.proxy.heal()
    wait_until(lambda: store.pending_uploads() == [], "the upload is ended")
    assert uploaded.data() == before
    assert uploaded.log.version == VERSION


def test_upload_has_the_condition_not_to_overwrite(uploaded: Uploaded) -> None:
    uploaded.remove_mapping()

    (end,) = [
        request for request in uploaded.store.proxy.requests if request.kind is Kind.COMPLETE_UPLOAD
    ]
    assert end.headers["if-none-match"] == "*"


def test_upload_does_not_overwrite_an_object(
    uploaded: Uploaded, local_rows: list[tuple[object, ...]]
) -> None:
    """The task deletes the object, because only copies have such names, and writes the copy."""
    store = uploaded.store
    taken: list[str] = []

    def take(request: Request) -> bool:
        if request.kind is Kind.COMPLETE_UPLOAD and not taken:
            taken.append(request.key)
            store.server.put(store.bucket, request.key, b"of a task that died")
        return False

    store.proxy.harm(Harm.SLOW, also=take, times=None)

    uploaded.remove_mapping()

    ends = [each for each in store.proxy.requests if each.kind is Kind.COMPLETE_UPLOAD]
    assert [end.status for end in ends] == [412]
    assert uploaded.selected() == local_rows
    assert store.pending_uploads() == []
