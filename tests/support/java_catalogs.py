# SPDX-License-Identifier: Apache-2.0
"""Compiles catalogs for tests, whose Java sources are beside this file."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import pyspark
from pyspark.sql import SparkSession

from tests.support.custom_sessions import resolved_jars

HERE = Path(__file__).parent


def add_catalog(spark: SparkSession, home: Path, name: str, *sources: str) -> Path:
    """Compiles the sources, of which the last one is the catalog, and adds it to the session.

    Returns:
        The folder of its tables, which does not exist yet.
    """
    class_path = os.pathsep.join([f"{Path(pyspark.__file__).parent}/jars/*", *resolved_jars(spark)])
    files = [HERE / f"{source}.java" for source in sources]
    subprocess.run(["javac", "-cp", class_path, "-d", home / "classes", *files], check=True)
    jvm: Any = spark._jvm
    loader = jvm.java.lang.Thread.currentThread().getContextClassLoader()
    loader.addURL(jvm.java.net.URL(f"{(home / 'classes').as_uri()}/"))
    spark.conf.set(f"spark.sql.catalog.{name}", sources[-1])
    spark.conf.set(f"spark.sql.catalog.{name}.root", str(home / "tables"))
    return home / "tables"
