# SPDX-License-Identifier: Apache-2.0
"""Audits a table: its log and its data files."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from spark_ext.api.audit_result import AuditResult
from spark_ext.api.functions import answer, is_path, literal
from spark_ext.api.progress import Progress, reported, shown
from spark_ext.auditing.findings import Finding
from spark_ext.errors import SessionWithoutExtensionError
from spark_ext.launch.session import is_connect
from spark_ext.model.schema import backticked
from spark_ext.wire.rows import of_row

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_FUNCTION = "column_mapping_audit"
_ALL_FILES = -1


def audit(
    spark: SparkSession,
    table: str | os.PathLike[str],
    *,
    sample: int | None = None,
    progress: Callable[[Progress], None] | None = shown,
) -> AuditResult:
    """Reads the log of a table and the footers of its files, and returns the findings.

    The audit changes nothing, and reads tables that this session could not write. A classic
    session without spark-ext gets the jar on its class path, and no hook.

    Args:
        spark: Any session with Delta; with Spark Connect, the server needs spark-ext.
        table: A name, or a path: a text with a slash outside of backticks.
        sample: The number of data files whose footers are read; None for all.
        progress: Called before, while and after Spark reads; None for no reports.

    Returns:
        The findings, worst first; a healthy table has no finding, or findings of risk only.

    Raises:
        TypeError: `table` is neither a text nor a path, or `sample` is not an integer.
        ValueError: `sample` is negative.
        AnalysisException: DELTA_MISSING_DELTA_TABLE; USAGE_TRACKING_INVALID_TABLE_NAME;
            USAGE_TRACKING_UNREADABLE_LOG.
        SessionWithoutExtensionError: USAGE_TRACKING_NOT_IN_SESSION, with Spark Connect.
        SessionNotAttachableError: USAGE_TRACKING_SESSION_NOT_ATTACHABLE, if the session lacks
            Delta, or if its class path accepts no further jar.
        DifferentVersionsError: The session has a jar of another version.
        ProgressFailedError: USAGE_TRACKING_PROGRESS_FAILED.

    Source:
        Delta protocol and RFC; docs/audit.md has the checks.

    Example:
        `spark_ext.audit(spark, "db.t").findings`
    """
    name = _sql_name(table)
    if sample is not None and type(sample) is not int:
        raise TypeError(f"Cannot read the footers of {sample!r} files: it is not an integer.")
    if sample is not None and sample < 0:
        raise ValueError(f"Cannot read the footers of {sample} files: use 0 or more, or None.")
    with reported(spark, f"{_FUNCTION}({name})", progress):
        rows = _rows(spark, name, sample).collect()
    return AuditResult(os.fspath(table), tuple(of_row(Finding, row) for row in rows))


def _rows(spark: SparkSession, name: str, sample: int | None) -> DataFrame:
    arguments = () if sample is None else (str(sample),)
    try:
        return answer(spark, _FUNCTION, literal(name), *arguments)
    except SessionWithoutExtensionError:
        if is_connect(spark):
            raise
    return _rows_without_extension(spark, name, sample)


def _rows_without_extension(spark: SparkSession, name: str, sample: int | None) -> DataFrame:
    """Returns the rows of the audit through the jar's class; the session gets no hook."""
    from pyspark.sql import DataFrame

    from spark_ext.launch.attach import add_jar

    jvm = add_jar(spark)
    wanted = _ALL_FILES if sample is None else sample
    rows = jvm.sparkext.sql.TableAudit.rows(spark._jsparkSession, name, wanted)
    found: DataFrame = DataFrame(rows, spark)
    return found


def _sql_name(table: Any) -> str:
    """Returns a name as SQL reads it, and a path as ``delta.`<path>` ``.

    Example:
        >>> _sql_name("s3://bucket/t"), _sql_name("db.t"), _sql_name("db.`a/b`")
        ('delta.`s3://bucket/t`', 'db.t', 'db.`a/b`')
    """
    if not isinstance(table, (str, os.PathLike)):
        raise TypeError(f"Cannot audit {table!r}: it is neither a table's name nor a path.")
    text = os.fspath(table)
    has_path = not isinstance(table, str) or is_path(text)
    return f"delta.{backticked(text)}" if has_path else text
