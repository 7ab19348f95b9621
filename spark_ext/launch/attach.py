# SPDX-License-Identifier: Apache-2.0
"""Adds usage tracking to a session that already runs, such as a hosted notebook's."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from spark_ext.errors import SessionNotAttachableError
from spark_ext.launch.releases import DELTA_EXTENSION, USAGE_TRACKING_EXTENSION, require_version
from spark_ext.launch.session import EXTENSIONS, entries, is_connect, jar, joined

if TYPE_CHECKING:
    from py4j.java_gateway import JavaObject, JVMView
    from pyspark.sql import SparkSession


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
    _name_extension(spark.sparkContext._jsc.sc().conf())
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


def _name_extension(conf: JavaObject) -> None:
    """Adds our extension for the sessions that this application builds from now on."""
    named = conf.get(EXTENSIONS, "")
    # If the setting does not name Delta's extension, a session with only ours would fail to start.
    if DELTA_EXTENSION in entries(named):
        conf.set(EXTENSIONS, joined(named, USAGE_TRACKING_EXTENSION))
