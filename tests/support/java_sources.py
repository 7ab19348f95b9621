# SPDX-License-Identifier: Apache-2.0
"""Compiles the Java classes that tests use."""

from __future__ import annotations

import os
import subprocess
import zipfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pyspark
from pyspark.sql import SparkSession


def compiled_jar(folder: Path, sources: Sequence[Path], jars: Iterable[str] = ()) -> Path:
    """Compiles sources against Spark and these jars. Returns the jar of the classes."""
    class_path = os.pathsep.join([f"{Path(pyspark.__file__).parent}/jars/*", *jars])
    classes = folder / "classes"
    subprocess.run(["javac", "-cp", class_path, "-d", classes, *sources], check=True)
    # A running Spark accepts only one jar with the same name.
    jar = folder / f"{sources[0].stem}.jar"
    with zipfile.ZipFile(jar, "w") as archive:
        for file in classes.iterdir():
            archive.write(file, file.name)
    return jar


def with_jar(spark: SparkSession, jar: Path) -> Any:
    """Adds a jar to the driver's class loader, and returns the loader."""
    jvm: Any = spark._jvm
    loader = jvm.java.lang.Thread.currentThread().getContextClassLoader()
    loader.addURL(jvm.java.net.URL(jar.as_uri()))
    return loader


def storage_jar(folder: Path, source: Path) -> Path:
    """Compiles a subclass of `LocalStorage`, and returns its jar."""
    return compiled_jar(folder, [source, Path(__file__).with_name("LocalStorage.java")])


def add_storage(spark: SparkSession, scheme: str, source: Path, home: Path) -> None:
    """Adds a storage to a running session, whose driver and executors share one JVM."""
    jvm: Any = spark._jvm
    spark.sql(f"ADD JAR '{storage_jar(home, source)}'")
    hadoop = spark.sparkContext._jsc.hadoopConfiguration()
    hadoop.setClassLoader(spark._jsparkSession.sharedState().jarClassLoader())
    hadoop.set(f"fs.{scheme}.impl", source.stem)
    store = f"spark.delta.logStore.{scheme}.impl"
    jvm.org.apache.spark.SparkEnv.get().conf().set(store, "io.delta.storage.LocalLogStore")


def with_quick_closures(spark: SparkSession, home: Path) -> None:
    """Skips Spark's trial serialization of closures, a fifteenth of the time of small queries."""
    jar = compiled_jar(home, [Path(__file__).with_name("QuickClosures.java")])
    with_jar(spark, jar)
    jvm: Any = spark._jvm
    jvm.QuickClosures.install()
