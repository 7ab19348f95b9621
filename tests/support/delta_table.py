# SPDX-License-Identifier: Apache-2.0
"""A Delta table under test."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import SparkSession
from table_log import TableLog

TRACKED = "'delta.feature.columnMappingUsageTracking' = 'supported'"
NAME_MODE = "'delta.columnMapping.mode' = 'name'"


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
