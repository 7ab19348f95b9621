# SPDX-License-Identifier: Apache-2.0
"""Tests the checks of `python -m spark_ext doctor`, without the JVM of a trial session."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from spark_ext import doctor
from spark_ext.doctor import (
    CONFIGURE,
    DEFAULTS,
    NOTE,
    OK,
    PROBLEM,
    SKIPPED,
    Diagnosis,
    Trial,
    as_text,
    diagnosis,
    examine,
    fault,
    is_sound,
)
from spark_ext.errors import DeltaPackageMissingError
from spark_ext.launch import DELTA_EXTENSION, USAGE_TRACKING_EXTENSION
from spark_ext.model.keys import FEATURE_NAME, HAS_DROPPED_OR_RENAMED
from tests.unit.tables import struct

ENVIRON = {key: value for key, value in os.environ.items() if not key.startswith("SPARK_")}


def program(path: Path, script: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return path


# The trial's process, and what needs no session.


def test_trial_in_another_folder_gets_absolute_paths(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.path", [str(tmp_path)])

    found = doctor._in_other_folder({"PYTHONPATH": ".", "SPARK_CONF_DIR": "conf", "X": "y"})

    first, *_, last = found.pop("PYTHONPATH").split(os.pathsep)
    assert (first, (Path(last) / "spark_ext").is_dir()) == (str(tmp_path), True)
    assert found == {"SPARK_CONF_DIR": str(tmp_path / "conf"), "X": "y"}
    monkeypatch.setattr("sys.path", ["", last])
    assert doctor._in_other_folder({"X": "y"}) == {"X": "y"}


@pytest.mark.every_variant
@pytest.mark.parametrize(
    ("module", "text", "is_client"),
    [
        ("pyspark.py", "raise ModuleNotFoundError('of pyspark')", False),
        ("pyspark.py", "raise RuntimeError('of pyspark')", False),
        ("pyspark/util.py", "def is_remote_only(): return True", True),
        ("pyspark/util.py", "", False),  # an older client
        ("pyspark/util.py", "1 / 0", False),
    ],
)
def test_pyspark_is_a_problem_unless_it_is_a_client_of_spark_connect(
    tmp_path: Path, module: str, text: str, is_client: bool
) -> None:
    file = tmp_path / module
    if file.parent != tmp_path:
        file.parent.mkdir()
        file.with_name("__init__.py").write_text("__version__ = '4.2.0'")
    file.write_text(text)

    done = subprocess.run(
        [sys.executable, "-m", "spark_ext", "doctor", "--json"],
        capture_output=True,
        text=True,
        env={**ENVIRON, "PYTHONPATH": str(tmp_path)},
        cwd=tmp_path,
    )

    printed = json.loads(done.stdout)
    first, *findings = (Diagnosis(**finding) for finding in printed["findings"])
    assert (done.stderr, done.returncode, printed["sound"]) == ("", not is_client, is_client)
    assert is_sound([first, *findings]) == is_client
    checks = ["spark"] if is_client else [DEFAULTS, CONFIGURE]
    assert [first.check, *(finding.check for finding in findings)] == ["python", *checks]
    assert all((finding.status == PROBLEM) != is_client for finding in findings)
    assert "of pyspark" not in text or "of pyspark" in str(findings[0].problem)


# A trial session.

EXTENSIONS = [DELTA_EXTENSION, USAGE_TRACKING_EXTENSION]
JAR = "delta-spark_4.2_2.13-4.4.0.jar"


def place_of(jar: str) -> str:
    return f"jar:file:{jar}!/io/delta/sql/DeltaSparkSessionExtension.class"


def a_trial(*deltas: str, **changed: Any) -> Trial:
    """Returns a trial that tracked its table, with these jars of Delta."""
    places = [place_of(jar) for jar in deltas or (f"/spark/{JAR}",)]
    versions = {"pyspark": "4.2.1", "java": "17.0.1 at /jvm", "spark": "4.2.0", "delta": "4.4.0"}
    sound = {**versions, "extensions": EXTENSIONS, "our_places": ["x"], "delta_places": places}
    return Trial(**{**sound, **changed})


OF_EMR = "/opt/delta-spark_2.13-4.4.0-amzn-1.jar"
LOADED = f"loads Delta from /spark/{JAR}; it does not load {OF_EMR}."
VERSIONS = (
    "a session of spark-defaults.conf alone: pyspark 4.2.1, Java 17.0.1 at /jvm, Spark 4.2.0"
    f" with delta-spark 4.4.0 at /spark/{JAR}"
)
# A session of spark-defaults.conf, the status, and parts of the text.
ALONE = [
    (a_trial(), OK, [VERSIONS]),
    (a_trial(extensions=[]), NOTE, ["spark_ext.configure"]),
    (a_trial(extensions=[DELTA_EXTENSION]), NOTE, ["spark_ext.configure"]),
    (a_trial(extensions=[f"{USAGE_TRACKING_EXTENSION}2"]), NOTE, ["spark_ext.configure"]),
    (a_trial(delta_places=[]), PROBLEM, [f"names {DELTA_EXTENSION}, and", "ext submit-args`"]),
    (a_trial(our_places=[]), PROBLEM, [f"names {USAGE_TRACKING_EXTENSION}, and", "ext jars`"]),
    (a_trial(failure="[A] no https://u:secret@x.org/"), PROBLEM, ["[A] no https://x.org/"]),
]
# A session of `configure`, that of spark-defaults.conf, the status, and parts of the text.
CONFIGURED = [
    (a_trial(f"/spark/{JAR}", f"/ivy/io.delta_{JAR}"), Trial(), OK, []),
    (a_trial(f"/spark/{JAR}", OF_EMR), Trial(), NOTE, [LOADED]),
    (a_trial(f"/ivy/io.delta_{JAR}"), a_trial(f"/aws/{JAR}"), OK, []),
    # EMR has its Delta in the `spark.jars` of `spark-defaults.conf`.
    (a_trial(f"/ivy/io.delta_{JAR}"), a_trial(OF_EMR), NOTE, [OF_EMR, "`configure`"]),
    (a_trial(f"/ivy/io.delta_{JAR}"), a_trial("/a/delta-spark.jar"), NOTE, ["/a/delta-spark.jar"]),
]


@pytest.mark.parametrize(
    ("way", "trials", "status", "parts"),
    [
        *((DEFAULTS, [trial], status, parts) for trial, status, parts in ALONE),
        *((CONFIGURE, [trial, other], status, parts) for trial, other, status, parts in CONFIGURED),
    ],
)
def test_diagnosis_names_the_problem_and_the_remedy(
    way: str, trials: list[Trial], status: str, parts: list[str]
) -> None:
    finding = diagnosis(way, *trials)

    text = f"{finding.found} {finding.problem} {finding.advice}"
    assert finding.status == status
    assert (finding.problem is None) == (status == OK)
    assert [part for part in parts if part not in text] == []
    assert "secret" not in text


def test_first_jar_is_the_loaded_one_when_a_link_to_it_follows(tmp_path: Path) -> None:
    first, link = tmp_path / JAR, tmp_path / "link.jar"
    first.touch()
    link.symlink_to(first)

    finding = diagnosis(CONFIGURE, a_trial(str(first), OF_EMR, str(link)), Trial())

    assert f"loads Delta from {first}; it does not load {OF_EMR}." in str(finding.problem)


def test_delta_with_several_links_is_one(tmp_path: Path) -> None:
    (tmp_path / JAR).touch()
    (tmp_path / "delta-spark.jar").symlink_to(JAR)

    trial = a_trial(str(tmp_path / "delta-spark.jar"), str(tmp_path / JAR))

    assert diagnosis(DEFAULTS, trial).status == OK


@pytest.mark.parametrize(
    ("script", "failure"),
    [
        ("exec sleep 60", "The session did not end"),
        ("echo no session here >&2; exit 3", "no session here"),
        ("exit 0", "The session did not start."),
    ],
)
def test_trial_fails_when_its_process_reports_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, failure: str
) -> None:
    python = program(tmp_path / "python", script)
    monkeypatch.setattr(sys, "executable", str(python))
    monkeypatch.setattr(doctor, "_SECONDS", 2)

    finding = diagnosis(DEFAULTS, doctor.try_session(DEFAULTS, ENVIRON))

    assert finding.status == PROBLEM
    assert failure in str(finding.problem)
    assert finding.advice


# The table of a trial session.


SOUND = [
    ("false", {"a": "1 a", "b": "2 b"}),
    ("false", {"a": "1 a", "b": "2 b", "c": "3 c"}),
    ("true", {"d": "1 a", "b": "2 b", "c": "3 c"}),
]


@pytest.mark.parametrize(
    ("last", "feature", "is_sound"),
    [
        (SOUND[-1], FEATURE_NAME, True),
        (SOUND[-1], "columnMapping", False),
        (("false", {"d": "1 a", "b": "2 b", "c": "3 c"}), FEATURE_NAME, False),
        (("true", {"d": "1 a", "b": "2 b", "c": "3 col-1"}), FEATURE_NAME, False),
    ],
)
def test_table_of_a_trial_has_a_fault_when_it_was_not_tracked(
    tmp_path: Path, last: tuple[str, dict[str, str]], feature: str, is_sound: bool
) -> None:
    (tmp_path / "_delta_log").mkdir()
    for version, (flag, columns) in enumerate([*SOUND[:-1], last]):
        metadata = {
            "configuration": {HAS_DROPPED_OR_RENAMED: flag},
            "schemaString": json.dumps(struct(columns)),
        }
        actions = [{"protocol": {"writerFeatures": [feature]}}, {"metaData": metadata}]
        file = tmp_path / "_delta_log" / f"{version:020}.json"
        file.write_text("\n".join(map(json.dumps, actions)))

    assert (fault(tmp_path) is None) == is_sound


def test_table_of_a_trial_has_a_fault_without_a_log(tmp_path: Path) -> None:
    assert fault(tmp_path) is not None


# Both trials together.


@pytest.mark.parametrize(
    ("has_jars", "condition", "status"),
    [
        (True, DeltaPackageMissingError.condition, SKIPPED),
        (False, DeltaPackageMissingError.condition, PROBLEM),
        (True, "USAGE_TRACKING_JAR_MISSING", PROBLEM),
    ],
)
def test_session_of_configure_is_skipped_without_the_package_of_a_vendors_delta(
    monkeypatch: pytest.MonkeyPatch, has_jars: bool, condition: str, status: str
) -> None:
    defaults = a_trial() if has_jars else Trial(spark="4.2.0")
    configured = Trial(failure="no delta", condition=condition)
    trials = {DEFAULTS: defaults, CONFIGURE: configured}
    monkeypatch.setattr(doctor, "try_session", lambda way, environ: trials[way])

    findings = {finding.check: finding for finding in examine(ENVIRON)}

    assert findings[DEFAULTS].status == (OK if has_jars else NOTE)
    assert (findings[CONFIGURE].status, findings[CONFIGURE].problem) == (status, "no delta")


def test_trial_without_a_jvm_names_the_oldest_java() -> None:
    advices = [
        diagnosis(DEFAULTS, Trial(failure="x", spark=spark)).advice for spark in (None, "4.2.0")
    ]

    assert ["Java 17" in str(advice) for advice in advices] == [True, False]


def test_text_contains_the_values_of_the_findings() -> None:
    findings = [Diagnosis("a", OK, "x"), Diagnosis("b", PROBLEM, "y", "wrong", "do this")]

    text = as_text(findings)

    assert [word for word in ("a", "x", "b", "y", "wrong", "do this") if word not in text] == []
    assert text.splitlines()[-1].endswith("1 problem(s) found.")
