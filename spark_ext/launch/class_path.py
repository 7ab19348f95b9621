# SPDX-License-Identifier: Apache-2.0
"""What a driver will have on its class path, as far as that can be seen before it starts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from glob import escape, glob, has_magic
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

from spark_ext.launch.spark_defaults import defaults_file, is_there

JARS = "spark.jars"
DRIVER_CLASS_PATH = "spark.driver.extraClassPath"
# Of a Spark that takes Hadoop from elsewhere.
DIST_CLASS_PATH = "SPARK_DIST_CLASSPATH"

# Those of a JVM that runs already, and of one that PySpark starts with further arguments.
_GATEWAY = "PYSPARK_GATEWAY_PORT"
_ARGUMENTS = "PYSPARK_SUBMIT_ARGS"
_NO_ARGUMENTS = ("", "pyspark-shell")

_LOCAL_SCHEMES = ("", "file", "local")


class ClassPath(NamedTuple):
    """Jars and folders of classes.

    Attributes:
        places: Those on this machine, by what puts them there.
        unseen: What puts others there, or may.
    """

    places: dict[str, list[Path]]
    unseen: list[str]

    @property
    def seen(self) -> list[Path]:
        """All of them; none where there may be others."""
        return [] if self.unseen else [path for paths in self.places.values() for path in paths]


def class_path(
    spark_home: Path | None, settings: Mapping[str, str], environ: Mapping[str, str]
) -> ClassPath:
    """The class path of a driver.

    Args:
        spark_home: Where its Spark is; None for one that is not here.
        settings: Those that it is started with.
        environ: The environment that it is started in.

    Source:
        Spark 4.2, `AbstractCommandBuilder.buildClassPath`, `DependencyUtils.resolveGlobPaths` and
        python/pyspark/java_gateway.py.
    """
    # A builder keeps None as it is.
    listed = [entry.strip() for entry in (settings.get(JARS) or "").split(",") if entry.strip()]
    places = {
        "Spark's jars": [] if spark_home is None else _jars_in(spark_home / "jars"),
        JARS: [path for entry in listed for path in _local(entry)],
        DRIVER_CLASS_PATH: list(_entries(settings.get(DRIVER_CLASS_PATH) or "")),
        DIST_CLASS_PATH: list(_entries(environ.get(DIST_CLASS_PATH, ""))),
    }
    return ClassPath(
        {place: paths for place, paths in places.items() if paths},
        [*(entry for entry in listed if not _is_local(entry)), *_others(spark_home, environ)],
    )


def _others(spark_home: Path | None, environ: Mapping[str, str]) -> Iterator[str]:
    defaults = defaults_file(environ, spark_home)
    script = defaults and defaults.with_name("spark-env.sh")
    if is_there(script):
        yield str(script)
    if _GATEWAY in environ:
        yield _GATEWAY
    if environ.get(_ARGUMENTS, "") not in _NO_ARGUMENTS:
        yield _ARGUMENTS


def _entries(joined: str) -> Iterator[Path]:
    for entry in filter(None, joined.split(":")):
        path = Path(entry)
        if path.name == "*":
            yield from _jars_in(path.parent)
        else:
            yield path


def _jars_in(folder: Path) -> list[Path]:
    """None where the folder is locked or cannot be: Java passes over it."""
    return [Path(found) for found in sorted(glob(f"{escape(str(folder))}/*.jar"))]


def _is_local(entry: str) -> bool:
    try:
        return urlsplit(entry).scheme in _LOCAL_SCHEMES
    except ValueError:  # as of hdfs://nn[1-2]/x.jar
        return False


def _local(entry: str) -> list[Path]:
    if not _is_local(entry):
        return []
    path = unquote(urlsplit(entry).path) if urlsplit(entry).scheme else entry
    return [Path(found) for found in sorted(glob(path))] if has_magic(path) else [Path(path)]
