# SPDX-License-Identifier: Apache-2.0
"""The three stages of a removal of column mapping and their costs, for a table and for many."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product

from spark_ext.model import keys
from spark_ext.model.changes import aligning_mode
from spark_ext.model.column_mapping import is_mapped as has_mapping_on
from spark_ext.model.column_mapping import (
    mode_of,
    physical_name,
    satisfy_column_mapping_protocol,
    schema_has_column_mapping_metadata,
)
from spark_ext.model.keys import ALIGNING, FEATURE_NAME, MODE_NONE
from spark_ext.model.metadata import FileCount, Protocol, TableFacts, flag
from spark_ext.model.schema import quoted, walk
from spark_ext.removal.reasons import (
    CATALOG_MANAGED,
    EARLIER_STAGE,
    MAPPING_METADATA_REMAINS,
    OTHER_FEATURE,
    OTHER_SESSIONS,
    READER_VERSION,
    REMOVAL_SETTING,
    RESERVED_COLUMN_NAME,
    RETENTION_PERIOD,
    Reason,
    blocking,
    features_that_need_mapping,
    hidden_columns,
    invalid_names,
    reserved_columns,
    rewrite_reasons,
)

UNMAPPED, READERS, WRITERS = STAGES = ("unmapped", "readers", "writers")

MEANINGS = {
    UNMAPPED: "readable by readers that ignore column mapping",
    READERS: "readable by readers of protocol version 1",
    WRITERS: "writable with the features of protocol version 4 and below",
}

# The costs of a stage.
NOTHING, METADATA, COPY = "NOTHING", "METADATA", "COPY"
REWRITE, HISTORY, BLOCKED = "REWRITE", "HISTORY", "BLOCKED"
# The costs of statements.
CHEAPEST_FIRST = (METADATA, HISTORY, COPY, REWRITE)

# The property that tracks a table.
TRACKED = {keys.FEATURE_PROPERTY: keys.FEATURE_SUPPORTED}

# Protocol, "Valid Feature Names in Table Features": the features of writer versions up to 4.
_FEATURES_OF_WRITER_4 = frozenset(
    {"appendOnly", "invariants", "checkConstraints", "changeDataFeed", "generatedColumns"}
)
_WRITER_6, _WRITER_7, _READER_1, _READER_3 = 6, 7, 1, 3


@dataclass(frozen=True)
class RemovalStage:
    """A stage, for the current state of the table.

    Args:
        stage: `unmapped`, `readers` or `writers`.
        meaning: What the stage makes possible, in words.
        cost: `NOTHING` if the stage is reached, `METADATA` (commits without files), `COPY` (byte
            copies of files with other names or dropped columns), `REWRITE` (of all files, by
            Delta), `HISTORY` (older versions are deleted after the retention period), or `BLOCKED`.
        reasons: The reasons for the cost; if blocked, also for the copy or rewrite needed later.
        num_files: The number of files that are copied or rewritten.
        exact: Whether the files were counted; otherwise the two numbers are upper bounds.
        kept: The files that are unchanged, if a copy was counted; otherwise None, as are `copied`
            (byte copies) and `rewritten` (by Delta, row by row).
        statements: The statements that lead from the stage before to this stage, in order; empty if
            the stage is blocked.
    """

    stage: str
    meaning: str
    reached: bool
    cost: str
    reasons: tuple[Reason, ...] = ()
    num_files: int = 0
    size_in_bytes: int = 0
    exact: bool = True
    kept: FileCount | None = None
    copied: FileCount | None = None
    rewritten: FileCount | None = None
    statements: tuple[str, ...] = ()


def stages(facts: TableFacts) -> tuple[RemovalStage, ...]:
    """Returns the three stages in order, each as if the earlier ones were reached.

    A blocked stage blocks every later stage that is not reached.

    Source: Delta 4.4.0, alterDeltaTableCommands.scala, `AlterTableDropFeatureDeltaCommand`;
    RemoveColumnMappingCommand.scala, `verifySchemaFieldNames`.
    """
    steps: list[RemovalStage] = []
    blocked: str | None = None
    for step in (_unmapped(facts), _readable(facts), _writable(facts)):
        if blocked is not None and step.cost not in (NOTHING, BLOCKED):
            step = _stage(step.stage, BLOCKED, (Reason(EARLIER_STAGE, blocked),))
        if blocked is None and step.cost == BLOCKED:
            blocked = step.stage
        steps.append(step)
    return tuple(steps)


def set_statement(name: str, properties: Mapping[str, str]) -> str:
    """Returns the statement that sets properties of a table."""
    pairs = ", ".join(f"'{key}' = '{value}'" for key, value in properties.items())
    return f"ALTER TABLE {name} SET TBLPROPERTIES ({pairs})"


def removal_statement(name: str) -> str:
    """Returns the statement that removes column mapping."""
    return set_statement(name, {keys.COLUMN_MAPPING_MODE: keys.MODE_NONE})


def drop_statement(name: str, feature: str = keys.FEATURE_NAME) -> str:
    """Returns the statement that drops a table feature."""
    return f"ALTER TABLE {name} DROP FEATURE {feature}"


def unmapping_statement(name: str, *, is_mapped: bool) -> str:
    """Returns the statement that reaches `unmapped`, also if only metadata remains."""
    return (
        removal_statement(name) if is_mapped else drop_statement(name, keys.COLUMN_MAPPING_FEATURE)
    )


def writers_statements(name: str, *, tracked: bool, history: bool) -> tuple[str, ...]:
    """Returns the statements that reach `writers`, with or without a history to truncate."""
    truncating = drop_statement(name, f"{keys.CHECKPOINT_PROTECTION_FEATURE} TRUNCATE HISTORY")
    return (*([drop_statement(name)] if tracked else []), *([truncating] if history else []))


def _unmapped(facts: TableFacts) -> RemovalStage:
    has_keys = schema_has_column_mapping_metadata(facts.table.schema)
    if not has_mapping_on(facts.table) and not has_keys:
        return _stage(UNMAPPED, NOTHING)
    invalid = tuple(invalid_names(facts.table))
    reserved = [
        Reason(RESERVED_COLUMN_NAME, quoted((column,)), name)
        for column, name in reserved_columns(facts.table)
    ]
    blocking = (*features_that_need_mapping(facts.table, facts.protocol), *reserved)
    if invalid or reserved:
        features = facts.protocol.catalog_managed_features
        blocking += tuple(Reason(CATALOG_MANAGED, feature) for feature in features)
    reasons = rewrite_reasons(table=facts.table, protocol=facts.protocol)
    if facts.removal == keys.REMOVAL_REWRITE:
        reasons += (Reason(REMOVAL_SETTING, detail=facts.removal),)
    # Only a rename makes a name valid, and a rename sets the flag.
    cost_of_files = COPY if facts.copies and has_mapping_on(facts.table) else REWRITE
    cost = cost_of_files if reasons or invalid else METADATA
    if invalid or blocking:
        return _with_files(BLOCKED, cost, facts, (*invalid, *blocking, *reasons))
    if has_mapping_on(facts.table) and not facts.protocol.has_writer_feature(keys.FEATURE_NAME):
        # Sessions without spark-ext can write the table with stale plans.
        reasons = (*reasons, Reason(OTHER_SESSIONS))
    if not has_mapping_on(facts.table):
        # Delta's rewrite reads the logical names, and would write nulls for these columns.
        hidden = tuple(hidden_columns(facts.table))
        if hidden or keys.COLUMN_MAPPING_FEATURE not in _features(facts.protocol):
            return _stage(UNMAPPED, BLOCKED, (Reason(MAPPING_METADATA_REMAINS), *hidden))
        reasons = (Reason(MAPPING_METADATA_REMAINS), *reasons)
    statement = unmapping_statement(facts.name, is_mapped=has_mapping_on(facts.table))
    return _with_files(cost, cost, facts, reasons, (statement,))


def _with_files(
    cost: str,
    cost_of_files: str,
    facts: TableFacts,
    reasons: tuple[Reason, ...],
    statements: tuple[str, ...] = (),
) -> RemovalStage:
    step = _stage(UNMAPPED, cost, reasons, statements)
    if cost_of_files == METADATA:
        return step
    touched, counted = facts.files, facts.exact
    if cost_of_files == COPY and counted:
        touched = counted.copied + counted.rewritten
        step = replace(step, kept=counted.kept, copied=counted.copied, rewritten=counted.rewritten)
    return replace(
        step,
        num_files=touched.num_files,
        size_in_bytes=touched.size_in_bytes,
        exact=cost_of_files == REWRITE or counted is not None,
    )


def _readable(facts: TableFacts) -> RemovalStage:
    if facts.protocol.min_reader_version == _READER_1:
        return _stage(READERS, NOTHING)
    features = frozenset({keys.COLUMN_MAPPING_FEATURE} & _features(facts.protocol))
    if facts.protocol.min_reader_version >= _READER_3:
        features = facts.protocol.reader_features or frozenset()
    # Delta does not drop a feature that another feature needs.
    needed_by = keys.NEED_COLUMN_MAPPING & _features(facts.protocol)
    others = _other_features(features - {keys.COLUMN_MAPPING_FEATURE} | needed_by)
    if others:
        return _stage(READERS, BLOCKED, others)
    if keys.COLUMN_MAPPING_FEATURE not in features:
        version = str(facts.protocol.min_reader_version)
        return _stage(READERS, BLOCKED, (Reason(READER_VERSION, detail=version),))
    statement = drop_statement(facts.name, keys.COLUMN_MAPPING_FEATURE)
    return _stage(READERS, METADATA, statements=(statement,))


def _writable(facts: TableFacts) -> RemovalStage:
    features = _features(facts.protocol)
    ours = {keys.FEATURE_NAME, keys.CHECKPOINT_PROTECTION_FEATURE, keys.COLUMN_MAPPING_FEATURE}
    others = _other_features(features - ours - _FEATURES_OF_WRITER_4)
    if others:
        return _stage(WRITERS, BLOCKED, others)
    tracked = keys.FEATURE_NAME in features
    reasons = (Reason(OTHER_SESSIONS),) if tracked else ()
    cost = METADATA if tracked else NOTHING
    # Delta's fast DROP FEATURE of columnMapping adds checkpointProtection.
    if {keys.CHECKPOINT_PROTECTION_FEATURE, keys.COLUMN_MAPPING_FEATURE} & features:
        period = facts.table.configuration.get(
            keys.TRUNCATE_HISTORY_RETENTION, keys.DEFAULT_TRUNCATE_HISTORY_RETENTION
        )
        why = Reason(RETENTION_PERIOD, keys.CHECKPOINT_PROTECTION_FEATURE, period)
        cost, reasons = HISTORY, (why, *reasons)
    statements = writers_statements(facts.name, tracked=tracked, history=cost == HISTORY)
    return _stage(WRITERS, cost, reasons, statements)


def _other_features(features: Iterable[str]) -> tuple[Reason, ...]:
    return tuple(Reason(OTHER_FEATURE, feature) for feature in sorted(features))


def waiting(step: RemovalStage) -> RemovalStage:
    """Returns a stage whose statement has to run again after Delta's retention period."""
    if any(reason.reason == RETENTION_PERIOD for reason in step.reasons):
        return step
    reasons = (*step.reasons, Reason(RETENTION_PERIOD))
    return replace(step, cost=HISTORY, reasons=reasons)


