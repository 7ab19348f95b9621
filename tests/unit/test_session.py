# SPDX-License-Identifier: Apache-2.0
"""Tests `configure`, `submit-args` and `spark-defaults.conf` without a JVM."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyspark
import pytest
from pyspark.sql import SparkSession
from pyspark.sql.connect.session import SparkSession as ConnectSession

import spark_ext
from spark_ext import launch as session
from spark_ext.__main__ import main
from spark_ext.errors import (
    RemoteSessionError,
    SessionAlreadyRunningError,
    UnquotableArgumentError,
)
from spark_ext.launch import (
    DELTA_EXTENSION,
    EXTENSIONS,
    JARS,
    PACKAGES,
    USAGE_TRACKING_EXTENSION,
    defaults,
    defaults_file,
)


@pytest.fixture(autouse=True)
def _no_jar(monkeypatch: pytest.MonkeyPatch) -> None:
    options = dict.fromkeys([PACKAGES, JARS, session.CATALOG], "x")
    whole = options | {EXTENSIONS: DELTA_EXTENSION, session.DRIVER_PYTHON: "python"}
    monkeypatch.setattr(session, "submit_options", lambda: dict(whole))


def running_with(monkeypatch: pytest.MonkeyPatch, extensions: str) -> None:
    context = SimpleNamespace(getConf=lambda: {EXTENSIONS: extensions})
    monkeypatch.setattr(
        pyspark, "SparkContext", SimpleNamespace(_active_spark_context=context, _jvm=None)
    )


@pytest.mark.parametrize("extensions", ["", DELTA_EXTENSION, f"{USAGE_TRACKING_EXTENSION}2"])
def test_running_context_needs_the_extension(
    monkeypatch: pytest.MonkeyPatch, extensions: str
) -> None:
    running_with(monkeypatch, extensions)

    with pytest.raises(SessionAlreadyRunningError) as refused:
        spark_ext.configure(SparkSession.Builder())

    assert refused.value.params == {"extensions": extensions}
    running_with(monkeypatch, f"{extensions} ,\n{USAGE_TRACKING_EXTENSION},")
    spark_ext.configure(SparkSession.Builder())


@pytest.mark.parametrize("how", ["builder", "environment", "Spark Connect's own builder"])
def test_session_of_a_running_server_is_refused(monkeypatch: pytest.MonkeyPatch, how: str) -> None:
    """The server takes none of the settings."""
    running_with(monkeypatch, "")
    builder: Any = SparkSession.Builder()
    if how == "builder":
        builder = builder.remote("sc://host:443/;token=secret")
    elif how == "environment":
        monkeypatch.setenv("SPARK_REMOTE", "sc://host:443/;token=secret")
    else:
        builder = ConnectSession.Builder()

    with pytest.raises(RemoteSessionError) as refused:
        spark_ext.configure(builder)

    own = how == "Spark Connect's own builder"
    server = "of its channel builder" if own else "sc://host:443"
    assert refused.value.params == {"server": server}
    assert builder._options.keys() <= {"spark.remote"}


@pytest.mark.parametrize("address", ["local", "local[2]", "local-cluster[1,1,1024]"])
def test_server_that_pyspark_starts_is_configured(
    monkeypatch: pytest.MonkeyPatch, address: str
) -> None:
    monkeypatch.setattr(
        pyspark, "SparkContext", SimpleNamespace(_active_spark_context=None, _jvm=None)
    )

    builder = spark_ext.configure(SparkSession.Builder().remote(address))

    assert builder._options[EXTENSIONS] == DELTA_EXTENSION  # one of all options


# submit-args.


def submit_args(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[str]:
    assert main(["submit-args", *arguments]) == 0
    return capsys.readouterr().out.split()


def test_driver_gets_this_python_unless_it_is_on_another_machine(
    capsys: pytest.CaptureFixture[str],
) -> None:
    here = submit_args(capsys)
    elsewhere = submit_args(capsys, "--deploy-mode", "cluster")

    pinned = ["--conf", f"{session.DRIVER_PYTHON}=python"]
    assert submit_args(capsys, "--deploy-mode", "client") == here
    assert ["--deploy-mode", "cluster", *here] == [*elsewhere, *pinned]


def test_unknown_deploy_mode_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["submit-args", "--deploy-mode", "elsewhere"])

    assert "'client', 'cluster'" in capsys.readouterr().err


@pytest.mark.parametrize("folder", ["a,b", "a b"])
def test_path_that_a_shell_or_spark_splits_is_refused(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, folder: str
) -> None:
    monkeypatch.undo()  # the real options
    monkeypatch.setattr(session, "jar", lambda: Path("/opt") / folder / "spark-ext.jar")

    assert main(["submit-args"]) == 1
    assert "[USAGE_TRACKING_UNQUOTABLE_ARGUMENT]" in capsys.readouterr().err
    if "," in folder:
        with pytest.raises(UnquotableArgumentError):
            spark_ext.configure(SparkSession.Builder())


# spark-defaults.conf. The command line adds to its values.


@pytest.mark.parametrize(
    ("text", "read"),
    [
        *[
            (f"# a\n\n  spark.a{between}b=c d  \n#spark.e f\n", {"spark.a": "b=c d"})
            for between in (" ", "   ", "\t", "=", " = ", ": ")
        ],
        ("spark.a x,\\\n  y\nspark.b z", {"spark.a": "x,y", "spark.b": "z"}),
        ("spark.a x\\\\\nspark.b z", {"spark.a": "x\\", "spark.b": "z"}),
        ("spark.a x\\\n# y", {"spark.a": "x# y"}),
        ("# a\\\nspark.a x", {"spark.a": "x"}),
        ("spark.a C:\\\\x\\q", {"spark.a": "C:\\xq"}),
        ("spark.a", {"spark.a": ""}),
        ("spark.a = = x", {"spark.a": "= x"}),
        ("! x\nspark.a x\rspark.b y\\", {"spark.a": "x", "spark.b": "y"}),
        ("spark.a x\nspark.a y", {"spark.a": "y"}),
        ("spark.a ü", {"spark.a": "ü"}),
    ],
)
def test_defaults_are_read_as_properties_of_java(
    tmp_path: Path, text: str, read: dict[str, str]
) -> None:
    (tmp_path / "spark-defaults.conf").write_text(text, encoding="utf-8")

    assert defaults(defaults_file({"SPARK_CONF_DIR": str(tmp_path)})) == read


def test_defaults_are_read_or_empty_when_the_file_is_no_text(tmp_path: Path) -> None:
    file = tmp_path / "conf" / "spark-defaults.conf"
    file.parent.mkdir()
    file.write_bytes("spark.a ü\nspark.b c\n".encode("latin-1"))

    assert defaults_file({"SPARK_HOME": str(tmp_path)}) == file
    assert defaults(file) == {"spark.a": "\ufffd", "spark.b": "c"}
    assert defaults(tmp_path) == {}


def test_spark_home_is_the_distribution_whose_python_is_imported(tmp_path: Path) -> None:
    home = tmp_path / "spark"
    for file in ("python/pyspark/__init__.py", "bin/spark-submit", "jars/x.jar"):
        (home / file).parent.mkdir(parents=True)
        (home / file).touch()
    code = "from spark_ext.launch import spark_home; print(spark_home({}))"

    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(home / "python")},
        cwd=tmp_path,
    )

    assert done.stdout.strip() == str(home), done.stderr
