# SPDX-License-Identifier: Apache-2.0
"""A Spark session with Delta Lake and usage tracking: the options, and who needs them how."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spark_ext.errors import (
    ClassicSparkMissingError,
    ExtensionJarMissingError,
    RemoteSessionError,
    SessionAlreadyRunningError,
    UnquotableArgumentError,
)
from spark_ext.launch.class_path import GATEWAY, JARS, PACKAGES, class_path, entries
from spark_ext.launch.releases import (
    DELTA_EXTENSION,
    USAGE_TRACKING_EXTENSION,
    launched_spark,
    require_jars,
    require_pair,
)
from spark_ext.launch.spark_defaults import defaults, defaults_file
from spark_ext.launch.spark_home import spark_home

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

EXTENSIONS = "spark.sql.extensions"
CATALOG = "spark.sql.catalog.spark_catalog"
DRIVER_PYTHON = "spark.pyspark.driver.python"
CONNECT = "sc://"
DEPLOY_MODES = CLIENT, CLUSTER = "client", "cluster"

DELTA_CATALOG = "org.apache.spark.sql.delta.catalog.DeltaCatalog"


def configure(
    builder: SparkSession.Builder, extra_packages: list[str] | None = None
) -> SparkSession.Builder:
    """Adds Delta Lake, our jar, the extensions and the catalog to a session builder.

    What the builder already has is kept: packages, jars and extensions are added to, a session
    catalog or driver Python of its own stays.

    Args:
        builder: A `SparkSession.builder`.
        extra_packages: Further Maven coordinates, as in `configure_spark_with_delta_pip`.

    Returns:
        The same builder.

    Raises:
        TypeError: `builder` is not a session builder.
        RemoteSessionError: The session would be one of a Spark Connect server that runs already.
        ClassicSparkMissingError: Only a client of Spark Connect is installed.
        ExtensionJarMissingError: The jar was not built.
        UnquotableArgumentError: The jar's path has a comma, at which Spark would split it.
        SessionAlreadyRunningError: A Spark context runs already, without the extension.
        JvmWithoutJarsError: None runs, in a JVM that was started without the extension.
        DifferentVersionsError: The JVM has a jar of another version.
        UnsupportedSparkVersionError: Spark and the Delta among the packages do not fit.
        OSError: `spark-defaults.conf` is there and cannot be read, so that no session starts.

    Source:
        Delta 4.4.0, python/delta/pip_utils.py, `configure_spark_with_delta_pip`.
    """
    _refuse_remote(builder)
    with _classic_spark():
        from pyspark import SparkContext
        from pyspark.errors.exceptions.captured import install_exception_handler
        from pyspark.sql import SparkSession

    if not isinstance(builder, SparkSession.Builder):
        raise TypeError(f"Cannot configure {type(builder)!r}: it is not a SparkSession.Builder.")
    _require_configurable(SparkContext._active_spark_context)
    if SparkContext._jvm is not None:
        require_jars(SparkContext._jvm)
    # PySpark does this after the first session is up; our refusals come while it starts.
    install_exception_handler()
    chosen: dict[str, str] = builder._options
    options = submit_options()
    options[PACKAGES] = joined(options[PACKAGES], ",".join(extra_packages or []))
    _require_pair({**chosen, PACKAGES: joined(chosen.get(PACKAGES) or "", options[PACKAGES])})
    for key in (PACKAGES, JARS, EXTENSIONS):
        builder.config(key, joined(chosen.get(key) or "", options[key]))
    for key in (CATALOG, DRIVER_PYTHON):
        builder.config(key, chosen.get(key, options[key]))
    return builder


def jar() -> Path:
    """The path of our jar.

    Raises:
        ExtensionJarMissingError: It was not built.
    """
    path = Path(str(files("spark_ext") / "jars" / "spark-ext.jar"))
    if not path.is_file():
        raise ExtensionJarMissingError(path=str(path))
    return path


def submit_options() -> dict[str, str]:
    """Every Spark option that the plugin needs, by its key.

    Raises:
        ClassicSparkMissingError: Only a client of Spark Connect is installed.
        ExtensionJarMissingError: The jar was not built.
        UnquotableArgumentError: The jar's path has a comma, at which Spark would split it.
    """
    if "," in str(jar()):
        raise UnquotableArgumentError(argument=jar())
    with _classic_spark():
        from delta import configure_spark_with_delta_pip
        from pyspark.sql import SparkSession

    delta = configure_spark_with_delta_pip(SparkSession.Builder())
    return {
        PACKAGES: delta._options[PACKAGES],
        JARS: str(jar()),
        EXTENSIONS: f"{DELTA_EXTENSION},{USAGE_TRACKING_EXTENSION}",
        CATALOG: DELTA_CATALOG,
        DRIVER_PYTHON: sys.executable,
    }


def submit_args(deploy_mode: str = CLIENT) -> list[str]:
    """What `configure` sets as arguments of spark-submit, spark-sql or pyspark.

    Args:
        deploy_mode: One of `DEPLOY_MODES`. In cluster mode the driver runs on another machine, on
            which this Python may not be: the cluster's own configuration names its Python.

    Raises:
        ClassicSparkMissingError: Only a client of Spark Connect is installed.
        ExtensionJarMissingError: The jar was not built.
        UnquotableArgumentError: An argument has white space, which a shell's `$(..)` would split,
            or the jar's path a comma, at which Spark would.
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
def _classic_spark() -> Iterator[None]:
    """Refuses imports that fail, as they do where only `pyspark-client` is installed."""
    try:
        yield
    except ImportError as missing:
        raise ClassicSparkMissingError(error=missing) from missing


def joined(present: str, added: str) -> str:
    """Two comma-separated lists as one, each entry once, in order."""
    return ",".join(entries(f"{present},{added}"))


def is_remote(value: Any) -> bool:
    """Whether a session, or a builder of one, is of Spark Connect, which may not be installed."""
    return type(value).__module__.startswith("pyspark.sql.connect.")


def _refuse_remote(builder: SparkSession.Builder) -> None:
    """Refuses what builds a session of a running server, which takes none of our settings.

    Where the address is `local`, or none with `spark.api.mode`, PySpark starts a server of its own
    with them.
    """
    options: dict[str, str] = getattr(builder, "_options", {})
    address = options.get("spark.remote", os.environ.get("SPARK_REMOTE", ""))
    if address.startswith(CONNECT):
        # A token may follow the host.
        host = re.split("[/;]", address.removeprefix(CONNECT))[0]
        raise RemoteSessionError(server=f"{CONNECT}{host}")
    if is_remote(builder):
        raise RemoteSessionError(server="of its channel builder")


def _require_pair(chosen: Mapping[str, str]) -> None:
    import pyspark
    from pyspark import SparkContext

    home = spark_home(os.environ)
    spark, scala = launched_spark(home, pyspark.__version__)

    def may_have(name: str) -> bool:
        if SparkContext._jvm is not None or GATEWAY in os.environ:
            return True  # the class path of a JVM is that of its start
        # The jars of the defaults are replaced.
        settings = {**defaults(defaults_file(os.environ, home)), JARS: "", **chosen}
        return class_path(home, settings, os.environ).may_have(name)

    require_pair(spark, scala, entries(chosen[PACKAGES]), may_have)


def _require_configurable(context: SparkContext | None) -> None:
    # Extensions and jars are read when the JVM's context starts; later ones are ignored in silence.
    if context is None:
        return
    extensions = context.getConf().get(EXTENSIONS, "") or ""
    if USAGE_TRACKING_EXTENSION not in entries(extensions):
        raise SessionAlreadyRunningError(extensions=extensions)
