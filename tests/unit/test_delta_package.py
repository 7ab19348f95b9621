# SPDX-License-Identifier: Apache-2.0
"""Names the real cause when the Python package delta-spark is missing or incomplete."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

import pytest

CHECKOUT = Path(__file__).parents[2]
CODE = """
import json
from pathlib import Path
from spark_ext import SparkExtError
from spark_ext import launch as session

session.jar = lambda: Path("/spark-ext.jar")
try:
    options = session.submit_options()
    result = [None, options["spark.jars.packages"]]
except SparkExtError as refused:
    result = [refused.condition, refused.params["error"]]
print(json.dumps(result))
"""


def found_without(folder: Path, *absent: str) -> Any:
    """Returns the report of a Python that has the packages of this Python, except some."""
    for entry in Path(sysconfig.get_path("purelib")).iterdir():
        if not any(entry.match(pattern) for pattern in absent):
            (folder / entry.name).symlink_to(entry)
    finished = subprocess.run(
        [sys.executable, "-S", "-c", CODE],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": f"{CHECKOUT}{os.pathsep}{folder}"},
        cwd=folder,
    )
    assert finished.returncode == 0, finished.stderr
    return json.loads(finished.stdout)


def test_options_name_the_package_when_it_is_complete(tmp_path: Path) -> None:
    condition, package = found_without(tmp_path)

    assert condition is None
    assert package.startswith("io.delta:delta-spark")


@pytest.mark.parametrize(
    ("absent", "named"),
    [
        ("importlib_metadata*", "importlib_metadata"),
        ("delta_spark-*", "delta_spark"),
        ("delta", "'delta'"),
    ],
)
def test_missing_part_of_the_package_is_named(tmp_path: Path, absent: str, named: str) -> None:
    condition, error = found_without(tmp_path, absent)

    assert condition == "USAGE_TRACKING_DELTA_PACKAGE_MISSING"
    assert named in error


def test_missing_pyspark_is_named_before_delta(tmp_path: Path) -> None:
    condition, error = found_without(tmp_path, "pyspark")

    assert condition == "USAGE_TRACKING_CLASSIC_SPARK_MISSING"
    assert "'pyspark'" in error
