# SPDX-License-Identifier: Apache-2.0
"""Sets settings of a session for a while."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from pyspark.sql import SparkSession

SetConf = Callable[[str, str], None]


@contextmanager
def session_conf(spark: SparkSession, settings: Mapping[str, str | None]) -> Iterator[None]:
    """Sets these settings until the body ends; None is the default."""
    before = {key: spark.conf.get(key, None) for key in settings}
    put(spark, settings)
    try:
        yield
    finally:
        put(spark, before)


def put(spark: SparkSession, settings: Mapping[str, str | None]) -> None:
    for key, value in settings.items():
        if value is None:
            spark.conf.unset(key)
        else:
            spark.conf.set(key, value)
