# SPDX-License-Identifier: Apache-2.0
"""Usage tracking of one table, through SQL and the DeltaTable API only."""

from __future__ import annotations

from typing import Any

from delta.tables import DeltaTable
from pyspark.sql import SparkSession

from spark_ext.keys import FEATURE_NAME, HAS_DROPPED_OR_RENAMED


class UsageTracking:
    """Column mapping usage tracking of one Delta table.

    Source:
        RFC *Column Mapping Usage Tracking*, section "Usage Tracking".

    Example:
        `UsageTracking.forName(spark, "db.t").enable()`
    """

    def __init__(self, table: DeltaTable) -> None:
        self._table = table

    @classmethod
    def forName(cls, spark: SparkSession, name: str) -> UsageTracking:
        """The tracking of the table `name`, as `DeltaTable.forName` finds it."""
        return cls(DeltaTable.forName(spark, name))

    @classmethod
    def forPath(cls, spark: SparkSession, path: str) -> UsageTracking:
        """The tracking of the table at `path`, as `DeltaTable.forPath` finds it."""
        return cls(DeltaTable.forPath(spark, path))

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

    def _detail(self) -> dict[str, Any]:
        """The row of DESCRIBE DETAIL."""
        (detail,) = self._table.detail().collect()
        return detail.asDict()
