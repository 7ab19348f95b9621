# SPDX-License-Identifier: Apache-2.0
"""Sessions put together by hand, for processes of their own (`processes.in_new_process`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from delta_table import Table
from py4j.protocol import Py4JJavaError
from pyspark import SparkContext
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from sessions import small_session

import spark_ext

OURS = "sparkext.UsageTrackingExtension"
DELTA = "io.delta.sql.DeltaSparkSessionExtension"
CATALOG = "org.apache.spark.sql.delta.catalog.DeltaCatalog"


@dataclass(frozen=True)
class Failure:
    """What an error tells, however it reached Python."""

    type: str
    condition: str
    sql_state: str
    parameters: dict[str, str]


def failure_of(action: Callable[[], object]) -> Failure | None:
    """The failure of an action; None where it succeeds."""
    try:
        action()
    except Py4JJavaError as error:
        thrown = error.java_exception
        return Failure(
            type(error).__name__,
            thrown.getCondition(),
            thrown.getSqlState(),
            dict(thrown.getMessageParameters()),
        )
    except PySparkException as error:
        return Failure(
            type(error).__name__,
            error.getCondition(),
            error.getSqlState(),
            error.getMessageParameters(),
        )
    return None


def resolved_jars(spark: SparkSession) -> list[str]:
    """The paths of Delta's jars as a running session found them, so that no other looks again."""
    urls = spark.sparkContext.getConf().get("spark.repl.local.jars", "").split(",")
    return [urlsplit(url).path for url in urls if "/io.delta_" in url]


def our_jar() -> str:
    builder = spark_ext.configure(SparkSession.Builder())
    return builder._options["spark.jars"]


def session(
    home: Path,
    jars: Sequence[str] = (),
    *,
    extensions: Sequence[str] = (DELTA, OURS),
    catalog: str | None = CATALOG,
) -> SparkSession.Builder:
    """A builder; of the confs that are not given, the JVM's first session decides."""
    builder = small_session(SparkSession.builder, home / "warehouse")
    builder.config("spark.log.level", "OFF")
    builder.config("spark.sql.extensions", ",".join(extensions))
    if jars:
        builder.config("spark.jars", ",".join(jars))
    if catalog is not None:
        builder.config("spark.sql.catalog.spark_catalog", catalog)
    return builder


def stop() -> None:
    """Stops the context, which a session that failed to start leaves behind."""
    active: Any = SparkContext._active_spark_context
    if active is not None:
        active.stop()


def track_a_table(spark: SparkSession, path: Path) -> None:
    """The main job in three commits: create, add a column, rename one."""
    table = Table(spark, path).create_tracked("a INT, b STRING")
    table.alter("ADD COLUMN c INT")
    table.alter("RENAME COLUMN a TO d")
