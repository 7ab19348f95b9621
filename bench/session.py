# SPDX-License-Identifier: Apache-2.0
"""Runs a Spark session in a separate process that times statements for `remote.py`.

The process reads one JSON command per line from standard input and answers with one JSON line. A
session with the plugin and a session with plain delta-spark take turns on the same machine.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from delta import configure_spark_with_delta_pip
from delta.tables import DeltaTable
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

import spark_ext

ROUNDS = "sparkext.removal.RemovalRounds"
ASSIGNED_METADATA = (
    "org.apache.spark.sql.delta.DeltaColumnMapping$.verifyAndUpdateMetadataChange:After"
)


class Session:
    """Contains the commands. Each command returns a number."""

    def __init__(self, folder: Path, settings: Mapping[str, str], *, plugin: bool) -> None:
        builder = (
            SparkSession.builder.master("local[2]")
            .config("spark.ui.enabled", "false")
            .config("spark.sql.shuffle.partitions", "2")
            .config("spark.databricks.delta.snapshotPartitions", "2")
            .config("spark.sql.warehouse.dir", str(folder / "warehouse"))
        )
        for name, value in settings.items():
            builder = builder.config(name, value)
        builder = spark_ext.configure(builder) if plugin else plain(builder)
        # The measured time includes the start of the JVM and of the plugin.
        context = builder.config("spark.sql.extensions", builder._options["spark.sql.extensions"])
        started = time.perf_counter()
        self.spark = context.getOrCreate()
        self.spark.sql("SELECT 1").collect()
        self.start_seconds = time.perf_counter() - started
        self.spark.sparkContext.setLogLevel("ERROR")
        # This logger writes the milliseconds between the last reading of a table and the commit.
        log4j = self.jvm.org.apache.logging.log4j
        log4j.core.config.Configurator.setLevel(ROUNDS, log4j.Level.INFO)
        self.held: dict[str, DeltaTable] = {}
        self.report: object = None

    @property
    def jvm(self) -> Any:
        return self.spark._jvm

    def started(self) -> float:
        """Returns the seconds to the answer of the first query."""
        return self.start_seconds

    def sql(self, statement: str) -> float:
        """Runs a statement, and returns its seconds."""
        started = time.perf_counter()
        self.spark.sql(statement).collect()
        return time.perf_counter() - started

    def attempt(self, statement: str) -> float:
        """Runs a statement, and returns its seconds, or -1 if it failed."""
        try:
            return self.sql(statement)
        except PySparkException as error:
            print(statement, error.getCondition(), file=sys.stderr)
            return -1.0

    def hold(self, path: str) -> float:
        """Makes a DeltaTable for `held_update`."""
        self.held[path] = DeltaTable.forPath(self.spark, path)
        return 0.0

    def held_update(self, path: str, condition: str) -> float:
        """Updates by the held DeltaTable, and returns the seconds."""
        started = time.perf_counter()
        self.held[path].update(condition, {"c0": "c0 + 1"})
        return time.perf_counter() - started

    def forget(self) -> float:
        """Empties Delta's cache of logs."""
        self.jvm.org.apache.spark.sql.delta.DeltaLog.clearCache()
        return 0.0

    def survey(self, paths: list[str]) -> float:
        """Surveys tables, and returns the seconds."""
        started = time.perf_counter()
        spark_ext.survey(self.spark, *paths, progress=None)
        return time.perf_counter() - started

    def remove_column_mapping(self, paths: list[str], parallel: int) -> float:
        """Removes column mapping from tables, and returns the seconds."""
        started = time.perf_counter()
        report = spark_ext.remove_column_mapping(
            self.spark, *paths, parallel=parallel, progress=None
        )
        seconds = time.perf_counter() - started
        if not report.complete:
            raise RuntimeError(report.text())
        self.report = report
        return seconds

    def statements(self, statements: list[str], parallel: int) -> float:
        """Runs statements in threads, and returns the seconds."""
        started = time.perf_counter()
        with ThreadPoolExecutor(parallel) as threads:
            list(threads.map(self.sql, statements))
        return time.perf_counter() - started

    def collect_garbage(self) -> float:
        """Runs the JVM's collector."""
        self.jvm.System.gc()
        return 0.0

    def live_megabytes(self) -> float:
        """Returns the JVM's live objects plus the peak memory of this process, in 10^6 bytes."""
        self.collect_garbage()
        runtime = self.jvm.Runtime.getRuntime()
        python = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        return float(runtime.totalMemory() - runtime.freeMemory() + python) / 1e6

    def rule_call(self, path: str) -> float:
        """Runs one rule call from the JVM to the rule process and back, and returns its seconds."""
        jvm = self.jvm
        gateway: Any = self.spark.sparkContext._gateway
        delta = jvm.org.apache.spark.sql.delta
        bridge = delta.UsageTrackingBridge
        log = delta.DeltaLog.forTable(self.spark._jsparkSession, path)
        newest = log.update(False, jvm.scala.Option.empty(), jvm.scala.Option.empty())
        before = log.getSnapshotAt(
            newest.version() - 1, jvm.scala.Option.empty(), jvm.scala.Option.empty(), False
        )
        assigned = newest.metadata()
        proposed = with_schema(assigned, without_last_mapping(assigned.schemaString()))
        values = [self.spark._jsparkSession, log, newest.protocol(), before.metadata(), proposed]
        arguments = gateway.new_array(jvm.java.lang.Object, 7)
        for index, value in enumerate([*values, False, False]):
            arguments[index] = value
        for metadata in (before.metadata(), proposed, assigned):
            metadata.schema()  # Delta has parsed these schemas before it calls the rules
        started = time.perf_counter()
        bridge.call(ASSIGNED_METADATA, None, None, arguments, assigned, None)
        return time.perf_counter() - started


def without_last_mapping(schema: str) -> str:
    """Returns the schema as ADD COLUMN proposes it: the last column is not yet mapped."""
    fields = json.loads(schema)["fields"]
    fields[-1]["metadata"] = {}
    return json.dumps({"type": "struct", "fields": fields}, separators=(",", ":"))


def with_schema(metadata: Any, schema: str) -> Any:
    """Returns a copy of Delta's `Metadata` with another schema."""
    return metadata.copy(
        metadata.id(),
        metadata.name(),
        metadata.description(),
        metadata.format(),
        schema,
        metadata.partitionColumns(),
        metadata.configuration(),
        metadata.createdTime(),
    )


def plain(builder: SparkSession.Builder) -> SparkSession.Builder:
    """Configures Delta Lake as in its documentation."""
    return configure_spark_with_delta_pip(
        builder.config("spark.sql.extensions", "io.delta.sql.DeltaSparkSessionExtension").config(
            "spark.sql.catalog.spark_catalog",
            "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        )
    )


def serve(session: Session) -> None:
    """Answers commands until standard input ends."""
    for line in sys.stdin:
        command: dict[str, Any] = json.loads(line)
        call: Callable[..., float] = getattr(session, command.pop("do"))
        print(json.dumps(call(**command)), file=ANSWERS, flush=True)


if __name__ == "__main__":
    # Spark and its JVM print to standard output, so the answers go to a copy of that stream.
    ANSWERS = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    spark_session = Session(
        Path(sys.argv[2]), json.loads(sys.argv[3]), plugin=sys.argv[1] == "plugin"
    )
    print(json.dumps(spark_session.started()), file=ANSWERS, flush=True)
    serve(spark_session)
    spark_session.spark.stop()
