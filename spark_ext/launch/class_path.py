# SPDX-License-Identifier: Apache-2.0
"""What a driver will have on its class path, as far as that can be seen before it starts."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from glob import glob, has_magic
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

from spark_ext.launch.archives import holds, with_named
from spark_ext.launch.releases import DELTA_EXTENSION
from spark_ext.launch.spark_defaults import defaults_file, is_there
from spark_ext.launch.spark_home import jars_in

JARS = "spark.jars"
PACKAGES = "spark.jars.packages"
DRIVER_CLASS_PATH = "spark.driver.extraClassPath"
_CLASS_PATHS = ("spark.driver.defaultExtraClassPath", DRIVER_CLASS_PATH)
_SPARKS_JARS = "Spark's jars"
# The last is of a Spark that takes Hadoop from elsewhere.
_CLASS_PATH_VARIABLES = ("HADOOP_CONF_DIR", "YARN_CONF_DIR", "SPARK_DIST_CLASSPATH")

# That of a JVM that runs already.
GATEWAY = "PYSPARK_GATEWAY_PORT"
_ARGUMENTS = "PYSPARK_SUBMIT_ARGS"
_NO_ARGUMENTS = ("", "pyspark-shell")
# Where packages come from, if not from Maven Central: Delta's may be a vendor's there.
_SOURCES = ("spark.jars.repositories", "spark.jars.ivySettings")
_VARIABLES = ("SPARK_PREPEND_CLASSES", "DEFAULT_ARTIFACT_REPOSITORY")
# Beside `spark-defaults.conf`.
_FILES = ("spark-env.sh", "spark-env.cmd", "java-opts")
_JAVA_OPTIONS = ("spark.driver.defaultJavaOptions", "spark.driver.extraJavaOptions")
_JAVA_VARIABLES = ("SPARK_SUBMIT_OPTS", "JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS")
_OPTION_WITH_CLASSES = re.compile(
    r"-Xbootclasspath|-(java)?agent|-XX:(Flags|VMOptionsFile)|-cp|-?-class-?path|-p\s|-module"
    r"""|(^|[\s"'])@"""
)
_USER = re.compile(r"//[^/@]*@")

_LOCAL_SCHEMES = ("", "file", "local")
# Of Hadoop's patterns those that `glob` reads in another way.
_HADOOPS_PATTERN = re.compile(r"[\[{\\]")


class ClassPath(NamedTuple):
    """Jars and folders of classes.

    Attributes:
        places: Those on this machine, by what puts them there, and those that their manifests name.
        unseen: What puts others there, or may.
    """

    places: dict[str, list[Path]]
    unseen: list[str]

    def holders(self, name: str) -> list[Path]:
        """Those that have a class, each once, whatever links lead to it."""
        found = {os.path.realpath(path): path for path in self._paths() if holds(path, name)}
        return list(found.values())

    def has(self, name: str) -> bool | None:
        """Whether there is a class; None where it is in nothing that can be looked into."""
        found = {holds(path, name) for path in self._paths()}
        if True in found:
            return True
        whole = any(map(os.path.isfile, self.places.get(_SPARKS_JARS, ())))
        return False if whole and not self.unseen and None not in found else None

    def may_have(self, name: str) -> bool:
        """Whether a driver may have a class that a package needs.

        A Delta that is there comes before any package, and may not need it: the jar sees.
        """
        return self.has(name) is not False or bool(self.holders(DELTA_EXTENSION))

    def _paths(self) -> Iterator[Path]:
        for paths in self.places.values():
            yield from paths


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
    listed = _listed(settings, JARS)
    defaults = defaults_file(environ, spark_home)
    places = {
        _SPARKS_JARS: [] if spark_home is None else jars_in(spark_home / "jars"),
        "Spark's settings": [] if defaults is None else [defaults.parent],
        JARS: [path for entry in listed for path in _local(entry)],
        **{key: list(_places(settings.get(key) or "")) for key in _CLASS_PATHS},
        **{name: list(_places(environ.get(name, ""))) for name in _CLASS_PATH_VARIABLES},
    }
    return ClassPath(
        {place: with_named(paths) for place, paths in places.items() if paths},
        [
            *(_USER.sub("//", entry) for entry in listed if not _is_local(entry)),
            *_unseen_settings(settings),
            *_unseen_variables(environ),
            *_unseen_files(defaults),
        ],
    )


def _unseen_settings(settings: Mapping[str, str]) -> Iterator[str]:
    packages = _listed(settings, PACKAGES)
    yield from (name for name in packages if not name.startswith(("io.delta:", "io.delta/")))
    yield from (key for key in _SOURCES if settings.get(key))
    yield from (key for key in _JAVA_OPTIONS if _brings_classes(settings.get(key)))


def _unseen_files(defaults: Path | None) -> Iterator[str]:
    if defaults is not None:
        yield from (str(file) for file in map(defaults.with_name, _FILES) if is_there(file))


def _unseen_variables(environ: Mapping[str, str]) -> Iterator[str]:
    if GATEWAY in environ:
        yield GATEWAY
    if environ.get(_ARGUMENTS, "") not in _NO_ARGUMENTS:
        yield _ARGUMENTS
    yield from (name for name in _VARIABLES if environ.get(name))
    yield from (name for name in _JAVA_VARIABLES if _brings_classes(environ.get(name)))


def _brings_classes(options: str | None) -> bool:
    return _OPTION_WITH_CLASSES.search(options or "") is not None


def entries(joined: str) -> Iterable[str]:
    """The entries of a comma-separated list as Spark reads it, each once, in order."""
    entries = (entry.strip() for entry in joined.split(","))
    return dict.fromkeys(entry for entry in entries if entry)


def _listed(settings: Mapping[str, str], key: str) -> Iterable[str]:
    return entries(settings.get(key) or "")  # a builder keeps None as it is


def _places(joined: str) -> Iterator[Path]:
    for entry in filter(None, joined.split(os.pathsep)):
        path = Path(entry)
        if path.name == "*":
            yield from jars_in(path.parent)
        else:
            yield path


def _is_local(entry: str) -> bool:
    try:
        return urlsplit(entry).scheme in _LOCAL_SCHEMES and not _HADOOPS_PATTERN.search(entry)
    except ValueError:  # as of hdfs://nn[1-2]/x.jar
        return False


def _local(entry: str) -> list[Path]:
    if not _is_local(entry):
        return []
    # Spark drops what follows a `#`, too.
    path = unquote(urlsplit(entry).path) if urlsplit(entry).scheme else entry.partition("#")[0]
    return [Path(found) for found in sorted(glob(path))] if has_magic(path) else [Path(path)]
