# SPDX-License-Identifier: Apache-2.0
"""Tests an application in Java with the jar, without the Python package and SPARK_HOME."""

from __future__ import annotations

import re
import shutil
import venv
from pathlib import Path

import pytest

from tests.support.install_page import block
from tests.ways_in.place import PYSPARK, Place
from tests.ways_in.tracked import CREATE, NAMES, REFUSED, SET_FLAG, assert_tracked, statements

SECTION = "Scala and Java"
OPTIONS = "-Dspark.ui.enabled=false -Dspark.sql.shuffle.partitions=1 -XX:TieredStopAtLevel=1"


@pytest.fixture
def bare_path(tmp_path: Path) -> str:
    """Returns a PATH on which `python3` has the standard library only."""
    environment = tmp_path / "environment"
    venv.create(environment, symlinks=True)
    return f"{environment}/bin:/usr/local/bin:/usr/bin:/bin"


@pytest.mark.matrix
def test_java_application_tracks_a_table(
    place: Place, delta_jars: list[Path], bare_path: str
) -> None:
    folders = {
        "SPARK_JARS": str(PYSPARK / "jars"),
        "DELTA_JARS": str(place.link("delta jars", *delta_jars)),
    }
    place.write("App.java", block(SECTION, "java"))
    command = block(SECTION, "sh", **folders)
    (shown,) = re.findall(r'"SHOW TABLES"', command)
    track = " ".join(f'"{statement}"' for statement in statements(NAMES))

    application = place.run(command.replace(shown, track), PATH=bare_path, JDK_JAVA_OPTIONS=OPTIONS)
    (_, java) = command.split("\njava ")
    refused = place.run(
        "java " + java.replace(shown, f'"{SET_FLAG.format(t="t")}"'),
        PATH=bare_path,
        JDK_JAVA_OPTIONS=OPTIONS,
    )

    programs = place.link("programs", *filter(None, map(shutil.which, ("bash", "java"))))
    without_python = place.run(
        "java " + java.replace(shown, f'"{CREATE.format(t="lacking")}"'),
        PATH=str(programs),
        JDK_JAVA_OPTIONS=OPTIONS,
    )

    assert application.returncode == 0, application.stderr
    assert re.search(r"\|\s*d\|\s*a\|", application.stdout)
    assert refused.returncode != 0
    assert f"[{REFUSED}]" in refused.stderr
    assert_tracked(place.log())
    assert "[USAGE_TRACKING_RULES_UNAVAILABLE]" in without_python.stderr
    assert "python3" in without_python.stderr
    assert place.log("lacking").version == -1
