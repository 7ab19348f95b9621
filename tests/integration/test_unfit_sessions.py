# SPDX-License-Identifier: Apache-2.0
"""Tests sessions that Spark starts without the extension, and jars of several versions."""

from __future__ import annotations

import shutil
from importlib.metadata import version
from pathlib import Path

import pyspark
import pytest
from pyspark import SparkContext
from pyspark.sql import SparkSession

import spark_ext
from spark_ext.errors import SparkExtError
from tests.integration.changed_jars import OUR_DESCRIPTION, changed_jar, with_other_name
from tests.support.custom_sessions import (
    DELTA,
    OURS,
    Failure,
    failure_of,
    our_jar,
    session,
    stop,
    track_a_table,
)
from tests.support.delta_table import Table
from tests.support.processes import in_new_process
from tests.support.releases import SUPPORTED_PAIRS, since_delta_4_1
from tests.support.table_log import TableLog

RELOCATED = "org/apache/spark/sql/delta/Relocated$.class"


def refusal_of_configure() -> tuple[str, str, dict[str, str]] | None:
    try:
        spark_ext.configure(SparkSession.builder)
    except SparkExtError as refused:
        return refused.condition, refused.sql_state, refused.params
    return None


# A JVM that started without our jar or Delta's jar accepts neither later.


def configured_after_sessions(
    home: Path, jars: list[str], extensions: list[str]
) -> list[tuple[str, str, dict[str, str]] | None]:
    """Returns the refusals of `configure` while such a session runs, and after its stop."""
    session(home, jars, extensions=extensions, catalog=None).getOrCreate()
    running = refusal_of_configure()
    stop()
    assert SparkContext._jvm is not None
    return [running, refusal_of_configure()]


WITHOUT_JARS = "USAGE_TRACKING_JVM_WITHOUT_JARS"


@pytest.mark.parametrize(
    ("has_delta", "running", "missing"),
    [
        (False, "USAGE_TRACKING_SESSION_ALREADY_RUNNING", f"`{OURS}` and `{DELTA}`"),
        # Spark writes a warning about the extension, and the session runs without it.
        pytest.param(True, WITHOUT_JARS, f"`{OURS}`", marks=pytest.mark.matrix),
    ],
    ids=["no jars", "Delta's jars"],
)
def test_configure_refuses_a_jvm_without_the_jars(
    tmp_path: Path, delta_jars: list[str], has_delta: bool, running: str, missing: str
) -> None:
    jars, extensions = (delta_jars, [DELTA, OURS]) if has_delta else ([], [])

    first, stopped = in_new_process(configured_after_sessions, tmp_path, jars, extensions)

    assert first is not None
    assert first[0] == running
    assert stopped == (WITHOUT_JARS, "55000", {"missing": missing})


# A Delta for another Spark, which is visible in its class files.

STREAMING = "org/apache/spark/sql/execution/streaming"
MARKS = {
    "4.0": f"L{STREAMING}/OffsetSeqMetadata;",
    "4.1": f"L{STREAMING}/checkpointing/OffsetSeqMetadata;",
    "4.2": f"L{STREAMING}/checkpointing/OffsetSeqMetadataBase;",
}


def started_with(home: Path, jars: list[str]) -> Failure | None:
    return failure_of(session(home, jars).getOrCreate)


@since_delta_4_1("has jars for one Spark only")
def test_delta_for_another_spark_is_refused(tmp_path: Path, delta_jars: list[str]) -> None:
    (delta,) = [jar for jar in delta_jars if "delta-spark" in jar]
    rest = [jar for jar in delta_jars if jar != delta]
    here = pyspark.__version__[:3]
    there = "4.1" if here == "4.2" else "4.2"
    change = with_other_name(MARKS[here], MARKS[there])
    other = changed_jar(delta, tmp_path / "delta.jar", {RELOCATED: change})

    failure = in_new_process(started_with, tmp_path, [other, *rest, our_jar()])

    assert failure is not None
    assert failure.condition == "USAGE_TRACKING_UNSUPPORTED_SPARK_VERSION"
    assert failure.sql_state == "0A000"
    assert failure.parameters["spark"] == pyspark.__version__
    assert failure.parameters["delta"] == f"{version('delta-spark')} for Spark {there}"
    assert failure.parameters["supported"] == SUPPORTED_PAIRS


# Jars and packages of several versions.


def of_version(told: str, to: Path) -> str:
    """Returns a copy of our jar with another version."""
    return changed_jar(our_jar(), to, {OUR_DESCRIPTION: lambda _: f"version={told}\n".encode()})


def two_jars(
    home: Path, delta_jars: list[str], other: str, *, parent: bool
) -> SparkSession.Builder:
    """Returns a builder with another jar beside ours, in the same class loader or its parent."""
    if not parent:
        return session(home, [*delta_jars, other, our_jar()])
    class_path = ":".join([*delta_jars, other])
    return session(home, [our_jar()]).config("spark.driver.extraClassPath", class_path)


def started_with_two(home: Path, delta_jars: list[str], other: str, parent: bool) -> Failure | None:
    return failure_of(two_jars(home, delta_jars, other, parent=parent).getOrCreate)


@pytest.mark.matrix
@pytest.mark.parametrize("parent", [False, True], ids=["one loader", "two loaders"])
def test_two_jars_of_ours_are_refused_when_they_differ(
    tmp_path: Path, delta_jars: list[str], parent: bool
) -> None:
    other = of_version("0.0.9", tmp_path / "other.jar")

    failure = in_new_process(started_with_two, tmp_path, delta_jars, other, parent)

    assert failure is not None
    assert failure.condition == "USAGE_TRACKING_SEVERAL_JARS"
    assert failure.sql_state == "55000"
    assert f"{other} (0.0.9)" in failure.parameters["jars"]
    assert f"({spark_ext.__version__})" in failure.parameters["jars"]


def tracked_with_two(home: Path, delta_jars: list[str], other: str, parent: bool) -> None:
    track_a_table(two_jars(home, delta_jars, other, parent=parent).getOrCreate(), home / "t")


@pytest.mark.matrix
@pytest.mark.parametrize("parent", [False, True], ids=["one loader", "two loaders"])
def test_two_jars_of_ours_are_accepted_when_they_are_equal(
    tmp_path: Path, delta_jars: list[str], parent: bool
) -> None:
    copy = shutil.copy(our_jar(), tmp_path / "copy.jar")

    in_new_process(tracked_with_two, tmp_path, delta_jars, str(copy), parent)

    assert TableLog(tmp_path / "t").flag == "true"


def used_with(home: Path, jars: list[str]) -> list[tuple[str, str, dict[str, str]] | None]:
    """Returns the refusals of `configure` and `UsageTracking` in a session with these jars."""
    spark = session(home, jars).getOrCreate()
    Table(spark, home / "t").create_tracked("a INT")
    found = [refusal_of_configure()]
    try:
        spark_ext.UsageTracking.forPath(spark, home / "t")
    except SparkExtError as refused:
        found.append((refused.condition, refused.sql_state, refused.params))
    return found


@pytest.mark.matrix
def test_jar_is_refused_when_the_package_has_another_version(
    tmp_path: Path, delta_jars: list[str]
) -> None:
    other = of_version("0.0.9", tmp_path / "other.jar")

    found = in_new_process(used_with, tmp_path, [*delta_jars, other])

    params = {"package": spark_ext.__version__, "jar": "0.0.9"}
    assert found == [("USAGE_TRACKING_DIFFERENT_VERSIONS", "55000", params)] * 2
