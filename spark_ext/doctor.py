# SPDX-License-Identifier: Apache-2.0
"""`python -m spark_ext doctor`: starts trial sessions, and reports why one of them is not right.

A trial starts a session as a user would, and tracks a table. The trial is a separate process,
`python -m spark_ext.doctor`, because a Python process has one JVM and Spark writes into the working
directory.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from traceback import format_exception_only
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from spark_ext.errors import DeltaPackageMissingError, SparkExtError
from spark_ext.launch import (
    DELTA_EXTENSION,
    EXTENSIONS,
    JARS,
    PACKAGES,
    USAGE_TRACKING_EXTENSION,
    configure,
    entries,
    places_of,
    require_version,
)
from spark_ext.model import keys
from spark_ext.version import __version__

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

# A note may explain a problem. A skipped session is one that its user does not need.
STATUSES = OK, NOTE, PROBLEM, SKIPPED = "ok", "note", "problem", "skipped"
# The ways to start a session: with the settings of `spark-defaults.conf` alone, or `configure`.
DEFAULTS, CONFIGURE = "defaults", "configure"
REPORT = "trial.json"

_HOW = {DEFAULTS: "spark-defaults.conf alone", CONFIGURE: "spark_ext.configure"}
_ADVICE = {
    USAGE_TRACKING_EXTENSION: f"Set {JARS} to the path that `python -m spark_ext jars` prints.",
    DELTA_EXTENSION: f"Set {PACKAGES} to the packages that `python -m spark_ext submit-args`"
    " prints.",
}
_SECONDS = 600
_OUTPUT = 3000
_PASSWORD = re.compile(r"//[^/@\s]*@")


@dataclass(frozen=True)
class Diagnosis:
    """The finding of one check; `status` is one of `STATUSES`."""

    check: str
    status: str
    found: str
    problem: str | None = None
    advice: str | None = None


@dataclass
class Trial:
    """The result of a trial. The versions are None if the JVM did not start.

    The places are URLs of Delta's and our classes on the driver's class path, the loaded ones
    first. `delta` is the loaded version, if our jar reads it. `failure` says why the session or a
    statement failed; `condition` is that of an error of our package.
    """

    pyspark: str | None = None
    java: str | None = None
    spark: str | None = None
    delta: str | None = None
    delta_places: list[str] = field(default_factory=list)
    our_places: list[str] = field(default_factory=list)
    extensions: list[str] = field(default_factory=list)
    failure: str | None = None
    condition: str | None = None

    @property
    def is_tracking(self) -> bool:
        """Returns whether the session's configuration names our extension."""
        return USAGE_TRACKING_EXTENSION in self.extensions

    def missing(self) -> list[str]:
        """Returns the named extensions that the driver's class path lacks."""
        places = {DELTA_EXTENSION: self.delta_places, USAGE_TRACKING_EXTENSION: self.our_places}
        return [name for name, found in places.items() if name in self.extensions and not found]


# The findings.


def examine(environ: Mapping[str, str]) -> list[Diagnosis]:
    """Returns the findings of both trials, in the environment in which a session would start."""
    version = ".".join(map(str, sys.version_info[:3]))
    python = Diagnosis("python", OK, f"{version} at {sys.executable}")
    if client := _client():
        # The JVM and the sessions of a Spark Connect client are on its server.
        advice = "A client of Spark Connect needs nothing else. For sessions here, install pyspark."
        problem = "It starts no sessions of its own."
        found = f"the client of pyspark {client}"
        return [python, Diagnosis("spark", NOTE, found, problem, advice)]
    defaults = try_session(DEFAULTS, environ)
    configured = try_session(CONFIGURE, environ)
    return [python, diagnosis(DEFAULTS, defaults), diagnosis(CONFIGURE, configured, defaults)]


