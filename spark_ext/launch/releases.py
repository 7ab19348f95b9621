# SPDX-License-Identifier: Apache-2.0
"""Which Spark and which Delta work together, and whether the JVM has what the package needs.

The jar asks the same when a session starts (`sparkext.release`), where nobody called `configure`.
Both halves go by `releases.json`; what cannot read it, `tests/matrix/places.py` writes from it.

Shape:
    supported: The pairs in words, for refusals.
    default: The pair that `make test` runs on.
    sparks: For each line of Spark its releases that tests run on, oldest first. Others of these
        lines work as their neighbours do.
    deltas: For each release of Delta, oldest first, the lines that it has an artifact
        `delta-spark_<line>_<scala>` for. The artifact without a line in its name is for the last.
    artifactsWithoutLine: The releases that have no other artifact.
    refusedDeltas: The lines of releases that are not supported; one without jars has none.
    removedClasses: What a release of Spark took away that every ALTER TABLE of some Deltas needs. A
        vendor's Spark of the same number may have it.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterable
from importlib.resources import files
from pathlib import Path
from typing import Any, TypedDict

from spark_ext.errors import (
    DifferentVersionsError,
    JvmWithoutJarsError,
    UnsupportedSparkVersionError,
)
from spark_ext.launch.spark_home import jars_in
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
OLDEST_JAVA = 17
# Of a jar that does not tell, in both halves.
UNKNOWN_VERSION = "(unknown version)"

_SPARK_CORE = re.compile(r"spark-core_(\d+\.\d+)-(\d+\.\d+.*)\.jar")
_DELTA_ARTIFACT = re.compile(r"io\.delta[:/]delta-spark(?:_(\d+\.\d+))?_(\d+\.\d+):(.+)")
_DELTA_JAR = re.compile(r"delta-spark(?:_(\d+\.\d+))?_(\d+\.\d+)-(.+)\.jar")
_TAIL = re.compile(r"[-._+](?!SNAPSHOT)")

USAGE_TRACKING_EXTENSION = "sparkext.UsageTrackingExtension"
DELTA_EXTENSION = "io.delta.sql.DeltaSparkSessionExtension"


def launched_spark(spark_home: Path | None, pyspark_version: str) -> tuple[str, str]:
    """The versions of Spark and Scala that a JVM will have.

    Args:
        spark_home: Where its jars are; None for a client of Spark Connect.
        pyspark_version: The Python package's, for an installation whose jars do not tell.
    """
    jars = [] if spark_home is None else jars_in(spark_home / "jars")
    for found in (_SPARK_CORE.fullmatch(jar.name) for jar in jars):
        if found:
            return found[2], found[1]
    return pyspark_version, SCALA if _numbers(pyspark_version) >= (4,) else "2.12"


def require_pair(
    spark: str,
    scala: str,
    packages: Iterable[str],
    may_have: Callable[[str], bool] = lambda _: True,
) -> None:
    """Refuses a Spark that we do not work with, and a Delta among `packages` that it does not.

    A Delta newer than all known ones, or a vendor's own, is left to the jar's own look; so is
    whether Spark has the classes that a Delta needs, where its jars are not seen.

    Args:
        spark: Its version.
        scala: Its Scala's, such as 2.13.
        packages: Maven coordinates.
        may_have: Whether the driver may have a class, by its name; not asked before Delta needs one
            that some releases of Spark do not have.

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
        if (reason := misfit(spark, built_for, delta, may_have)) is not None:
            raise _refusal(named, f"{delta}{reason}")


