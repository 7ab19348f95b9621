# SPDX-License-Identifier: Apache-2.0
"""Builds the Spark sessions of the tests."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from pyspark.sql import SparkSession

from tests.support.releases import SPARK

JAVA_OPTIONS = "spark.driver.extraJavaOptions"
# The second compiler and the concurrent collector take a quarter of the processor's time. The first
# compiler fills the default code cache of 48 MB. Without a large metaspace, each of its growths
# would collect the whole heap.
SHORT_RUN = (
    "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:ReservedCodeCacheSize=256m -Xmn300m"
    " -XX:MetaspaceSize=256m"
)
if sys.platform == "linux":
    # Hadoop runs `chmod` for every file, by a helper process unless this option says otherwise.
    SHORT_RUN += " -Djdk.lang.Process.launchMechanism=VFORK"

# For the session of a whole run: with the default heap, collections take a twentieth of the time.
LONG_RUN = f"{SHORT_RUN} -Xmn800m"

# One task for each stage, and no code generation, which takes two thirds of the time of a few rows.
FEW_ROWS = {
    "spark.ui.enabled": "false",
    "spark.sql.shuffle.partitions": "1",
    "spark.databricks.delta.snapshotPartitions": "1",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.ui.explainMode": "simple",  # for the plan that each statement sends to the UI
}
# Hadoop's defaults for clusters are two thirds of its settings. Spark serializes them for each scan
# and task, which takes an eighth of the time of statements on a few rows.
OF_CLUSTERS = ("yarn.", "mapreduce.", "mapred.")


def small_session(builder: SparkSession.Builder, warehouse: Path) -> SparkSession.Builder:
    """Sets the settings of every session in these tests."""
    return (
        builder.master("local[2]")
        .config(map={**FEW_ROWS})
        .config("spark.sql.sources.parallelPartitionDiscovery.parallelism", "1")
        .config("spark.sql.adaptive.enabled", "false")
        .config("spark.sql.autoBroadcastJoinThreshold", "-1")
        .config("spark.sql.warehouse.dir", str(warehouse))
        .config("spark.sql.scripting.enabled", "true")  # on by default since Spark 4.1
        .config(JAVA_OPTIONS, SHORT_RUN)
        # With a list of all files in each checksum, every INSERT replays the log, which takes half
        # of its time. `test_metadata_only.py` and some tests in `ways_in/` use the list.
        .config("spark.databricks.delta.allFilesInCrc.enabled", "false")
        # A run makes thousands of tables and queries, which Delta and Spark would remember.
        .config("spark.databricks.delta.delta.log.cacheSize", "16")
        .config("spark.sql.ui.retainedExecutions", "10")
        .config("spark.ui.retainedJobs", "100")
        .config("spark.ui.retainedStages", "100")
        .config("spark.ui.retainedTasks", "1000")
    )


def without_clusters(spark: SparkSession) -> None:
    """Removes Hadoop's defaults for clusters. Hadoop's own code has the same defaults."""
    context: Any = spark.sparkContext
    # Without this, the class would load the defaults again later.
    context._jvm.java.lang.Class.forName("org.apache.hadoop.mapred.JobConf")
    settings = context._jsc.hadoopConfiguration()
    for prefix in OF_CLUSTERS:
        for key in list(settings.getPropsWithPrefix(prefix)):
            settings.unset(f"{prefix}{key}")


def warehouse_of(spark: SparkSession) -> Path:
    """Returns the folder of a session's tables. Each schema has a folder in it."""
    return Path(urlsplit(str(spark.conf.get("spark.sql.warehouse.dir"))).path)


def with_one_driver(builder: SparkSession.Builder) -> SparkSession.Builder:
    """Removes work that only several drivers need: eight `readlink` for each commit."""
    if SPARK >= (4, 2):  # the class is in another package before 4.2
        builder.config(
            "spark.sql.streaming.checkpointFileManagerClass",
            "org.apache.spark.sql.execution.streaming.checkpointing."
            "FileSystemBasedCheckpointFileManager",
        )
    return builder.config("spark.delta.logStore.file.impl", "io.delta.storage.LocalLogStore")


def for_long_run(builder: SparkSession.Builder) -> SparkSession.Builder:
    """Sets what makes many tests in one JVM faster."""
    return builder.config(JAVA_OPTIONS, LONG_RUN).config("spark.driver.memory", "2g")


def with_hive_catalog(builder: SparkSession.Builder) -> SparkSession.Builder:
    """Adds a metastore in the memory of this JVM."""
    return (
        builder.enableHiveSupport()
        .config("spark.hadoop.javax.jdo.option.ConnectionURL", "jdbc:derby:memory:hive;create=true")
        # Derby writes a log into the working directory.
        .config(JAVA_OPTIONS, f"{SHORT_RUN} -Dderby.stream.error.file=/dev/null")
    )
