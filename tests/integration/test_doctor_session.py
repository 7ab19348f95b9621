# SPDX-License-Identifier: Apache-2.0
"""Tests `python -m spark_ext doctor` and its trial sessions, on sound machines and on others."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from spark_ext.doctor import DEFAULTS, NOTE, OK, PROBLEM, Diagnosis, diagnosis, try_session
from tests.integration.changed_jars import OUR_DESCRIPTION, changed_jar
from tests.support.custom_sessions import CATALOG, DELTA, OURS, our_jar
from tests.support.install_page import block
from tests.support.sessions import JAVA_OPTIONS, SHORT_RUN


# `delta_jars` fetches Delta's jars first.
def test_doctor_finds_a_sound_machine(delta_jars: list[str], tmp_path: Path) -> None:
    program, *arguments = shlex.split(block("A session does not start", "sh"))
    assert program == "python"

    done = subprocess.run(
        [sys.executable, *arguments], capture_output=True, text=True, cwd=tmp_path
    )

    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    assert "\nok       configure " in done.stdout
    assert "problem  " not in done.stdout
    assert list(tmp_path.iterdir()) == []


# Sessions that start without `configure`.


def tried(folder: Path, settings: Mapping[str, str]) -> Diagnosis:
    """Returns the finding of a trial with these settings."""
    lines = [f"{key} {value}\n" for key, value in settings.items()]
    (folder / "spark-defaults.conf").write_text("".join(lines))
    environ = {**os.environ, "SPARK_CONF_DIR": str(folder)}
    return diagnosis(DEFAULTS, try_session(DEFAULTS, environ))


def sound(jars: list[str]) -> dict[str, str]:
    return {
        "spark.jars": ",".join(jars),
        "spark.sql.extensions": f"{DELTA},{OURS}",
        "spark.sql.catalog.spark_catalog": CATALOG,
        JAVA_OPTIONS: SHORT_RUN,
    }


# Reports Python 3.9, which the rule process refuses.
OLD_PYTHON = """#!/bin/sh
exec "{python}" -c '
import runpy, sys
sys.version_info = (3, 9, 18, "final", 0)
runpy.run_path(sys.argv[2])' "$@"
"""


@pytest.mark.parametrize(
    ("changed", "problem"),
    [
        ({"spark.sql.extensions": OURS}, "[DELTA_CONFIGURE_SPARK_SESSION_WITH_EXTENSION_AND_CATAL"),
        ({"spark.jars": "{other},{ours},{delta}"}, "[USAGE_TRACKING_SEVERAL_JARS]"),
        ({"spark.jars": "{other},{delta}"}, "[USAGE_TRACKING_DIFFERENT_VERSIONS]"),
        ({"spark.jars": "{damaged},{delta}"}, f"names {OURS}, and no jar on the class path has it"),
        ({"spark.jars": "{ours}"}, "[USAGE_TRACKING_UNSUPPORTED_DELTA_VERSION]"),
        ({"spark.sparkext.worker.python": "{python}"}, "[USAGE_TRACKING_RULES_UNAVAILABLE]"),
        ({"spark.sql.catalog.spark_catalog": "org.example.Catalog"}, "org.example.Catalog"),
        ({"spark.sql.catalogImplementation": "glue"}, "glue"),
        ({JAVA_OPTIONS: "-javaagent:/no/agent.jar"}, "/no/agent.jar"),
    ],
    ids=[
        "no extension of Delta",
        "two jars",
        "another version",
        "damaged jar",
        "no Delta",
        "old Python",
        "other catalog",
        "other metastore",
        "no JVM",
    ],
)
def test_trial_reports_why_the_defaults_give_no_session(
    tmp_path: Path, delta_jars: list[str], changed: dict[str, str], problem: str
) -> None:
    description = {OUR_DESCRIPTION: lambda _: b"version=0.0.9\n"}
    (tmp_path / "damaged.jar").write_bytes(b"no archive")
    (tmp_path / "python").write_text(OLD_PYTHON.replace("{python}", sys.executable))
    (tmp_path / "python").chmod(0o755)
    places = {
        "ours": our_jar(),
        "delta": ",".join(delta_jars),
        "other": changed_jar(our_jar(), tmp_path / "other.jar", description),
        "damaged": str(tmp_path / "damaged.jar"),
        "python": str(tmp_path / "python"),
    }
    settings = {key: value.format(**places) for key, value in changed.items()}

    finding = tried(tmp_path, {**sound([our_jar(), *delta_jars]), **settings})

    assert finding.status == PROBLEM
    assert problem in str(finding.problem)


def test_trial_has_the_arguments_of_spark_submit(tmp_path: Path, delta_jars: list[str]) -> None:
    settings = sound([our_jar(), *delta_jars])
    words = ["--jars", settings.pop("spark.jars")]
    for key, value in settings.items():
        words += ["--conf", f"{key}={value}"]
    arguments = {"PYSPARK_SUBMIT_ARGS": shlex.join([*words, "pyspark-shell"])}

    finding = diagnosis(DEFAULTS, try_session(DEFAULTS, {**os.environ, **arguments}))

    assert (finding.status, finding.problem) == (OK, None)


@pytest.mark.matrix
def test_trial_reports_defaults_that_cannot_be_read(tmp_path: Path) -> None:
    file = tmp_path / "spark-defaults.conf"
    file.symlink_to("/proc/sys/vm/compact_memory")  # even root may not read it

    trial = try_session(DEFAULTS, {**os.environ, "SPARK_CONF_DIR": str(tmp_path)})

    assert str(file) in str(trial.failure)


@pytest.mark.matrix
@pytest.mark.parametrize("place", ["copy of our jar", "copy of Delta's jar", "other Delta"])
def test_trial_is_sound_with_several_jars_that_fit(
    tmp_path: Path, delta_jars: list[str], place: str
) -> None:
    (delta,) = [jar for jar in delta_jars if "delta-spark" in jar]
    source, name = {
        "copy of our jar": (our_jar(), "copy.jar"),
        "copy of Delta's jar": (delta, Path(delta).name),
        "other Delta": (delta, "delta-spark.jar"),
    }[place]
    copy = shutil.copy(source, tmp_path / name)

    finding = tried(tmp_path, sound([our_jar(), *delta_jars, str(copy)]))

    assert finding.status == (NOTE if place == "other Delta" else OK)
    assert (str(copy) in str(finding.problem)) is (place == "other Delta")
