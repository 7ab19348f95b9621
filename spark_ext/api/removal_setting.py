# SPDX-License-Identifier: Apache-2.0
"""`spark.sparkext.columnMapping.removal`, as `remove_column_mapping` sets it while it runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock
from typing import TYPE_CHECKING

from spark_ext.model.keys import REMOVAL, REMOVAL_COPY

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# The threads that are leaving a table's column mapping, by their session.
_leaving: Counter[str] = Counter()
_lock = Lock()


@contextmanager
def copying(spark: SparkSession) -> Iterator[None]:
    """Has untracked tables copied as well while the body runs, unless the session says a way.

    Where several threads share a session, the last one restores it.
    """
    session = _id(spark)
    with _lock:
        ours = _leaving[session] > 0 or spark.conf.get(REMOVAL, None) is None
        if ours:
            spark.conf.set(REMOVAL, REMOVAL_COPY)
            _leaving[session] += 1
    try:
        yield
    finally:
        if ours:
            with _lock:
                _leaving[session] -= 1
                if not _leaving[session]:
                    spark.conf.unset(REMOVAL)


def _id(spark: SparkSession) -> str:
    """A session's id, which all its Python objects share."""
    from pyspark.sql import SparkSession

    if isinstance(spark, SparkSession):
        return str(spark._jsparkSession.sessionUUID())
    return str(spark.session_id)
