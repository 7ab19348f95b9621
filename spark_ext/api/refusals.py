# SPDX-License-Identifier: Apache-2.0
"""Runs the statements of this package, and classifies the errors of Spark and Delta."""

from __future__ import annotations

import logging
import re
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from pyspark.errors import PySparkException, UnknownException
from pyspark.logger import PySparkLogger

from spark_ext.errors import SparkExtError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

# Spark's conditions for a cancelled job, and for a cancelled statement of Spark Connect.
_CANCELLED = {"SPARK_JOB_CANCELLED", "OPERATION_CANCELED"}

# Delta's conflicts have no condition. Without Delta's Python package, they have a text only.
_CONFLICT = re.compile(
    r"(?:Concurrent\w+|MetadataChanged|ProtocolChanged)Exception|USAGE_TRACKING_ALIGNMENT_CONFLICT"
)

# Some errors of Java contain whole stacks.
_MAX_TEXT = 2_000

_runs_ours: ContextVar[bool] = ContextVar("spark_ext_runs_ours", default=False)


def run(spark: SparkSession, statement: str) -> DataFrame:
    """Runs a statement that this package wrote.

    PySpark logs an error that has a position in a query, with 25 kB of stack traces. The query is
    not the user's, so the error is raised and not logged.

    Raises:
        AnalysisException: An error with a condition for which PySpark has no class, such as Delta's
            DELTA_FEATURE_DROP_FEATURE_NOT_PRESENT.
    """
    # The logger ignores a filter that it already has.
    PySparkLogger.getLogger("SQLQueryContextLogger").addFilter(_is_of_the_user)
    before = _runs_ours.set(True)
    try:
        return spark.sql(statement)
    except Exception as error:
        known = _of_pyspark(error)
        if known is error:
            raise
        raise known from None
    finally:
        _runs_ours.reset(before)


def condition_of(error: BaseException) -> str | None:
    """Returns the condition of an error of `run`; None if the error has none."""
    return error.getCondition() if isinstance(error, PySparkException) else None


def described(error: BaseException) -> tuple[str, str]:
    """Returns the condition of an error, or the name of its class, and its text."""
    if isinstance(error, SparkExtError):
        return error.condition, str(error)
    thrown = getattr(error, "java_exception", None)
    text = str(error) if thrown is None else str(thrown.toString())
    return condition_of(error) or type(error).__name__, text[:_MAX_TEXT]


def is_conflict(error: BaseException) -> bool:
    """Returns whether a statement failed because another writer changed the table."""
    return any(map(_CONFLICT.search, described(error)))


def is_cancellation(error: BaseException) -> bool:
    """Returns whether the cancellation of a job or of a statement is a cause of an error."""
    thrown = getattr(error, "java_exception", None) or getattr(error, "_origin", None)
    return condition_of(error) in _CANCELLED or (thrown is not None and _is_cancellation(thrown))


def _is_cancellation(thrown: Any) -> bool:
    while thrown is not None:
        if _condition(thrown) in _CANCELLED or "Interrupt" in thrown.getClass().getName():
            return True
        thrown = thrown.getCause()
    return False


def _condition(thrown: Any) -> str | None:
    from py4j.protocol import Py4JError

    try:
        condition: str | None = thrown.getCondition()
    except Py4JError:  # an exception without a condition
        return None
    return condition


def _is_of_the_user(_: logging.LogRecord) -> bool:
    return not _runs_ours.get()


def _of_pyspark(error: Exception) -> Exception:
    """Returns an AnalysisException for a condition without a PySpark class; else the error."""
    if isinstance(error, UnknownException):
        return _of_server(error)
    thrown = getattr(error, "java_exception", None)
    if thrown is None:
        return error

    from pyspark.errors.exceptions.captured import AnalysisException

    return error if _condition(thrown) is None else AnalysisException(origin=thrown)


def _of_server(error: UnknownException) -> Exception:
    if error.getCondition() is None:
        return error

    from pyspark.errors.exceptions.connect import AnalysisException

    return AnalysisException(
        error.getMessage(),
        errorClass=error.getCondition(),
        messageParameters=error.getMessageParameters(),
        sql_state=error.getSqlState(),
    )
