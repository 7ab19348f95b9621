# SPDX-License-Identifier: Apache-2.0
"""Checks that a JVM has the jars of this package. The jars check that Spark and Delta fit."""

from __future__ import annotations

from typing import Any

from spark_ext.errors import DifferentVersionsError, JvmWithoutJarsError
from spark_ext.version import __version__

# Both halves report it for a jar without a version.
UNKNOWN_VERSION = "(unknown version)"

USAGE_TRACKING_EXTENSION = "sparkext.UsageTrackingExtension"
DELTA_EXTENSION = "io.delta.sql.DeltaSparkSessionExtension"


def require_jars(jvm: Any) -> None:
    """Refuses a JVM that cannot load the extensions, or has another version of our jar.

    Spark itself only logs a warning if it cannot load an extension. Raises JvmWithoutJarsError or
    DifferentVersionsError.
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
    """Raises DifferentVersionsError for a jar of another version than this package."""
    if jar != __version__:
        raise DifferentVersionsError(package=__version__, jar=jar)
