# SPDX-License-Identifier: Apache-2.0
"""Tests the checks of `python -m spark_ext doctor`, without the JVM of a trial session."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyspark
import pytest

from spark_ext.doctor import installation, sessions
from spark_ext.doctor.diagnoses import NOTE, OK, PROBLEM, SKIPPED, Diagnosis, as_text, is_sound
from spark_ext.doctor.examination import examine
from spark_ext.doctor.sessions import diagnosis
from spark_ext.doctor.trial import CONFIGURE, DEFAULTS, Trial, fault
from spark_ext.launch import session
from spark_ext.launch.releases import DELTA_EXTENSION, USAGE_TRACKING_EXTENSION
from spark_ext.launch.session import JARS, PACKAGES

ENVIRON = {key: value for key, value in os.environ.items() if not key.startswith("SPARK_")}


@pytest.fixture
def jar(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Returns the path of the package's jar, at which no file exists yet."""
    path = tmp_path / "spark-ext.jar"
    monkeypatch.setattr(session, "jar", lambda: path)
    return path


def program(path: Path, script: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return path


def a_spark(home: Path, *jars: str) -> dict[str, str]:
    """Returns an environment with a Spark of these jars."""
    (home / "jars").mkdir(parents=True)
    for name in jars:
        (home / "jars" / name).touch()
    return {**ENVIRON, "SPARK_HOME": str(home)}


# Python.


def test_python_is_a_problem_when_it_is_too_old(monkeypatch: pytest.MonkeyPatch) -> None:
    assert installation.python().status == OK
    monkeypatch.setattr(installation, "OLDEST_PYTHON", (sys.version_info[0], 99))

    assert installation.python().status == PROBLEM


# Java.


def a_java(path: Path, version: str) -> Path:
    return program(path, f"""echo 'openjdk version "{version}" 2024-01-01' >&2""")


def test_java_is_a_problem_when_path_has_none(tmp_path: Path) -> None:
    finding = installation.java({"PATH": str(tmp_path)})

    assert (finding.status, finding.found) == (PROBLEM, "none")


def test_java_is_a_problem_when_java_home_has_none(tmp_path: Path) -> None:
    a_java(tmp_path / "java", "17.0.1")

    finding = installation.java({"PATH": str(tmp_path), "JAVA_HOME": str(tmp_path)})

    assert finding.status == PROBLEM


@pytest.mark.parametrize(
    ("version", "status"),
    [
        ("1.8.0_392", PROBLEM),
        ("11.0.21", PROBLEM),
        ("16", PROBLEM),
        ("17", OK),
        ("21.0.2", OK),
        ("25-ea", OK),
    ],
)
def test_java_is_sound_from_its_oldest_version_on(
    tmp_path: Path, version: str, status: str
) -> None:
    a_java(tmp_path / "java", version)

    finding = installation.java({"PATH": str(tmp_path)})

    assert finding.status == status
    assert version in finding.found


def test_java_home_is_preferred_to_path(tmp_path: Path) -> None:
    a_java(tmp_path / "path" / "java", "17.0.1")
    a_java(tmp_path / "home" / "bin" / "java", "21.0.2")

    finding = installation.java(
        {"PATH": str(tmp_path / "path"), "JAVA_HOME": str(tmp_path / "home")}
    )

    assert finding.status == OK
    assert "21.0.2" in finding.found
    assert "(JAVA_HOME)" in finding.found


def test_java_is_a_problem_when_it_is_another_program(tmp_path: Path) -> None:
    program(tmp_path / "java", "echo no java")

    assert installation.java({"PATH": str(tmp_path)}).status == PROBLEM


# Spark, Delta's package and our jar.


def test_spark_home_is_a_problem_when_pyspark_is_of_another_line(tmp_path: Path) -> None:
    found = installation.spark(a_spark(tmp_path / "spark", "spark-core_2.12-3.5.8.jar"))

    assert found.status == PROBLEM
    assert "3.5.8 of Scala 2.12" in found.found
    assert pyspark.__version__ in found.found


def test_spark_home_is_the_distribution_whose_python_is_imported(tmp_path: Path) -> None:
    home = tmp_path / "spark"
    for file in ("python/pyspark/__init__.py", "bin/spark-submit", "jars/x.jar"):
        (home / file).parent.mkdir(parents=True)
        (home / file).touch()
    code = "from spark_ext.launch.spark_home import spark_home; print(spark_home({}))"

    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(home / "python")},
        cwd=tmp_path,
    )

    assert done.stdout.strip() == str(home), done.stderr


