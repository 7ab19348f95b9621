# SPDX-License-Identifier: Apache-2.0
"""Runs a trial session, and turns its result into a finding."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import unquote

from spark_ext.doctor.diagnoses import NOTE, OK, PROBLEM, Diagnosis
from spark_ext.doctor.trial import CONFIGURE, DEFAULTS, REPORT, Trial
from spark_ext.launch import session
from spark_ext.launch.releases import DELTA_EXTENSION, USAGE_TRACKING_EXTENSION
from spark_ext.launch.session import EXTENSIONS, JARS, PACKAGES

_SECONDS = 600
_OUTPUT = 3000
_PASSWORD = re.compile(r"//[^/@\s]*@")
_HOW = {DEFAULTS: "spark-defaults.conf alone", CONFIGURE: "spark_ext.configure"}


def try_session(way: str, environ: Mapping[str, str]) -> Trial:
    """Starts a session in a separate process, and tracks a table in it."""
    with tempfile.TemporaryDirectory(prefix="spark-ext-doctor-") as name:
        folder = Path(name)
        try:
            done = subprocess.run(
                [sys.executable, "-m", "spark_ext.doctor.trial", way, name],
                capture_output=True,
                text=True,
                errors="replace",
                timeout=_SECONDS,
                cwd=folder,
                env=_in_other_folder(environ),
            )
        except subprocess.TimeoutExpired as late:
            return Trial(failure=f"The session did not end: {late}")
        report = folder / REPORT
        trial = Trial(**json.loads(report.read_text())) if report.is_file() else Trial()
    if trial.spark is None or done.returncode != 0:
        # Before a context runs, the reason is on the standard error.
        output = (done.stderr or done.stdout).strip()[-_OUTPUT:]
        trial.failure = f"{trial.failure or 'The session did not start.'}\n{output}".strip()
    return trial


def _in_other_folder(environ: Mapping[str, str]) -> dict[str, str]:
    """Returns variables with absolute paths, by which Python also finds this package.

    The folder of an installed package is not added: Python finds it anyway, and in PYTHONPATH its
    modules would come before Python's own.
    """
    found = dict(environ)
    for name in ("SPARK_HOME", "SPARK_CONF_DIR", "JAVA_HOME"):
        if found.get(name):
            found[name] = os.path.abspath(found[name])
    folders = [each for each in found.get("PYTHONPATH", "").split(os.pathsep) if each]
    here = str(Path(__file__).parents[2])
    if here not in map(os.path.abspath, sys.path[1:]):
        folders.append(here)
    if folders:
        found["PYTHONPATH"] = os.pathsep.join(map(os.path.abspath, folders))
    return found


def diagnosis(way: str, trial: Trial, other: Trial | None = None) -> Diagnosis:
    """Returns the finding of a trial.

    Args:
        way: One of `WAYS`, by which the session was started.
        trial: The trial.
        other: The trial of the defaults, if this one is of `configure`.
    """
    found = _found(way, trial)
    if trial.failure is not None:
        problem = _PASSWORD.sub("//", trial.failure)
        advice = "Follow the message."
        return Diagnosis(way, PROBLEM, found, problem, advice)
    if not trial.is_tracking:
        advice = (
            "Build them with `spark_ext.configure`, or start them with the arguments that "
            "`python -m spark_ext submit-args` prints."
        )
        problem = "The settings alone do not add spark-ext to a session."
        return Diagnosis(way, NOTE, found, problem, advice)
    if missing := trial.missing():
        named = " and ".join(missing)
        problem = f"{EXTENSIONS} names {named}, and no jar on the class path has it."
        return Diagnosis(way, PROBLEM, found, problem, " ".join(map(_advice, missing)))
    loaded, *others = _jars(trial)
    if other is not None and other.delta_places:
        of_defaults = _jars(other)[0]
        if _artifact(of_defaults) != _artifact(loaded):
            return _replaced(found, of_defaults)
    if any(_artifact(jar) != _artifact(loaded) for jar in others):
        problem = f"The driver loads Delta from {loaded}; it does not load {', '.join(others)}."
        advice = f"Nothing to do if you want {loaded}; otherwise remove it from the class path."
        return Diagnosis(way, NOTE, found, problem, advice)
    return Diagnosis(way, OK, found)


def _found(way: str, trial: Trial) -> str:
    found = f"a session of {_HOW[way]}"
    if trial.spark is not None:
        found += f": Spark {trial.spark}"
    if trial.delta_places:
        found += f" with delta-spark {trial.delta or ''}".rstrip() + f" at {_jars(trial)[0]}"
    return found


def _advice(missing: str) -> str:
    if missing == USAGE_TRACKING_EXTENSION:
        return f"Set {JARS} to {session.jar()}."
    return f"Set {PACKAGES} to {session.submit_options()[PACKAGES]}."


def _replaced(found: str, jar: str) -> Diagnosis:
    """Describes a Delta of the defaults, as of EMR, that a builder or a command line replaces."""
    problem = f"`configure` and `submit-args` replace the Delta of the defaults, {jar}."
    advice = (
        f"Nothing to do if you use neither. To keep that Delta with `configure`, first set {JARS} "
        "of the builder to its value in spark-defaults.conf. Instead of `submit-args`, add the "
        f"path that `python -m spark_ext jars` prints to {JARS} there, and set the "
        "extensions and the catalog, too."
    )
    return Diagnosis(CONFIGURE, NOTE, found, problem, advice)


def _jars(trial: Trial) -> list[str]:
    """Returns the paths of Delta's jars or folders; several links to one jar count once."""
    entry = "/" + DELTA_EXTENSION.replace(".", "/") + ".class"
    paths = [
        unquote(url.removeprefix("jar:").removeprefix("file:"))
        .removesuffix(entry)
        .removesuffix("!")
        for url in trial.delta_places
    ]
    jars: dict[str, str] = {}
    for path in paths:
        jars.setdefault(os.path.realpath(path), path)
    return list(jars.values())


def _artifact(jar: str) -> str:
    """Returns the name of a jar without the group that Ivy adds."""
    return Path(os.path.realpath(jar)).name.removeprefix("io.delta_")
