# SPDX-License-Identifier: Apache-2.0
"""Usage tracking of one table, through SQL and the DeltaTable API only."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cached_property
from typing import Any, Literal

from delta.tables import DeltaTable
from py4j.protocol import Py4JError, Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from spark_ext.api.progress import Progress, reported, shown
from spark_ext.errors import MalformedMessageError
from spark_ext.leave.exits import (
    EXITS,
    ColumnMappingExit,
    Reason,
    disabling_statement,
    is_refused_by_delta,
    waiting,
)
from spark_ext.model.keys import FEATURE_NAME, HAS_DROPPED_OR_RENAMED
from spark_ext.model.schema import backticked

Until = Literal["unmapped", "readers", "writers"]

# Delta deletes history only once its retention period is over; the same statement goes on then.
_WAITS_FOR_RETENTION_PERIOD = {
    "DELTA_FEATURE_DROP_WAIT_FOR_RETENTION_PERIOD",
    "DELTA_FEATURE_DROP_HISTORICAL_VERSIONS_EXIST",
    "DELTA_FEATURE_DROP_CHECKPOINT_PROTECTION_WAIT_FOR_RETENTION_PERIOD",
}


class UsageTracking:
    """Column mapping usage tracking of one Delta table.

    Source:
        RFC *Column Mapping Usage Tracking*, section "Usage Tracking".

    Example:
        `UsageTracking.forName(spark, "db.t").enable()`
    """

    def __init__(self, spark: SparkSession, table: DeltaTable, name: str | None = None) -> None:
        self._spark = spark
        self._table = table
        self._given_name = name

    @classmethod
    def forName(cls, spark: SparkSession, name: str) -> UsageTracking:
        """The tracking of the table `name`, as `DeltaTable.forName` finds it."""
        return cls(spark, DeltaTable.forName(spark, name), _qualified(spark, name))

    @classmethod
    def forPath(cls, spark: SparkSession, path: str) -> UsageTracking:
        """The tracking of the table at `path`, as `DeltaTable.forPath` finds it."""
        return cls(spark, DeltaTable.forPath(spark, path))

    def enable(self) -> None:
        """Adds the feature to the table's protocol; does nothing where it is there.

        The flag starts as false on a table without column mapping, as true on one with it: what
        happened to its columns before is not known.

        Raises:
            AnalysisException: Delta's, where the session has no extension.
        """
        if FEATURE_NAME not in self._detail()["tableFeatures"]:
            self._table.addFeatureSupport(FEATURE_NAME)

    def disable(self) -> None:
        """Drops the feature and the flag in one commit. Column mapping stays as it is.

        Raises:
            AnalysisException: DELTA_FEATURE_DROP_FEATURE_NOT_PRESENT on an untracked table.
        """
        self._table.dropFeatureSupport(FEATURE_NAME)

    @property
    def has_dropped_or_renamed(self) -> bool | None:
        """Whether a column was ever dropped or renamed; None for an untracked table.

        A flag that is missing or not a boolean, left by a foreign writer, counts as true.
        """
        detail = self._detail()
        if FEATURE_NAME not in detail["tableFeatures"]:
            return None
        properties: dict[str, str] = detail["properties"]
        return properties.get(HAS_DROPPED_OR_RENAMED, "").lower() != "false"

    def columns(self) -> DataFrame:
        """Every column at every level, parents first.

        Returns:
            `path`, `name`, `physicalName`, `id` and `type` of each; physical name and id are null
            without column mapping.
        """
        return self._of_table("column_mapping")

    def disable_column_mapping(
        self,
        *,
        dry_run: bool = False,
        until: Until = "unmapped",
        progress: Callable[[Progress], None] | None = shown,
    ) -> list[ColumnMappingExit]:
        """Leaves column mapping as far as `until`, exit by exit, and tells where the table is.

        Where the flag is false and every physical name is its column's name, the first exit is
        one commit of metadata; else Delta rewrites all files.

        Args:
            dry_run: Only tell.
            until: `unmapped`: the mode, for readers that ignore column mapping. `readers`: the
                feature out of the protocol, for readers of protocol version 1. `writers`: what it
                and usage tracking leave behind as well. Delta then deletes history older than
                `delta.dropFeatureTruncateHistory.retentionDuration` (24 hours); until there is
                none of it left that exit is not reached, and the same call has to be made again.
            progress: Called before, while and after each statement runs; None for silence.

        Returns:
            The three exits. One that Delta cannot reach yet, or that another feature blocks, is
            not `reached` and has its `reasons`; what is left of its `statements` was not run.

        Raises:
            ValueError: `until` is none of the three.
            ProgressFailedError: USAGE_TRACKING_PROGRESS_FAILED, where `progress` raised after the
                first call for a statement. What the statement did stands.
            AnalysisException: Delta's refusals, among them
                DELTA_INVALID_COLUMN_NAMES_WHEN_REMOVING_COLUMN_MAPPING.

        Source:
            RFC, introduction; Delta 4.4.0, alterDeltaTableCommands.scala,
            `AlterTableDropFeatureDeltaCommand`.
        """
        if until not in EXITS:
            raise ValueError(f"Cannot leave column mapping until {until!r}: use one of {EXITS}.")
        exits = self._exits()
        if dry_run:
            return exits
        for number in range(EXITS.index(until) + 1):
            waits = self._take(exits[number], progress)
            exits = self._exits()
            if not exits[number].reached:
                if waits:
                    exits[number] = waiting(exits[number])
                break
        return exits

    def _take(self, step: ColumnMappingExit, progress: Callable[[Progress], None] | None) -> bool:
        """Runs the statements of an exit; whether Delta wants its retention period to pass."""
        statements = step.statements
        if is_refused_by_delta(step):
            # Delta has its own words for the names and features that block it.
            statements = (disabling_statement(self._name),)
        for statement in statements:
            waits = False
            with reported(self._spark, statement, progress):
                try:
                    self._spark.sql(statement)
                except (PySparkException, Py4JJavaError) as refusal:
                    waits = _condition(refusal) in _WAITS_FOR_RETENTION_PERIOD
                    if not waits:
                        raise
            if waits:
                return True
        return False

    def _exits(self) -> list[ColumnMappingExit]:
        exits = []
        for row in self._of_table("column_mapping_exit").collect():
            values = row.asDict()
            values["reasons"] = tuple(Reason(*reason) for reason in values["reasons"])
            values["statements"] = tuple(values["statements"])
            values["num_files"] = values.pop("numFiles")
            values["size_in_bytes"] = values.pop("sizeInBytes")
            exits.append(ColumnMappingExit(**values))
        told = tuple(step.exit for step in exits)
        if told != EXITS:
            # One that is missing would count as reached.
            raise MalformedMessageError(path="answer", problem=f"has not the exits {EXITS}: {told}")
        return exits

    def _of_table(self, function: str) -> DataFrame:
        name = self._name.replace("\\", "\\\\").replace("'", "\\'")
        return self._spark.sql(f"SELECT * FROM {function}('{name}')")

    @cached_property
    def _name(self) -> str:
        """As SQL has it."""
        if self._given_name is not None:
            return self._given_name
        location: str = self._detail()["location"]
        return "delta." + backticked(location)

    def _detail(self) -> dict[str, Any]:
        """The row of DESCRIBE DETAIL."""
        (detail,) = self._table.detail().collect()
        return detail.asDict()


def _qualified(spark: SparkSession, name: str) -> str:
    """The name as it is found from any catalog and database."""
    parts = re.findall(r"`(?:[^`]|``)+`|[^.`]+", name)
    if len(parts) > 2 or parts[0].strip("`").lower() == "delta":
        return name
    here = [spark.catalog.currentCatalog(), spark.catalog.currentDatabase()]
    return ".".join([*map(backticked, here[: 3 - len(parts)]), name])


def _condition(error: PySparkException | Py4JJavaError) -> str | None:
    if isinstance(error, PySparkException):
        return error.getCondition()
    # An error of Delta that is no AnalysisException reaches PySpark as it is in the JVM.
    try:
        condition: str | None = error.java_exception.getCondition()
    except Py4JError:  # an exception that has none
        return None
    return condition
