# SPDX-License-Identifier: Apache-2.0
"""Which Spark and which Delta work together, and whether the JVM has what the package needs.

Here the versions decide, before a JVM starts. The jar decides by the classes when a session starts
(`sparkext.release`), also without a call of `configure`. Both halves read `releases.json`;
`tests/matrix/places.py` writes the files that cannot read it.

Shape:
    supported: The pairs in words, for refusals.
    default: The pair that `make test` runs on.
    sparks: For each line of Spark its releases that tests run on, oldest first. Others of these
        lines work as their neighbours do.
    deltas: For each release of Delta, oldest first, the lines that it has an artifact
        `delta-spark_<line>_<scala>` for. The artifact without a line in its name is for the last.
    artifactsWithoutLine: The releases that have no other artifact.
    refusedDeltas: The lines of releases that are not supported; one without jars has none.
    removedClasses: A class that a release of Spark removed and that every ALTER TABLE of some
        Deltas needs. A vendor's Spark of the same version may have the class, so only the jar
        refuses such a pair.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from importlib.resources import files
from pathlib import Path
from typing import Any, TypedDict

from spark_ext.errors import (
    DifferentVersionsError,
    JvmWithoutJarsError,
    UnsupportedSparkVersionError,
)
from spark_ext.version import __version__


class _RemovedClass(TypedDict):
    name: str
    since: str
    neededBy: list[str]


class _Releases(TypedDict):
    supported: str
    scala: str
    default: dict[str, str]
    sparks: dict[str, list[str]]
    deltas: dict[str, list[str]]
    artifactsWithoutLine: list[str]
    refusedDeltas: dict[str, list[str]]
    removedClasses: list[_RemovedClass]


RELEASES: _Releases = json.loads((files("spark_ext") / "releases.json").read_text("utf-8"))
SCALA = RELEASES["scala"]
# Both halves report it for a jar without a version.
UNKNOWN_VERSION = "(unknown version)"

_SPARK_CORE = re.compile(r"spark-core_(\d+\.\d+)-(\d+\.\d+.*)\.jar")
_DELTA_ARTIFACT = re.compile(r"io\.delta[:/]delta-spark(?:_(\d+\.\d+))?_(\d+\.\d+):(.+)")

USAGE_TRACKING_EXTENSION = "sparkext.UsageTrackingExtension"
DELTA_EXTENSION = "io.delta.sql.DeltaSparkSessionExtension"


def launched_spark(spark_home: Path | None, pyspark_version: str) -> tuple[str, str]:
    """Returns the versions of Spark and Scala that a JVM will have.

    Args:
        spark_home: The folder of Spark; None for a client of Spark Connect.
        pyspark_version: The version of the Python package, for a Spark whose jars have other names.
    """
    jars = [] if spark_home is None else (spark_home / "jars").glob("spark-core_*.jar")
    for found in (_SPARK_CORE.fullmatch(jar.name) for jar in jars):
        if found:
            return found[2], found[1]
    return pyspark_version, SCALA if _numbers(pyspark_version) >= (4,) else "2.12"


def require_pair(spark: str, scala: str, packages: Iterable[str]) -> None:
    """Refuses an unsupported Spark, and a Delta among `packages` that it does not work with.

    The jar checks a Delta that is newer than all known ones, and a vendor's.

    Args:
        spark: The version of Spark.
        scala: The version of its Scala, such as 2.13.
        packages: Maven coordinates.

    Raises:
        UnsupportedSparkVersionError: USAGE_TRACKING_UNSUPPORTED_SPARK_VERSION.
    """
    deltas = [found for found in map(_DELTA_ARTIFACT.fullmatch, packages) if found]
    named = spark if scala == SCALA else f"{spark} of Scala {scala}"
    if scala != SCALA or _numbers(spark) < min(map(_numbers, RELEASES["sparks"])):
        raise _refusal(named, deltas[0][3] if deltas else "(none)")
    for found in deltas:
        built_for, of_scala, delta = found.groups()
        if of_scala != SCALA:
            raise _refusal(named, f"{delta} of Scala {of_scala}")
        if (reason := misfit(spark, built_for, delta)) is not None:
            raise _refusal(named, f"{delta}{reason}")


def misfit(spark: str, built_for: str | None, delta: str) -> str | None:
    """Returns why a Spark and a Delta do not work together, None if nothing is known against it.

    Args:
        spark: The version of Spark.
        built_for: The line of Spark in the name of Delta's artifact, if there is one.
        delta: The version of Delta.
    """
    line = line_of(spark)
    lines = {**RELEASES["deltas"], **RELEASES["refusedDeltas"]}.get(delta)
    built_for = built_for or (lines[-1] if lines else None)
    if built_for is not None and built_for != line:
        return f" for Spark {built_for}"
    if lines == []:
        return ", for which there are no jars"
    if _is_known(delta) and line not in RELEASES["deltas"].get(delta, ()):
        return ""
    return None


def line_of(spark: str) -> str:
    """Returns the minor release of a version of Spark: 4.2 of 4.2.1-amzn-0."""
    return ".".join(spark.split(".")[:2])


def _is_known(delta: str) -> bool:
    """Returns false for a version with a vendor's tail, and for one newer than all known ones."""
    newest = max(map(_numbers, RELEASES["deltas"]))
    return re.fullmatch(r"\d+\.\d+\.\d+", delta) is not None and _numbers(delta) <= newest


def _refusal(spark: str, delta: str) -> UnsupportedSparkVersionError:
    return UnsupportedSparkVersionError(spark=spark, delta=delta, supported=RELEASES["supported"])


def require_jars(jvm: Any) -> None:
    """Refuses a JVM that cannot load the extensions, or has another version of our jar.

    Spark itself only logs a warning if it cannot load an extension.

    Raises:
        JvmWithoutJarsError: USAGE_TRACKING_JVM_WITHOUT_JARS.
        DifferentVersionsError: USAGE_TRACKING_DIFFERENT_VERSIONS.
    """
    wanted = (USAGE_TRACKING_EXTENSION, DELTA_EXTENSION)
    missing = [name for name in wanted if not places_of(jvm, name)]
    if missing:
        raise JvmWithoutJarsError(missing=" and ".join(f"`{name}`" for name in missing))
    require_version(jvm.sparkext.release.Versions.ours())


def places_of(jvm: Any, name: str) -> list[str]:
    """Returns the URLs at which a running JVM finds a class, in the order of its search."""
    loader = jvm.org.apache.spark.util.Utils.getContextOrSparkClassLoader()
    found = loader.getResources(name.replace(".", "/") + ".class")
    return [url.toString() for url in jvm.java.util.Collections.list(found)]


def require_version(jar: str) -> None:
    """Refuses a jar of another version than this package.

    Raises:
        DifferentVersionsError: USAGE_TRACKING_DIFFERENT_VERSIONS.
    """
    if jar != __version__:
        raise DifferentVersionsError(package=__version__, jar=jar)


def _numbers(version: str) -> tuple[int, ...]:
    """Returns the numbers that a version starts with: 4.2.0 of `4.2.0-rc1` and `4.2.0.dev1`."""
    start = re.match(r"\d+(\.\d+)*", version)
    return tuple(map(int, start[0].split("."))) if start else ()
