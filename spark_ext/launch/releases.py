# SPDX-License-Identifier: Apache-2.0
"""Which Spark and which Delta work together, and whether the JVM has what the package needs.

The jar asks the same when a session starts (`sparkext.release`), where nobody called `configure`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from spark_ext.errors import (
    DifferentVersionsError,
    JvmWithoutJarsError,
    UnsupportedSparkVersionError,
)
from spark_ext.version import __version__

# In words; the same in Java's `Conditions`.
SUPPORTED_PAIRS = (
    "Spark 4.0 to 4.1.1 with delta-spark 4.1.0 to 4.4.0, Spark 4.1.2 and later 4.1 with"
    " delta-spark 4.3.0 to 4.4.0, or Spark 4.2 with delta-spark 4.4.0; Scala 2.13"
)
SCALA = "2.13"

# The releases of Delta that have a jar for a line of Spark, and those that have none at all.
DELTAS: Mapping[str, tuple[str, ...]] = {
    "4.0": ("4.1.0", "4.2.0", "4.3.0", "4.3.1", "4.4.0"),
    "4.1": ("4.1.0", "4.2.0", "4.3.0", "4.3.1", "4.4.0"),
    "4.2": ("4.4.0",),
}
# From this Spark on, no ALTER TABLE of these runs: it took a class away that they extend.
_NO_ALTER_SINCE = (4, 1, 2)
_WITHOUT_ALTER = ("4.1.0", "4.2.0")
_NEWEST_DELTA = (4, 4, 0)
_WITHOUT_JARS = ("4.4.1",)
# The Spark of the artifacts whose name has none.
_SPARK_OF_UNNAMED = {
    **dict.fromkeys(("4.0.0", "4.0.1"), "4.0"),
    **dict.fromkeys(("4.1.0", "4.2.0", "4.3.0", "4.3.1"), "4.1"),
    "4.4.0": "4.2",
}

_SPARK_CORE = re.compile(r"spark-core_(\d+\.\d+)-(\d+\.\d+.*)\.jar")
_DELTA_ARTIFACT = re.compile(r"io\.delta:delta-spark(?:_(\d+\.\d+))?_(\d+\.\d+):(.+)")

USAGE_TRACKING_EXTENSION = "sparkext.UsageTrackingExtension"
DELTA_EXTENSION = "io.delta.sql.DeltaSparkSessionExtension"


def launched_spark(spark_home: Path | None, pyspark_version: str) -> tuple[str, str]:
    """The versions of Spark and Scala that a JVM will have.

    Args:
        spark_home: Where its jars are; None for a client of Spark Connect.
        pyspark_version: The Python package's, for an installation whose jars do not tell.
    """
    jars = spark_home and spark_home / "jars"
    names = sorted(file.name for file in jars.iterdir()) if jars and jars.is_dir() else []
    for found in map(_SPARK_CORE.fullmatch, names):
        if found:
            return found[2], found[1]
    return pyspark_version, SCALA if _numbers(pyspark_version) >= (4,) else "2.12"


def require_pair(spark: str, scala: str, packages: Iterable[str]) -> None:
    """Refuses a Spark that we do not work with, and a Delta among `packages` that it does not.

    A Delta newer than all known ones is left to the jar's own look.

    Raises:
        UnsupportedSparkVersionError: USAGE_TRACKING_UNSUPPORTED_SPARK_VERSION.
    """
    deltas = [found for found in map(_DELTA_ARTIFACT.fullmatch, packages) if found]
    named = spark if scala == SCALA else f"{spark} of Scala {scala}"
    if scala != SCALA or _numbers(spark) < (4,):
        raise _refusal(named, deltas[0][3] if deltas else "(none)")
    for found in deltas:
        built_for, of_scala, delta = found.groups()
        if of_scala != SCALA:
            raise _refusal(named, f"{delta} of Scala {of_scala}")
        if (reason := _misfit(spark, built_for, delta)) is not None:
            raise _refusal(named, f"{delta}{reason}")


def _misfit(spark: str, built_for: str | None, delta: str) -> str | None:
    """What to say of a release of Delta that a Spark does not work with; else None."""
    line = ".".join(spark.split(".")[:2])
    built_for = built_for or _SPARK_OF_UNNAMED.get(delta)
    if built_for is not None and built_for != line:
        return f" for Spark {built_for}"
    if delta in _WITHOUT_JARS:
        return ", of which there are no jars"
    if _numbers(delta) <= _NEWEST_DELTA and delta not in DELTAS.get(line, ()):
        return ""
    if delta in _WITHOUT_ALTER and _numbers(spark) >= _NO_ALTER_SINCE:
        return " for Spark before 4.1.2"
    return None


def _refusal(spark: str, delta: str) -> UnsupportedSparkVersionError:
    return UnsupportedSparkVersionError(spark=spark, delta=delta, supported=SUPPORTED_PAIRS)


def require_jars(jvm: Any) -> None:
    """Refuses a JVM that cannot load the extensions, or has them of another version.

    Spark itself writes one line into its log about an extension that it cannot load, and goes on.

    Raises:
        JvmWithoutJarsError: USAGE_TRACKING_JVM_WITHOUT_JARS.
        DifferentVersionsError: USAGE_TRACKING_DIFFERENT_VERSIONS.
    """
    loader = jvm.org.apache.spark.util.Utils.getContextOrSparkClassLoader()
    wanted = (USAGE_TRACKING_EXTENSION, DELTA_EXTENSION)
    missing = [name for name in wanted if loader.getResource(_class_file(name)) is None]
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


def _class_file(name: str) -> str:
    return name.replace(".", "/") + ".class"


def _numbers(version: str) -> tuple[int, ...]:
    """The numbers that a version starts with: 4.2.0 of `4.2.0-rc1` and `4.2.0.dev1`."""
    start = re.match(r"\d+(\.\d+)*", version)
    return tuple(map(int, start[0].split("."))) if start else ()
