# SPDX-License-Identifier: Apache-2.0
"""What a session refused."""

from __future__ import annotations

from pyspark.errors import PySparkException


def condition_of(error: Exception) -> str | None:
    """The condition of an error; None of one that has none."""
    if isinstance(error, PySparkException):
        return error.getCondition()
    # An error of Delta that is not an AnalysisException reaches PySpark as it is in the JVM.
    thrown = getattr(error, "java_exception", None)
    if thrown is None:
        return None

    from py4j.protocol import Py4JError

    try:
        condition: str | None = thrown.getCondition()
    except Py4JError:  # an exception that has none
        return None
    return condition
