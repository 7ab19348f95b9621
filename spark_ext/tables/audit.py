# SPDX-License-Identifier: Apache-2.0
"""Audits one table."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from spark_ext.auditing.check import DAMAGE, RISK, Finding
from spark_ext.errors import SessionWithoutExtensionError
from spark_ext.launch.session import is_connect
from spark_ext.model.rows import as_row, of_row, plain
from spark_ext.model.schema import backticked
from spark_ext.show import Lines, Part, Rendered, Table
from spark_ext.tables.options import require_number
from spark_ext.tables.progress import Progress, reported, shown_statement
from spark_ext.tables.sql import answer, is_path, literal

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


_PLACES = ("severity", "version", "check", "column", "file")


@dataclass(frozen=True, repr=False)
class AuditResult(Rendered):
    """The findings of one table, the worst first. A healthy table has none, or risks only."""

    table: str
    findings: tuple[Finding, ...]

    @property
    def num_damages(self) -> int:
        """Returns the number of findings of damage."""
        return sum(finding.severity == DAMAGE for finding in self.findings)

    @property
    def num_risks(self) -> int:
        """Returns the number of findings of risk."""
        return len(self.findings) - self.num_damages

    def as_objects(self) -> Iterable[dict[str, Any]]:
        """Returns each finding with its table, for JSON."""
        return (plain({"table": self.table, **as_row(each)}) for each in self.findings)

    def _parts(self) -> Iterator[Part]:
        counts = {DAMAGE: self.num_damages, RISK: self.num_risks}
        parts = ", ".join(f"{number} {severity}" for severity, number in counts.items() if number)
        number = len(self.findings)
        words = {0: "no findings", 1: f"1 finding ({parts})"}
        many = f"{number} findings ({parts}), worst first"
        yield Lines(f"{self.table}: {words.get(number, many)}")
        if self.findings:
            rows = [
                (at, *(getattr(finding, place) for place in _PLACES))
                for at, finding in enumerate(self.findings, 1)
            ]
            yield Table(("", *_PLACES), rows, "The findings, the worst first")
        for at, finding in enumerate(self.findings, 1):
            yield Lines(f"{at}. {finding.message}", [f"What to do: {finding.remedy}"])


_FUNCTION = "column_mapping_audit"
_ALL_FILES = -1


def audit(
    spark: SparkSession,
    table: str | os.PathLike[str],
    *,
    sample: int | None = None,
    progress: Callable[[Progress], None] | None = shown_statement,
) -> AuditResult:
    """Reads the log of a table and the footers of its files, and returns the findings.

    The audit changes nothing, and reads tables that this session could not write. A classic session
    without spark-ext gets the jar on its class path, and no hook.

    Args:
        spark: Any session with Delta; with Spark Connect, the server needs spark-ext.
        table: A name, or a path: a text with a slash outside of backticks.
        sample: The number of data files whose footers are read; None for all.
        progress: Called before, while and after Spark reads; None for no reports.

    Raises:
        TypeError: `table` is neither a text nor a path, or `sample` is not an integer; ValueError
            if `sample` is negative.
        AnalysisException: DELTA_MISSING_DELTA_TABLE; USAGE_TRACKING_INVALID_TABLE_NAME;
            USAGE_TRACKING_UNREADABLE_LOG.
        SessionWithoutExtensionError: USAGE_TRACKING_NOT_IN_SESSION, with Spark Connect.
        SessionNotAttachableError: USAGE_TRACKING_SESSION_NOT_ATTACHABLE, if the session lacks
            Delta, or if its class path accepts no further jar.
        DifferentVersionsError: The session has a jar of another version.
        ProgressFailedError: USAGE_TRACKING_PROGRESS_FAILED.

    Example:
        `spark_ext.audit(spark, "db.t").findings`
    """
    name = _sql_name(table)
    if sample is not None:
        require_number("sample", sample, 0)
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
    # Through the jar's class: the session gets no hook.
    from pyspark.sql import DataFrame

    from spark_ext.launch.attach import add_jar

    audit = add_jar(spark).sparkext.sql.TableAudit
    wanted = _ALL_FILES if sample is None else sample
    found: DataFrame = DataFrame(audit.rows(spark._jsparkSession, name, wanted), spark)
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
