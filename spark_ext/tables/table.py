# SPDX-License-Identifier: Apache-2.0
"""Usage tracking of one table, through SQL only, and its results."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from spark_ext.errors import MalformedMessageError
from spark_ext.model.dropped import Asked
from spark_ext.model.keys import MODE_NONE
from spark_ext.model.metadata import FileCount, StatusRow, parsed_flag
from spark_ext.model.rows import of_row
from spark_ext.removal import stages
from spark_ext.removal.reasons import reason_in_words, what_to_do
from spark_ext.show import CARE, GOOD, Coloured, Facts, Lines, Part, Rendered, Table, cell
from spark_ext.tables.goals import Alignment, Begun, Goal, Plan, Removal, Until, reach
from spark_ext.tables.inspect import DroppedColumns, dropped_columns_of
from spark_ext.tables.progress import Progress, reported, shown_statement
from spark_ext.tables.report import StatementResult, in_words, removal_counts
from spark_ext.tables.sql import Statements, answer, copying, literal, named_table, run

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Row, SparkSession


_COLUMNS = ("stage", "reached", "cost", "files", "bytes")
# A wide table has a reason for each of its columns.
_REASONS = 3


class RemovalStages(Rendered, list[stages.RemovalStage]):
    """The three stages: a list that prints as a table; `done` has the statements that ran."""

    def __init__(
        self, found: Iterable[stages.RemovalStage] = (), done: tuple[StatementResult, ...] = ()
    ) -> None:
        super().__init__(found)
        self.done = done

    def _parts(self) -> Iterator[Part]:
        yield Table(_COLUMNS, list(map(_cells, self)), "The removal stages")
        for stage in self:
            if stage.reasons or stage.statements:
                advice = what_to_do(stage.reasons) if stage.cost == stages.BLOCKED else None
                lines = (*stage.statements, *([advice] if advice else []))
                yield Lines(f"{stage.stage}: {_reasons(stage)}".rstrip(), lines)
        if self.done:
            yield Lines("done:", tuple(map(str, self.done)))


def _cells(stage: stages.RemovalStage) -> tuple[Any, ...]:
    numbers = (stage.num_files, stage.size_in_bytes)
    counts = (f"{number:,}" if stage.exact else f"at most {number:,}" for number in numbers)
    return (stage.stage, stage.reached, stage.cost, *counts)


def _reasons(stage: stages.RemovalStage) -> str:
    shown = cell(list(map(reason_in_words, stage.reasons[:_REASONS])))
    more = len(stage.reasons) - _REASONS
    return f"{shown} and {more:,} more" if more > 0 else shown


@dataclass(frozen=True, repr=False)
class NameAlignment(Rendered):
    """The state of an alignment of names: the statements that ran, and those that remain.

    Args:
        aligned: Whether column mapping is on, the flag is false, and every physical name equals the
            logical name.
        mode: The current column mapping mode.
        cost: The cost of the removal of column mapping, as in `RemovalStage`; `NOTHING` if no
            removal is necessary.
        num_files: The number of files that the removal copies or rewrites; an upper bound until the
            removal is done and its counts are known.
        size_in_bytes: The size of these files, in bytes.
        done: The results of the statements that ran, in order.
        statements: The statements that remain.
    """

    table: str
    aligned: bool
    mode: str
    cost: str
    num_files: int
    size_in_bytes: int
    done: tuple[StatementResult, ...]
    statements: tuple[str, ...]

    @property
    def kept(self) -> FileCount | None:
        """Returns the files that the removal kept; None before it, or without counts."""
        return removal_counts(self.done).get("kept")

    @property
    def copied(self) -> FileCount | None:
        """Returns the files that the removal copied; None as for `kept`."""
        return removal_counts(self.done).get("copied")

    @property
    def rewritten(self) -> FileCount | None:
        """Returns the files that Delta rewrote for the removal; None as for `kept`."""
        return removal_counts(self.done).get("rewritten")

    def _parts(self) -> Iterator[Part]:
        at_most = f"at most {self.num_files:,} ({self.size_in_bytes:,} bytes)"
        facts: dict[str, Any] = {
            "table": self.table,
            "aligned": self.aligned,
            "mode": self.mode,
            "cost": self.cost,
            "files": in_words(removal_counts(self.done)) or at_most,
        }
        if self.done:
            seconds = sum(result.seconds for result in self.done)
            versions = f"{self.done[0].version_before} to {self.done[-1].version_after}"
            facts |= {"seconds": f"{seconds:.1f}", "versions": versions}
        yield Facts(facts)
        if self.done:
            yield Lines("done:", tuple(map(str, self.done)))
        if self.statements:
            yield Lines("remaining:", self.statements)


# A table may have thousands of changes; only the newest are shown.
_SHOWN = 20
_NEXT = (
    "UsageTracking.align_names(dry_run=True)",
    "UsageTracking.remove_column_mapping(dry_run=True)",
)
_CHANGES = {
    **{name: name for name in ("version", "timestamp", "operation")},
    **{"user": "user_name", "change": "change", "old name": "old_name", "new name": "new_name"},
}


@dataclass(frozen=True, repr=False)
class ColumnMappingStatus(Rendered, StatusRow):
    """The status of a table, and the changes that led to it.

    Args:
        mode: The column mapping mode: `none`, `name` or `id`.
        tracked: Whether the table has the feature `columnMappingUsageTracking`.
        has_dropped_or_renamed: The flag; None for an untracked table. A flag that is missing or not
            a boolean counts as true.
        true_since: The commit that made the flag true; None if the flag is not true, or if the log
            no longer has that commit (`history_from`).
        reader_features: Empty below reader version 3.
        writer_features: Empty below writer version 7.
        dropped_or_renamed: The drops and renames of columns, oldest first, tracked or not.
        history_from: The oldest version in the log, from 0; earlier changes are unknown.
    """

    table: str
    reader_features: tuple[str, ...]
    writer_features: tuple[str, ...]

    def _parts(self) -> Iterator[Part]:
        features = sorted({*self.reader_features, *self.writer_features})
        versions = f"reader {self.min_reader_version}, writer {self.min_writer_version}"
        number = len(self.dropped_or_renamed)
        newest = self.dropped_or_renamed[-_SHOWN:]
        yield Facts(
            {
                "table": self.table,
                "mode": self.mode,
                "tracked": self.tracked,
                "has dropped or renamed": self._flag(),
                "protocol": versions,
                "features": features,
                "history": f"from version {self.history_from}" if self.history_from else "whole",
                "columns dropped or renamed": f"{number:,}"
                + (f", the newest {_SHOWN}:" if number > _SHOWN else ""),
            }
        )
        if newest:
            yield Table.of(_CHANGES, newest, "Columns that were dropped or renamed")
        if self.mode != MODE_NONE and self.has_dropped_or_renamed is not False:
            yield Lines("Next, see the cost of readable names, or of the removal:", _NEXT)

    def _flag(self) -> Coloured | None:
        if not self.has_dropped_or_renamed:
            return None if self.has_dropped_or_renamed is None else Coloured("false", GOOD)
        since = self.true_since
        if since is None:
            return Coloured("true, since a version that the log no longer has", CARE)
        known = {"": since.operation, "by ": since.user_name, "at ": since.timestamp}
        details = [f"{word}{value}" for word, value in known.items() if value is not None]
        more = f" ({', '.join(details)})" * bool(details)
        return Coloured(f"true since version {since.version}{more}", CARE)


def status_of(table: str, row: Row) -> ColumnMappingStatus:
    """Returns the status in the row of `column_mapping_status`. Raises as `of_row`."""
    values = vars(of_row(StatusRow, row))
    features = {name: values[name] or () for name in ("reader_features", "writer_features")}
    return ColumnMappingStatus(**(values | features), table=table)


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
            run(self._spark, stages.set_statement(table["sqlName"], stages.TRACKED))

    def disable(self) -> None:
        """Drops the feature and the flag in one commit, and keeps column mapping.

        Raises:
            AnalysisException: DELTA_FEATURE_DROP_FEATURE_NOT_PRESENT on an untracked table.
        """
        run(self._spark, stages.drop_statement(self._row()["sqlName"]))

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
            found = self._stages(exact=False)
            found.done = tuple(begun.done)
            left = [at for at in range(stages.STAGES.index(until) + 1) if not found[at].reached]
            if left and begun.done and begun.done[-1].waits:
                found[left[0]] = stages.waiting(found[left[0]])
            return found

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
        found = RemovalStages(of_row(stages.RemovalStage, row) for row in rows)
        names = tuple(stage.stage for stage in found)
        if names != stages.STAGES:
            # A missing stage would count as reached.
            problem = f"has the stages {names}, and not {stages.STAGES}"
            raise MalformedMessageError(path="answer", problem=problem)
        return found

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
    cost = stages.NOTHING if before is None else str(before.unmapped)
    files = FileCount() if before is None else before.files_to_change(cost)
    counted = [count for each in begun.done for count in (each.copied, each.rewritten) if count]
    if cost != stages.NOTHING and counted:
        files = sum(counted, FileCount())
    return NameAlignment(
        row.table,
        row.is_aligned,
        str(row.mode),
        cost,
        files.num_files,
        files.size_in_bytes,
        tuple(begun.done),
        plan.statements,
    )
