# SPDX-License-Identifier: Apache-2.0
"""Java, Python, Spark, Delta and our jar, as they are installed."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from spark_ext.doctor.diagnoses import NOTE, OK, PROBLEM, SKIPPED, Diagnosis, without_jar
from spark_ext.doctor.jars import jar_version
from spark_ext.errors import ExtensionJarMissingError, UnsupportedSparkVersionError
from spark_ext.launch import session
from spark_ext.launch.class_path import JARS, PACKAGES, ClassPath, class_path, entries
from spark_ext.launch.releases import (
    DELTA_EXTENSION,
    OLDEST_JAVA,
    artifact_of,
    is_vendors,
    launched_spark,
    require_pair,
)
from spark_ext.launch.spark_home import is_client_only, module, spark_home
from spark_ext.version import __version__

_TRY_A_SESSION = "Run `python -m spark_ext doctor --session`: a session sees whether it fits."
OLDEST_PYTHON = (3, 10)
_JAVA_VERSION = re.compile(r'version "((?:1\.)?(\d+)[^"]*)"')


def python() -> Diagnosis:
    """The Python that runs this."""
    version = ".".join(map(str, sys.version_info[:3]))
    found = f"{version} at {sys.executable}"
    if sys.version_info[:2] < OLDEST_PYTHON:
        return Diagnosis("python", PROBLEM, found, "It is too old.", "Use Python 3.10 or later.")
    return Diagnosis("python", OK, found)


def java(environ: Mapping[str, str]) -> Diagnosis:
    """The Java that Spark's scripts start: JAVA_HOME's, else the first on PATH."""
    advice = f"Install Java {OLDEST_JAVA} or later, and point JAVA_HOME to it."
    on_path = shutil.which("java", path=environ.get("PATH", ""))
    home = environ.get("JAVA_HOME")
    chosen = str(Path(home) / "bin" / "java") if home else on_path
    if chosen is None:
        return Diagnosis("java", PROBLEM, "none", "JAVA_HOME is unset, PATH has no java.", advice)
    source = "JAVA_HOME" if home else "PATH"
    if not Path(chosen).is_file():
        return Diagnosis("java", PROBLEM, f"JAVA_HOME={home}", f"{chosen} is no file.", advice)
    version, major = java_version(chosen)
    found = f"{version} at {chosen} ({source})"
    if major < OLDEST_JAVA:
        return Diagnosis("java", PROBLEM, found, f"Spark 4 needs Java {OLDEST_JAVA}.", advice)
    if home and on_path and Path(on_path).resolve() != Path(chosen).resolve():
        other = java_version(on_path)[0]
        return Diagnosis(
            "java", NOTE, found, f"PATH has another, {other}; Spark takes JAVA_HOME's."
        )
    return Diagnosis("java", OK, found)


def java_version(program: str) -> tuple[str, int]:
    """A Java's version and the first number of it; 0 for a program that is not Java."""
    done = subprocess.run(
        [program, "-version"], capture_output=True, text=True, errors="replace", timeout=60
    )
    told = _JAVA_VERSION.search(done.stderr + done.stdout)
    return (told[1], int(told[2])) if told else ((done.stderr + done.stdout).strip()[:200], 0)


def spark(environ: Mapping[str, str]) -> Diagnosis:
    """The package pyspark, and the Spark that it starts."""
    pyspark = module("pyspark")
    if isinstance(pyspark, str):
        advice = "Install pyspark, in the version that delta-spark wants."
        return Diagnosis("spark", PROBLEM, "none", f"pyspark cannot be imported: {pyspark}", advice)
    version = pyspark.__version__
    if environ.get("SPARK_HOME") == "":
        problem = "SPARK_HOME is empty, and PySpark takes it as it is."
        return Diagnosis("spark", PROBLEM, f"pyspark {version}", problem, "Unset SPARK_HOME.")
    home = spark_home(environ)
    if home is None or is_client_only(environ):
        advice = "Nothing to do for a client of Spark Connect; for sessions here install pyspark."
        found = f"the client of pyspark {version}"
        return Diagnosis("spark", NOTE, found, "It starts no sessions of its own.", advice)
    launched, scala = launched_spark(home, version)
    found = f"{launched} of Scala {scala} at {home}, pyspark {version}"
    if not (home / "jars").is_dir():
        advice = "Unset SPARK_HOME, or point it to a Spark."
        return Diagnosis("spark", PROBLEM, found, "SPARK_HOME has no folder jars.", advice)
    if launched.split(".")[:2] != version.split(".")[:2]:
        advice = f"Unset SPARK_HOME, or install pyspark {launched}."
        problem = "SPARK_HOME is another Spark than the package pyspark."
        return Diagnosis("spark", PROBLEM, found, problem, advice)
    return Diagnosis("spark", OK, found)