def _stage(
    name: str, cost: str, reasons: tuple[Reason, ...] = (), statements: tuple[str, ...] = ()
) -> RemovalStage:
    """Returns a stage without files."""
    reached = cost == NOTHING
    return RemovalStage(name, MEANINGS[name], reached, cost, reasons, statements=statements)


def _features(protocol: Protocol) -> frozenset[str]:
    """Returns the features that the protocol lists, or implies beyond those of version 4."""
    if protocol.min_writer_version >= _WRITER_7:
        return protocol.writer_features or frozenset()
    implied = set()
    if satisfy_column_mapping_protocol(protocol):
        implied.add(keys.COLUMN_MAPPING_FEATURE)
    if protocol.min_writer_version == _WRITER_6:
        implied.add(keys.IDENTITY_COLUMNS_FEATURE)
    return frozenset(implied)


@dataclass(frozen=True)
class Obstacle:
    """A blocked stage of a table, with the fields of the `Reason`."""

    stage: str
    reason: str
    name: str | None = None
    detail: str | None = None

    @property
    def why(self) -> Reason:
        """Returns the reason without the stage."""
        return Reason(self.reason, self.name, self.detail)


@dataclass(frozen=True)
class SurveyedTable:
    """A table of a survey. If the table cannot be read, only its name and the error are set.

    Args:
        mode: `none`, `name` or `id`.
        tracked: Whether the protocol of the table lists the feature.
        has_dropped_or_renamed: Whether the flag is anything but `false`; None for an untracked
            table.
        num_columns: The number of columns at every level.
        num_other_names: The number of columns whose physical name differs from the logical name.
        num_files: The number of files of the newest version; `size_in_bytes` is their total size.
        unmapped: The cost of the stage, as in `RemovalStage`, as are `readers` and `writers`.
        blocked_by: The reasons that block stages whose cost is `BLOCKED`.
        version: The newest version, from 0.
        aligning: The mode before the current alignment of names; None if none has begun.
        location: The table's folder. If two names have one location, they name the same table.
        error: The condition of the error; None if the table can be read.
    """

    table: str
    mode: str | None = None
    tracked: bool | None = None
    has_dropped_or_renamed: bool | None = None
    num_columns: int | None = None
    num_other_names: int | None = None
    num_files: int | None = None
    size_in_bytes: int | None = None
    unmapped: str | None = None
    readers: str | None = None
    writers: str | None = None
    blocked_by: tuple[Obstacle, ...] = ()
    version: int | None = None
    aligning: str | None = None
    location: str | None = None
    error: str | None = None
    message: str | None = None

    @property
    def is_aligned(self) -> bool:
        """Returns whether mapping is on, the flag is false and no physical name differs."""
        is_mapped = self.mode is not None and self.mode != MODE_NONE
        return is_mapped and self.has_dropped_or_renamed is False and self.num_other_names == 0

    def files_to_change(self, *costs: str | None) -> FileCount:
        """Returns an upper bound of the files that statements of these costs copy or rewrite.

        Example:
            >>> row = SurveyedTable("db.t", num_files=2, size_in_bytes=10)
            >>> row.files_to_change("METADATA", "COPY").size_in_bytes
            10
            >>> row.files_to_change("METADATA").size_in_bytes
            0
        """
        if {COPY, REWRITE}.isdisjoint(costs):
            return FileCount()
        return FileCount(self.num_files or 0, self.size_in_bytes or 0)


