# SPDX-License-Identifier: Apache-2.0
"""Runs the statements of a removal or an alignment, and returns their results."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark.errors import PySparkException

from spark_ext.api.functions import answer, literal
from spark_ext.api.progress import Progress, reported
from spark_ext.api.refusals import condition_of, run
from spark_ext.model.metadata import FileCount
from spark_ext.model.operations import REMOVE_COLUMN_MAPPING
from spark_ext.model.schema import path_of
from spark_ext.removal.stages import METADATA, REWRITE, RemovalStage
from spark_ext.show.tables import cell

if TYPE_CHECKING:
    from pyspark.sql import Row, SparkSession

_FIRST_LIMIT, _FACTOR = 10, 10

_MAX_PARTS = 3


@dataclass(frozen=True)
class StatementResult:
    """The result of a statement.

    Args:
        statement: The SQL text.
        version_before: The newest version of the table before the statement, from 0.
        version_after: The newest version afterwards. Other writers may have committed in between.
        seconds: The duration in seconds.
        waits: Whether Delta requires a second run after its retention period.
        kept: The files that a removal kept. None if the statement removes no column mapping, or if
            its commit lacks counts; the same holds for the next two.
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


class StatementRunner:
    """Runs statements on one table.

    Args:
        spark: The session.
        table: Reads the table's row of `column_mapping_named_table`.
        progress: Called before, while and after each statement runs; None for silence.
        waiting: The conditions with which Delta requires a second run later.
        passed_over: The conditions that mean that another writer did the same earlier.
        ran: Called with the result of each statement, also if a later statement fails.
    """

    def __init__(
        self,
        spark: SparkSession,
        table: Callable[[], Row],
        progress: Callable[[Progress], None] | None,
        *,
        waiting: Collection[str] = (),
        passed_over: Collection[str] = (),
        ran: Callable[[StatementResult], object] = lambda _: None,
    ) -> None:
        self._spark = spark
        self._table = table
        self._progress = progress
        self._waiting = waiting
        self._passed_over = passed_over
        self._ran = ran

    def run(
        self, statement: str, version: int, removal: RemovalStage | None = None
    ) -> StatementResult:
        """Runs a statement.

        Args:
            statement: Its SQL.
            version: The newest version of the table, read before `removal`.
            removal: The stage before the statement, if the statement removes column mapping.
        """
        started = time.monotonic()
        waits = False
        with reported(self._spark, statement, self._progress):
            try:
                run(self._spark, statement)
            except Exception as refusal:
                condition = condition_of(refusal)
                waits = condition in self._waiting
                if not waits and condition not in self._passed_over:
                    raise
        seconds = time.monotonic() - started
        after = self._table()
        counts = {} if removal is None else self._counts(after, version, removal)
        result = StatementResult(statement, version, after["version"], seconds, waits, **counts)
        self._ran(result)
        return result

    def _counts(self, after: Row, version: int, removal: RemovalStage) -> Mapping[str, FileCount]:
        alone = after["version"] == version + 1
        if alone and removal.cost in (METADATA, REWRITE):
            # No other writer committed since the stage was read, so its counts are exact.
            rewritten = FileCount(removal.num_files, removal.size_in_bytes)
            return {"kept": FileCount(), "copied": FileCount(), "rewritten": rewritten}
        newer = history_since(self._spark, after["sqlName"], version)
        done = next((row for row in newer if row["operation"] == REMOVE_COLUMN_MAPPING), None)
        return {} if done is None else removal_counts(done["operationMetrics"] or {})


def removal_counts(metrics: Mapping[str, str]) -> Mapping[str, FileCount]:
    """Returns the counts of a removal's commit by name; Delta's own rewrite has no counts."""
    return {
        name.lower(): FileCount(int(metrics[f"num{name}Files"]), int(metrics[f"num{name}Bytes"]))
        for name in ("Kept", "Copied", "Rewritten")
        if f"num{name}Bytes" in metrics
    }


def history_since(spark: SparkSession, name: str, version: int) -> Iterator[Row]:
    """Yields the commits after a version, newest first, as DESCRIBE HISTORY shows them.

    DESCRIBE HISTORY refuses the name of a table in a schema below another schema, so its path is
    used. There are no commits if the session may not read the path.

    Args:
        spark: The session.
        name: The name of the table for SQL.
        version: The version, from 0.

    Source:
        Delta 4.4.0, DeltaSqlParser.scala, `visitTableIdentifier`.
    """
    if len(path_of(name)) <= _MAX_PARTS:
        yield from _history_since(spark, name, version)
        return
    try:
        commits = list(_history_since(spark, _by_path(spark, name), version))
    except PySparkException:
        return
    yield from commits


def _by_path(spark: SparkSession, name: str) -> str:
    (table,) = answer(spark, "column_mapping_named_table", literal(name)).collect()
    arguments = literal(table["location"]), "true"
    (place,) = answer(spark, "column_mapping_named_table", *arguments).collect()
    return str(place["sqlName"])


def _history_since(spark: SparkSession, name: str, version: int) -> Iterator[Row]:
    limit, known = _FIRST_LIMIT, 0
    while True:
        rows = run(spark, f"DESCRIBE HISTORY {name} LIMIT {limit}").collect()
        newer = [row for row in rows if row["version"] > version]
        yield from newer[known:]
        if len(newer) < limit:
            return
        limit, known = limit * _FACTOR, len(newer)
