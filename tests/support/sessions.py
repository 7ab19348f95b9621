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
    )
