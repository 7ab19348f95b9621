# SPDX-License-Identifier: Apache-2.0
"""The pair of Spark and Delta that the tests run on, and what they expect of it."""

from __future__ import annotations

from contextlib import AbstractContextManager
from importlib.metadata import version

import pyspark
import pytest
from pyspark.sql import SparkSession

from spark_ext.launch.releases import RELEASES
from tests.support.session_conf import session_conf

AUTO_MERGE = "spark.databricks.delta.schema.autoMerge.enabled"


def numbers(release: str) -> tuple[int, ...]:
    return tuple(int(part) for part in release.split(".") if part.isdigit())


DELTA_VERSION = version("delta-spark")
SPARK = numbers(pyspark.__version__)
DELTA = numbers(DELTA_VERSION)
# Since 4.1 an artifact has the line of Spark in its name.
DELTA_LINE = f"_{SPARK[0]}.{SPARK[1]}" if DELTA >= (4, 1) else ""
DELTA_COORDINATES = f"io.delta:delta-spark{DELTA_LINE}_2.13:{DELTA_VERSION}"

# The values in refusals and warnings.
SUPPORTED_PAIRS = RELEASES["supported"]
TESTED_DELTAS = ", ".join(RELEASES["deltas"])

# PySpark closes the sockets that it reads rows from since 4.2.
LEAVES_SOCKETS_OPEN = SPARK < (4, 2)

# Delta writes partition columns into data files since 4.4 (`delta.writePartitionColumnsToParquet`).
WRITES_PARTITION_COLUMNS = DELTA >= (4, 4)

# What Delta writes into files of change data beside the table's columns; it partitions them by the
# first.
CHANGE_DATA = [*(["__is_cdc"] if WRITES_PARTITION_COLUMNS else []), "_change_type"]

# Before Spark 4.2 a view may not name a table function that an extension brings.
VIEWS_TAKE_OUR_FUNCTIONS = SPARK >= (4, 2)

# Spark's condition if a session changes a setting of the application.
STATIC_SETTING = "CANNOT_MODIFY_STATIC_CONFIG" if SPARK >= (4, 1) else "CANNOT_MODIFY_CONFIG"

# CREATE TABLE .. LIKE takes delta.`/path` since Spark 4.2; before, only a table of the catalog.
LIKE_TAKES_PATHS = SPARK >= (4, 2)

# INSERT BY NAME and DataFrame writers cast to the table's types, evolving, since Delta 4.2
# (DeltaAnalysis.scala: `allowSchemaEvolution`).
CASTS_EVOLVING_INSERTS = DELTA >= (4, 2)

# CREATE TABLE in SQL takes generated and identity columns since Delta 4.4.
SQL_GENERATES_COLUMNS = DELTA >= (4, 4)

# MERGE WITH SCHEMA EVOLUTION evolves in SQL since Delta 4.3. Before, Spark parses it and Delta
# takes no notice (DeltaAnalysis.scala: `withSchemaEvolution = false`).
MERGE_IN_SQL_EVOLVES = DELTA >= (4, 3)


def since_delta_4_1(reason: str) -> pytest.MarkDecorator:
    """Leaves a test out on Delta 4.0, which does so: `reason`."""
    return pytest.mark.skipif(DELTA < (4, 1), reason=f"Delta 4.0 {reason}")


# Delta 4.0.0 was built for Spark 4.0.0: its `ReorgTableHelper` and manifests of Parquet files call
# a constructor that 4.0.1 does not have.
UNLINKED = DELTA == (4, 0, 0)
PURGES = pytest.mark.skipif(UNLINKED, reason="Delta 4.0.0 cannot purge on Spark 4.0.1")
TAKES_PARQUET = pytest.mark.skipif(
    UNLINKED, reason="Delta 4.0.0 cannot convert or clone Parquet files on Spark 4.0.1"
)

# `columnMapping.reuseColumnMetadataDuringReplace` came with 4.1.
REPLACED_COLUMNS_ARE_NEW = since_delta_4_1("gives the columns of a REPLACE new ids and names")
NAMES_NO_MISMATCH = since_delta_4_1("has no condition for a schema that does not fit")


def evolving_merge(spark: SparkSession) -> AbstractContextManager[None]:
    """Makes MERGE WITH SCHEMA EVOLUTION in SQL do so, in the way that the release has for it."""
    return session_conf(spark, {} if MERGE_IN_SQL_EVOLVES else {AUTO_MERGE: "true"})
