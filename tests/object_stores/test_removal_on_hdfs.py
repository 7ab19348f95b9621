# SPDX-License-Identifier: Apache-2.0
"""Tests that a table on HDFS reaches each removal stage."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyspark
import pytest
from deltalake import DeltaTable, write_deltalake
from pyspark.sql import SparkSession

from spark_ext import UsageTracking
from tests.object_stores.aws import hadoop_version
from tests.object_stores.servers import JAVA_OPTIONS
from tests.support.delta_table import NAME_MODE, TRACKED
from tests.support.fetched import alone, jars, java
from tests.support.removal import counts
from tests.support.table_log import TableLog
from tests.support.waiting import wait_until

pytestmark = pytest.mark.matrix

SOURCE = Path(__file__).with_name("MiniHdfs.java")
PARTITIONS = ("100%", "a b", "ä")
THREE_DAYS = 3 * 24 * 3600 * 1000


@pytest.fixture(scope="session")
def hdfs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Yields the address of a cluster in a separate JVM, which takes 400 MB and starts in 9 s."""
    home = tmp_path_factory.mktemp("hdfs")
    hadoop = hadoop_version()
    cluster = f"org.apache.hadoop:hadoop-client-minicluster:{hadoop}"
    (jar,) = jars(f"minicluster-{hadoop}", [alone(cluster)])
    class_path = f"{Path(pyspark.__file__).parent}/jars/*:{jar}"
    with (home / "log").open("w") as log:
        process = subprocess.Popen(
            [java(), *JAVA_OPTIONS, "-cp", class_path, SOURCE, home],
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=log,
        )
    try:
        wait_until(
            lambda: (home / "port").exists() or process.poll() is not None, "the cluster is up"
        )
        assert process.poll() is None, (home / "log").read_text()
        yield f"hdfs://127.0.0.1:{(home / 'port').read_text()}"
    finally:
        process.kill()
        process.communicate()


@pytest.fixture
def uri(spark: SparkSession, hdfs: str) -> str:
    """Creates a partitioned table with a renamed column."""
    uri = f"{hdfs}/t"
    name = f"delta.`{uri}`"
    spark.sql(
        f"CREATE TABLE {name} (a INT, p STRING) USING delta PARTITIONED BY (p)"
        f" TBLPROPERTIES ({TRACKED}, {NAME_MODE})"
    )
    for number, partition in enumerate(PARTITIONS):
        spark.sql(f"INSERT INTO {name} VALUES ({number}, '{partition}')")
    spark.sql(f"ALTER TABLE {name} RENAME COLUMN a TO c")
    return uri


def storage(spark: SparkSession, uri: str) -> tuple[Any, Any]:
    jvm: Any = spark._jvm
    path = jvm.org.apache.hadoop.fs.Path(uri)
    return path.getFileSystem(spark.sparkContext._jsc.hadoopConfiguration()), path


def mirror(spark: SparkSession, uri: str, folder: Path) -> Path:
    """Downloads a table by `FileSystem.copyToLocalFile`."""
    jvm: Any = spark._jvm
    store, path = storage(spark, uri)
    store.copyToLocalFile(path, jvm.org.apache.hadoop.fs.Path(f"file:{folder}"))
    return folder


def age_log(spark: SparkSession, uri: str) -> None:
    """Makes files older, because Delta's retention depends on their times."""
    store, path = storage(spark, f"{uri}/_delta_log")
    for file in store.listStatus(path):
        store.setTimes(file.getPath(), int(time.time() * 1000) - THREE_DAYS, -1)


def rows(uri: str) -> list[dict[str, object]]:
    found = DeltaTable(uri).to_pyarrow_table().select(["c", "p"]).to_pylist()
    return sorted(found, key=lambda row: row["c"])


def test_table_on_hdfs_reaches_each_removal_stage(
    spark: SparkSession, uri: str, tmp_path: Path
) -> None:
    expected = [{"c": number, "p": partition} for number, partition in enumerate(PARTITIONS)]
    tracking = UsageTracking.forPath(spark, uri)

    assert [step.reached for step in tracking.remove_column_mapping(progress=None)] == [
        *(True, False, False)
    ]
    assert counts(TableLog(mirror(spark, uri, tmp_path / "unmapped"))) == (0, 3, 0)
    assert rows(uri) == expected

    tracking.remove_column_mapping(until="readers", progress=None)
    assert TableLog(mirror(spark, uri, tmp_path / "readers")).protocol["minReaderVersion"] == 1

    tracking.remove_column_mapping(until="writers", progress=None)
    age_log(spark, uri)
    last = tracking.remove_column_mapping(until="writers", progress=None)

    assert [step.reached for step in last] == [True, True, True]
    table = DeltaTable(uri)
    write_deltalake(table, table.to_pyarrow_table().slice(0, 1), mode="append")
    assert len(rows(uri)) == len(PARTITIONS) + 1