def surveyed(facts: TableFacts) -> SurveyedTable:
    """Returns the row of a table that can be read. Raises UnsupportedModeError."""
    metadata = facts.table
    tracked = facts.protocol.has_writer_feature(FEATURE_NAME)
    fields = [field for _, field in walk(metadata.schema)]
    steps = stages(facts)
    aligning = metadata.configuration.get(ALIGNING)
    costs = {step.stage: step.cost for step in steps}
    return SurveyedTable(
        table=facts.name,
        mode=mode_of(metadata.configuration),
        tracked=tracked,
        has_dropped_or_renamed=flag(metadata) is not False if tracked else None,
        num_columns=len(fields),
        num_other_names=sum(physical_name(field) != field["name"] for field in fields),
        num_files=facts.files.num_files,
        size_in_bytes=facts.files.size_in_bytes,
        # Each stage is read by name: a missing one is an error.
        unmapped=costs[UNMAPPED],
        readers=costs[READERS],
        writers=costs[WRITERS],
        blocked_by=tuple(
            Obstacle(step.stage, why.reason, why.name, why.detail)
            for step in steps
            if step.cost == BLOCKED
            for why in blocking(step.reasons)
        ),
        aligning=None if aligning is None else aligning_mode(aligning),
    )


_COSTS = (NOTHING, METADATA, COPY, REWRITE, HISTORY, BLOCKED)


