# SPDX-License-Identifier: Apache-2.0
"""Tests applications without `import spark_ext` that a command line starts."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import spark_ext
from tests.support.install_page import block
from tests.ways_in.place import PYSPARK, Place
from tests.ways_in.shells import output_of
from tests.ways_in.tracked import REFUSED, SET_FLAG, assert_tracked, statements

CHECKOUT = Path(__file__).parents[2]
DEFAULTS = CHECKOUT / "conf" / "spark-defaults.conf"

APPLICATION = """
import sys
from importlib.util import find_spec
from pyspark.sql import SparkSession

spark = SparkSession.builder.getOrCreate()
for statement in {statements}:
    spark.sql(statement)
print("rows:", [tuple(row) for row in spark.table("t").collect()])
try:
    spark.sql({refused!r})
except Exception as error:
    print("condition:", error.getCondition())
print("imported spark_ext:", "spark_ext" in sys.modules)
print("Python has spark_ext:", getattr(find_spec("spark_ext"), "origin", None) is not None)
spark.stop()
"""


@pytest.fixture
def submitting(place: Place) -> Place:
    """Returns a folder with an application."""
    refused = SET_FLAG.format(t="t")
    place.write("app.py", APPLICATION.format(statements=statements(), refused=refused))
    return place


@pytest.mark.matrix
def test_spark_submit_tracks_a_table_with_the_printed_arguments(submitting: Place) -> None:
    application = submitting.run(block("From a command line", "sh", "submit-args)"))

    assert "rows: [(1, 'x', 2, None)]" in application.stdout, application.stderr
    assert f"condition: {REFUSED}" in application.stdout
    assert "imported spark_ext: False" in application.stdout
    assert_tracked(submitting.log())


def test_spark_submit_with_the_defaults_file_needs_only_the_standard_library(
    submitting: Place,
) -> None:
    """The rules and py4j are in our jar."""
    (submitting.directory / "spark_ext").mkdir()
    for folder in ("conf", "spark_ext/jars"):
        (submitting.directory / folder).symlink_to(CHECKOUT / folder)

    application = submitting.run(
        block("From a command line", "sh", "--properties-file"),
        SPARK_HOME=str(PYSPARK),
        PYSPARK_PYTHON=sys._base_executable,  # type: ignore[attr-defined]  # CPython's own
    )

    assert "rows: [(1, 'x', 2, None)]" in application.stdout, application.stderr
    assert f"condition: {REFUSED}" in application.stdout
    assert "Python has spark_ext: False" in application.stdout
    assert_tracked(submitting.log())


def test_defaults_file_has_the_settings_of_configure() -> None:
    lines = (line.split(None, 1) for line in DEFAULTS.read_text().splitlines())
    defaults = {line[0]: line[1].strip() for line in lines if line and line[0] != "#"}
    configured = dict(spark_ext.configure(SparkSession.Builder())._options)

    jar = Path(defaults.pop("spark.jars"))
    configured_jar = Path(configured.pop("spark.jars"))
    python = configured.pop("spark.pyspark.driver.python")

    assert defaults == configured
    assert CHECKOUT / jar == configured_jar
    assert python == sys.executable


USE = """
driver = spark._jvm.java.lang.Thread.currentThread().getContextClassLoader().loadClass(
    "org.postgresql.Driver")
print("driver:", driver.getName())
for statement in {statements}:
    spark.sql(statement)
spark.stop()
"""


@pytest.mark.matrix
def test_driver_of_jdbc_is_loaded_by_its_coordinates(place: Place) -> None:
    application = block("Further packages", "python") + USE.format(statements=statements())
    place.write("app.py", application)

    printed = output_of("python app.py", place.directory, **place.variables)

    assert "driver: org.postgresql.Driver" in printed
    assert_tracked(place.log())
