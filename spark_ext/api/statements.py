# SPDX-License-Identifier: Apache-2.0
"""Runs the statements of a removal or an alignment, and returns their results."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Protocol

from spark_ext.api.functions import answer, literal
from spark_ext.api.progress import Progress, reported
from spark_ext.api.refusals import condition_of, run
from spark_ext.model.metadata import FileCount
from spark_ext.model.operations import REMOVE_COLUMN_MAPPING
from spark_ext.removal.stages import METADATA, REWRITE
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


class FilesToChange(Protocol):
    """A stage or a planned table: the cost of a removal, and its files before the statement."""

    @property
    def cost(self) -> str | None:
        """Returns the cost of the removal."""

    @property
    def num_files(self) -> int:
        """Returns the number of files."""

    @property
    def size_in_bytes(self) -> int:
        """Returns their size, in bytes."""


NO_FILES: Mapping[str, FileCount] = MappingProxyType(
    dict.fromkeys(("kept", "copied", "rewritten"), FileCount())
)


class StatementRunner:
    """Runs statements on one table.

    Args:
        spark: The session.
        table: Reads the table's row of `column_mapping_named_table`.
        progress: Called before, while and after each statement runs; None for silence.
        waiting: The conditions with which Delta requires a second run later.
        ignored: The conditions that mean that another writer already did the same.
        ran: Called with the result of each statement, also if a later statement fails.
    """

    def __init__(
        self,
        spark: SparkSession,
        table: Callable[[], Row],
        progress: Callable[[Progress], None] | None,
        *,
        waiting: Collection[str] = (),
        ignored: Collection[str] = (),
        ran: Callable[[StatementResult], object] = lambda _: None,
    ) -> None:
        self._spark = spark
        self._table = table
        self._progress = progress
        self._waiting = waiting
        self._ignored = ignored
        self._ran = ran

    def run(
        self, statement: str, version: int, removal: FilesToChange | None = None
    ) -> StatementResult:
        """Runs a statement.

        Args:
            statement: Its SQL.
            version: The newest version of the table, read before `removal`.
            removal: The files to change, if the statement removes column mapping.
        """
        started = time.monotonic()
        waits = False
        with reported(self._spark, statement, self._progress):
            try:
                run(self._spark, statement)
            except Exception as refusal:
                condition = condition_of(refusal)
                waits = condition in self._waiting
                if not waits and condition not in self._ignored:
                    raise
        seconds = time.monotonic() - started
        after = self._table()
        counts = {} if removal is None else self._counts(after, version, removal)
        result = StatementResult(statement, version, after["version"], seconds, waits, **counts)
        self._ran(result)
        return result

    def _counts(self, after: Row, version: int, removal: FilesToChange) -> Mapping[str, FileCount]:
        if after["version"] == version:
            return NO_FILES  # another writer had removed column mapping
        is_only_commit = after["version"] == version + 1
        if is_only_commit and removal.cost in (METADATA, REWRITE):
            # No other writer committed since these files were counted, so the counts are exact.
            rewritten = FileCount(removal.num_files, removal.size_in_bytes)
            return {**NO_FILES, "rewritten": rewritten}
        return counts_since(self._spark, after["name"], version)


def counts_since(spark: SparkSession, name: str, version: int) -> Mapping[str, FileCount]:
    """Returns the counts of the newest removal after a version, by name.

    The result is empty without a removal. Delta's own rewrite has no counts.
    """
    newer = commits_since(spark, name, version)
    done = next((row for row in newer if row["operation"] == REMOVE_COLUMN_MAPPING), None)
    metrics = {} if done is None else done["operationMetrics"] or {}
    return {
        name.lower(): FileCount(int(metrics[f"num{name}Files"]), int(metrics[f"num{name}Bytes"]))
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
