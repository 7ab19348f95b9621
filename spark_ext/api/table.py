# SPDX-License-Identifier: Apache-2.0
"""Usage tracking of one table, through SQL only."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Literal

from spark_ext.api.alignment import NameAlignment, align
from spark_ext.api.dropped_result import DroppedColumns
from spark_ext.api.functions import answer, literal
from spark_ext.api.named_table import flag_of, named_table
from spark_ext.api.progress import Progress, reported, shown
from spark_ext.api.refusals import run
from spark_ext.api.removal import RemovalState, remove
from spark_ext.api.removal_setting import copying
from spark_ext.api.removal_stages import RemovalStages
from spark_ext.api.statements import StatementRunner
from spark_ext.api.status import ColumnMappingStatus, status_of
from spark_ext.errors import MalformedMessageError
from spark_ext.model.column_mapping import mode_of
from spark_ext.model.dropped import DroppedColumn
from spark_ext.model.former_ids import aligning_mode
from spark_ext.model.keys import ALIGNING, FEATURE_NAME, FEATURE_PROPERTY
from spark_ext.removal.alignment import AligningTable
from spark_ext.removal.stages import STAGES, RemovalStage
from spark_ext.wire.rows import of_row

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Row, SparkSession

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

    def __init__(self, spark: SparkSession, name: str) -> None:
        self._spark = spark
        self._name = name

    def __repr__(self) -> str:
        # Asks no table: debuggers and error messages call it as well.
        return f"UsageTracking({self._name!r})"

    def _repr_html_(self) -> str:
        return self.status()._repr_html_()

    @classmethod
    def forName(cls, spark: SparkSession, name: str) -> UsageTracking:
        """The tracking of the table that SQL finds by `name` here and now.

        It stays that table, whatever catalog and schema are used afterwards.

        Raises:
            AnalysisException: DELTA_MISSING_DELTA_TABLE; USAGE_TRACKING_INVALID_TABLE_NAME;
                USAGE_TRACKING_AMBIGUOUS_TABLE_NAME, where SQL means a table of another catalog
                and `DeltaTable.forName` one of the session catalog;
                USAGE_TRACKING_KERNEL_TABLE; Spark's, for a view;
                USAGE_TRACKING_TABLE_FUNCTION_FAILED, where a catalog or a storage fails.
            SessionWithoutExtensionError: USAGE_TRACKING_NOT_IN_SESSION.
            DifferentVersionsError: The session has a jar of another version.
        """
        return cls(spark, named_table(spark, literal(name))["name"])

    @classmethod
    def forPath(cls, spark: SparkSession, path: str | os.PathLike[str]) -> UsageTracking:
        """The tracking of the table at `path`, as `DeltaTable.forPath` finds it.

        Raises:
            AnalysisException: DELTA_MISSING_DELTA_TABLE, also for a path inside a table or with a
                version (`@v1`); USAGE_TRACKING_KERNEL_TABLE;
                DELTA_PATH_BASED_ACCESS_TO_CATALOG_MANAGED_TABLE_BLOCKED;
                USAGE_TRACKING_TABLE_FUNCTION_FAILED, where a storage fails.
            SessionWithoutExtensionError: USAGE_TRACKING_NOT_IN_SESSION.
            DifferentVersionsError: The session has a jar of another version.
        """
        return cls(spark, named_table(spark, literal(os.fspath(path)), "true")["name"])

    def enable(self) -> None:
        """Adds the feature to the table's protocol; does nothing where it is there.

        The flag starts as false on a table without column mapping, as true on one with it: what
        happened to its columns before is not known.
        """
        table = self._table()
        if not table["tracked"]:
            run(
                self._spark,
                f"ALTER TABLE {table['sqlName']}"
                f" SET TBLPROPERTIES ('{FEATURE_PROPERTY}' = 'supported')",
            )

    def disable(self) -> None:
        """Drops the feature and the flag in one commit. Column mapping stays as it is.

        Raises:
            AnalysisException: DELTA_FEATURE_DROP_FEATURE_NOT_PRESENT on an untracked table.
        """
        run(self._spark, f"ALTER TABLE {self._table()['sqlName']} DROP FEATURE {FEATURE_NAME}")

    @property
    def has_dropped_or_renamed(self) -> bool | None:
        """Whether a column was ever dropped or renamed; None for an untracked table.

        A flag that is missing or not a boolean, left by a foreign writer, counts as true.
        """
        return flag_of(self._table())

    def columns(self) -> DataFrame:
        """Every column at every level, parents first.

        Returns:
            `path`, `name`, `physicalName`, `id` and `type` of each; physical name and id are null
            without column mapping. `addedVersion` is the table's version that added the column,
            `renamedVersion` the last one that renamed it; null where none did, or where the log
            no longer goes back to it. `nameInFilesOf` is the column that has this one's name in
            data files, which misleads readers that go by names; null where none has.
        """
        return self._of_table("column_mapping")

    def status(self) -> ColumnMappingStatus:
        """Mode, feature, flag and protocol, what made the flag true, what was dropped or renamed.

        It reads what the log says of metadata, and no data file.
        """
        (row,) = self._of_table("column_mapping_status").collect()
        return status_of(self._name, row)

    def history(self) -> DataFrame:
        """What happened to the names of columns at every level, oldest first.

        Returns:
            `version`, `timestamp`, `operation` and `userName` of each commit, `change` (`add`,
            `drop`, `rename`), and the column's `id`, `oldName` and `newName`, which are paths. The
            first four are null where the log begins after the column was added.
        """
        return self._of_table("column_mapping_history")

    def dropped_columns(
        self, *, progress: Callable[[Progress], None] | None = shown
    ) -> DroppedColumns:
        """Where the data of every dropped column still is, and what takes it away.

        It reads the log, the table's folder and the footers of every file there, in Spark jobs,
        and changes nothing.

        Args:
            progress: Called before, while and after Spark reads; None for silence.

        Raises:
            AnalysisException: USAGE_TRACKING_UNREADABLE_LOG.
            ProgressFailedError: USAGE_TRACKING_PROGRESS_FAILED.
        """
        function = "column_mapping_dropped"
        with reported(self._spark, f"{function}({self._name})", progress):
            rows = self._of_table(function).collect()
        return DroppedColumns(self._name, tuple(of_row(DroppedColumn, row) for row in rows))

    def remove_column_mapping(
        self,
        *,
        dry_run: bool = False,
        exact: bool = False,
        until: Until = "unmapped",
        progress: Callable[[Progress], None] | None = shown,
    ) -> RemovalStages:
        """Removes column mapping as far as `until`, and returns where the table is.

        Where the flag is false and every physical name is its column's name, the first stage is
        one commit of metadata. Else the bytes of the files are copied under the columns' names,
        of an untracked table too; a file that has these names and no dropped column stays.
        Delta rewrites files whose bytes cannot be copied, and all of them where
        `spark.sparkext.columnMapping.removal` is `rewrite`.

        Args:
            dry_run: Only return that.
            exact: Count how many files are kept, copied and rewritten, by reading their footers in
                a Spark job; else `num_files` is an upper bound.
            until: `unmapped`: the mode, for readers that ignore column mapping. `readers`: the
                feature out of the protocol, for readers of protocol version 1. `writers`: what it
                and usage tracking leave behind as well. Delta then deletes history older than
                `delta.dropFeatureTruncateHistory.retentionDuration` (24 hours); until there is
                none of it left that stage is not reached, and the same call has to be made again.
            progress: Called before, while and after each statement runs; None for silence.

        Returns:
            The three stages, with what each statement did in `done`. Those until `until` are
            `reached`, but for one that waits for Delta's retention period: that one has its
            `reasons`, and what is left of its `statements` was not run. Only a dry run returns
            stages that are blocked.

        Raises:
            ValueError: `until` is none of the three.
            ProgressFailedError: USAGE_TRACKING_PROGRESS_FAILED, where `progress` raised after the
                first call for a statement. What the statement did stands.
            CannotRemoveColumnMappingError: USAGE_TRACKING_CANNOT_REMOVE_COLUMN_MAPPING, before
                any statement is run, if one of the stages until `until` is blocked.
            AnalysisException: Delta's refusals; USAGE_TRACKING_UNREADABLE_DATA_FILE. The table
                then is as it was. After USAGE_TRACKING_FAILED_AFTER_COMMIT it has the result of
                the statement.

        Source:
            RFC, introduction; Delta 4.4.0, alterDeltaTableCommands.scala,
            `AlterTableDropFeatureDeltaCommand`.
        """
        if until not in STAGES:
            raise ValueError(f"Cannot remove column mapping until {until!r}: use one of {STAGES}.")
        with copying(self._spark):
            if dry_run:
                return self._stages(exact=exact)
            run = self._runner(progress, waiting=_WAITS_FOR_RETENTION_PERIOD).run
            return remove(lambda: self._removing(exact=exact), run, until=until)

    def align_names(
        self,
        *,
        dry_run: bool = False,
        to_name_mode: bool = False,
        progress: Callable[[Progress], None] | None = shown,
    ) -> NameAlignment:
        """Gives every column its own name in the files, and keeps column mapping.

        The table removes column mapping as by `remove_column_mapping`, is tracked anew where its
        flag is true or it was not tracked, and is mapped again: its flag is false then. Nothing is
        done where all that is so already. Whatever ends the call, the next one goes on from where
        the table is.

        Args:
            dry_run: Only say what would be done.
            to_name_mode: Let a table in mode `id` come back in mode `name`; there is no way back
                to `id`.
            progress: As in `remove_column_mapping`.

        Returns:
            Where the table is, with the statements that were run, and those that are left.

        Raises:
            NotMappedError: USAGE_TRACKING_NOT_MAPPED, where column mapping is off and no call was
                interrupted.
            ModeIdLostError: USAGE_TRACKING_MODE_ID_LOST, in mode `id` without `to_name_mode`.
            CannotAlignNamesError: USAGE_TRACKING_CANNOT_ALIGN_NAMES, where names or other
                features keep column mapping on. Nothing is done then.
            AlignmentConflictError: USAGE_TRACKING_ALIGNMENT_CONFLICT, where others undid a step.
            ProgressFailedError: As `remove_column_mapping`.
            AnalysisException: As `remove_column_mapping`.
        """
        # Then somebody else has done this step.
        passed_over = {"DELTA_FEATURE_DROP_FEATURE_NOT_PRESENT"}
        with copying(self._spark):
            runner = self._runner(progress, passed_over=passed_over)
            return align(self._aligning, runner.run, dry_run=dry_run, to_name_mode=to_name_mode)

    def _runner(
        self,
        progress: Callable[[Progress], None] | None,
        *,
        waiting: Collection[str] = (),
        passed_over: Collection[str] = (),
    ) -> StatementRunner:
        return StatementRunner(
            self._spark, self._table, progress, waiting=waiting, passed_over=passed_over
        )

    def _removing(self, *, exact: bool) -> RemovalState:
        # The version first: nothing that the stages show is older.
        table = self._table()
        return RemovalState(table["sqlName"], table["version"], self._stages(exact=exact))

    def _aligning(self) -> AligningTable:
        table = self._table()
        shown = run(self._spark, f"SHOW TBLPROPERTIES {table['sqlName']}").collect()
        properties = {row["key"]: row["value"] for row in shown}
        aligning = properties.get(ALIGNING)
        return AligningTable(
            name=table["sqlName"],
            version=table["version"],
            mode=mode_of(properties),
            flag=flag_of(table),
            aligning=None if aligning is None else aligning_mode(aligning),
            unmapped=self._stages(exact=False)[0],
        )

    def _stages(self, *, exact: bool) -> RemovalStages:
        arguments = ("true",) if exact else ()
        rows = self._of_table("column_mapping_removal", *arguments).collect()
        stages = RemovalStages(of_row(RemovalStage, row) for row in rows)
        told = tuple(step.stage for step in stages)
        if told != STAGES:
            # One that is missing would count as reached.
            raise MalformedMessageError(
                path="answer", problem=f"has not the stages {STAGES}: {told}"
            )
        return stages

    def _of_table(self, function: str, *arguments: str) -> DataFrame:
        return answer(self._spark, function, literal(self._name), *arguments)

    def _table(self) -> Row:
        return named_table(self._spark, literal(self._name))
