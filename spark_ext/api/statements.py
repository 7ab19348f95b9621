# SPDX-License-Identifier: Apache-2.0
"""Runs the statements of a removal or an alignment, and returns their results."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING

from pyspark.errors import AnalysisException

from spark_ext.api.functions import answer, literal
from spark_ext.api.named_table import rows_of, sql_name
from spark_ext.api.progress import Progress, reported
from spark_ext.api.refusals import condition_of, run
from spark_ext.model.metadata import FileCount
from spark_ext.model.operations import REMOVE_COLUMN_MAPPING
from spark_ext.removal.survey import SurveyedTable
from spark_ext.show.tables import cell

if TYPE_CHECKING:
    from pyspark.sql import Row, SparkSession


@dataclass(frozen=True)
class StatementResult:
    """The result of a statement.

    Args:
        statement: The SQL text.
        version_before: The newest version of the table before the statement, from 0.
        version_after: The newest version afterwards. Other writers may have committed in between.
        seconds: The duration in seconds.
        waits: Whether Delta requires a second run after its retention period.
        kept: The files that a removal kept; a metadata-only removal counts no file. None if the
            statement removes no column mapping, or if its counts are unknown, as after Delta's
            rewrite beside other commits. The same holds for the next two.
        copied: The files that a removal copied, and their size before, in bytes.
        rewritten: The files that Delta rewrote for a removal, and their size before, in bytes.
    """

    statement: str
    version_before: int
    version_after: int
    seconds: float
    waits: bool = False
    kept: FileCount | None = None
    copied: FileCount | None = None
    rewritten: FileCount | None = None

    def __str__(self) -> str:
        parts = [
            f"{cell(self.statement)}: version {self.version_before} to {self.version_after}",
            f"{self.seconds:.1f} s",
            *(["waits for the retention period"] if self.waits else []),
            *counted_in_words(self.kept, self.copied, self.rewritten),
        ]
        return ", ".join(parts)


def counted_in_words(
    kept: FileCount | None, copied: FileCount | None, rewritten: FileCount | None
) -> list[str]:
    """Returns the known counts of files that a removal kept, copied and rewrote, in words."""
    counts = {"kept": kept, "copied": copied, "rewritten": rewritten}
    return [
        f"{count.num_files:,} {name} ({count.size_in_bytes:,} bytes)"
        for name, count in counts.items()
        if count is not None
    ]


# Delta deletes history only after the retention period. The same statement continues then.
_WAITS_FOR_RETENTION_PERIOD = {
    "DELTA_FEATURE_DROP_WAIT_FOR_RETENTION_PERIOD",
    "DELTA_FEATURE_DROP_HISTORICAL_VERSIONS_EXIST",
    "DELTA_FEATURE_DROP_CHECKPOINT_PROTECTION_WAIT_FOR_RETENTION_PERIOD",
}
# Another writer has dropped the feature.
_ALREADY_DROPPED = {"DELTA_FEATURE_DROP_FEATURE_NOT_PRESENT"}

NO_FILES: Mapping[str, FileCount] = MappingProxyType(
    dict.fromkeys(("kept", "copied", "rewritten"), FileCount())
)


class Statements:
    """Runs statements on a table.

    Args:
        spark: The session.
        name: The full name of the table.
        progress: Called before, while and after each statement runs; None for silence.
        before: Called before each statement; the statement does not run if it raises.
    """

    def __init__(
        self,
        spark: SparkSession,
        name: str,
        progress: Callable[[Progress], None] | None,
        *,
        before: Callable[[], object] = lambda: None,
    ) -> None:
        self._spark = spark
        self._name = name
        self.sql_name = sql_name(spark, name)
        self._progress = progress
        self._before = before

    def read(self) -> SurveyedTable:
        """Returns the row of the table as it is now, with its name for SQL.

        Raises:
            AnalysisException: The table cannot be read.
        """
        (row,) = rows_of(self._spark, [self._name])
        if row.error is not None:
            message = str(row.message).removeprefix(f"[{row.error}] ")
            raise AnalysisException(message, errorClass=row.error, messageParameters={})
        return replace(row, table=self.sql_name)

    def run(self, statement: str) -> bool:
        """Runs a statement, and returns whether Delta requires a second run later."""
        self._before()
        with reported(self._spark, statement, self._progress):
            try:
                run(self._spark, statement)
            except Exception as refusal:
                condition = condition_of(refusal)
                if condition not in _WAITS_FOR_RETENTION_PERIOD | _ALREADY_DROPPED:
                    raise
                return condition in _WAITS_FOR_RETENTION_PERIOD
        return False

    def counts_since(self, version: int) -> Mapping[str, FileCount]:
        """Returns the counts of the newest removal after a version, by name.

        The result is empty without a removal. Delta's own rewrite has no counts.
        """
        newer = commits_since(self._spark, self._name, version)
        done = next((row for row in newer if row["operation"] == REMOVE_COLUMN_MAPPING), None)
        metrics = {} if done is None else done["operationMetrics"] or {}
        return {
            name.lower(): FileCount(
                int(metrics[f"num{name}Files"]), int(metrics[f"num{name}Bytes"])
            )
            for name in ("Kept", "Copied", "Rewritten")
            if f"num{name}Bytes" in metrics
        }


def commits_since(spark: SparkSession, name: str, version: int) -> list[Row]:
    """Returns the rows of `column_mapping_commits` after a version, newest first.

    Args:
        spark: The session.
        name: The full name of the table.
        version: The version, from 0; -1 for all commits.
    """
    return answer(spark, "column_mapping_commits", literal(name), f"{version}L").collect()
