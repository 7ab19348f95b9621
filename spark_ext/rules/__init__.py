# SPDX-License-Identifier: Apache-2.0
"""The rules of usage tracking: pure functions that return the metadata to commit.

Only this package decides physical names and flags. It imports neither Spark nor py4j.

Examples use the notation of `tests/unit/tables.py`: `table({"b": "1 a"}, "name", "false")` has a
column `b` with the id 1 and the physical name `a`, the mode `name` and the flag `false`.
"""

from __future__ import annotations

from typing import Protocol

from spark_ext.model.metadata import CommitContext, TableMetadata
from spark_ext.rules.flag import record_usage, start_tracking
from spark_ext.rules.ids import keep_column_ids, keep_max_column_id
from spark_ext.rules.names import name_columns
from spark_ext.rules.refusals import (
    refuse_flag_default,
    refuse_iceberg_compat_v1,
    refuse_incomplete_removal,
)

__all__ = ["RULES", "MetadataRule", "next_metadata"]


class MetadataRule(Protocol):
    """One rule.

    A rule **must** return `new` itself if the rule changes nothing, and otherwise a new value. A
    rule must not mutate its arguments, and uses no clock, no random numbers, no Spark and no I/O.
    """

    def __call__(
        self, *, old: TableMetadata, new: TableMetadata, commit: CommitContext
    ) -> TableMetadata:
        """Returns the metadata to commit after this rule.

        Args:
            old: The table before the transaction; for a new table, the session's defaults.
            new: The result of the rule before this rule; for the first rule, the metadata that
                Delta assigned.
            commit: The other facts about the transaction.
        """
        ...


# Refusals come first. The flag gets its first value before a drop can set it, and its final value
# before it decides the names.
RULES: tuple[MetadataRule, ...] = (
    refuse_flag_default,
    refuse_iceberg_compat_v1,
    refuse_incomplete_removal,
    start_tracking,
    record_usage,
    name_columns,
    keep_column_ids,
    keep_max_column_id,
)


def next_metadata(
    *, old: TableMetadata, new: TableMetadata, commit: CommitContext
) -> TableMetadata:
    """Returns the metadata to commit: `new` after all rules in order.

    Args:
        old: The table before the transaction; for a new table, the session's defaults.
        new: The metadata that Delta assigned, as `verify_and_update_metadata_change` returns it.
        commit: The other facts about the transaction.

    Raises:
        FlagNotModifiableError: DELTA_CANNOT_MODIFY_TABLE_PROPERTY.
        IcebergWriterCompatError: DELTA_ICEBERG_COMPAT_VIOLATION.INCOMPATIBLE_TABLE_FEATURE.
        IncompleteRemovalError: USAGE_TRACKING_INCOMPLETE_REMOVAL.
        UnsupportedModeError: DELTA_MODE_NOT_SUPPORTED.

    Example:
        >>> from spark_ext.column_mapping import (
        ...     CommitContext, Protocol, TableMetadata, next_metadata,
        ...     verify_and_update_metadata_change,
        ... )
        >>> keys = {"delta.columnMapping.id": 1, "delta.columnMapping.physicalName": "fare"}
        >>> field = {"name": "fare", "type": "double", "nullable": True, "metadata": keys}
        >>> flag = "delta.columnMapping.hasDroppedOrRenamed"
        >>> properties = {"delta.columnMapping.mode": "name", flag: "false"}
        >>> old = TableMetadata({"type": "struct", "fields": [field]}, properties)
        >>> new = old.with_schema({"type": "struct", "fields": []})
        >>> by_delta = verify_and_update_metadata_change(old=old, new=new)
        >>> features = frozenset({"columnMapping", "columnMappingUsageTracking"})
        >>> commit = CommitContext(proposed=new, protocol=Protocol(2, 7, None, features))
        >>> committed = next_metadata(old=old, new=by_delta, commit=commit)
        >>> by_delta.configuration[flag], committed.configuration[flag]
        ('false', 'true')
    """
    for rule in RULES:
        new = rule(old=old, new=new, commit=commit)
    return new
