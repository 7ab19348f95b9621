# SPDX-License-Identifier: Apache-2.0
"""Makes a table that a catalog manages, by Delta's commit coordinator for tests."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from tests.support.delta_table import Table
from tests.support.releases import since_delta_4_1
from tests.support.sessions import warehouse_of

CATALOG_MANAGED = since_delta_4_1("has the feature as a preview, under another name")

_CATALOG = "spark_catalog"
_FEATURE = "'delta.feature.catalogManaged' = 'supported'"
_TESTING = "spark.testing"


@contextmanager
def managed_table(
    spark: SparkSession, name: str, columns: str, *properties: str
) -> Iterator[Table]:
    """Yields a table whose catalog publishes no commit, so commits after version 0 are staged."""
    jvm: Any = spark._jvm
    delta = jvm.org.apache.spark.sql.delta.coordinatedcommits
    provider = getattr(getattr(delta, "CatalogOwnedCommitCoordinatorProvider$"), "MODULE$")
    provider.registerBuilder(_CATALOG, delta.InMemoryCommitCoordinatorBuilder(1000))
    clause = ", ".join([*properties, _FEATURE])
    # Delta makes such tables only in its own tests.
    jvm.java.lang.System.setProperty(_TESTING, "true")
    try:
        try:
            spark.sql(f"CREATE TABLE {name} ({columns}) USING delta TBLPROPERTIES ({clause})")
        finally:
            jvm.java.lang.System.clearProperty(_TESTING)
        yield Table(spark, warehouse_of(spark) / name, name)
    finally:
        spark.sql(f"DROP TABLE IF EXISTS {name}")
        provider.clearBuilders()


def staged(table: Table) -> list[Path]:
    """Returns the staged commits in the table's folder, by version."""
    return sorted((table.path / "_delta_log" / "_staged_commits").glob("*.json"))
