# SPDX-License-Identifier: Apache-2.0
"""The Spark sessions of the tests."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import SparkSession


def small_session(builder: SparkSession.Builder, warehouse: Path) -> SparkSession.Builder:
    """The settings of every session in these tests."""
    return (
        builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.databricks.delta.snapshotPartitions", "2")
        .config("spark.sql.warehouse.dir", str(warehouse))
        # A run makes thousands of tables and queries, and Delta and Spark remember them.
        .config("spark.databricks.delta.delta.log.cacheSize", "16")
        .config("spark.sql.ui.retainedExecutions", "10")
        .config("spark.ui.retainedJobs", "100")
        .config("spark.ui.retainedStages", "100")
        .config("spark.ui.retainedTasks", "1000")
    )
