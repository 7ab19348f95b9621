# SPDX-License-Identifier: Apache-2.0
"""Runs statements on a Delta table, and reads its files."""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from delta.tables import DeltaTable, IdentityGenerator
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from spark_ext import UsageTracking
from tests.support.releases import SQL_GENERATES_COLUMNS
from tests.support.session_conf import session_conf
from tests.support.table_files import rows_in_files
from tests.support.table_log import LIKE, USER_METADATA, TableLog

TRACKED = "'delta.feature.columnMappingUsageTracking' = 'supported'"
NAME_MODE = "'delta.columnMapping.mode' = 'name'"
ID_MODE = "'delta.columnMapping.mode' = 'id'"
NONE_MODE = "'delta.columnMapping.mode' = 'none'"
LEGACY_PROTOCOL = "'delta.minReaderVersion' = '2', 'delta.minWriterVersion' = '5'"
# Commas outside of brackets separate columns.
COLUMN = re.compile(r"(?:[^,(<]|\([^)]*\)|<[^>]*>)+")
PARTS = re.compile(
    r"(?P<name>\w+) (?P<type>\w+(?:<.*>)?)"
    r"(?: GENERATED (?P<how>ALWAYS|BY DEFAULT) AS (?:IDENTITY|\((?P<expression>.*)\)))?"
)
PROPERTY = re.compile(r"'([^']+)' = '([^']+)'")


def in_turn(*writers: Callable[[Table], object]) -> Callable[[Table], None]:
    """Returns a function that calls the writers in order."""

    def write(table: Table) -> None:
        for each in writers:
            each(table)

    return write


def create_like(spark: SparkSession, new: str, source: str) -> None:
    """Creates a table by CREATE TABLE LIKE, and says so in the commit."""
    with session_conf(spark, {USER_METADATA: LIKE}):
        spark.sql(f"CREATE TABLE {new} LIKE {source}")


class Table:
    """Runs SQL on a table through Spark. `log` reads its files."""

    def __init__(self, spark: SparkSession, path: Path, name: str | None = None) -> None:
        self.spark = spark
        self.path = path
        self.name = name or f"delta.`{path}`"

    @property
    def log(self) -> TableLog:
        return TableLog(self.path)

    @property
    def usage(self) -> UsageTracking:
        return UsageTracking.forPath(self.spark, str(self.path))

    @property
    def delta_table(self) -> DeltaTable:
        return DeltaTable.forPath(self.spark, str(self.path))

    def create(self, columns: str, *properties: str, partitioned_by: str = "") -> Table:
        if "GENERATED" in columns and not SQL_GENERATES_COLUMNS:
            create_by_builder(self.spark, self.path, columns, *properties)
            return self
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

    def remove_mapping(self) -> None:
        self.alter(f"SET TBLPROPERTIES ({NONE_MODE})")

    def overwrite(self, query: str) -> None:
        """Replaces rows and columns by those of a query."""
        writer = self.spark.sql(query).write.format("delta").mode("overwrite")
        writer.option("overwriteSchema", "true").save(str(self.path))

    def restore(self, version: int) -> None:
        self.spark.sql(f"RESTORE TABLE {self.name} TO VERSION AS OF {version}")

    def purge(self) -> None:
        self.spark.sql(f"REORG TABLE {self.name} APPLY (PURGE)")

    def vacuum_at_once(self) -> None:
        """Deletes every file that the newest version does not need."""
        with session_conf(
            self.spark, {"spark.databricks.delta.retentionDurationCheck.enabled": "false"}
        ):
            self.spark.sql(f"VACUUM {self.name} RETAIN 0 HOURS")

    def clone(self, path: Path) -> Table:
        """Makes a shallow clone."""
        made = Table(self.spark, path)
        self.spark.sql(f"CREATE TABLE {made.name} SHALLOW CLONE {self.name}")
        return made

    def age_log(self) -> None:
        """Makes each log file three days old: Delta's retention depends on the times of files."""
        old = time.time() - 3 * 24 * 3600
        for file in (self.path / "_delta_log").rglob("*"):
            os.utime(file, (old, old))

    def cut_log(self, version: int) -> None:
        """Removes the commits before a version, after the newest version gets a checkpoint."""
        jvm: Any = self.spark._jvm
        logs = jvm.org.apache.spark.sql.delta.DeltaLog
        logs.forTable(self.spark._jsparkSession, str(self.path)).checkpoint()
        for earlier in range(version):
            (self.path / "_delta_log" / f"{earlier:020}.json").unlink()
        forget_logs(self.spark)

    def frame(self, version: int | None = None) -> DataFrame:
        """Returns the table, or a version of it, for chispa, which also compares schemas."""
        suffix = "" if version is None else f" VERSION AS OF {version}"
        return self.spark.sql(f"SELECT * FROM {self.name}{suffix}")

    def rows(self) -> list[tuple[object, ...]]:
        """Returns the rows in the files as sorted tuples. Spark would take longer.

        Only commits are read, so the log must be whole.
        """
        log = self.log
        assert (log.path / "_delta_log" / f"{0:020}.json").exists(), "`selected` reads checkpoints"
        names = [field["name"] for field in json.loads(log.metadata["schemaString"])["fields"]]
        found = (tuple(map(row.get, names)) for row in rows_in_files(log))
        return sorted(found, key=repr)

    def selected(self, columns: str = "*") -> list[tuple[object, ...]]:
        """Returns the rows that Spark reads as sorted tuples."""
        collected = self.spark.sql(f"SELECT {columns} FROM {self.name}").collect()
        return sorted((tuple(row) for row in collected), key=repr)

    @contextmanager
    def one_commit(self) -> Iterator[None]:
        """Asserts that the body makes exactly one commit."""
        version = self.log.version
        yield
        assert self.log.version == version + 1

    @contextmanager
    def no_commit(self) -> Iterator[None]:
        """Asserts that the body makes no commit."""
        version = self.log.version
        yield
        assert self.log.version == version

    @contextmanager
    def refusal(self, condition: str | None = None) -> Iterator[Any]:
        """Asserts that the body fails with this or any condition and makes no commit."""
        with self.no_commit(), refusal(condition) as refused:
            yield refused