def test_trial_in_another_folder_gets_absolute_paths(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.path", [str(tmp_path)])

    found = sessions._in_other_folder({"PYTHONPATH": ".", "SPARK_CONF_DIR": "conf", "X": "y"})

    first, *_, last = found.pop("PYTHONPATH").split(os.pathsep)
    assert (first, (Path(last) / "spark_ext").is_dir()) == (str(tmp_path), True)
    assert found == {"SPARK_CONF_DIR": str(tmp_path / "conf"), "X": "y"}
    monkeypatch.setattr("sys.path", ["", last])
    assert sessions._in_other_folder({"X": "y"}) == {"X": "y"}


def test_spark_home_is_a_problem_without_jars(tmp_path: Path) -> None:
    assert installation.spark({**ENVIRON, "SPARK_HOME": str(tmp_path)}).status == PROBLEM


def test_spark_home_is_a_problem_when_it_is_empty() -> None:
    assert installation.spark({**ENVIRON, "SPARK_HOME": ""}).status == PROBLEM


def test_this_installation_is_sound(jar: Path) -> None:
    findings = [
        installation.python(),
        installation.spark(ENVIRON),
        installation.jar(),
        installation.delta(has_jars=False),
    ]

    assert {finding.status for finding in findings} == {OK}


@pytest.mark.parametrize(("has_jars", "status"), [(True, NOTE), (False, PROBLEM)])
def test_delta_package_is_missing_without_a_problem_when_sessions_have_its_jars(
    monkeypatch: pytest.MonkeyPatch, has_jars: bool, status: str
) -> None:
    monkeypatch.setattr(installation, "module", lambda name: f"no {name}")

    finding = installation.delta(has_jars=has_jars)

    assert finding.status == status
    assert "no delta" in str(finding.problem)


def test_missing_jar_is_a_problem_and_prevents_trial_sessions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session, "files", lambda package: tmp_path)
    monkeypatch.setattr(sessions, "try_session", pytest.fail)

    found = {finding.check: finding.status for finding in examine(ENVIRON)}

    assert found["jar"] == PROBLEM
    assert [found[check] for check in (DEFAULTS, "delta", CONFIGURE)] == [SKIPPED] * 3


def run_with(modules: Path, **environ: str) -> tuple[int, dict[str, Diagnosis]]:
    """Returns the exit code and the findings of a Python that imports these modules first."""
    done = subprocess.run(
        [sys.executable, "-m", "spark_ext", "doctor", "--json"],
        capture_output=True,
        text=True,
        env={**ENVIRON, "PYTHONPATH": str(modules), **environ},
        cwd=modules,
    )
    assert done.stderr == ""
    printed = json.loads(done.stdout)
    findings = [Diagnosis(**finding) for finding in printed["findings"]]
    assert printed["sound"] == is_sound(findings) == (done.returncode == 0)
    return done.returncode, {finding.check: finding for finding in findings}


@pytest.mark.parametrize(
    "broken", ["raise ModuleNotFoundError('no pyspark')", "raise RuntimeError('of pyspark')"]
)
def test_pyspark_is_a_problem_when_its_import_fails(tmp_path: Path, broken: str) -> None:
    (tmp_path / "pyspark.py").write_text(broken)

    code, findings = run_with(tmp_path)

    assert code == 1
    assert findings["spark"].status == PROBLEM
    assert "pyspark" in str(findings["spark"].problem)
    assert list(findings) == ["python", "java", "spark", "jar", DEFAULTS, "delta", CONFIGURE]
    assert findings[CONFIGURE].status == SKIPPED


@pytest.mark.every_variant
@pytest.mark.parametrize(
    ("util", "has_spark", "is_client"),
    [
        (None, False, True),
        ("def is_remote_only(): return True", True, True),
        ("", True, False),
        ("1 / 0", True, False),
    ],
    ids=["without Spark", "beside a Spark", "older", "broken"],
)
def test_client_of_spark_connect_needs_no_java_and_no_session(
    tmp_path: Path, util: str | None, has_spark: bool, is_client: bool
) -> None:
    (tmp_path / "pyspark").mkdir()
    (tmp_path / "pyspark" / "__init__.py").write_text("__version__ = '4.2.0'")
    if util is not None:
        (tmp_path / "pyspark" / "util.py").write_text(util)
    # Another Spark than the package. A client starts no trial session.
    environ = a_spark(tmp_path / "spark", "spark-core_2.13-4.1.0.jar") if has_spark else {}

    _, findings = run_with(tmp_path, **environ)

    assert (list(findings) == ["python", "spark", "jar"]) is is_client
    assert findings["spark"].status == (NOTE if is_client else PROBLEM)


