# SPDX-License-Identifier: Apache-2.0
"""The Spark sessions of the tests."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from pyspark.sql import SparkSession

from tests.support.releases import SPARK

JAVA_OPTIONS = "spark.driver.extraJavaOptions"
# The better compiler and the concurrent collector take a quarter of the processor's time, and pay
# off in longer runs only. What this compiler makes of Spark fills the 48 MB that it has by default,
# and objects that outlive a statement are few. Each growth of the metaspace to the 200 MB that
# Spark and Delta fill would collect the whole heap.
SHORT_RUN = (
    "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:ReservedCodeCacheSize=256m -Xmn300m"
    " -XX:MetaspaceSize=256m"
)
if sys.platform == "linux":
    # Hadoop runs `chmod` for every file, by a helper process unless told otherwise.
    SHORT_RUN += " -Djdk.lang.Process.launchMechanism=VFORK"

# One task a stage, and interpreted instead of compiled: a third of the time for a few rows.
FEW_ROWS = {
    "spark.ui.enabled": "false",
    "spark.sql.shuffle.partitions": "1",
    "spark.databricks.delta.snapshotPartitions": "1",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.ui.explainMode": "simple",  # of the plan that each statement sends to the UI
}
# Hadoop's defaults for clusters: two thirds of its settings, which Spark serializes for each scan
# and task. Without them statements on a few rows take an eighth less time.
OF_CLUSTERS = ("yarn.", "mapreduce.", "mapred.")


def small_session(builder: SparkSession.Builder, warehouse: Path) -> SparkSession.Builder:
    """The settings of every session in these tests."""
    return (
        builder.master("local[2]")
        .config(map={**FEW_ROWS})
        .config("spark.sql.sources.parallelPartitionDiscovery.parallelism", "1")
        .config("spark.sql.adaptive.enabled", "false")
        .config("spark.sql.autoBroadcastJoinThreshold", "-1")
        .config("spark.sql.warehouse.dir", str(warehouse))
        .config("spark.sql.scripting.enabled", "true")  # as from Spark 4.1 on; 4.0 has it off
        .config(JAVA_OPTIONS, SHORT_RUN)
        # A list of all files in each checksum, for which every INSERT replays the log: half of the
        # time of one. The ways in and the installed wheel run with it.
        .config("spark.databricks.delta.allFilesInCrc.enabled", "false")
        # A run makes thousands of tables and queries, and Delta and Spark remember them.
        .config("spark.databricks.delta.delta.log.cacheSize", "16")
        .config("spark.sql.ui.retainedExecutions", "10")
        .config("spark.ui.retainedJobs", "100")
        .config("spark.ui.retainedStages", "100")
        .config("spark.ui.retainedTasks", "1000")
    )


def without_clusters(spark: SparkSession) -> None:
    """Removes Hadoop's defaults for clusters. Hadoop's own code has the same defaults."""
    context: Any = spark.sparkContext
    # This class would load them again later.
    context._jvm.java.lang.Class.forName("org.apache.hadoop.mapred.JobConf")
    settings = context._jsc.hadoopConfiguration()
    for prefix in OF_CLUSTERS:
        for key in list(settings.getPropsWithPrefix(prefix)):
            settings.unset(f"{prefix}{key}")


def warehouse_of(spark: SparkSession) -> Path:
    """The folder of a session's tables, those of a schema in one of its own."""
    return Path(urlsplit(str(spark.conf.get("spark.sql.warehouse.dir"))).path)


def with_one_driver(builder: SparkSession.Builder) -> SparkSession.Builder:
    """Removes work for several drivers: eight `readlink` for each commit and its checksum."""
    if SPARK >= (4, 2):  # the class is in another package before
        builder.config(
            "spark.sql.streaming.checkpointFileManagerClass",
            "org.apache.spark.sql.execution.streaming.checkpointing."
            "FileSystemBasedCheckpointFileManager",
        )
    return builder.config("spark.delta.logStore.file.impl", "io.delta.storage.LocalLogStore")


def with_hive_catalog(builder: SparkSession.Builder) -> SparkSession.Builder:
    """A metastore of this JVM alone, gone with it."""
    return (
        builder.enableHiveSupport()
        .config("spark.hadoop.javax.jdo.option.ConnectionURL", "jdbc:derby:memory:hive;create=true")
        # Derby writes a log into the working directory.
        .config(JAVA_OPTIONS, f"{SHORT_RUN} -Dderby.stream.error.file=/dev/null")
    )