def create_by_builder(spark: SparkSession, path: Path, columns: str, *properties: str) -> None:
    """Creates a table with generated or identity columns, which SQL has since Delta 4.4.0.

    Source:
        AbstractDeltaCatalog.scala, `capabilities`.
    """
    builder = DeltaTable.create(spark).location(str(path))
    for column in COLUMN.findall(columns):
        parts = PARTS.fullmatch(column.strip())
        assert parts is not None, column
        always = parts["expression"] or IdentityGenerator()
        builder.addColumn(
            parts["name"],
            parts["type"],
            generatedAlwaysAs=always if parts["how"] == "ALWAYS" else None,
            generatedByDefaultAs=IdentityGenerator() if parts["how"] == "BY DEFAULT" else None,
        )
    for text in properties:
        found = PROPERTY.fullmatch(text)
        assert found is not None, text
        builder.property(*found.groups())
    builder.execute()


def write_tracked(spark: SparkSession, path: Path) -> TableLog:
    """Writes a tracked table without SQL text."""
    writer = spark.range(1).write.format("delta").option("delta.columnMapping.mode", "name")
    writer.option("delta.feature.columnMappingUsageTracking", "supported").save(str(path))
    return TableLog(path)


def forget_logs(spark: SparkSession) -> None:
    """Clears Delta's cache of logs."""
    jvm: Any = spark._jvm
    jvm.org.apache.spark.sql.delta.DeltaLog.clearCache()


@contextmanager
def refusal(condition: str | None = None) -> Iterator[Any]:
    """Asserts that the body fails with this condition, and yields what `pytest.raises` yields."""
    with pytest.raises((PySparkException, Py4JJavaError)) as refused:
        yield refused
    assert condition is None or thrown(refused.value).getCondition() == condition


def thrown(error: BaseException) -> Any:
    """Returns the error of Delta: the Java error, if PySpark does not convert its type."""
    return error.java_exception if isinstance(error, Py4JJavaError) else error