# A trial session.

EXTENSIONS = [DELTA_EXTENSION, USAGE_TRACKING_EXTENSION]
JAR = "delta-spark_4.2_2.13-4.4.0.jar"


def place_of(jar: str) -> str:
    return f"jar:file:{jar}!/io/delta/sql/DeltaSparkSessionExtension.class"


def a_trial(*deltas: str, **changed: Any) -> Trial:
    """Returns a trial that tracked its table, with these jars of Delta."""
    places = [place_of(jar) for jar in deltas or (f"/spark/{JAR}",)]
    sound = {"spark": "4.2.0", "delta": "4.4.0", "extensions": EXTENSIONS, "our_places": ["x"]}
    return Trial(**{**sound, "delta_places": places, **changed})


def test_trial_is_sound_when_it_tracked_its_table() -> None:
    finding = diagnosis(DEFAULTS, a_trial())

    assert finding.status == OK
    assert finding.found.endswith(f"Spark 4.2.0 with delta-spark 4.4.0 at /spark/{JAR}")


@pytest.mark.parametrize("extensions", [[], [DELTA_EXTENSION], [f"{USAGE_TRACKING_EXTENSION}2"]])
def test_trial_of_the_defaults_is_a_note_when_they_do_not_name_the_extension(
    extensions: list[str],
) -> None:
    finding = diagnosis(DEFAULTS, a_trial(extensions=extensions))

    assert finding.status == NOTE
    assert "spark_ext.configure" in str(finding.advice)


@pytest.mark.parametrize("missing", ["delta_places", "our_places"])
def test_trial_is_a_problem_when_an_extension_has_no_jar(jar: Path, missing: str) -> None:
    finding = diagnosis(DEFAULTS, a_trial(**{missing: []}))

    name = dict(zip(["delta_places", "our_places"], EXTENSIONS, strict=True))[missing]
    package = f"Set {PACKAGES} to {session.submit_options()[PACKAGES]}."
    assert finding.status == PROBLEM
    assert f"names {name}, and" in str(finding.problem)
    assert finding.advice == (package if name == DELTA_EXTENSION else f"Set {JARS} to {jar}.")


def test_failed_trial_is_a_problem_and_shows_no_password() -> None:
    failure = "[SOME_CONDITION] no https://user:secret@example.org/spark-ext.jar"

    finding = diagnosis(DEFAULTS, a_trial(failure=failure))

    assert finding.status == PROBLEM
    assert "[SOME_CONDITION] no https://example.org/" in str(finding.problem)


def test_first_jar_is_the_loaded_one_when_a_link_to_it_follows(tmp_path: Path) -> None:
    first, link = tmp_path / JAR, tmp_path / "link.jar"
    first.touch()
    link.symlink_to(first)
    other = "/opt/delta-spark_2.13-4.4.0-amzn-1.jar"

    finding = diagnosis(CONFIGURE, a_trial(str(first), other, str(link)), Trial())

    assert f"loads Delta from {first}; it does not load {other}." in str(finding.problem)


@pytest.mark.parametrize(
    ("other", "status"),
    [(f"/ivy/io.delta_{JAR}", OK), ("/opt/delta-spark_2.13-4.4.0-amzn-1.jar", NOTE)],
)
def test_second_delta_is_a_note_when_it_is_another_artifact(other: str, status: str) -> None:
    finding = diagnosis(CONFIGURE, a_trial(f"/spark/{JAR}", other), Trial())

    assert finding.status == status
    assert (f"loads Delta from /spark/{JAR}; " in str(finding.problem)) is (status == NOTE)
    assert (other in str(finding.problem)) is (status == NOTE)


def test_delta_with_several_links_is_one(tmp_path: Path) -> None:
    (tmp_path / JAR).touch()
    (tmp_path / "delta-spark.jar").symlink_to(JAR)

    trial = a_trial(str(tmp_path / "delta-spark.jar"), str(tmp_path / JAR))

    assert diagnosis(DEFAULTS, trial).status == OK


