# SPDX-License-Identifier: Apache-2.0
"""Usage tracking for a session that somebody else started, such as a hosted notebook's."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from spark_ext.errors import SessionNotAttachableError
from spark_ext.launch.class_path import entries
from spark_ext.launch.releases import DELTA_EXTENSION, USAGE_TRACKING_EXTENSION, require_version
from spark_ext.launch.session import EXTENSIONS, is_remote, jar, joined

if TYPE_CHECKING:
    from py4j.java_gateway import JavaObject, JVMView
    from pyspark.sql import SparkSession


def attach(spark: SparkSession) -> SparkSession:
    """Gives a running session what `configure` gives one at its start.

    Nothing of the session is lost: views, settings, running queries. Sessions made from it later
    have usage tracking as well, and so have those of this application that are built anew. Those
    that are there already each need a call of their own.

    Args:
        spark: A session with Delta's extension and catalog; one that is whole is left as it is.

    Returns:
        `spark` itself.

    Raises:
        TypeError: `spark` is not a session.
        ExtensionJarMissingError: The jar was not built.
        SessionNotAttachableError: USAGE_TRACKING_SESSION_NOT_ATTACHABLE, for a session of Spark
            Connect, whose server needs the extension, and where Delta or a place for our jar is
            not found.
        DifferentVersionsError: The session has a jar of another version.
        AnalysisException: The same condition where the session takes no further rule;
            USAGE_TRACKING_DELTA_ALREADY_LOADED, where the JVM has `-XX:+DisableAttachMechanism`;
            USAGE_TRACKING_UNSUPPORTED_DELTA_VERSION;
            DELTA_CONFIGURE_SPARK_SESSION_WITH_EXTENSION_AND_CATALOG.
    """
    from pyspark.sql import SparkSession

    if is_remote(spark):
        raise SessionNotAttachableError(reason="it is one of Spark Connect, whose server needs it")
    if not isinstance(spark, SparkSession):
        raise TypeError(f"Cannot attach to {spark!r}: it is not a SparkSession.")
    jvm = add_jar(spark)
    jvm.sparkext.SessionAttachment.attach(spark._jsparkSession)
    _name_extension(spark.sparkContext._jsc.sc().conf())
    return spark


def add_jar(spark: SparkSession) -> JVMView:
    """Puts our jar where a running classic session and its executors find it, and no hook.

    Returns:
        The JVM, with our classes.

    Raises:
        ExtensionJarMissingError: The jar was not built.
        SessionNotAttachableError: Delta, or a place for our jar, is not found.
        DifferentVersionsError: The session has a jar of another version.
    """
    context = spark.sparkContext
    jvm: JVMView = context._jvm
    if _add_to_class_path(jvm, jar()):
        context._jsc.addJar(str(jar()))  # for the executors
    require_version(jvm.sparkext.release.Versions.ours())
    return jvm


def _add_to_class_path(jvm: JVMView, path: Path) -> bool:
    """Puts the jar where the driver's classes find it; False where it is there already."""
    context = jvm.java.lang.Thread.currentThread().getContextClassLoader()
    delta = _loader(context, DELTA_EXTENSION)
    if delta is None:
        raise SessionNotAttachableError(reason="its class path has no delta-spark")
    if _loader(context, USAGE_TRACKING_EXTENSION) is not None:
        return False
    mutable = jvm.java.lang.Class.forName("org.apache.spark.util.MutableURLClassLoader")
    # Beside Delta; else where spark-submit puts `--jars`, below which every session looks.
    loaders = [loader for loader in (*_chain(context), delta) if mutable.isInstance(loader)]
    if not loaders:
        raise SessionNotAttachableError(reason="its driver's class path takes no further jar")
    loaders[-1].addURL(jvm.java.io.File(str(path)).toURI().toURL())
    return True


def _chain(loader: JavaObject | None) -> Iterator[JavaObject]:
    """A class loader and those above it."""
    while loader is not None:
        yield loader
        loader = loader.getParent()


def _loader(context: JavaObject, name: str) -> JavaObject | None:
    """The class loader that has a class; None where the context sees none."""
    from py4j.protocol import Py4JJavaError

    try:
        return context.loadClass(name).getClassLoader()
    except Py4JJavaError as error:
        if error.java_exception.getClass().getName() != "java.lang.ClassNotFoundException":
            raise
        return None


def _name_extension(conf: JavaObject) -> None:
    """What is built in this application from now on reads its extensions there."""
    named = conf.get(EXTENSIONS, "")
    # Where Delta's came another way, ours alone would end the start of a session.
    if DELTA_EXTENSION in entries(named):
        conf.set(EXTENSIONS, joined(named, USAGE_TRACKING_EXTENSION))
