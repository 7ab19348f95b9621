# SPDX-License-Identifier: Apache-2.0
"""Makes the options of a Spark session with Delta Lake and usage tracking."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spark_ext.errors import (
    ClassicSparkMissingError,
    DeltaPackageMissingError,
    ExtensionJarMissingError,
    RemoteSessionError,
    SessionAlreadyRunningError,
    SparkExtError,
    UnquotableArgumentError,
)
from spark_ext.launch.releases import DELTA_EXTENSION, USAGE_TRACKING_EXTENSION, require_jars

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

PACKAGES = "spark.jars.packages"
JARS = "spark.jars"
EXTENSIONS = "spark.sql.extensions"
CATALOG = "spark.sql.catalog.spark_catalog"
DRIVER_PYTHON = "spark.pyspark.driver.python"
CONNECT = "sc://"
DEPLOY_MODES = CLIENT, CLUSTER = "client", "cluster"

_LISTS = (PACKAGES, JARS, EXTENSIONS)

DELTA_CATALOG = "org.apache.spark.sql.delta.catalog.DeltaCatalog"


def configure(
    builder: SparkSession.Builder, extra_packages: list[str] | None = None
) -> SparkSession.Builder:
    """Adds Delta Lake, our jar, the extensions and the catalog to a session builder; returns it.

    The builder keeps its own options: `configure` adds to its packages, jars and extensions, and
    does not change its session catalog or driver Python. `extra_packages` are further Maven
    coordinates, as in `configure_spark_with_delta_pip`.

    Raises:
        TypeError: `builder` is not a session builder.
        RemoteSessionError: The session belongs to a Spark Connect server that already runs.
        ClassicSparkMissingError: PySpark is missing, or is only a client of Spark Connect.
        DeltaPackageMissingError: delta-spark or a package that it imports is missing.
        ExtensionJarMissingError: The jar was not built.
        UnquotableArgumentError: The jar's path contains a comma, at which Spark splits the list.
        SessionAlreadyRunningError: The running Spark context has no usage tracking.
        JvmWithoutJarsError: The running JVM cannot load the extensions.
        DifferentVersionsError: The JVM has our jar in another version than this package.
    """
    _refuse_remote(builder)
    with _required(lambda missing: ClassicSparkMissingError(error=missing)):
        from pyspark import SparkContext
        from pyspark.errors.exceptions.captured import install_exception_handler
        from pyspark.sql import SparkSession

    if not isinstance(builder, SparkSession.Builder):
        raise TypeError(f"Cannot configure {type(builder)!r}: it is not a SparkSession.Builder.")
    _require_configurable(SparkContext._active_spark_context)
    if SparkContext._jvm is not None:
        require_jars(SparkContext._jvm)
    # PySpark installs the handler after the first session has started, and our errors may be raised
    # earlier.
    install_exception_handler()
    chosen: dict[str, str] = builder._options
    options = submit_options()
    options[PACKAGES] = joined(options[PACKAGES], ",".join(extra_packages or []))
    for key in _LISTS:
        builder.config(key, joined(chosen.get(key) or "", options[key]))
    for key in (CATALOG, DRIVER_PYTHON):
        builder.config(key, chosen.get(key, options[key]))
    return builder


def jar() -> Path:
    """Returns the path of our jar; raises ExtensionJarMissingError if it was not built."""
    path = Path(str(files("spark_ext") / "jars" / "spark-ext.jar"))
    if not path.is_file():
        raise ExtensionJarMissingError(path=str(path))
    return path


def submit_options() -> dict[str, str]:
    """Returns every Spark option that the plugin needs, by its key. Raises as `configure`."""
    if "," in str(jar()):
        raise UnquotableArgumentError(argument=jar())
    with _required(lambda missing: ClassicSparkMissingError(error=missing)):
        import pyspark.core.context  # noqa: F401
        from pyspark.sql import SparkSession
    with _required(lambda missing: DeltaPackageMissingError(error=missing)):
        from delta import configure_spark_with_delta_pip

        version("delta_spark")  # otherwise Delta raises a plain Exception
        delta = configure_spark_with_delta_pip(SparkSession.Builder())
    return {
        PACKAGES: delta._options[PACKAGES],
        JARS: str(jar()),
        EXTENSIONS: f"{DELTA_EXTENSION},{USAGE_TRACKING_EXTENSION}",
        CATALOG: DELTA_CATALOG,
        DRIVER_PYTHON: sys.executable,
    }


def submit_args(deploy_mode: str = CLIENT) -> list[str]:
    """Returns the options of `configure` as arguments of spark-submit, spark-sql or pyspark.

    In cluster mode the driver runs on another machine, whose configuration sets the driver's
    Python. Raises as `configure`, or UnquotableArgumentError if an argument contains white space,
    at which a shell splits the output of `$(..)`.
    """
    options = submit_options()
    arguments = ["--packages", options.pop(PACKAGES), "--jars", options.pop(JARS)]
    if deploy_mode == CLUSTER:
        arguments = ["--deploy-mode", CLUSTER, *arguments]
        del options[DRIVER_PYTHON]
    for key, value in options.items():
        arguments += ["--conf", f"{key}={value}"]
    for argument in arguments:
        if any(character.isspace() for character in argument):
            raise UnquotableArgumentError(argument=argument)
    return arguments


@contextmanager
def _required(refusal: Callable[[ImportError], SparkExtError]) -> Iterator[None]:
    """Raises the refusal if an import in the body fails."""
    try:
        yield
    except ImportError as missing:
        raise refusal(missing) from missing


def joined(present: str, added: str) -> str:
    """Joins two comma-separated lists. Keeps the order, and removes repeated entries."""
    return ",".join(entries(f"{present},{added}"))


def entries(joined: str) -> list[str]:
    """Returns the entries of a list as Spark splits it, in order and without repeated entries."""
    return [*dict.fromkeys(filter(None, map(str.strip, joined.split(","))))]


def is_connect(value: Any) -> bool:
    """Returns whether a session or a builder belongs to Spark Connect, without an import of it."""
    classes = type(value).__mro__
    return any(each.__module__.startswith("pyspark.sql.connect.") for each in classes)


def _refuse_remote(builder: SparkSession.Builder) -> None:
    """Raises if the session would belong to a running server, which ignores our settings.

    PySpark starts a server with our settings if the address is `local`, or if `spark.api.mode` asks
    for Spark Connect and no address is set.
    """
    options: dict[str, str] = getattr(builder, "_options", {})
    address = options.get("spark.remote", os.environ.get("SPARK_REMOTE", ""))
    if address.startswith(CONNECT):
        # The error omits the rest of the address, which may contain a token.
        host = re.split("[/;]", address.removeprefix(CONNECT))[0]
        raise RemoteSessionError(server=f"{CONNECT}{host}")
    if is_connect(builder):
        raise RemoteSessionError(server="of its channel builder")


def _require_configurable(context: SparkContext | None) -> None:
    """Raises SessionAlreadyRunningError if the running context has no usage tracking."""
    # Spark reads extensions and jars only when a context starts, and silently ignores later ones.
    if context is None:
        return
    extensions = context.getConf().get(EXTENSIONS, "") or ""
    if USAGE_TRACKING_EXTENSION not in entries(extensions):
        raise SessionAlreadyRunningError(extensions=extensions)