@pytest.mark.parametrize(
    ("of_defaults", "status"),
    [(JAR, OK), ("delta-spark.jar", NOTE), ("delta-spark_2.13-4.4.0-amzn-1.jar", NOTE)],
    ids=["same", "no-version", "emr"],
)
def test_delta_of_the_defaults_is_a_note_when_configure_replaces_it(
    of_defaults: str, status: str
) -> None:
    """EMR has its Delta in the `spark.jars` of `spark-defaults.conf`."""
    other = a_trial(f"/aws/{of_defaults}")

    finding = diagnosis(CONFIGURE, a_trial(f"/ivy/io.delta_{JAR}"), other)

    assert finding.status == status
    assert (f"/aws/{of_defaults}" in str(finding.problem)) is (status == NOTE)
    assert ("`configure`" in str(finding.advice)) is (status == NOTE)


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
    monkeypatch.setattr(sessions, "_SECONDS", 2)

    finding = diagnosis(DEFAULTS, sessions.try_session(DEFAULTS, ENVIRON))

    assert finding.status == PROBLEM
    assert failure in str(finding.problem)
    assert finding.advice


# The table of a trial session.


def write_log(table: Path, *metadata: tuple[str, str], feature: str) -> Path:
    (table / "_delta_log").mkdir(parents=True)
    for version, (flag, names) in enumerate(metadata):
        fields = [
            {"name": name, "metadata": {"delta.columnMapping.physicalName": physical}}
            for name, physical in dict(pair.split("=") for pair in names.split()).items()
        ]
        configuration = {"delta.columnMapping.hasDroppedOrRenamed": flag}
        actions = [
            {"protocol": {"writerFeatures": [feature]}},
            {
                "metaData": {
                    "configuration": configuration,
                    "schemaString": json.dumps({"fields": fields}),
                }
            },
        ]
        file = table / "_delta_log" / f"{version:020}.json"
        file.write_text("\n".join(map(json.dumps, actions)))
    return table


SOUND = [("false", "a=a b=b"), ("false", "a=a b=b c=c"), ("true", "d=a b=b c=c")]


@pytest.mark.parametrize(
    ("last", "feature", "is_sound"),
    [
        (SOUND[-1], "columnMappingUsageTracking", True),
        (SOUND[-1], "columnMapping", False),
        (("false", "d=a b=b c=c"), "columnMappingUsageTracking", False),
        (("true", "d=a b=b c=col-1"), "columnMappingUsageTracking", False),
    ],
)
def test_table_of_a_trial_has_a_fault_when_it_was_not_tracked(
    tmp_path: Path, last: tuple[str, str], feature: str, is_sound: bool
) -> None:
    table = write_log(tmp_path / "t", *SOUND[:-1], last, feature=feature)

    assert (fault(table) is None) == is_sound


def test_table_of_a_trial_has_a_fault_without_a_log(tmp_path: Path) -> None:
    assert fault(tmp_path) is not None


# All checks together.


def test_other_checks_continue_when_one_fails(jar: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(way: str, environ: Mapping[str, str]) -> Trial:
        raise ZeroDivisionError(f"of {way}")

    jar.touch()
    monkeypatch.setattr(sessions, "try_session", failing)

    findings = {finding.check: finding for finding in examine(ENVIRON)}

    assert [findings[check].status for check in ("python", "spark", "jar")] == [OK] * 3
    assert findings[CONFIGURE].status == PROBLEM
    assert "ZeroDivisionError: of configure" in str(findings[CONFIGURE].problem)


@pytest.mark.parametrize("has_package", [True, False])
def test_session_of_configure_is_skipped_without_the_package_of_delta(
    jar: Path, monkeypatch: pytest.MonkeyPatch, has_package: bool
) -> None:
    monkeypatch.setattr(sessions, "try_session", lambda way, environ: a_trial())
    if not has_package:
        monkeypatch.setattr(installation, "module", missing_delta)

    findings = {finding.check: finding.status for finding in examine(ENVIRON)}

    assert findings["delta"] == (OK if has_package else NOTE)
    assert findings[CONFIGURE] == (OK if has_package else SKIPPED)


def missing_delta(name: str) -> Any:
    return "no delta" if name == "delta" else pyspark


def test_text_contains_the_values_of_the_findings() -> None:
    findings = [Diagnosis("a", OK, "x"), Diagnosis("b", PROBLEM, "y", "wrong", "do this")]

    text = as_text(findings)

    assert [word for word in ("a", "x", "b", "y", "wrong", "do this") if word not in text] == []
    assert text.splitlines()[-1].endswith("1 problem(s) found.")
