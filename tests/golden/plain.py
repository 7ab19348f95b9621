# SPDX-License-Identifier: Apache-2.0
"""Runs a session of plain delta-spark in a separate process."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from pyspark.sql import SparkSession

from tests.support.custom_sessions import DELTA, resolved_jars, session
from tests.support.processes import new_process


@contextmanager
def plain_session(spark: SparkSession, folder: Path) -> Iterator[Callable[[list[str]], object]]:
    """Yields a function that runs statements in the session."""
    jars = resolved_jars(spark)
    with new_process() as run:
        yield lambda statements: run(execute, folder / "plain", jars, statements)


def execute(home: Path, jars: list[str], statements: list[str]) -> None:
    spark = session(home, jars, extensions=[DELTA]).getOrCreate()
    for statement in statements:
        spark.sql(statement)
