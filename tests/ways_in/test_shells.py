# SPDX-License-Identifier: Apache-2.0
"""Tests the shells of Spark, which the commands of docs/install.md start."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.custom_sessions import DELTA, OURS, our_jar
from tests.support.install_page import block
from tests.ways_in.place import Place
from tests.ways_in.tracked import NAMES, REFUSED, SET_FLAG, assert_tracked, sql_text, statements

# This is one expression, because the shell compiles each expression.
SCALA = """
{{ Seq({track}).foreach(spark.sql)
  println("named: " + spark.sql("{names}").head)
  try spark.sql("{refused}")
  catch {{ case e: org.apache.spark.SparkThrowable => println("condition: " + e.getCondition) }} }}
"""
PYTHON_REFUSED = """
try:
    spark.sql("{0}")
except Exception as error:
    print("condition:", error.getCondition())

"""


def assert_sql_shell_tracks(place: Place, command: str, **variables: str) -> None:
    shell = place.run(command, typed=sql_text(NAMES, SET_FLAG), **variables)

    assert "d\ta" in shell.stdout, shell.stderr
    assert f"[{REFUSED}]" in shell.stderr
    assert_tracked(place.log())


@pytest.mark.matrix
@pytest.mark.parametrize(
    ("command", "is_hive"),
    [("spark-sql $(python -m spark_ext submit-args)\n", True), ("catalogImplementation", False)],
    ids=["Hive", "in memory"],
)
def test_spark_sql_tracks_a_table_in_its_catalog(place: Place, command: str, is_hive: bool) -> None:
    assert_sql_shell_tracks(place, block("Shells", "sh", command))

    assert (place.directory / "metastore_db").exists() == is_hive


@pytest.mark.matrix
@pytest.mark.parametrize("order", [f"{DELTA},{OURS}", f"{OURS},{DELTA}"], ids=["after", "before"])
@pytest.mark.parametrize("ours", ["in the folder", "by --jars"])
def test_session_tracks_with_jars_in_sparks_folder_and_any_order_of_extensions(
    place: Place, spark_home: Callable[..., str], delta_jars: list[Path], ours: str, order: str
) -> None:
    command = block("Jars in Spark's own folder", "sh")
    assert f"={DELTA},{OURS}\n" in command
    command = command.strip().replace(f"{DELTA},{OURS}", order)
    if ours == "in the folder":
        home = spark_home(*delta_jars, Path(our_jar()))
    else:
        home = spark_home(*delta_jars)
        command += " --jars spark-ext.jar"

    assert_sql_shell_tracks(place, command, SPARK_HOME=home)


@pytest.mark.matrix
def test_spark_shell_tracks_a_table_with_the_jar_alone(place: Place) -> None:
    track = ", ".join(f'"{statement}"' for statement in statements())
    names, refused = NAMES.format(t="t"), SET_FLAG.format(t="t")

    shell = place.run(
        block("Shells", "sh", "spark-shell"),
        typed=SCALA.format(track=track, names=names, refused=refused),
    )

    assert "named: [d,a]" in shell.stdout, shell.stderr
    assert f"condition: {REFUSED}" in shell.stdout
    assert_tracked(place.log())


@pytest.mark.matrix
def test_shell_of_pyspark_tracks_a_table(place: Place) -> None:
    typed = "".join(f'spark.sql("{statement}")\n' for statement in statements())
    names = f'print("named:", *spark.sql("{NAMES.format(t="t")}").head())\n'

    shell = place.run(
        block("Shells", "sh", "pyspark"),
        typed=typed + names + PYTHON_REFUSED.format(SET_FLAG.format(t="t")),
        # Without this variable, a Python without a terminal is not interactive.
        PYSPARK_DRIVER_PYTHON_OPTS="-i",
    )

    assert "named: d a" in shell.stdout, shell.stderr
    assert f"condition: {REFUSED}" in shell.stdout
    assert_tracked(place.log())
