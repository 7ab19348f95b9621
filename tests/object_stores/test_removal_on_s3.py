# SPDX-License-Identifier: Apache-2.0
"""Tests that a table on S3 removes column mapping."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from spark_ext import UsageTracking
from spark_ext.tables.table import Until
from tests.object_stores.s3 import S3
from tests.object_stores.servers import s3proxy
from tests.object_stores.store import Store
from tests.object_stores.tables import SMALL_ROWS, RenamedTable, incompressible
from tests.object_stores.uploads import LEAST_PART
from tests.support.removal import counts


@pytest.mark.parametrize("stream", ["default", "classic"])
def test_removal_copies_files_with_a_renamed_column(
    spark: SparkSession,
    server: S3,
    new_store_on: Callable[..., Store],
    tmp_path: Path,
    stream: str,
) -> None:
    options = {} if stream == "default" else {"input.stream.type": stream}
    table = RenamedTable(spark, new_store_on(server, options=options))
    table.create()
    assert table.store.rows("t") == SMALL_ROWS
    before = table.data_files().keys()

    table.remove_mapping()

    log = table.log(tmp_path / "t")
    assert counts(log) == (0, 1, 0)
    assert log.parquet_columns() == ["b", "c"]
    assert table.store.rows("t") == SMALL_ROWS
    assert len(table.data_files().keys() - before) == 1
    assert table.store.pending_uploads() == []


def test_removal_copies_a_file_of_several_parts(spark: SparkSession, store: Store) -> None:
    table = RenamedTable(spark, store)
    table.create(incompressible(11), files=2)
    before = table.data_files()
    rows = store.rows("t")

    requests = table.remove_mapping()

    of_data = [request for request in requests if request.key.endswith(".parquet")]
    new = {key: size for key, size in table.data_files().items() if key not in before}
    assert store.rows("t") == rows
    assert len(new) == len(before) == 2
    assert min(new.values()) > 2 * LEAST_PART
    assert store.pending_uploads() == []
    # The footer of each file, and the requests of its upload.
    assert len(of_data) <= 5 * len(new)
    assert sum(request.sent for request in of_data) < sum(new.values()) / 100


@pytest.fixture
def own_server(tmp_path: Path) -> Iterator[S3]:
    """Returns a server whose objects are files of the test."""
    with s3proxy(tmp_path / "s3") as server:
        yield server


def test_table_on_s3_reaches_each_removal_stage(
    spark: SparkSession, own_server: S3, new_store_on: Callable[..., Store], tmp_path: Path
) -> None:
    """The server's objects can be made older, because Delta's retention depends on their times."""
    table = RenamedTable(spark, new_store_on(own_server))
    table.create()
    tracking = UsageTracking.forPath(spark, table.store.uri("t"))

    def remove_mapping(until: Until) -> list[bool]:
        stages = tracking.remove_column_mapping(until=until, progress=None)
        assert table.store.rows("t") == SMALL_ROWS
        return [each.reached for each in stages]

    assert remove_mapping("unmapped") == [True, False, False]
    assert remove_mapping("readers") == [True, True, False]
    assert remove_mapping("writers") == [True, True, False]
    old = time.time() - 3 * 24 * 3600
    for file in (tmp_path / "s3" / "data").rglob("_delta_log/*"):
        os.utime(file, (old, old))
    assert remove_mapping("writers") == [True, True, True]
    assert table.store.pending_uploads() == []
