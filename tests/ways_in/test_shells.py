# SPDX-License-Identifier: Apache-2.0
"""Tests the shells of Spark, which the commands of docs/install.md start."""

from __future__ import annotations

import pytest

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


def assert_sql_shell_tracks(place: Place, command: str) -> None:
    shell = place.run(command, typed=sql_text(NAMES, SET_FLAG))

    assert "d\ta" in shell.stdout, shell.stderr
    assert f"[{REFUSED}]" in shell.stderr
    assert_tracked(place.log())


@pytest.mark.matrix
def test_spark_sql_tracks_a_table_in_its_hive_catalog(place: Place) -> None:
    assert_sql_shell_tracks(
        place, block("Shells", "sh", "spark-sql $(python -m spark_ext submit-args)\n")
    )

    assert (place.directory / "metastore_db").is_dir()


@pytest.mark.matrix
def test_spark_sql_tracks_a_table_in_the_catalog_in_memory(place: Place) -> None:
    assert_sql_shell_tracks(place, block("Shells", "sh", "catalogImplementation"))

    assert not (place.directory / "metastore_db").exists()


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
