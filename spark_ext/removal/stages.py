# SPDX-License-Identifier: Apache-2.0
"""The three stages of a removal of column mapping, and their cost for a table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from spark_ext.model import keys
from spark_ext.model.column_mapping import is_mapped as has_mapping_on
from spark_ext.model.column_mapping import (
    satisfy_column_mapping_protocol,
    schema_has_column_mapping_metadata,
)
from spark_ext.model.metadata import FileCount, Protocol, TableFacts
from spark_ext.model.schema import quoted
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
