# SPDX-License-Identifier: Apache-2.0
"""Builds sessions with chosen parts, for separate processes (`processes.in_new_process`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, final
from urllib.parse import urlsplit

from delta.tables import DeltaTable
from py4j.protocol import Py4JJavaError
from pyspark import SparkContext
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

import spark_ext
from tests.support.delta_table import Table
from tests.support.sessions import small_session
from tests.support.table_log import FLAG, TableLog

OURS = "sparkext.UsageTrackingExtension"
DELTA = "io.delta.sql.DeltaSparkSessionExtension"
CATALOG = "org.apache.spark.sql.delta.catalog.DeltaCatalog"


@final
@dataclass(frozen=True)
class Failure:
    """Contains an error with its values, of Python or the JVM."""

    type: str
    condition: str | None
    sql_state: str | None
    parameters: dict[str, str]


def failure_of(action: Callable[[], object]) -> Failure | None:
    """Returns the failure of an action, or None if it succeeds."""
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
            error.getMessageParameters() or {},
        )
    return None


def resolved_jars(spark: SparkSession) -> list[str]:
    """Returns the paths of Delta's jars in a running session, which others need not fetch."""
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
    """Returns a builder. The JVM's first session decides confs that are not given."""
    builder = small_session(SparkSession.builder, home / "warehouse")
    builder.config("spark.log.level", "OFF")
    builder.config("spark.sql.extensions", ",".join(extensions))
    if jars:
        builder.config("spark.jars", ",".join(jars))
    if catalog is not None:
        builder.config("spark.sql.catalog.spark_catalog", catalog)
    return builder


def stop() -> None:
    """Stops the context, which remains after a session that failed to start."""
    active: Any = SparkContext._active_spark_context
    if active is not None:
        active.stop()


def track_a_table(spark: SparkSession, path: Path) -> None:
    """Creates a tracked table, adds a column, and renames a column."""
    table = Table(spark, path).create_tracked("a INT, b STRING")
    table.alter("ADD COLUMN c INT")
    table.alter("RENAME COLUMN a TO d")


def assert_tracked(path: Path) -> None:
    """Asserts that the table has the commits of `track_a_table`."""
    log = TableLog(path)
    assert log.version == 2
    assert log.is_tracked
    assert log.at(1).flag == "false"
    assert log.flag == "true"
    assert log.physical_names == {"d": "a", "b": "b", "c": "c"}


# Delta's rules and ours both read or change these statements, so the order of rules matters.
NAMES_THE_FLAG = [
    f"CREATE TABLE new LIKE source TBLPROPERTIES ('{FLAG}' = 'false')",
    f"CREATE TABLE new SHALLOW CLONE source TBLPROPERTIES ('{FLAG}' = 'false')",
    f"ALTER TABLE source SET TBLPROPERTIES ('{FLAG}' = 'false')",
    f"ALTER TABLE source UNSET TBLPROPERTIES ('{FLAG}')",
    f"""EXECUTE IMMEDIATE "CREATE TABLE new LIKE source TBLPROPERTIES ('{FLAG}' = 'false')" """,
    f"BEGIN CREATE TABLE new LIKE source TBLPROPERTIES ('{FLAG}' = 'false'); END",
    "BEGIN IF true THEN"
    f" CREATE TABLE new LIKE source TBLPROPERTIES ('{FLAG}' = 'false'); END IF; END",
]


def refusals(
    spark: SparkSession, home: Path, texts: Sequence[str] = NAMES_THE_FLAG
) -> set[str | None]:
    """Returns the conditions of statements and of a builder that name the flag."""
    Table(spark, home, "source").create_tracked("a INT")
    found = [failure_of(partial(spark.sql, text)) for text in texts]
    source = DeltaTable.forName(spark, "source")
    new = str(home / "new")
    found.append(failure_of(lambda: source.clone(new, True, properties={FLAG: "false"})))
    tables = spark.sql("SHOW TABLES").where("NOT isTemporary").collect()
    assert [row.tableName for row in tables] == ["source"]
    assert not Path(new).exists()
    spark.sql("DROP TABLE source")
    return {failure and failure.condition for failure in found}
