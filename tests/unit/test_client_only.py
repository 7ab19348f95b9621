# SPDX-License-Identifier: Apache-2.0
"""Runs the package in an imitated `pyspark-client`, which has neither py4j nor a context."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

# Packages that `pyspark-client` lacks, and Delta's package, which needs them.
ABSENT = ("py4j", "delta", "pyspark.core")

SETUP = f"""
import json, sys

class Absent:
    def find_spec(self, name, path=None, target=None):
        if any(name == absent or name.startswith(absent + ".") for absent in {ABSENT!r}):
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Absent())
import spark_ext
"""


def in_client(code: str) -> Any:
    """Returns the value of `result` after the code ran."""
    finished = subprocess.run(
        [sys.executable, "-c", f"{SETUP}\n{code}\nprint(json.dumps(result))"],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert finished.returncode == 0, finished.stderr
    return json.loads(finished.stdout.splitlines()[-1])


def test_every_public_name_exists() -> None:
    result = in_client("result = [str(getattr(spark_ext, name)) for name in spark_ext.__all__]")

    assert len(result) > 5


def test_classic_spark_is_named_as_missing() -> None:
    result = in_client("""
import contextlib, io
from pyspark.sql import SparkSession
from spark_ext.__main__ import main
try:
    spark_ext.configure(SparkSession.builder)
except spark_ext.SparkExtError as refused:
    result = [refused.condition, isinstance(refused, ImportError)]
with contextlib.redirect_stderr(io.StringIO()) as err:
    result += [main(["submit-args"]), err.getvalue().partition("]")[0]]
""")

    condition = "USAGE_TRACKING_CLASSIC_SPARK_MISSING"
    assert result == [condition, True, 1, f"[{condition}"]


@pytest.mark.parametrize("slash", ["/;", ";"])
def test_configure_refuses_a_remote_session_and_hides_its_token(slash: str) -> None:
    result = in_client(f"""
from pyspark.sql import SparkSession
try:
    spark_ext.configure(SparkSession.builder.remote("sc://host:15002{slash}token=secret"))
except spark_ext.SparkExtError as refused:
    result = [refused.condition, refused.params]
""")

    assert result == ["USAGE_TRACKING_REMOTE_SESSION", {"server": "sc://host:15002"}]


def test_statement_is_reported_without_a_context() -> None:
    result = in_client("""
from spark_ext.tables.progress import reported

class Session:
    __module__ = "pyspark.sql.connect.session"

    def registerProgressHandler(self, handler):
        self.handler = handler

    def removeProgressHandler(self, handler):
        assert handler is self.handler

result = []
with reported(Session(), "S", lambda progress: result.append([progress.tasks, progress.finished])):
    pass
""")

    assert result == [[0, False], [0, True]]