def _client() -> str | None:
    """Returns the version of a pyspark that is only a client of Spark Connect; None for others."""
    try:
        from pyspark import __version__ as version
        from pyspark.util import is_remote_only
    except Exception:  # The trials report it.
        return None
    return version if is_remote_only() else None


def diagnosis(way: str, trial: Trial, other: Trial | None = None) -> Diagnosis:
    """Returns the finding of a trial. For `configure`, `other` is the trial of the defaults."""
    found = _found(way, trial)
    if trial.failure is not None:
        return _failure(way, trial, found, other)
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
        return Diagnosis(way, PROBLEM, found, problem, " ".join(map(_ADVICE.__getitem__, missing)))
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
        found += f": pyspark {trial.pyspark}, Java {trial.java}, Spark {trial.spark}"
    if trial.delta_places:
        found += f" with delta-spark {trial.delta or ''}".rstrip() + f" at {_jars(trial)[0]}"
    return found


def _failure(way: str, trial: Trial, found: str, other: Trial | None) -> Diagnosis:
    problem = _PASSWORD.sub("//", trial.failure or "")
    if trial.condition == DeltaPackageMissingError.condition and other and other.delta_places:
        # A vendor installs Delta's jars without the package.
        advice = (
            "Nothing to do, unless you call `configure`. For `configure`: Install delta-spark and "
            "importlib_metadata by pip, in the version of your Delta."
        )
        return Diagnosis(way, SKIPPED, found, problem, advice)
    advice = "Follow the message."
    if trial.spark is None and trial.condition is None:
        advice += " Spark needs Java 17 or later: JAVA_HOME, or else the first java of PATH."
    return Diagnosis(way, PROBLEM, found, problem, advice)


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


def is_sound(findings: Sequence[Diagnosis]) -> bool:
    """Returns whether no check found a problem."""
    return all(finding.status != PROBLEM for finding in findings)


def as_json(findings: Sequence[Diagnosis]) -> str:
    """Returns one JSON object.

    Shape:
        `{"version": "0.1.0", "sound": true, "findings": [{"check": "defaults", "status": "ok",
        "found": "..", "problem": null, "advice": null}]}`
    """
    listed = [asdict(finding) for finding in findings]
    return json.dumps({"version": __version__, "sound": is_sound(findings), "findings": listed})


def as_text(findings: Sequence[Diagnosis]) -> str:
    """Returns a line for each check, each followed by its problem and its advice."""
    lines = []
    for finding in findings:
        lines.append(f"{finding.status:<8} {finding.check:<13} {finding.found}")
        lines += [f"{'':<23}{text}" for text in (finding.problem, finding.advice) if text]
    problems = sum(finding.status == PROBLEM for finding in findings)
    return "\n".join([*lines, "", f"spark-ext {__version__}: {problems or 'no'} problem(s) found."])


# A trial.


