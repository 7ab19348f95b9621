# SPDX-License-Identifier: Apache-2.0
"""Starts Spark with spark-ext: a new session, a running one, and the user's `spark-defaults.conf`.

The jars check that Spark and Delta fit.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spark_ext.errors import (
    ClassicSparkMissingError,
    DeltaPackageMissingError,
    DifferentVersionsError,
    ExtensionJarMissingError,
    JvmWithoutJarsError,
    RemoteSessionError,
    SessionAlreadyRunningError,
    SessionNotAttachableError,
    SparkExtError,
    UnquotableArgumentError,
)
from spark_ext.version import __version__

if TYPE_CHECKING:
    from py4j.java_gateway import JavaObject, JVMView
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
DELTA_EXTENSION = "io.delta.sql.DeltaSparkSessionExtension"
USAGE_TRACKING_EXTENSION = "sparkext.UsageTrackingExtension"

# Both halves report it for a jar without a version.
UNKNOWN_VERSION = "(unknown version)"


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
    context = SparkContext._active_spark_context
    if context is not None:
        # Spark reads extensions and jars only when a context starts, and ignores later ones.
        extensions = context.getConf().get(EXTENSIONS, "") or ""
        if USAGE_TRACKING_EXTENSION not in entries(extensions):
            raise SessionAlreadyRunningError(extensions=extensions)
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


def attach(spark: SparkSession) -> SparkSession:
    """Adds usage tracking to a running session, as `configure` does to a new one; returns it.

    The session keeps its views, settings and running queries. Later sessions of the application
    have usage tracking as well. Each other session that already exists needs its own call. A
    session with usage tracking is unchanged.

    Raises:
        TypeError: `spark` is not a session.
        ExtensionJarMissingError: The jar was not built.
        SessionNotAttachableError: USAGE_TRACKING_SESSION_NOT_ATTACHABLE. The session is of Spark
            Connect, the JVM lacks Delta, or the JVM accepts no jar.
        DifferentVersionsError: The session has a jar of another version.
        AnalysisException: USAGE_TRACKING_SESSION_NOT_ATTACHABLE, if the session accepts no further
            rule; USAGE_TRACKING_DELTA_ALREADY_LOADED, if the JVM has `-XX:+DisableAttachMechanism`;
            USAGE_TRACKING_SEVERAL_JARS, if it has different jars of spark-ext;
            USAGE_TRACKING_UNSUPPORTED_SPARK_VERSION; USAGE_TRACKING_UNSUPPORTED_DELTA_VERSION;
            DELTA_CONFIGURE_SPARK_SESSION_WITH_EXTENSION_AND_CATALOG.
    """
    from pyspark.sql import SparkSession

    if is_connect(spark):
        raise SessionNotAttachableError(
            reason="a session of Spark Connect needs a server that starts with spark-ext"
        )
    if not isinstance(spark, SparkSession):
        raise TypeError(f"Cannot attach to {spark!r}: it is not a SparkSession.")
    jvm = add_jar(spark)
    jvm.sparkext.SessionAttachment.attach(spark._jsparkSession)
    conf = spark.sparkContext._jsc.sc().conf()
    named = conf.get(EXTENSIONS, "")
    # Sessions that this application builds from now on have our extension. If the setting does not
    # name Delta's extension, a session with only ours would fail to start.
    if DELTA_EXTENSION in entries(named):
        conf.set(EXTENSIONS, joined(named, USAGE_TRACKING_EXTENSION))
    return spark


def add_jar(spark: SparkSession) -> JVMView:
    """Adds our jar to a running classic session and its executors, without a hook; returns the JVM.

    Raises ExtensionJarMissingError, SessionNotAttachableError or DifferentVersionsError.
    """
    context = spark.sparkContext
    jvm: JVMView = context._jvm
    if _add_to_class_path(jvm, jar()):
        context._jsc.addJar(str(jar()))  # for the executors
    require_version(jvm.sparkext.release.Versions.ours())
    return jvm


def _add_to_class_path(jvm: JVMView, path: Path) -> bool:
    """Adds the jar to the driver's class path; returns False if the JVM has our classes already."""
    context = jvm.java.lang.Thread.currentThread().getContextClassLoader()
    delta = _loader(context, DELTA_EXTENSION)
    if delta is None:
        raise SessionNotAttachableError(reason="its class path does not contain delta-spark")
    if _loader(context, USAGE_TRACKING_EXTENSION) is not None:
        return False
    mutable = jvm.java.lang.Class.forName("org.apache.spark.util.MutableURLClassLoader")
    # The last one is Delta's own loader, or else the loader of `--jars`, a parent of the loader
    # of every session.
    loaders = [loader for loader in (*_chain(context), delta) if mutable.isInstance(loader)]
    if not loaders:
        raise SessionNotAttachableError(
            reason="no jar can be added to the class path of its driver"
        )
    loaders[-1].addURL(jvm.java.io.File(str(path)).toURI().toURL())
    return True


