# SPDX-License-Identifier: Apache-2.0
"""Tests running sessions to which `spark_ext.attach` adds usage tracking."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import spark_ext
from spark_ext.errors import SessionNotAttachableError
from tests.support.custom_sessions import (
    CATALOG,
    DELTA,
    NAMES_THE_FLAG,
    Failure,
    assert_tracked,
    failure_of,
    our_jar,
    refusals,
    session,
    stop,
    track_a_table,
)
from tests.support.delta_table import Table
from tests.support.install_page import block
from tests.support.processes import in_new_process
from tests.support.sessions import with_hive_catalog
from tests.support.table_log import TableLog, is_uuid_name

REFUSED = {"DELTA_CANNOT_MODIFY_TABLE_PROPERTY"}


def column_names(spark: SparkSession, path: Path) -> list[tuple[str, str]]:
    rows = spark.sql(f"SELECT * FROM column_mapping('delta.`{path}`')").collect()
    return [(row.name, row.physicalName) for row in rows]


def used_session(builder: SparkSession.Builder, home: Path) -> SparkSession:
    """Returns a session with a mapped table, a view, a setting and a running query."""
    spark = builder.getOrCreate()
    Table(spark, home / "plain").create("a INT", "'delta.columnMapping.mode' = 'name'")
    spark.sql(f"ALTER TABLE delta.`{home / 'plain'}` ADD COLUMN b INT")
    spark.range(3).createOrReplaceTempView("mine")
    spark.conf.set("spark.sql.session.timeZone", "UTC")
    spark.udf.register("twice", lambda x: 2 * x, "long")
    stream = spark.readStream.format("rate").load().writeStream.format("noop")
    stream.queryName("running").start()
    return spark


def attached(home: Path, jars: list[str], hive: bool, class_path: bool) -> dict[str, Any]:
    builder = session(home, [] if class_path else jars, extensions=[DELTA])
    if class_path:
        builder.config("spark.driver.extraClassPath", ":".join(jars))
    spark = used_session(with_hive_catalog(builder) if hive else builder, home)
    older = spark.newSession()
    plain = Table(spark, home / "plain")
    plain.insert("(1, 2)")
    held = plain.delta_table
    # The first statement of a session builds its analyzer. After `attach`, it would have the
    # extension.
    older.sql("SELECT 1")
    attaching = {"spark": spark}
    exec(block("A session that runs already", "python"), attaching)
    found: dict[str, Any] = {"returns it": attaching["spark"] is spark}
    spark_ext.attach(spark)
    jars_of_executors = spark.sparkContext._jsc.sc().listJars().mkString(",").split(",")
    found["jars"] = len([jar for jar in jars_of_executors if "spark-ext" in jar])
    track_a_table(spark, home / "t")
    found["functions"] = column_names(spark, home / "t")
    # One check refuses all statements that name the flag, so the other sessions try only one.
    found["refusals"] = refusals(spark, home)
    found["kept"] = [
        spark.table("mine").count(),
        spark.conf.get("spark.sql.session.timeZone"),
        spark.sql("SELECT twice(2) AS t").collect()[0].t,
        [query.name for query in spark.streams.active],
    ]
    for name, other in (("next", spark.newSession()), ("rebuilt", rebuilt(spark))):
        track_a_table(other, home / name)
        found[f"{name} functions"] = column_names(other, home / name)
        found[f"{name} refusals"] = refusals(other, home, NAMES_THE_FLAG[:1])
    spark_ext.attach(older)
    found["older refusals"] = refusals(older, home, NAMES_THE_FLAG[:1])
    found["checks"] = [checks(spark), checks(older), checks(older.newSession())]
    # The executors of a rewrite find the jar.
    tracking = spark_ext.UsageTracking.forPath(spark, home / "t")
    found["removed"] = tracking.remove_column_mapping(progress=None)[0].reached
    plain.usage.remove_column_mapping(progress=None)
    found["held"] = failure_of(lambda: held.update(set={"a": "1"}))
    for query in spark.streams.active:
        query.stop()
    return found


def checks(spark: SparkSession) -> int:
    """Returns how many rules of a session's analyzer are our check of statements."""
    rules = spark._jsparkSession.sessionState().analyzer().extendedResolutionRules()
    return rules.mkString(",").count("StatementCheck")


def rebuilt(spark: SparkSession) -> SparkSession:
    """Builds another session of the same application from its configuration."""
    jvm: Any = spark._jvm
    jvm.org.apache.spark.sql.classic.SparkSession.clearDefaultSession()
    jvm.org.apache.spark.sql.classic.SparkSession.clearActiveSession()
    SparkSession._instantiatedSession = None
    other = SparkSession.builder.getOrCreate()
    assert not other._jsparkSession.equals(spark._jsparkSession)
    return other