def try_session(way: str, environ: Mapping[str, str]) -> Trial:
    """Starts a session in a separate process, and tracks a table in it."""
    with tempfile.TemporaryDirectory(prefix="spark-ext-doctor-") as name:
        folder = Path(name)
        try:
            done = subprocess.run(
                [sys.executable, "-m", "spark_ext.doctor", way, name],
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
    """Returns variables with absolute paths; an installed package is not in PYTHONPATH again."""
    found = dict(environ)
    for name in ("SPARK_HOME", "SPARK_CONF_DIR", "JAVA_HOME"):
        if found.get(name):
            found[name] = os.path.abspath(found[name])
    folders = [each for each in found.get("PYTHONPATH", "").split(os.pathsep) if each]
    here = str(Path(__file__).parents[1])
    if here not in map(os.path.abspath, sys.path[1:]):
        folders.append(here)
    if folders:
        found["PYTHONPATH"] = os.pathsep.join(map(os.path.abspath, folders))
    return found


def run(way: str, folder: Path) -> None:
    """Starts a session, tracks a table in it, and writes the trial to a file of the folder."""
    trial = Trial()
    try:
        spark = _started(way, folder, trial)
        if trial.is_tracking and not trial.missing():
            jvm: Any = spark._jvm
            require_version(jvm.sparkext.release.Versions.ours())
            table = folder / "table"
            track_a_table(spark, table)
            trial.failure = fault(table)
        spark.stop()
    except SparkExtError as error:
        trial.failure, trial.condition = f"[{error.condition}] {error}", error.condition
    except Exception as error:
        # Errors of py4j end with the stack of the JVM.
        trial.failure = "".join(format_exception_only(error)).split("\n\tat ")[0]
    finally:
        (folder / REPORT).write_text(json.dumps(asdict(trial)))


def _started(way: str, folder: Path, trial: Trial) -> SparkSession:
    from pyspark import SparkContext
    from pyspark.errors.exceptions.captured import install_exception_handler
    from pyspark.sql import SparkSession

    builder = (
        SparkSession.builder.master("local[1]")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.warehouse.dir", str(folder / "warehouse"))
    )
    if way == CONFIGURE:
        configure(builder)
    # PySpark installs the handler after the first session has started, and our jar may fail
    # earlier.
    install_exception_handler()
    try:
        return builder.getOrCreate()
    finally:
        # If our jar refuses the session, the context still runs.
        if SparkContext._active_spark_context is not None:
            describe(SparkContext._active_spark_context, trial)


def describe(context: SparkContext, trial: Trial) -> None:
    """Sets the versions and places of a running context in a trial."""
    from pyspark import __version__ as pyspark_version

    jvm: Any = context._jvm
    trial.pyspark = pyspark_version
    version, home = map(jvm.java.lang.System.getProperty, ("java.version", "java.home"))
    trial.java = f"{version} at {home}"
    trial.spark = context.version
    trial.extensions = entries(context.getConf().get(EXTENSIONS, "") or "")
    trial.delta_places = places_of(jvm, DELTA_EXTENSION)
    trial.our_places = places_of(jvm, USAGE_TRACKING_EXTENSION)
    if trial.our_places:
        trial.delta = jvm.sparkext.release.Versions.delta()


def track_a_table(spark: SparkSession, path: Path) -> None:
    """Creates a tracked table, adds a column, renames another."""
    table = f"delta.`{path}`"
    spark.sql(
        f"CREATE TABLE {table} (a INT, b INT) USING delta TBLPROPERTIES"
        f" ('{keys.COLUMN_MAPPING_MODE}' = 'name', '{keys.FEATURE_PROPERTY}' = 'supported')"
    )
    spark.sql(f"ALTER TABLE {table} ADD COLUMN c INT")
    spark.sql(f"ALTER TABLE {table} RENAME COLUMN a TO d")


def fault(table: Path) -> str | None:
    """Returns the problem in the log of the table; None if the log is right."""
    flags: list[str | None] = []
    features: list[str] = []
    names: dict[str, str] = {}
    for version in sorted((table / "_delta_log").glob("*.json")):
        for action in map(json.loads, version.read_text().splitlines()):
            if "protocol" in action:
                features = action["protocol"].get("writerFeatures", [])
            if "metaData" in action:
                flags.append(action["metaData"]["configuration"].get(keys.HAS_DROPPED_OR_RENAMED))
                fields = json.loads(action["metaData"]["schemaString"])["fields"]
                names = {each["name"]: each["metadata"][keys.PHYSICAL_NAME] for each in fields}
    expected = {"d": "a", "b": "b", "c": "c"}
    if keys.FEATURE_NAME not in features:
        return f"The protocol lacks {keys.FEATURE_NAME}: {features}."
    if flags != ["false", "false", "true"]:
        return f"The flag was {flags} after CREATE, ADD COLUMN and RENAME COLUMN."
    if names != expected:
        return f"The physical names are {names}, not {expected}."
    return None


if __name__ == "__main__":
    run(sys.argv[1], Path(sys.argv[2]))
