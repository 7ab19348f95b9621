# SPDX-License-Identifier: Apache-2.0
"""A table on HDFS leaves column mapping."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable
from pyspark.sql import SparkSession

from tests.object_stores.hdfs import mini_hdfs
from tests.support.delta_table import NAME_MODE, TRACKED
from tests.support.leaving import NONE_MODE, counts
from tests.support.table_log import TableLog

pytestmark = pytest.mark.matrix


@pytest.fixture(scope="session")
def hdfs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with mini_hdfs(tmp_path_factory.mktemp("hdfs")) as address:
        yield address


def mirror(spark: SparkSession, uri: str, folder: Path) -> Path:
    """A copy of a table, by `FileSystem.copyToLocalFile`."""
    jvm: Any = spark._jvm
    source = jvm.org.apache.hadoop.fs.Path(uri)
    store = source.getFileSystem(spark.sparkContext._jsc.hadoopConfiguration())
    store.copyToLocalFile(source, jvm.org.apache.hadoop.fs.Path(f"file:{folder}"))
    return folder


def test_a_renamed_column_is_copied(spark: SparkSession, hdfs: str, tmp_path: Path) -> None:
    name = f"delta.`{hdfs}/t`"
    spark.sql(
        f"CREATE TABLE {name} (a INT, b STRING) USING delta TBLPROPERTIES ({TRACKED}, {NAME_MODE})"
    )
    rows = "(1, 'x'), (2, NULL)"
    spark.sql(f"INSERT INTO {name} SELECT /*+ COALESCE(1) */ * FROM VALUES {rows}")
    spark.sql(f"ALTER TABLE {name} RENAME COLUMN a TO c")

    spark.sql(f"ALTER TABLE {name} SET TBLPROPERTIES ({NONE_MODE})")

    table = mirror(spark, f"{hdfs}/t", tmp_path / "t")
    assert counts(TableLog(table)) == (0, 1, 0)
    by_deltalake = DeltaTable(f"{hdfs}/t").to_pyarrow_table().to_pylist()
    assert by_deltalake == [{"c": 1, "b": "x"}, {"c": 2, "b": None}]
