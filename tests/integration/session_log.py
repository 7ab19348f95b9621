# SPDX-License-Identifier: Apache-2.0
"""Captures log lines of the JVM."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from pyspark.sql import SparkSession


@contextmanager
def session_log(spark: SparkSession, logger: str) -> Iterator[Callable[[], list[str]]]:
    """Yields a function that returns the lines of a logger so far, from INFO on, level first."""
    jvm: Any = spark._jvm
    log4j = jvm.org.apache.logging.log4j
    written = jvm.java.io.StringWriter()
    layout = log4j.core.layout.PatternLayout.newBuilder().withPattern("%level %msg%n").build()
    appender = log4j.core.appender.WriterAppender.createAppender(
        layout, None, written, logger, False, True
    )
    appender.start()
    context = log4j.LogManager.getContext(False)
    config = log4j.core.config.LoggerConfig(logger, log4j.Level.INFO, False)
    config.addAppender(appender, None, None)
    context.getConfiguration().addLogger(logger, config)
    context.updateLoggers()
    try:
        yield lambda: written.toString().splitlines()
    finally:
        context.getConfiguration().removeLogger(logger)
        context.updateLoggers()