def delta(environ: Mapping[str, str], settings: Mapping[str, str]) -> Diagnosis:
    """The package delta-spark, the artifact that `configure` takes, and where its jar is."""
    package = module("delta")
    if isinstance(package, str):
        return _without_package(package, environ, settings)
    try:
        artifact = session.submit_options()[PACKAGES]
    except ExtensionJarMissingError:
        return without_jar("delta")
    _, name, version = artifact.split(":")
    file = f"{name}-{version}.jar"
    driver = class_path(spark_home(environ), _of_configure(settings, artifact), environ)
    there = driver.holders(DELTA_EXTENSION)
    if there:
        return _delta_there(artifact, there, environ)
    named = class_path(spark_home(environ), settings, environ).holders(DELTA_EXTENSION)
    if {artifact_of(jar) for jar in named} - {artifact}:
        return _replaced(artifact, named)
    cached = ivy(environ, settings) / "jars" / f"io.delta_{file}"
    if os.path.isfile(cached):  # a home may be locked
        return Diagnosis("delta", OK, f"{artifact}, {cached}")
    problem = f"Its jar is neither among Spark's jars nor {cached}."
    advice = "Nothing to do where Maven Central can be reached: the first session fetches it."
    return Diagnosis("delta", NOTE, artifact, problem, advice)


def _without_package(
    failure: str, environ: Mapping[str, str], settings: Mapping[str, str]
) -> Diagnosis:
    """As where a vendor has put Delta's jars into Spark's folder."""
    there = class_path(spark_home(environ), settings, environ).holders(DELTA_EXTENSION)
    problem = f"delta cannot be imported: {failure}"
    if there:
        advice = (
            "Nothing to do, unless you call `configure`: it takes the version from delta-spark."
        )
        return Diagnosis("delta", NOTE, ", ".join(map(str, there)), problem, advice)
    advice = "Install delta-spark, in the version that spark-ext wants."
    return Diagnosis("delta", PROBLEM, "none", problem, advice)


def _delta_there(artifact: str, there: list[Path], environ: Mapping[str, str]) -> Diagnosis:
    """That on the class path, which comes before a package."""
    _, name, version = artifact.split(":")
    file = f"{name}-{version}.jar"
    found = f"{artifact}, {', '.join(map(str, there))}"
    artifacts = [artifact_of(jar) for jar in there]
    if set(artifacts) == {artifact}:
        return Diagnosis("delta", OK, found)
    if len(there) == 1:
        import pyspark

        told = artifacts[0]
        spark, _ = launched_spark(spark_home(environ), pyspark.__version__)
        if told is not None and is_vendors(told, version, spark):
            problem = f"This is a vendor's {version}, and the one that runs; {file} is not loaded."
            return Diagnosis("delta", NOTE, found, problem)
        if told is None:
            problem = f"This is the one that runs, of a version that is not seen; {file} is not."
            return Diagnosis("delta", NOTE, found, problem, _TRY_A_SESSION)
    problem = f"Spark's class path has another Delta than `configure` adds, {file}."
    advice = f"Leave {file} alone there, or none."
    return Diagnosis("delta", PROBLEM, found, problem, advice)


