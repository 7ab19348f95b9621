# SPDX-License-Identifier: Apache-2.0
"""Checks the requirements of a session before its JVM starts.

A trial session (`sessions.py`) reports everything else.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from spark_ext.doctor.diagnoses import NOTE, OK, PROBLEM, Diagnosis
from spark_ext.errors import (
    DeltaPackageMissingError,
    ExtensionJarMissingError,
    UnquotableArgumentError,
)
from spark_ext.launch import session
from spark_ext.launch.releases import launched_spark, line_of
from spark_ext.launch.spark_home import is_client_only, module, spark_home

OLDEST_PYTHON = (3, 10)
_OLDEST_JAVA = 17
_JAVA_VERSION = re.compile(r'version "((?:1\.)?(\d+)[^"]*)"')


def python() -> Diagnosis:
    """Checks the Python that runs this command."""
    version = ".".join(map(str, sys.version_info[:3]))
    found = f"{version} at {sys.executable}"
    if sys.version_info[:2] < OLDEST_PYTHON:
        return Diagnosis("python", PROBLEM, found, "It is too old.", "Use Python 3.10 or later.")
    return Diagnosis("python", OK, found)


def java(environ: Mapping[str, str]) -> Diagnosis:
    """Checks the Java that Spark's scripts start: the one of JAVA_HOME, else the first on PATH."""
    advice = f"Install Java {_OLDEST_JAVA} or later, and point JAVA_HOME to it."
    home = environ.get("JAVA_HOME")
    on_path = shutil.which("java", path=environ.get("PATH", ""))
    chosen = str(Path(home) / "bin" / "java") if home else on_path
    if chosen is None:
        return Diagnosis("java", PROBLEM, "none", "JAVA_HOME is unset, PATH has no java.", advice)
    if not Path(chosen).is_file():
        return Diagnosis("java", PROBLEM, f"JAVA_HOME={home}", f"{chosen} does not exist.", advice)
    version, major = _java_version(chosen)
    found = f"{version} at {chosen} ({'JAVA_HOME' if home else 'PATH'})"
    if major < _OLDEST_JAVA:
        return Diagnosis("java", PROBLEM, found, f"Spark 4 needs Java {_OLDEST_JAVA}.", advice)
    return Diagnosis("java", OK, found)


def _java_version(program: str) -> tuple[str, int]:
    """Returns the version of a Java and its major version (8 for `1.8.0`); 0 if it is not Java."""
    done = subprocess.run(
        [program, "-version"], capture_output=True, text=True, errors="replace", timeout=60
    )
    output = done.stderr + done.stdout
    found = _JAVA_VERSION.search(output)
    return (found[1], int(found[2])) if found else (output.strip()[:200], 0)


def spark(environ: Mapping[str, str]) -> Diagnosis:
    """Checks the package pyspark and the Spark that it starts."""
    pyspark = module("pyspark")
    if isinstance(pyspark, str):
        advice = "Install pyspark in the version that delta-spark requires."
        return Diagnosis("spark", PROBLEM, "none", f"pyspark cannot be imported: {pyspark}", advice)
    version = pyspark.__version__
    if environ.get("SPARK_HOME") == "":
        problem = "SPARK_HOME is empty, and PySpark looks for Spark there."
        return Diagnosis("spark", PROBLEM, f"pyspark {version}", problem, "Unset SPARK_HOME.")
    home = spark_home(environ)
    if home is None or is_client_only(environ):
        advice = "A client of Spark Connect needs nothing else. For sessions here, install pyspark."
        found = f"the client of pyspark {version}"
        return Diagnosis("spark", NOTE, found, "It starts no sessions of its own.", advice)
    launched, scala = launched_spark(home, version)
    found = f"{launched} of Scala {scala} at {home}, pyspark {version}"
    if not (home / "jars").is_dir():
        advice = "Unset SPARK_HOME, or point it to a Spark."
        return Diagnosis("spark", PROBLEM, found, "SPARK_HOME has no folder jars.", advice)
    if line_of(launched) != line_of(version):
        advice = f"Unset SPARK_HOME, or install pyspark {launched}."
        problem = "SPARK_HOME has another version of Spark than the package pyspark."
        return Diagnosis("spark", PROBLEM, found, problem, advice)
    return Diagnosis("spark", OK, found)


def jar() -> Diagnosis:
    """Checks that the package has its jar."""
    try:
        return Diagnosis("jar", OK, str(session.jar()))
    except ExtensionJarMissingError as missing:
        advice = "Install the wheel, or run `make jar`."
        return Diagnosis("jar", PROBLEM, "none", str(missing), advice)


def delta(*, has_jars: bool) -> Diagnosis:
    """Checks the package delta-spark, whose version `configure` uses.

    Args:
        has_jars: Whether sessions find Delta's jars without `configure`, as a vendor installs them.
    """
    package = module("delta")
    problem = f"delta cannot be imported: {package}"
    if not isinstance(package, str):
        try:
            return Diagnosis("delta", OK, session.submit_options()[session.PACKAGES])
        except DeltaPackageMissingError as missing:
            problem = f"delta-spark is incomplete: {missing.params['error']}"
        except UnquotableArgumentError as error:
            problem = str(error)
    advice = "Install delta-spark and importlib_metadata by pip, in the version of your Delta."
    if has_jars:
        advice = f"Nothing to do, unless you call `configure`. For `configure`: {advice}"
        return Diagnosis("delta", NOTE, "Delta's jars without the package", problem, advice)
    return Diagnosis("delta", PROBLEM, "none", problem, advice)