@dataclass(frozen=True)
class CostSum:
    """The tables for which a stage has one cost, and all their files.

    For a copy, the files are an upper bound of the copied files.
    """

    stage: str
    cost: str
    num_tables: int
    num_files: int
    size_in_bytes: int


@dataclass(frozen=True)
class ObstacleSum:
    """The tables whose stage is blocked for the same `reason` of a `Reason`.

    `name` is the feature for the reason `OTHER_FEATURE`; None for all other reasons.
    """

    stage: str
    reason: str
    name: str | None
    num_tables: int


@dataclass(frozen=True)
class ErrorSum:
    """The tables that cannot be read because of the same condition."""

    error: str
    num_tables: int


@dataclass(frozen=True)
class SurveySums:
    """The sums of a survey.

    Args:
        num_tables: The number of tables, including tables that cannot be read.
        num_files: The number of files of the tables that can be read.
        costs: The sums for each stage and each cost that a table has.
        blocked_by: The blocking reasons, most frequent first. A table counts for each reason.
        errors: The errors, most frequent first.
        num_views: The number of omitted views.
        num_others: The number of omitted tables that are not Delta tables.
    """

    num_tables: int
    num_files: int
    size_in_bytes: int
    costs: tuple[CostSum, ...]
    blocked_by: tuple[ObstacleSum, ...]
    errors: tuple[ErrorSum, ...]
    num_views: int = 0
    num_others: int = 0

    def cost(self, stage: str, cost: str) -> CostSum:
        """Returns the sum of the tables for which a stage has a cost; the sum may be zero."""
        found = (each for each in self.costs if (each.stage, each.cost) == (stage, cost))
        return next(found, CostSum(stage, cost, 0, 0, 0))


