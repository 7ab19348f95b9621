# SPDX-License-Identifier: Apache-2.0
"""Tests sessions that start with the extension, and sessions that must not start."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import pytest
from py4j.protocol import Py4JJavaError
from pyspark import SparkContext
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

import spark_ext
from spark_ext.errors import SessionAlreadyRunningError
from tests.integration.changed_jars import changed_jar, with_other_name
from tests.support.custom_sessions import (
    CATALOG,
    DELTA,
    OURS,
    Failure,
    assert_tracked,
    failure_of,
    our_jar,
    refusals,
    session,
    stop,
    track_a_table,
)
from tests.support.delta_table import NAME_MODE, TRACKED, Table
from tests.support.processes import in_new_process
from tests.support.releases import DELTA_COORDINATES, DELTA_VERSION, TESTED_DELTAS
from tests.support.table_log import TableLog, is_uuid_name

DELTAS_VERSION = "io/delta/package$.class"


# Sessions that must not start, or must not work.


def session_without_an_extension(home: Path, jars: list[str]) -> Failure | None:
    refused = failure_of(session(home, jars, extensions=[OURS]).getOrCreate)
    stop()
    track_a_table(session(home).getOrCreate(), home / "whole")
    return refused


def assert_not_configured(failure: Failure | None) -> None:
    assert failure is not None
    assert failure.condition == "DELTA_CONFIGURE_SPARK_SESSION_WITH_EXTENSION_AND_CATALOG"
    assert failure.sql_state == "56038"


@pytest.mark.matrix
def test_session_with_our_extension_alone_does_not_start(
    tmp_path: Path, delta_jars: list[str]
) -> None:
    assert_not_configured(
        in_new_process(session_without_an_extension, tmp_path, [*delta_jars, our_jar()])
    )
    assert_tracked(tmp_path / "whole")


def session_of_a_broken_jar(home: Path, jars: list[str]) -> tuple[str, bool]:
    """Returns the error of the start, and whether the next session knows the feature."""
    try:
        session(home, jars).getOrCreate()
    except (Py4JJavaError, AnalysisException) as error:
        ended = str(error)
    else:
        ended = "started"
    assert SparkSession.getActiveSession() is None
    stop()
    plain = session(home, extensions=[DELTA]).getOrCreate()
    unknown = failure_of(lambda: Table(plain, home / "t").create("a INT", TRACKED))
    return ended, unknown is None


# If an extension throws a NoClassDefFoundError, Spark itself only logs a warning.
@pytest.mark.parametrize(
    ("missing", "expected"),
    [
        (["check/StatementCheck"], "[USAGE_TRACKING_UNSUPPORTED_DELTA_VERSION]"),
        pytest.param(
            ["sql/TableFunction"],
            "[USAGE_TRACKING_UNSUPPORTED_DELTA_VERSION]",
            marks=pytest.mark.matrix,
        ),
        # The classes of our errors are missing too.
        pytest.param(
            ["sql/TableFunction", "common/UsageTrackingErrors"],
            "java.lang.IllegalStateException",
            marks=pytest.mark.matrix,
        ),
    ],
)
def test_start_that_fails_ends_the_session_and_installs_no_hooks(
    tmp_path: Path, delta_jars: list[str], missing: list[str], expected: str
) -> None:
    classes = [f"sparkext/{name}" for name in missing]
    removed = {f"{name}.class": lambda _: None for name in classes}
    broken = changed_jar(our_jar(), tmp_path / "broken.jar", removed)

    ended, feature_is_known = in_new_process(
        session_of_a_broken_jar, tmp_path, [*delta_jars, broken]
    )

    assert expected in ended
    assert f"java.lang.NoClassDefFoundError: {classes[0]}" in ended
    assert not feature_is_known


def sessions_without_delta(home: Path, jar: str) -> list[Failure | None]:
    found = [failure_of(session(home, [jar], extensions=[OURS], catalog=None).getOrCreate)]
    stop()
    found.append(failure_of(session(home, extensions=[DELTA, OURS], catalog=None).getOrCreate))
    stop()
    spark = session(home, extensions=[], catalog=None).getOrCreate()
    assert spark.range(3).count() == 3
    return found


@pytest.mark.matrix
def test_session_without_delta_does_not_start(tmp_path: Path) -> None:
    for failure in in_new_process(sessions_without_delta, tmp_path, our_jar()):
        assert failure is not None
        assert failure.condition == "USAGE_TRACKING_UNSUPPORTED_DELTA_VERSION"
        assert failure.sql_state == "0A000"
        assert failure.parameters["version"] == "(none)"
        assert failure.parameters["supported"] == TESTED_DELTAS


def with_changed_delta(jars: list[str], to: Path, *changes: tuple[str, str, str]) -> list[str]:
    """Returns the jars with other texts in constants of some classes of Delta."""
    changed = {entry: with_other_name(text, other) for entry, text, other in changes}
    return [
        changed_jar(jar, to, changed) if "delta-spark" in Path(jar).name else jar for jar in jars
    ]


def sessions_on_another_delta(home: Path, jars: list[str]) -> tuple[Failure | None, bool, bool]:
    builder = spark_ext.configure(session(home, jars)).config("spark.jars.packages", "")
    failure = failure_of(builder.getOrCreate)
    started = SparkSession.getActiveSession() is not None
    stop()
    spark = session(home, extensions=[DELTA]).getOrCreate()
    plain = Table(spark, home / "plain").create("a INT", NAME_MODE)
    plain.alter("ADD COLUMN b INT")
    plain.insert("(1, 2)")
    assert plain.selected() == [(1, 2)]
    tracked = failure_of(lambda: Table(spark, home / "tracked").create("a INT", TRACKED))
    return failure, started, tracked is not None


def test_delta_is_refused_when_a_hook_does_not_match_or_a_called_method_is_missing(
    tmp_path: Path, delta_jars: list[str]
) -> None:
    """Delta has the version of a vendor."""
    version = f"{DELTA_VERSION}.5.2"
    other = with_changed_delta(
        delta_jars,
        tmp_path / "delta.jar",
        (DELTAS_VERSION, DELTA_VERSION, version),
        (
            "org/apache/spark/sql/delta/DeltaColumnMapping$.class",
            "verifyAndUpdateMetadataChange",
            "verifyAndUpdateMetadataChance",
        ),
        # This method is private.
        (
            "org/apache/spark/sql/delta/commands/OptimizeExecutor.class",
            "runOptimizeBinJob",
            "runVendorsBinJob",
        ),
        # Our classes call this method, and no hook changes it.
        (
            "org/apache/spark/sql/delta/DeltaErrors.class",
            "cannotModifyTableProperty",
            "vendorsTableProperty",
        ),
    )
    jars = [our_jar(), *other]

    failure, started, feature_is_unknown = in_new_process(sessions_on_another_delta, tmp_path, jars)

    assert failure is not None
    assert failure.type == "AnalysisException"
    assert failure.condition == "USAGE_TRACKING_UNSUPPORTED_DELTA_VERSION"
    assert failure.sql_state == "0A000"
    assert failure.parameters["version"] == version
    assert failure.parameters["supported"] == TESTED_DELTAS
    assert "verifyAndUpdateMetadataChange" in failure.parameters["mismatches"]
    assert "runOptimizeBinJob" in failure.parameters["mismatches"]
    assert "cannotModifyTableProperty" in failure.parameters["mismatches"]
    assert "allSupportedFeaturesMap" not in failure.parameters["mismatches"]
    assert not started
    assert feature_is_unknown
    assert is_uuid_name(TableLog(tmp_path / "plain").physical_names["b"])


# Sessions that must work.


def sessions_in_one_jvm(home: Path, jars: list[str]) -> dict[str, set[str | None]]:
    first = session(home, jars, extensions=[OURS, DELTA]).getOrCreate()
    track_a_table(first, home / "ours-first")
    track_a_table(first.newSession(), home / "new-session")
    refused = {"ours first": refusals(first, home), "new": refusals(first.newSession(), home)}
    stop()
    last = session(home, extensions=[DELTA, OURS]).getOrCreate()
    track_a_table(last, home / "ours-last")
    return {**refused, "ours last": refusals(last, home)}


@pytest.mark.matrix
def test_extensions_work_in_any_order_and_in_several_sessions(
    tmp_path: Path, delta_jars: list[str]
) -> None:
    refused = in_new_process(sessions_in_one_jvm, tmp_path, [*delta_jars, our_jar()])

    expected = {"DELTA_CANNOT_MODIFY_TABLE_PROPERTY"}
    assert refused == dict.fromkeys(["ours first", "new", "ours last"], expected)
    for path in ("ours-first", "new-session", "ours-last"):
        assert_tracked(tmp_path / path)


def log_of_a_start(home: Path, jars: list[str]) -> tuple[list[str], str | None]:
    """Returns the log lines of `DeltaHooks` at a start, and the condition of a function call."""
    log = home / "log"
    with log.open("w") as file:
        os.dup2(file.fileno(), sys.stderr.fileno())  # the JVM starts later, and uses it too
    spark = session(home, jars).config("spark.log.level", "WARN").getOrCreate()
    table = Table(spark, home / "t").create("a INT", TRACKED, NAME_MODE)
    table.alter("ADD COLUMN b INT")
    known = failure_of(lambda: spark.sql("SELECT * FROM column_mapping('none')"))
    stop()
    ours = [line for line in log.read_text().splitlines() if " DeltaHooks: " in line]
    return ours, known and known.condition


@pytest.mark.matrix
@pytest.mark.parametrize("version", [DELTA_VERSION, "10.20.30"], ids=["tested", "newer"])
def test_delta_that_the_hooks_fit_starts_with_a_warning_when_it_is_newer(
    tmp_path: Path, delta_jars: list[str], version: str
) -> None:
    change = (DELTAS_VERSION, DELTA_VERSION, version)
    jars = with_changed_delta(delta_jars, tmp_path / "delta.jar", change)

    logged, _ = in_new_process(log_of_a_start, tmp_path, [our_jar(), *jars])

    warned = [line for line in logged if " WARN " in line]
    assert logged == warned
    assert [f"delta-spark {version}" in line and TESTED_DELTAS in line for line in warned] == (
        [] if version == DELTA_VERSION else [True]
    )
    assert TableLog(tmp_path / "t").physical_names == {"a": "a", "b": "b"}


@pytest.mark.broken_table("feature_without_flag", "logical_name_missing")
@pytest.mark.matrix
def test_delta_is_unchanged_when_it_has_the_feature_itself(
    tmp_path: Path, delta_jars: list[str]
) -> None:
    newer = with_changed_delta(
        delta_jars,
        tmp_path / "delta.jar",
        (
            "org/apache/spark/sql/delta/AllowColumnDefaultsTableFeature$.class",
            "allowColumnDefaults",
            "columnMappingUsageTracking",
        ),
    )

    logged, unknown = in_new_process(log_of_a_start, tmp_path, [our_jar(), *newer])

    (line,) = logged
    assert " WARN " in line
    assert "AllowColumnDefaultsTableFeature" in line
    assert unknown == "UNRESOLVABLE_TABLE_VALUED_FUNCTION"
    log = TableLog(tmp_path / "t")
    assert (log.is_tracked, log.flag) == (True, None)
    assert all(is_uuid_name(name) for name in log.physical_names.values())


def session_on_a_class_path(home: Path, delta_jars: list[str], jar: str) -> str:
    builder = session(home, [jar])
    builder.config("spark.driver.extraClassPath", ":".join(delta_jars))
    spark = builder.getOrCreate()
    track_a_table(spark, home / "t")
    jvm: Any = spark._jvm
    delta = jvm.java.lang.Class.forName("io.delta.tables.DeltaTable")
    return str(delta.getClassLoader().getClass().getName())


@pytest.mark.matrix
def test_session_works_when_delta_is_on_the_class_path_and_our_jar_is_not(
    tmp_path: Path, delta_jars: list[str]
) -> None:
    loader = in_new_process(session_on_a_class_path, tmp_path, delta_jars, our_jar())

    assert "AppClassLoader" in loader
    assert_tracked(tmp_path / "t")


def session_after_a_plain_one(home: Path, jars: list[str]) -> dict[str, str] | None:
    plain = session(home, jars, extensions=[DELTA]).getOrCreate()
    Table(plain, home / "plain").create("a INT", NAME_MODE).alter("ADD COLUMN b INT")
    refused = None
    try:
        spark_ext.configure(SparkSession.builder)
    except SessionAlreadyRunningError as error:
        refused = {"condition": error.condition, "sql_state": error.sql_state, **error.params}
    stop()
    track_a_table(spark_ext.configure(session(home)).getOrCreate(), home / "t")
    # The running context has the extension.
    spark_ext.configure(SparkSession.builder).getOrCreate()
    return refused


@pytest.mark.matrix
def test_session_works_when_delta_was_loaded_before_the_extension(
    tmp_path: Path, delta_jars: list[str]
) -> None:
    refused = in_new_process(session_after_a_plain_one, tmp_path, [*delta_jars, our_jar()])

    assert refused == {
        "condition": "USAGE_TRACKING_SESSION_ALREADY_RUNNING",
        "sql_state": "55000",
        "extensions": DELTA,
    }
    assert is_uuid_name(TableLog(tmp_path / "plain").physical_names["b"])
    assert_tracked(tmp_path / "t")


# `configure`, which starts no session.


def options_of(builder: SparkSession.Builder) -> dict[str, str]:
    return dict(builder._options)


def test_configure_refuses_other_objects_than_a_builder(spark: SparkSession) -> None:
    for not_a_builder in (None, "local[2]", spark, spark.sparkContext.getConf()):
        with pytest.raises(TypeError):
            spark_ext.configure(not_a_builder)  # type: ignore[arg-type]


def test_configure_accepts_the_running_session(spark: SparkSession) -> None:
    assert SparkContext._active_spark_context is spark.sparkContext
    assert spark_ext.configure(SparkSession.Builder()) is not None


def test_configure_sets_all_that_a_session_needs() -> None:
    options = options_of(spark_ext.configure(SparkSession.Builder()))

    assert options["spark.jars.packages"] == DELTA_COORDINATES
    assert Path(options["spark.jars"]).name == "spark-ext.jar"
    assert options["spark.sql.extensions"] == f"{DELTA},{OURS}"
    assert options["spark.sql.catalog.spark_catalog"] == CATALOG


def test_configure_keeps_the_options_of_the_builder() -> None:
    plain = options_of(spark_ext.configure(SparkSession.Builder()))
    builder = SparkSession.Builder()
    builder.config("spark.jars.packages", "org.example:a:1,org.example:b:2")
    builder.config("spark.jars", "/jars/a.jar,/jars/b.jar")
    builder.config("spark.sql.extensions", "org.example.Extension")
    builder.config("spark.sql.catalog.spark_catalog", "org.example.Catalog")
    builder.config("spark.pyspark.driver.python", "/opt/python")
    builder.config("spark.app.name", "kept")

    options = options_of(spark_ext.configure(builder))

    assert options == {
        "spark.jars.packages": "org.example:a:1,org.example:b:2," + plain["spark.jars.packages"],
        "spark.jars": "/jars/a.jar,/jars/b.jar," + plain["spark.jars"],
        "spark.sql.extensions": f"org.example.Extension,{DELTA},{OURS}",
        "spark.sql.catalog.spark_catalog": "org.example.Catalog",
        "spark.pyspark.driver.python": "/opt/python",
        "spark.app.name": "kept",
    }


def test_configure_adds_nothing_twice() -> None:
    builder = SparkSession.Builder().config("spark.sql.extensions", f"{OURS}, {DELTA}")

    once = options_of(spark_ext.configure(builder))
    twice = options_of(spark_ext.configure(builder))

    assert once["spark.sql.extensions"] == f"{OURS},{DELTA}"
    assert twice == once


def test_configure_adds_extra_packages() -> None:
    plain = options_of(spark_ext.configure(SparkSession.Builder()))
    extra = ["org.example:a:1", "org.example:b:2"]

    options = options_of(spark_ext.configure(SparkSession.Builder(), extra_packages=extra))

    assert options["spark.jars.packages"] == ",".join([plain["spark.jars.packages"], *extra])