def _chain(loader: JavaObject | None) -> Iterator[JavaObject]:
    """Yields a class loader and its parents."""
    while loader is not None:
        yield loader
        loader = loader.getParent()


def _loader(context: JavaObject, name: str) -> JavaObject | None:
    """Returns the class loader of a class; None if the context finds no such class."""
    from py4j.protocol import Py4JJavaError

    try:
        return context.loadClass(name).getClassLoader()
    except Py4JJavaError as error:
        if error.java_exception.getClass().getName() != "java.lang.ClassNotFoundException":
            raise
        return None


def require_jars(jvm: Any) -> None:
    """Raises for a JVM without the extensions, of which Spark only warns, or with another jar."""
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


# A key, a separator, and a value. A backslash at the end of a line continues the value.
_ENTRY = re.compile(
    r"^[ \t\f]*([^#!\s=:][^\s=:]*)[ \t\f]*[=:]?[ \t\f]*((?:\\[\s\S]|[^\\\n])*)", re.MULTILINE
)
_BACKSLASH = re.compile(r"\\(?:\n[ \t\f]*|(.))")


def defaults_file(environ: Mapping[str, str]) -> Path | None:
    """Returns the path at which Spark looks for its defaults; None if no Spark is installed."""
    folder = environ.get("SPARK_CONF_DIR")
    if folder:
        return Path(folder) / "spark-defaults.conf"
    home = spark_home(environ)
    return None if home is None else home / "conf" / "spark-defaults.conf"


def spark_home(environ: Mapping[str, str]) -> Path | None:
    """Returns SPARK_HOME, or else the Spark inside the package pyspark; None if neither exists."""
    if environ.get("SPARK_HOME"):
        return Path(environ["SPARK_HOME"])
    import pyspark

    package = Path(pyspark.__file__).parent
    # pyspark/find_spark_home.py searches these folders too. `pyspark-client` contains no jars.
    candidates = (
        *(Path("..").resolve(), package / "spark-distribution", package),
        package.parent.parent,  # of a distribution whose folder `python` is in PYTHONPATH
    )
    for path in candidates:
        if os.path.isfile(path / "bin" / "spark-submit") and os.path.isdir(path / "jars"):
            return path
    return None


def defaults(file: Path | None) -> dict[str, str]:
    r"""Returns the settings of a defaults file; none if the file does not exist.

    A backslash before another character than the end of a line is removed. Escapes such as `\t` and
    `\u00fc` have no meaning here. Raises OSError if the file cannot be read, so that no session
    starts.

    Source: Spark 4.2, `Utils.getPropertiesFromFile`: UTF-8, and U+FFFD for bytes that are not
    UTF-8; Spark ignores a path that is not a file. Java 17, `java.util.Properties.load(Reader)`.
    """
    # Java does the same: a file in an unreadable folder does not exist.
    if file is None or not os.path.isfile(file):
        return {}
    text = file.read_text(encoding="utf-8", errors="replace")
    return {
        entry[1]: _BACKSLASH.sub(lambda found: found[1] or "", entry[2]).strip()
        for entry in _ENTRY.finditer(text)
    }