def sums(tables: Sequence[SurveyedTable], *, num_views: int = 0, num_others: int = 0) -> SurveySums:
    """Returns the sums of these tables."""
    costs = []
    for stage, cost in product(STAGES, _COSTS):
        found = [table for table in tables if getattr(table, stage) == cost]
        if found:
            costs.append(CostSum(stage, cost, len(found), *_files(found)))
    blocked_by = Counter(
        about for table in tables for about in dict.fromkeys(map(_about, table.blocked_by))
    )
    errors = Counter(table.error for table in tables if table.error is not None)
    return SurveySums(
        len(tables),
        *_files(tables),
        costs=tuple(costs),
        blocked_by=tuple(ObstacleSum(*of, number) for of, number in blocked_by.most_common()),
        errors=tuple(ErrorSum(error, number) for error, number in errors.most_common()),
        num_views=num_views,
        num_others=num_others,
    )


def _about(obstacle: Obstacle) -> tuple[str, str, str | None]:
    """Returns the key of a sum: many tables share a feature, and no two share a column."""
    feature = obstacle.name if obstacle.reason == OTHER_FEATURE else None
    return obstacle.stage, obstacle.reason, feature


def _files(tables: Iterable[SurveyedTable]) -> tuple[int, int]:
    return (
        sum(table.num_files or 0 for table in tables),
        sum(table.size_in_bytes or 0 for table in tables),
    )
