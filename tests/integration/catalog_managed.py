# SPDX-License-Identifier: Apache-2.0
"""A table that a catalog manages, by Delta's own commit coordinator for tests."""

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
    """A table `name` whose catalog publishes no commit, so that all but the first are staged."""
    jvm: Any = spark._jvm
    delta = jvm.org.apache.spark.sql.delta.coordinatedcommits
    provider = getattr(getattr(delta, "CatalogOwnedCommitCoordinatorProvider$"), "MODULE$")
    provider.registerBuilder(_CATALOG, delta.InMemoryCommitCoordinatorBuilder(1000))
    clause = ", ".join([*properties, _FEATURE])
    # Delta makes such tables in its own tests only.
    jvm.java.lang.System.setProperty(_TESTING, "true")
    try:
        spark.sql(f"CREATE TABLE {name} ({columns}) USING delta TBLPROPERTIES ({clause})")
    finally:
        jvm.java.lang.System.clearProperty(_TESTING)
    yield Table(spark, warehouse_of(spark) / name, name)
    spark.sql(f"DROP TABLE {name}")
    provider.clearBuilders()


def staged(table: Table) -> list[Path]:
    """The commits in its folder that may not be published, by version."""
    return sorted((table.path / "_delta_log" / "_staged_commits").glob("*.json"))
