# SPDX-License-Identifier: Apache-2.0
"""One Spark session with the plugin for all integration tests, and a fresh table for each."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from table_log import TableLog

import spark_ext

TRACKED = "'delta.feature.columnMappingUsageTracking' = 'supported'"
NAME_MODE = "'delta.columnMapping.mode' = 'name'"


def small_session(builder: SparkSession.Builder, warehouse: Path) -> SparkSession.Builder:
    """The settings of every session in these tests."""
    return (
        builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.databricks.delta.snapshotPartitions", "2")
        .config("spark.sql.warehouse.dir", str(warehouse))
    )


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    builder = small_session(SparkSession.builder, tmp_path_factory.mktemp("warehouse"))
    session = spark_ext.configure(builder).getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()


@pytest.fixture
def conf(spark: SparkSession) -> Iterator[object]:
    """Sets session confs for one test; afterwards they are as before."""
    changed: dict[str, str | None] = {}

    def put(key: str, value: str) -> None:
        changed.setdefault(key, spark.conf.get(key, None))
        spark.conf.set(key, value)

    yield put
    for key, value in changed.items():
        if value is None:
            spark.conf.unset(key)
        else:
            spark.conf.set(key, value)


class Table:
    """A Delta table at a path: SQL on it through Spark, everything else from its files."""

    def __init__(self, spark: SparkSession, path: Path) -> None:
        self.spark = spark
        self.path = path
        self.name = f"delta.`{path}`"

    @property
    def log(self) -> TableLog:
        return TableLog(self.path)

    def create(self, columns: str, *properties: str, partitioned_by: str = "") -> Table:
        partitions = f"PARTITIONED BY ({partitioned_by})" if partitioned_by else ""
        clause = f"TBLPROPERTIES ({', '.join(properties)})" if properties else ""
        self.spark.sql(f"CREATE TABLE {self.name} ({columns}) USING delta {partitions} {clause}")
        return self

    def create_tracked(self, columns: str = "a INT, b STRING", **options: str) -> Table:
        return self.create(columns, TRACKED, NAME_MODE, **options)

    def alter(self, change: str) -> None:
        self.spark.sql(f"ALTER TABLE {self.name} {change}")

    def insert(self, values: str) -> None:
        self.spark.sql(f"INSERT INTO {self.name} VALUES {values}")

    def rows(self) -> list[tuple[object, ...]]:
        """The rows as plain tuples, sorted."""
        collected = self.spark.sql(f"SELECT * FROM {self.name}").collect()
        return sorted((tuple(row) for row in collected), key=repr)


@pytest.fixture
def table(spark: SparkSession, tmp_path: Path) -> Table:
    return Table(spark, tmp_path / "t")