def _replaced(artifact: str, named: list[Path]) -> Diagnosis:
    """That of the defaults' `spark.jars`, as of EMR, where a builder or command line sets it."""
    jars = ", ".join(map(str, named))
    problem = (
        f"Sessions of `configure` and `submit-args` have this one, not that of the defaults' {JARS}"
        f", which they replace: {jars}."
    )
    advice = (
        f"Nothing to do without these two. Before `configure`, which adds to it, set the builder's "
        f"{JARS} to that of the defaults; in place of `submit-args` add to that of the defaults "
        "what `python -m spark_ext jars` prints, and set the extensions and the catalog there."
    )
    return Diagnosis("delta", NOTE, artifact, problem, advice)


def _of_configure(settings: Mapping[str, str], artifact: str) -> dict[str, str]:
    """Those of a session of `configure`, which replaces jars and packages of the defaults."""
    return {**settings, JARS: "", PACKAGES: artifact}


def ivy(environ: Mapping[str, str], settings: Mapping[str, str]) -> Path:
    """Where Spark 4 keeps what `spark.jars.packages` fetched."""
    home = Path(environ.get("HOME", Path.home()))
    return Path(settings.get("spark.jars.ivy", home / ".ivy2.5.2"))


def pair(environ: Mapping[str, str], file: Path | None, settings: Mapping[str, str]) -> Diagnosis:
    """Whether that Spark works with the Delta of `configure`, and with that of the defaults."""
    home, pyspark = spark_home(environ), module("pyspark")
    if home is None or isinstance(pyspark, str) or isinstance(module("delta"), str):
        return Diagnosis("pair", SKIPPED, "not asked: Spark or Delta is missing")
    try:
        artifact = session.submit_options()[PACKAGES]
    except ExtensionJarMissingError:
        return without_jar("pair")
    launched, scala = launched_spark(home, pyspark.__version__)
    named = dict.fromkeys(entries(settings.get(PACKAGES, "")), f"{PACKAGES} in {file}")
    of_configure = class_path(home, _of_configure(settings, artifact), environ)
    findings = [
        _pair(launched, scala, named, class_path(home, settings, environ)),
        _pair(launched, scala, {artifact: "spark_ext.configure"}, of_configure),
    ]
    return next(
        found
        for status in (PROBLEM, NOTE, OK)
        for found in findings[::-1]
        if found.status == status
    )


def _pair(spark: str, scala: str, packages: Mapping[str, str], driver: ClassPath) -> Diagnosis:
    """Judges one session's, by what names the packages."""
    there = driver.holders(DELTA_EXTENSION)
    if there:  # It comes before any package.
        packages = {found: str(jar) for jar in there if (found := artifact_of(jar))}
    not_seen: list[str] = []

    def may_have(name: str) -> bool:
        has = driver.has(name)
        # The Delta that is there may be one that its vendor has mended.
        if has is None or (there and not has):
            not_seen.append(name)
        return has is not False or bool(there)

    found = ", ".join([f"Spark {spark}", *(f"{name} ({by})" for name, by in packages.items())])
    try:
        require_pair(spark, scala, packages, may_have)
    except UnsupportedSparkVersionError as refused:
        problem = f"They do not work together: delta-spark {refused.params['delta']}."
        advice = f"Use {refused.params['supported']}."
        return Diagnosis("pair", PROBLEM, found, problem, advice)
    if not_seen:
        problem = f"ALTER TABLE needs `{not_seen[0]}`, which is in nothing that is seen here."
        return Diagnosis("pair", NOTE, found, problem, _TRY_A_SESSION)
    return Diagnosis("pair", OK, found)


def extension_jar() -> Diagnosis:
    """The jar of the package: there, whole, and of the package's version."""
    try:
        path = session.jar()
    except ExtensionJarMissingError as missing:
        return Diagnosis(
            "jar", PROBLEM, "none", str(missing), "Install the wheel, or run `make jar`."
        )
    version = jar_version(path)
    found = f"{version or 'no jar of ours'} at {path}"
    if version != __version__:
        problem = f"The Python package is of version {__version__}."
        return Diagnosis("jar", PROBLEM, found, problem, "Install spark-ext again.")
    return Diagnosis("jar", OK, found)