def misfit(
    spark: str, built_for: str | None, delta: str, has_class: Callable[[str], bool]
) -> str | None:
    """What to say of a release of Delta that a Spark does not work with; else None.

    Args:
        spark: Its version.
        built_for: The line of Spark in the name of Delta's artifact, if there is one.
        delta: Its version.
        has_class: Whether this Spark has a class, by its name.
    """
    line = _line(spark)
    lines = {**RELEASES["deltas"], **RELEASES["refusedDeltas"]}.get(delta)
    built_for = built_for or (lines[-1] if lines else None)
    if built_for is not None and built_for != line:
        return f" for Spark {built_for}"
    if lines == []:
        return ", of which there are no jars"
    if _is_known(delta) and line not in RELEASES["deltas"].get(delta, ()):
        return ""
    for removed in RELEASES["removedClasses"]:
        if delta in removed["neededBy"] and not has_class(removed["name"]):
            return f", whose ALTER TABLE needs `{removed['name']}` of another Spark"
    return None


def is_in_release(spark: str, name: str) -> bool:
    """Whether a release of Spark, by its version, still has a class that later ones took away."""
    return not any(
        removed["name"] == name and _numbers(spark) >= _numbers(removed["since"])
        for removed in RELEASES["removedClasses"]
    )


def is_delta(package: str) -> bool:
    """Whether Maven coordinates are those of Delta itself, not of a part that it needs."""
    return _DELTA_ARTIFACT.fullmatch(package) is not None


def artifact_of(jar: Path) -> str | None:
    """The Maven coordinates that the name of a jar of Delta, or of what it links to, tells."""
    for name in (jar.name, Path(os.path.realpath(jar)).name):
        found = _DELTA_JAR.fullmatch(name)
        if found is not None:
            line = "" if found[1] is None else f"_{found[1]}"
            return f"io.delta:delta-spark{line}_{found[2]}:{found[3]}"
    return None


def is_vendors(artifact: str, delta: str, spark: str) -> bool:
    """Whether an artifact, by its coordinates, is a vendor's build of a Delta for a Spark."""
    found = _DELTA_ARTIFACT.fullmatch(artifact)
    return (
        found is not None
        and found[1] in (None, _line(spark))
        and found[2] == SCALA
        and found[3].startswith(delta)
        and _TAIL.match(found[3].removeprefix(delta)) is not None
    )


def _line(spark: str) -> str:
    return ".".join(spark.split(".")[:2])


def _is_known(delta: str) -> bool:
    """Whether we would know a version: not one with a vendor's tail, nor one that is newer."""
    newest = max(map(_numbers, RELEASES["deltas"]))
    return re.fullmatch(r"\d+\.\d+\.\d+", delta) is not None and _numbers(delta) <= newest


def _refusal(spark: str, delta: str) -> UnsupportedSparkVersionError:
    return UnsupportedSparkVersionError(spark=spark, delta=delta, supported=RELEASES["supported"])


def require_jars(jvm: Any) -> None:
    """Refuses a JVM that cannot load the extensions, or has them of another version.

    Spark itself writes one line into its log about an extension that it cannot load, and goes on.

    Raises:
        JvmWithoutJarsError: USAGE_TRACKING_JVM_WITHOUT_JARS.
        DifferentVersionsError: USAGE_TRACKING_DIFFERENT_VERSIONS.
    """
    loader = jvm.org.apache.spark.util.Utils.getContextOrSparkClassLoader()
    wanted = (USAGE_TRACKING_EXTENSION, DELTA_EXTENSION)
    missing = [name for name in wanted if loader.getResource(class_file(name)) is None]
    if missing:
        raise JvmWithoutJarsError(missing=" and ".join(f"`{name}`" for name in missing))
    require_version(jvm.sparkext.release.Versions.ours())


def require_version(jar: str) -> None:
    """Refuses a jar of another version than this package's.

    Raises:
        DifferentVersionsError: USAGE_TRACKING_DIFFERENT_VERSIONS.
    """
    if jar != __version__:
        raise DifferentVersionsError(package=__version__, jar=jar)


def class_file(name: str) -> str:
    """Where a jar or a folder has a class."""
    return name.replace(".", "/") + ".class"


def _numbers(version: str) -> tuple[int, ...]:
    """The numbers that a version starts with: 4.2.0 of `4.2.0-rc1` and `4.2.0.dev1`."""
    start = re.match(r"\d+(\.\d+)*", version)
    return tuple(map(int, start[0].split("."))) if start else ()
