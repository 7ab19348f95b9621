# SPDX-License-Identifier: Apache-2.0
"""Starts the session of a command, and runs a call over many tables in it."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from threading import Event, Thread
from typing import TYPE_CHECKING, TypeVar

from spark_ext.cli.output import error_text, print_error
from spark_ext.launch import (
    CATALOG,
    DRIVER_PYTHON,
    EXTENSIONS,
    JARS,
    PACKAGES,
    configure,
    defaults,
    defaults_file,
)
from spark_ext.tables.threads import receiving_signals

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_Report = TypeVar("_Report")

# The options of a builder replace those of the file, and `configure` adds to the builder's.
_ADDED_TO = (PACKAGES, JARS, EXTENSIONS, CATALOG, DRIVER_PYTHON)
_QUIET = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
}
# The wait for the last lines of a JVM that does not start.
_SECONDS = 2.0


@contextmanager
def own_session(name: str, own: Mapping[str, str] = {}) -> Iterator[SparkSession]:
    """Yields a session with spark-ext and the user's `spark-defaults.conf`.

    Stops the session afterwards, unless this process had a session before. The settings in `own`
    hold unless the user's file has other values.
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


def run(
    command: str,
    call: Callable[[SparkSession], _Report],
    *,
    code_of: Callable[[_Report], int],
    write: Callable[[_Report], bool],
    show: Callable[[_Report], None],
    failed: int,
    settings: Mapping[str, str] = {},
) -> int:
    """Runs a call over many tables, and returns the exit code, at least `failed` after an error.

    The files are written first, because standard output may have no reader, and the session may
    fail to stop. `call` returns the report, or raises an error with the attribute `report`.
    """
    code = None
    try:
        with own_session(command, settings) as spark:
            with receiving_signals():  # A signal after the call waits for the files.
                report, error, number = _ended(call, spark)
                code = code_of(report) if number is None else 128 + number
                is_written = write(report)
            if error is not None or not is_written:
                code = max(code, failed)
            show(report)
            if error is not None:
                raise error
    except Exception as error:  # from spark-ext, Spark, Java, a catalog, or standard output
        print_error(error_text(error))
        return 2 if code is None else max(code, failed)
    return code


def _ended(
    call: Callable[[SparkSession], _Report], spark: SparkSession
) -> tuple[_Report, Exception | None, int | None]:
    """Returns the report of a call, with the error or the number of the signal that ended it."""
    try:
        return call(spark), None, None
    except (Exception, KeyboardInterrupt) as error:
        report: _Report | None = getattr(error, "report", None)
        if report is None:  # no table began
            raise
        if isinstance(error, KeyboardInterrupt):
            return report, None, getattr(error, "signal", signal.SIGINT)
        return report, error, None
