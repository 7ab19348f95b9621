# SPDX-License-Identifier: Apache-2.0
"""Sets `spark.sparkext.columnMapping.removal` while `remove_column_mapping` runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock
from typing import TYPE_CHECKING, Any

from spark_ext.launch.session import is_connect
from spark_ext.model.keys import REMOVAL, REMOVAL_COPY

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# The threads that remove column mapping, by session.
_removing: Counter[str] = Counter()
_lock = Lock()


@contextmanager
def copying(spark: SparkSession) -> Iterator[None]:
    """Makes the body copy the files of untracked tables too, unless the session has the setting.

    If several threads share a session, the last thread unsets the setting. Any other value that
    the user sets meanwhile is kept.
    """
    session = _id(spark)
    with _lock:
        value = spark.conf.get(REMOVAL, None)
        ours = value is None or (value == REMOVAL_COPY and _removing[session] > 0)
        if ours:
            spark.conf.set(REMOVAL, REMOVAL_COPY)
            _removing[session] += 1
    try:
        yield
    finally:
        if ours:
            with _lock:
                _removing[session] -= 1
                if not _removing[session] and spark.conf.get(REMOVAL, None) == REMOVAL_COPY:
                    spark.conf.unset(REMOVAL)


def _id(spark: Any) -> str:
    """Returns the id of a session, which all its Python objects share."""
    return str(spark.session_id if is_connect(spark) else spark._jsparkSession.sessionUUID())
