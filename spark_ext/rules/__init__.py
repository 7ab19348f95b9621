# SPDX-License-Identifier: Apache-2.0
"""The rules of usage tracking: pure functions from the old and the new metadata to the committed.

This is the one place that decides names and flags. It knows neither Spark nor py4j.

Examples are in the notation of `tests/unit/tables.py`: `table({"b": "1 a"}, "name", "false")` has a
column `b` with the id 1 and the physical name `a`, the mode `name` and the flag `false`.
"""

from __future__ import annotations

from typing import Protocol

from spark_ext.model.metadata import CommitContext, TableMetadata
from spark_ext.rules.keep_column_ids import keep_column_ids
from spark_ext.rules.keep_max_column_id import keep_max_column_id
from spark_ext.rules.name_columns import name_columns
from spark_ext.rules.record_usage import record_usage
from spark_ext.rules.refuse_flag_default import refuse_flag_default
from spark_ext.rules.refuse_iceberg_compat_v1 import refuse_iceberg_compat_v1
from spark_ext.rules.refuse_incomplete_removal import refuse_incomplete_removal
from spark_ext.rules.start_tracking import start_tracking

__all__ = ["RULES", "MetadataRule", "next_metadata"]


class MetadataRule(Protocol):
    """One rule.

    It **must** return `new` itself when it changes nothing, and otherwise a new value; it must not
    mutate what it gets, and has no clock, no random, no Spark and no I/O.
    """

    def __call__(
        self, *, old: TableMetadata, new: TableMetadata, commit: CommitContext
    ) -> TableMetadata:
        """The metadata to commit, as far as this rule decides it.

        Args:
            old: The table before the transaction; of a new table, the session's defaults.
            new: What the rules before this one returned; at first what Delta assigned.
            commit: The rest of what is known of the transaction.
        """
        ...


# Refusals come first. The flag needs its first value before a drop can set it, and its last one
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
    """The metadata to commit: `new` after all rules, in order.

    Raises:
        FlagNotModifiableError: DELTA_CANNOT_MODIFY_TABLE_PROPERTY.
        IcebergWriterCompatError: DELTA_ICEBERG_COMPAT_VIOLATION.INCOMPATIBLE_TABLE_FEATURE.
        IncompleteRemovalError: USAGE_TRACKING_INCOMPLETE_REMOVAL.
        UnsupportedModeError: DELTA_MODE_NOT_SUPPORTED.

    Example:
        >>> new = table({"a": ""}, properties={"delta.appendOnly": "true"})
        >>> next_metadata(old=table(), new=new, commit=commit(new, ())) is new
        True
    """
    for rule in RULES:
        new = rule(old=old, new=new, commit=commit)
    return new
