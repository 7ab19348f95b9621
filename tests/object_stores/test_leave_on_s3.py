# SPDX-License-Identifier: Apache-2.0
"""A table on S3 leaves column mapping."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.object_stores.requests import Kind
from tests.object_stores.s3 import S3
from tests.object_stores.store import Store
from tests.support.delta_table import NAME_MODE, TRACKED
from tests.support.leaving import NONE_MODE, counts
from tests.support.table_log import TableLog

ROWS = [(1, "x"), (2, "y"), (3, None)]


def create(spark: SparkSession, store: Store) -> str:
    """A table with a renamed column in one file; its name in SQL."""
    name = f"delta.`{store.uri('t')}`"
    spark.sql(
        f"CREATE TABLE {name} (a INT, b STRING) USING delta TBLPROPERTIES ({TRACKED}, {NAME_MODE})"
    )
    spark.sql(
        f"INSERT INTO {name} SELECT /*+ COALESCE(1) */ * FROM VALUES (1, 'x'), (2, 'y'), (3, NULL)"
    )
    spark.sql(f"ALTER TABLE {name} RENAME COLUMN a TO c")
    return name


@pytest.mark.parametrize("stream", ["default", "classic"])
def test_a_renamed_column_is_copied(
    spark: SparkSession,
    server: S3,
    new_store_on: Callable[..., Store],
    tmp_path: Path,
    stream: str,
) -> None:
    options = {} if stream == "default" else {"input.stream.type": stream}
    store = new_store_on(server, options=options)
    name = create(spark, store)
    assert store.rows("t") == ROWS
    before = set(store.objects("t/"))
    store.proxy.forget()

    spark.sql(f"ALTER TABLE {name} SET TBLPROPERTIES ({NONE_MODE})")

    log = TableLog(store.mirror("t", tmp_path / "t"))
    assert counts(log) == (0, 1, 0)
    assert log.parquet_columns() == ["b", "c"]
    assert store.rows("t") == ROWS
    new = set(store.objects("t/")) - before
    assert len([key for key in new if key.endswith(".parquet")]) == 1
    assert store.pending_uploads() == []
    of_files = store.proxy.counts("t/*.parquet")
    assert of_files[Kind.PUT] + of_files[Kind.COMPLETE_UPLOAD] == 1
