# SPDX-License-Identifier: Apache-2.0
"""Describes the pair of Spark and Delta under test, and what the tests expect of it."""

from __future__ import annotations

from contextlib import AbstractContextManager
from importlib.metadata import version

import pyspark
import pytest
from pyspark.sql import SparkSession

from tests.matrix.releases import RELEASES
from tests.support.session_conf import session_conf

AUTO_MERGE = "spark.databricks.delta.schema.autoMerge.enabled"


def numbers(release: str) -> tuple[int, ...]:
    return tuple(int(part) for part in release.split(".") if part.isdigit())


DELTA_VERSION = version("delta-spark")
SPARK = numbers(pyspark.__version__)
DELTA = numbers(DELTA_VERSION)
# Delta's artifacts contain the line of Spark in their name since 4.1.
DELTA_LINE = f"_{SPARK[0]}.{SPARK[1]}" if DELTA >= (4, 1) else ""
DELTA_COORDINATES = f"io.delta:delta-spark{DELTA_LINE}_2.13:{DELTA_VERSION}"

# Values in errors and warnings.
SUPPORTED_PAIRS = RELEASES["supported"]
TESTED_DELTAS = ", ".join(RELEASES["deltas"])

# PySpark closes the sockets from which it reads rows since 4.2.
LEAVES_SOCKETS_OPEN = SPARK < (4, 2)

# Delta writes partition columns into data files since 4.4 (`delta.writePartitionColumnsToParquet`).
WRITES_PARTITION_COLUMNS = DELTA >= (4, 4)

# Columns in files of change data besides the table's columns. Delta partitions by `__is_cdc`.
CHANGE_DATA = [*(["__is_cdc"] if WRITES_PARTITION_COLUMNS else []), "_change_type"]

# Before Spark 4.2, a view may not contain a table function of an extension.
VIEWS_TAKE_OUR_FUNCTIONS = SPARK >= (4, 2)

# After an INSERT, Spark 4.0 refreshes a cache whose plan is stale; since 4.1 the refresh fails.
REFRESHES_STALE_CACHES = SPARK < (4, 1)

# Spark's condition if a session changes a setting of the application.
STATIC_SETTING = "CANNOT_MODIFY_STATIC_CONFIG" if SPARK >= (4, 1) else "CANNOT_MODIFY_CONFIG"

# INSERT BY NAME and DataFrame writers cast to the table's types while evolving, since Delta 4.2
# (DeltaAnalysis.scala: `allowSchemaEvolution`).
CASTS_EVOLVING_INSERTS = DELTA >= (4, 2)

# CREATE TABLE in SQL accepts generated and identity columns since Delta 4.4.
SQL_GENERATES_COLUMNS = DELTA >= (4, 4)

# MERGE WITH SCHEMA EVOLUTION evolves in SQL since Delta 4.3. Before, Spark parses the clause and
# Delta ignores it (DeltaAnalysis.scala: `withSchemaEvolution = false`).
MERGE_IN_SQL_EVOLVES = DELTA >= (4, 3)


ICEBERG_COMPAT_V3 = pytest.mark.skipif(DELTA < (4, 3), reason="Delta 4.2 has no IcebergCompatV3")
ADAPTIVE_METADATA = pytest.mark.skipif(DELTA < (4, 4), reason="Delta 4.3 has no adaptiveMetadata")


def since_delta_4_1(reason: str) -> pytest.MarkDecorator:
    """Skips a test on Delta 4.0, for a reason."""
    return pytest.mark.skipif(DELTA < (4, 1), reason=f"Delta 4.0 {reason}")


# Delta 4.0.0 was built for Spark 4.0.0: its `ReorgTableHelper` and manifests of Parquet files call
# a constructor that 4.0.1 does not have.
UNLINKED = DELTA == (4, 0, 0)
PURGES = pytest.mark.skipif(UNLINKED, reason="Delta 4.0.0 cannot purge on Spark 4.0.1")
TAKES_PARQUET = pytest.mark.skipif(
    UNLINKED, reason="Delta 4.0.0 cannot convert or clone Parquet files on Spark 4.0.1"
)

# Delta has `columnMapping.reuseColumnMetadataDuringReplace` since 4.1.
REPLACED_COLUMNS_ARE_NEW = since_delta_4_1("gives the columns of a REPLACE new ids and names")
MAKES_NO_FOLDERS = since_delta_4_1("makes a folder for each value of a mapped table too")
PURGES_HIDDEN = since_delta_4_1("has VACUUM pass over the folders of `_p` once it is renamed")
NAMES_NO_MISMATCH = since_delta_4_1("has no condition for a schema that does not fit")


def evolving_merge(spark: SparkSession) -> AbstractContextManager[None]:
    """Lets MERGE WITH SCHEMA EVOLUTION evolve the schema, before Delta 4.3 by a setting."""
    return session_conf(spark, {} if MERGE_IN_SQL_EVOLVES else {AUTO_MERGE: "true"})
