# SPDX-License-Identifier: Apache-2.0
"""Runs the storage `late:`, a local disk whose answers about the log can be wrong once."""

from __future__ import annotations

import subprocess
import zipfile
from pathlib import Path
from typing import Any

import pyspark
from pyspark.sql import SparkSession

from tests.schedules.schedule import Fault

SOURCE = Path(__file__).with_name("LateFileSystem.java")
CLASS = SOURCE.stem
SCHEME = "late"
LOG_STORE = (f"spark.delta.logStore.{SCHEME}.impl", "io.delta.storage.LocalLogStore")
FAULT = "late.fault"
MESSAGE = "The storage is late"


def late_jar(home: Path) -> Path:
    """Compiles the storage into a jar."""
    class_path = f"{Path(pyspark.__file__).parent}/jars/*"
    subprocess.run(["javac", "-cp", class_path, "-d", str(home), str(SOURCE)], check=True)
    jar = home / "late.jar"
    with zipfile.ZipFile(jar, "w") as file:
        for compiled in home.glob("*.class"):
            file.write(compiled, compiled.name)
    return jar


def make_known(spark: SparkSession, jar: Path) -> None:
    """Adds the storage to a running session, whose driver and executors share one JVM."""
    jvm: Any = spark._jvm
    spark.sql(f"ADD JAR '{jar}'")
    hadoop = spark.sparkContext._jsc.hadoopConfiguration()
    hadoop.setClassLoader(spark._jsparkSession.sharedState().jarClassLoader())
    hadoop.set(f"fs.{SCHEME}.impl", CLASS)
    jvm.org.apache.spark.SparkEnv.get().conf().set(*LOG_STORE)


class LateStorage:
    """Controls the next fault of the storage."""

    def __init__(self, spark: SparkSession) -> None:
        jvm: Any = spark._jvm
        self._system = jvm.java.lang.System

    def arm(self, fault: Fault) -> None:
        self._system.setProperty(FAULT, fault.name)

    def disarm(self) -> bool:
        """Removes the fault, and returns whether the fault has not happened."""
        return self._system.clearProperty(FAULT) is not None
