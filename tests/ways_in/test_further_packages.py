# SPDX-License-Identifier: Apache-2.0
"""Tests packages of others beside ours."""

from __future__ import annotations

import pytest

from tests.support.install_page import block
from tests.ways_in import shells
from tests.ways_in.place import Place
from tests.ways_in.tracked import assert_tracked, statements

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

    printed = shells.output_of("python app.py", place.directory, **place.variables)

    assert "driver: org.postgresql.Driver" in printed
    assert_tracked(place.log())
