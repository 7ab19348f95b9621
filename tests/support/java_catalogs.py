# SPDX-License-Identifier: Apache-2.0
"""Compiles catalogs for tests, whose Java sources are beside this file."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import SparkSession

from tests.support.custom_sessions import resolved_jars
from tests.support.java_sources import compiled_jar, with_jar

HERE = Path(__file__).parent


def add_catalog(spark: SparkSession, home: Path, name: str, *sources: str) -> Path:
    """Compiles the sources, of which the last one is the catalog, and adds it to the session.

    Returns:
        The folder of its tables, which does not exist yet.
    """
    jar = compiled_jar(home, [HERE / f"{name}.java" for name in sources], resolved_jars(spark))
    with_jar(spark, jar)
    spark.conf.set(f"spark.sql.catalog.{name}", sources[-1])
    spark.conf.set(f"spark.sql.catalog.{name}.root", str(home / "tables"))
    return home / "tables"
