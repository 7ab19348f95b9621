# SPDX-License-Identifier: Apache-2.0
"""Usage tracking of one table, through SQL only."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Literal

from spark_ext.errors import MalformedMessageError
from spark_ext.model.dropped import Asked
from spark_ext.model.metadata import FileCount, parsed_flag
from spark_ext.model.rows import of_row
from spark_ext.removal.stages import (
    NOTHING,
    STAGES,
    TRACKED,
    RemovalStage,
    drop_statement,
    set_statement,
    waiting,
)
from spark_ext.tables.erase import DroppedColumns, dropped_columns_of
from spark_ext.tables.goals import Alignment, Begun, Goal, Plan, Removal, reach
from spark_ext.tables.progress import Progress, reported, shown_statement
from spark_ext.tables.results import (
    ColumnMappingStatus,
    NameAlignment,
    RemovalStages,
    status_of,
    total,
)
from spark_ext.tables.sql import Statements, answer, copying, literal, named_table, run

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Row, SparkSession


Until = Literal["unmapped", "readers", "writers"]


class UsageTracking:
    """The column mapping usage tracking of one Delta table.

    Create an instance with `forName` or `forPath`. Every method reads the table again.

    Source: RFC *Column Mapping Usage Tracking*, section "Usage Tracking".

    Example:
        `UsageTracking.forName(spark, "db.t").enable()`
    """

    def __init__(self, spark: SparkSession, name: str) -> None:
        self._spark = spark
        self._name = name

    def __repr__(self) -> str:
        # Debuggers and error messages call this too, so no table is read.
        return f"UsageTracking({self._name!r})"

    def _repr_html_(self) -> str:
        return self.status()._repr_html_()

    @classmethod
    def forName(cls, spark: SparkSession, name: str) -> UsageTracking:
        """Returns the tracking of the table that SQL finds by `name` now.

        The result refers to the same table after a change of the current catalog or schema. The
        session may be of Spark Connect.

        Raises:
            AnalysisException: DELTA_MISSING_DELTA_TABLE; USAGE_TRACKING_INVALID_TABLE_NAME;
                USAGE_TRACKING_AMBIGUOUS_TABLE_NAME, if SQL finds a table of another catalog and
                `DeltaTable.forName` a table of the session catalog; USAGE_TRACKING_KERNEL_TABLE;
                Spark's condition for a view; USAGE_TRACKING_TABLE_FUNCTION_FAILED, if a catalog or
                a storage fails.
            SessionWithoutExtensionError: USAGE_TRACKING_NOT_IN_SESSION.
            DifferentVersionsError: The session has a jar of another version.
        """
        return cls(spark, named_table(spark, literal(name))["name"])

    @classmethod
    def forPath(cls, spark: SparkSession, path: str | os.PathLike[str]) -> UsageTracking:
        """Returns the tracking of the table in a folder, as `DeltaTable.forPath` finds it.

        Raises:
            AnalysisException: As `forName`, as are the other errors. DELTA_MISSING_DELTA_TABLE,
                also for a path inside a table or with a version (`@v1`);
                DELTA_PATH_BASED_ACCESS_TO_CATALOG_MANAGED_TABLE_BLOCKED.
        """
        return cls(spark, named_table(spark, literal(os.fspath(path)), "true")["name"])

    def enable(self) -> None:
        """Adds the feature to the protocol of the table; does nothing if the table is tracked.

        The flag starts as false on a table without column mapping. On a mapped table, or if column
        mapping was only partly removed, the flag starts as true, because earlier drops and renames
        are unknown.

        Source: RFC, "Writer Requirements for Usage Tracking".
        """
        table = self._row()
        if not table["tracked"]:
            run(self._spark, set_statement(table["sqlName"], TRACKED))

    def disable(self) -> None:
        """Drops the feature and the flag in one commit, and keeps column mapping.

        Raises:
            AnalysisException: DELTA_FEATURE_DROP_FEATURE_NOT_PRESENT on an untracked table.
        """
        run(self._spark, drop_statement(self._row()["sqlName"]))

    @property
    def has_dropped_or_renamed(self) -> bool | None:
        """Returns whether a column was ever dropped or renamed; None for an untracked table.

        A flag that another writer removed, or set to a value that is not a boolean, counts as true.
        """
        row = self._row()
        return parsed_flag(row["hasDroppedOrRenamed"]) is not False if row["tracked"] else None

    def columns(self) -> DataFrame:
        """Returns every column at every level, parents first.

        Returns:
            A row for each column: `path`, `name`, `physicalName`, `id` (from 1) and `type`;
            physical name and id are null without column mapping. `addedVersion` is the version
            (from 0) that added the column, and `renamedVersion` the last version that renamed it;
            null if none did, or if the log is too short to contain that commit. `nameInFilesOf` is
            the column that has this name in data files, which misleads readers that use names; null
            if there is none.
        """
        return self._answer("column_mapping")

    def status(self) -> ColumnMappingStatus:
        """Returns mode, feature, flag and protocol, and the changes of columns, from the log alone.

        Raises:
            AnalysisException: USAGE_TRACKING_UNREADABLE_LOG.
        """
        (row,) = self._answer("column_mapping_status").collect()
        return status_of(self._name, row)

    def history(self) -> DataFrame:
        """Returns the additions, drops and renames of columns at every level, oldest first.

        Returns:
            A row for each change: `version` (from 0), `timestamp`, `operation` and `userName` of
            the commit, `change` (`add`, `drop` or `rename`), and `id`, `oldName` and `newName` of
            the column, which are paths. The first four are null if the log starts after the column
            was added.
        """
        return self._answer("column_mapping_history")

    def dropped_columns(
        self,
        *,
        column: str | None = None,
        progress: Callable[[Progress], None] | None = shown_statement,
    ) -> DroppedColumns:
        """Returns what remains of dropped columns, and what deletes it. Changes nothing.

        The method reads the log, the folder of the table and the footers of every file there, in
        Spark jobs. The arguments are as in `spark_ext.dropped_columns`.

        Raises:
            AnalysisException: USAGE_TRACKING_UNREADABLE_LOG.
            ProgressFailedError: USAGE_TRACKING_PROGRESS_FAILED.
        """
        name = self._name
        with reported(self._spark, f"column_mapping_dropped({name})", progress):
            return dropped_columns_of(self._spark, name, Asked(column))

    def remove_column_mapping(
        self,
        *,
        dry_run: bool = False,
        exact: bool = False,
        until: Until = "unmapped",
        progress: Callable[[Progress], None] | None = shown_statement,
    ) -> RemovalStages:
        """Removes column mapping up to the stage `until`, and returns the stages.

        If the flag is false and every physical name equals the logical name, the first stage is one
        commit of metadata. Else the stage copies the files, also of an untracked table: it copies
        the column chunks unchanged and writes a new footer with the logical names. A file that
        already has these names and no dropped column is kept. Delta rewrites the files whose bytes
        cannot be copied, and rewrites all files if `spark.sparkext.columnMapping.removal` is
        `rewrite`.

        Args:
            dry_run: Return the stages, and change nothing.
            exact: In a dry run, count the files that are kept, copied and rewritten, by reading
                their footers in a Spark job; without it, `num_files` is an upper bound.
            until: The last stage. `unmapped` sets the mode to none, for readers that ignore column
                mapping. `readers` drops the feature `columnMapping`, for readers of protocol
                version 1. `writers` also drops usage tracking and checkpoint protection: Delta
                deletes history older than `delta.dropFeatureTruncateHistory.retentionDuration` (24
                hours). If newer history must be deleted too, the stage is not reached, and the call
                has to be repeated.
            progress: Called before, while and after each statement runs; None for no reports.

        Returns:
            The three stages; `done` has the result of each statement. A stage that waits for
            Delta's retention period is not `reached`: it has `reasons`, and the rest of its
            `statements` has not run. Only a dry run returns blocked stages up to `until`.

        Raises:
            ValueError: `until` is not a stage.
            ProgressFailedError: USAGE_TRACKING_PROGRESS_FAILED, if `progress` raised after the
                first call for a statement. The result of the statement remains.
            CannotRemoveColumnMappingError: USAGE_TRACKING_CANNOT_REMOVE_COLUMN_MAPPING, if one of
                the stages up to `until` is blocked: mostly before any statement runs. Another
                writer may block a stage, or undo it, after statements ran: see `params["done"]`.
            AnalysisException: Delta's refusals; USAGE_TRACKING_UNREADABLE_DATA_FILE. The statement
                changed nothing then, and the results of earlier statements remain. After
                USAGE_TRACKING_FAILED_AFTER_COMMIT the table has the result of the statement.

        Source: RFC, introduction; Delta 4.4.0, alterDeltaTableCommands.scala,
        `AlterTableDropFeatureDeltaCommand`.
        """
        goal = Removal(until)
        with copying(self._spark):
            if dry_run:
                return self._stages(exact=exact)
            _, begun = self._reach(goal, progress)
            stages = self._stages(exact=False)
            left = [at for at in range(STAGES.index(until) + 1) if not stages[at].reached]
            if left and begun.done and begun.done[-1].waits:
                stages[left[0]] = waiting(stages[left[0]])
            return RemovalStages(stages, tuple(begun.done))

    def align_names(
        self,
        *,
        dry_run: bool = False,
        to_name_mode: bool = False,
        progress: Callable[[Progress], None] | None = shown_statement,
    ) -> NameAlignment:
        """Makes every physical name equal to the logical name, and keeps column mapping.

        The method removes column mapping as `remove_column_mapping` does, tracks the table again if
        the flag is true or the table is untracked, and enables column mapping again. The flag is
        false then. On an aligned table the method does nothing. If a call is interrupted, the next
        call continues.

        Args:
            dry_run: Return the statements, and run none.
            to_name_mode: Allow a table in mode `id` to end in mode `name`. Delta does not change
                the mode back to `id`.
            progress: As in `remove_column_mapping`.

        Raises:
            NotMappedError: USAGE_TRACKING_NOT_MAPPED, if column mapping is off and no call was
                interrupted.
            ModeIdLostError: USAGE_TRACKING_MODE_ID_LOST, in mode `id` without `to_name_mode`.
            CannotAlignNamesError: USAGE_TRACKING_CANNOT_ALIGN_NAMES, if names or other features
                block the removal of column mapping. The table is unchanged then, unless another
                writer caused the error between two statements.
            AlignmentConflictError: USAGE_TRACKING_ALIGNMENT_CONFLICT, if another writer undid a
                step.
            ProgressFailedError: As `remove_column_mapping`.
            AnalysisException: As `remove_column_mapping`. The property
                `sparkext.columnMapping.aligning` of an earlier statement remains: call again.
        """
        goal = Alignment(to_name_mode)
        with copying(self._spark):
            if not dry_run:
                return alignment_of(*self._reach(goal, progress))
            row = Statements(self._spark, self._name, None).read()
            plan = goal.plan(row)
            if plan.refusal is not None:
                raise plan.refusal
            return alignment_of(plan, Begun(row))

    def _row(self) -> Row:
        """Returns the row of `column_mapping_named_table` as it is now."""
        return named_table(self._spark, literal(self._name))

    def _answer(self, function: str, *arguments: str) -> DataFrame:
        """Returns the rows of a table function, which finds the table again by its full name."""
        return answer(self._spark, function, literal(self._name), *arguments)

    def _stages(self, *, exact: bool) -> RemovalStages:
        """Returns the stages of a removal. A jar with other stages raises."""
        arguments = ("true",) if exact else ()
        rows = self._answer("column_mapping_removal", *arguments).collect()
        stages = RemovalStages(of_row(RemovalStage, row) for row in rows)
        names = tuple(stage.stage for stage in stages)
        if names != STAGES:
            # A missing stage would count as reached.
            problem = f"has the stages {names}, and not {STAGES}"
            raise MalformedMessageError(path="answer", problem=problem)
        return stages

    def _reach(self, goal: Goal, progress: Callable[[Progress], None] | None) -> tuple[Plan, Begun]:
        may_wait = isinstance(goal, Removal)
        table = Statements(self._spark, self._name, progress, may_wait=may_wait)
        begun = Begun(table.read())
        return reach(goal, table, begun), begun


def alignment_of(plan: Plan, begun: Begun) -> NameAlignment:
    """Returns the state of a table after statements, and before those that remain."""
    row = plan.row
    # The removal from an aligned table is not part of the alignment.
    before = begun.removal.row if begun.removal else None if row.is_aligned else row
    cost = NOTHING if before is None else str(before.unmapped)
    files = FileCount() if before is None else before.files_to_change(cost)
    counted = [count for each in begun.done for count in (each.copied, each.rewritten) if count]
    if cost != NOTHING and counted:
        files = total(counted)
    return NameAlignment(
        table=row.table,
        aligned=row.is_aligned,
        mode=str(row.mode),
        cost=cost,
        num_files=files.num_files,
        size_in_bytes=files.size_in_bytes,
        done=tuple(begun.done),
        statements=plan.statements,
    )
