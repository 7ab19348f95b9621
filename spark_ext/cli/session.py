# SPDX-License-Identifier: Apache-2.0
"""Starts the session of a command, with spark-ext and the user's `spark-defaults.conf`."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from threading import Event, Thread
from types import MappingProxyType
from typing import TYPE_CHECKING

from spark_ext.cli.output import print_error
from spark_ext.errors import SparkExtError
from spark_ext.launch.session import (
    CATALOG,
    DRIVER_PYTHON,
    EXTENSIONS,
    JARS,
    PACKAGES,
    configure,
)
from spark_ext.launch.spark_defaults import defaults, defaults_file

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# The options of a builder replace those of the file, and `configure` adds to the builder's.
_ADDED_TO = (PACKAGES, JARS, EXTENSIONS, CATALOG, DRIVER_PYTHON)
_QUIET = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
}
# The wait for the last lines of a JVM that does not start.
_SECONDS = 2.0
NO_SETTINGS: Mapping[str, str] = MappingProxyType({})


@contextmanager
def own_session(name: str, own: Mapping[str, str] = NO_SETTINGS) -> Iterator[SparkSession]:
    """Yields a session, and stops it afterwards unless this process had a session before.

    Args:
        name: The command.
        own: The settings of the command, unless the user's file has other values.

    Raises:
        SparkExtError: As `configure`.
        OSError: The user's `spark-defaults.conf` cannot be read.
    """
    from pyspark.sql import SparkSession

    is_ours = SparkSession.getActiveSession() is None
    builder = SparkSession.Builder().appName(f"spark-ext {name}")
    settings = defaults(defaults_file(os.environ))
    for key in _ADDED_TO:
        if key in settings:
            builder.config(key, settings[key])
    if is_ours:
        for key, value in {**_QUIET, **own}.items():
            builder.config(key, settings.get(key, value))
    with quiet_unless_it_fails():
        spark = configure(builder).getOrCreate()
    try:
        yield spark
    finally:
        if is_ours:
            spark.stop()


@contextmanager
def quiet_unless_it_fails() -> Iterator[None]:
    """Shows the standard error of programs that start in the body only if the body fails.

    Ivy prints 80 lines while a JVM starts. The JVM keeps the pipe, so a thread shows what the JVM
    prints after the body, such as the errors of Spark.
    """
    before: list[bytes] = []
    has_started = Event()
    reader, writer = os.pipe()
    screen = os.dup(2)

    def read() -> None:
        with suppress(OSError):  # nobody reads standard error
            while text := os.read(reader, 65_536):
                if has_started.is_set():
                    os.write(screen, text)
                else:
                    before.append(text)

    thread = Thread(target=read, name="spark-ext-stderr", daemon=True)
    thread.start()
    os.dup2(writer, 2)
    os.close(writer)
    try:
        yield
    except BaseException:
        os.dup2(screen, 2)
        thread.join(_SECONDS)  # a JVM that has ended has closed the pipe
        print_error(b"".join(before).decode(errors="replace"), end="")
        raise
    finally:
        os.dup2(screen, 2)
        has_started.set()


def error_text(error: Exception) -> str:
    """Returns the condition and the text of an error; Spark's texts contain the condition."""
    return f"[{error.condition}] {error}" if isinstance(error, SparkExtError) else str(error)
