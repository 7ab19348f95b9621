# SPDX-License-Identifier: Apache-2.0
"""Tests jars in Spark's own folder, and our extension before and after Delta's."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.custom_sessions import DELTA, OURS, our_jar
from tests.support.install_page import block
from tests.ways_in.place import Place
from tests.ways_in.tracked import NAMES, REFUSED, SET_FLAG, assert_tracked, sql_text

SECTION = "Jars in Spark's own folder"


@pytest.mark.matrix
@pytest.mark.parametrize("order", [f"{DELTA},{OURS}", f"{OURS},{DELTA}"], ids=["after", "before"])
@pytest.mark.parametrize("ours", ["in the folder", "by --jars"])
def test_session_tracks_with_jars_in_sparks_folder_and_any_order_of_extensions(
    place: Place, spark_home: Callable[..., str], delta_jars: list[Path], ours: str, order: str
) -> None:
    command = block(SECTION, "sh")
    assert f"={DELTA},{OURS}\n" in command
    command = command.strip().replace(f"{DELTA},{OURS}", order)
    if ours == "in the folder":
        home = spark_home(*delta_jars, Path(our_jar()))
    else:
        home = spark_home(*delta_jars)
        command += " --jars spark-ext.jar"

    shell = place.run(command, typed=sql_text(NAMES, SET_FLAG), SPARK_HOME=home)

    assert "d\ta" in shell.stdout, shell.stderr
    assert f"[{REFUSED}]" in shell.stderr
    assert_tracked(place.log())