@pytest.mark.parametrize(
    ("hive", "class_path"),
    [
        (False, False),
        pytest.param(True, False, marks=pytest.mark.matrix),
        pytest.param(False, True, marks=pytest.mark.matrix),
    ],
    ids=str,
)
def test_attach_gives_a_running_session_usage_tracking(
    tmp_path: Path, delta_jars: list[str], hive: bool, class_path: bool
) -> None:
    found = in_new_process(attached, tmp_path, delta_jars, hive, class_path)

    assert found.pop("returns it")
    assert found.pop("removed")
    assert found.pop("held").condition == "DELTA_SCHEMA_CHANGE_SINCE_ANALYSIS"
    names = [("d", "a"), ("b", "b"), ("c", "c")]
    assert found == {
        "jars": 1,
        "checks": [1, 1, 1],
        "kept": [3, "UTC", 4, ["running"]],
        "functions": names,
        "refusals": REFUSED,
        "next functions": names,
        "next refusals": REFUSED,
        "rebuilt functions": names,
        "rebuilt refusals": REFUSED,
        "older refusals": REFUSED,
    }
    assert is_uuid_name(TableLog(tmp_path / "plain").at(1).physical_names["b"])
    assert_tracked(tmp_path / "next")
    assert_tracked(tmp_path / "rebuilt")
    log = TableLog(tmp_path / "t")
    assert log.configuration["delta.columnMapping.mode"] == "none"
    assert log.at(2).physical_names == {"d": "a", "b": "b", "c": "c"}


def unattachable(home: Path, delta_jars: list[str]) -> dict[str, Failure | None]:
    found: dict[str, Failure | None] = {}
    builder = session(home, delta_jars, extensions=[DELTA])
    builder.config(
        "spark.driver.extraJavaOptions", "-XX:+DisableAttachMechanism -XX:TieredStopAtLevel=1"
    )
    spark = used_session(builder, home)
    found["closed JVM"] = failure_of(lambda: spark_ext.attach(spark))
    found["feature"] = failure_of(lambda: track_a_table(spark, home / "t"))
    found["function"] = failure_of(lambda: spark.sql("SELECT * FROM column_mapping('x')"))
    found["new"] = failure_of(lambda: track_a_table(spark.newSession(), home / "t"))
    stop()
    spark = session(home, delta_jars, extensions=[], catalog=None).getOrCreate()
    found["no extension"] = failure_of(lambda: spark_ext.attach(spark))
    return found


@pytest.mark.matrix
def test_session_is_unchanged_when_attach_fails(tmp_path: Path, delta_jars: list[str]) -> None:
    found = in_new_process(unattachable, tmp_path, delta_jars)

    conditions = {name: failure and failure.condition for name, failure in found.items()}
    assert conditions == {
        "closed JVM": "USAGE_TRACKING_DELTA_ALREADY_LOADED",
        "feature": "DELTA_UNSUPPORTED_FEATURES_IN_CONFIG",
        "function": "UNRESOLVABLE_TABLE_VALUED_FUNCTION",
        "new": "DELTA_UNSUPPORTED_FEATURES_IN_CONFIG",
        "no extension": "DELTA_CONFIGURE_SPARK_SESSION_WITH_EXTENSION_AND_CATALOG",
    }
    closed = found["closed JVM"]
    assert closed is not None
    assert closed.sql_state == "55000"
    assert closed.parameters["type"].startswith("org.apache.spark.sql.delta.")
    assert not (tmp_path / "t").exists()


def without_delta(home: Path) -> tuple[str, str, str]:
    spark = session(home, extensions=[], catalog=None).getOrCreate()
    try:
        spark_ext.attach(spark)
    except SessionNotAttachableError as error:
        return error.condition, error.sql_state, error.params["reason"]
    raise AssertionError("attached")


@pytest.mark.matrix
def test_attach_refuses_a_session_without_delta(tmp_path: Path) -> None:
    condition, sql_state, reason = in_new_process(without_delta, tmp_path)

    assert (condition, sql_state) == ("USAGE_TRACKING_SESSION_NOT_ATTACHABLE", "55000")
    assert "delta-spark" in reason


def test_attach_does_not_change_a_session_with_usage_tracking(spark: SparkSession) -> None:
    before = spark.sparkContext._jsc.sc().listJars().size()

    assert spark_ext.attach(spark) is spark
    assert spark.sparkContext._jsc.sc().listJars().size() == before
    assert spark.sparkContext.getConf().get("spark.sql.catalog.spark_catalog") == CATALOG


def test_attach_refuses_other_objects_than_a_session(spark: SparkSession) -> None:
    for other in (None, "spark", spark.sparkContext, SparkSession.builder):
        with pytest.raises(TypeError):
            spark_ext.attach(other)  # type: ignore[arg-type]
    assert our_jar()
