# SPDX-License-Identifier: Apache-2.0
"""Usage tracking and IcebergWriterCompatV1 exclude each other."""

from __future__ import annotations

from spark_ext.errors import IcebergWriterCompatError
from spark_ext.model.keys import (
    FEATURE_NAME,
    ICEBERG_WRITER_COMPAT_V1_ENABLED,
    ICEBERG_WRITER_COMPAT_V1_FEATURE,
)
from spark_ext.model.metadata import CommitContext, TableMetadata
from spark_ext.rules.situation import is_feature_requested, is_tracked


def refuse_iceberg_compat_v1(
    *, old: TableMetadata, new: TableMetadata, commit: CommitContext
) -> TableMetadata:
    """Refuses a table that would have both usage tracking and IcebergWriterCompatV1.

    IcebergWriterCompatV1 requires the physical name `col-<id>` of every column, and usage tracking
    the logical name.

    Raises:
        IcebergWriterCompatError: DELTA_ICEBERG_COMPAT_VIOLATION.INCOMPATIBLE_TABLE_FEATURE.

    Source:
        Delta Kernel 4.4.0, ColumnMapping.java, `assignColumnIdAndPhysicalName`; Delta 4.4.0,
        IcebergCompat.scala, for the condition.

    Example:
        >>> old = table({"a": "1 a"}, "name", "false")
        >>> new = old.with_property("delta.enableIcebergWriterCompatV1", "true")
        >>> refuse_iceberg_compat_v1(old=old, new=new, commit=commit(new))
        Traceback (most recent call last):
        ...
        spark_ext.errors.IcebergWriterCompatError: Cannot add the feature ...
    """
    if is_tracked(old, new, commit) and demands_iceberg_names(new, commit):
        raise IcebergWriterCompatError(version=1, feature=FEATURE_NAME)
    return new


def demands_iceberg_names(new: TableMetadata, commit: CommitContext) -> bool:
    """Returns whether a table requests IcebergWriterCompatV1 or has it."""
    enabled = ICEBERG_WRITER_COMPAT_V1_ENABLED.lower()
    return (
        commit.protocol.has_writer_feature(ICEBERG_WRITER_COMPAT_V1_FEATURE)
        or is_feature_requested(new.configuration, ICEBERG_WRITER_COMPAT_V1_FEATURE)
        or any(
            key.lower() == enabled and value.lower() == "true"
            for key, value in new.configuration.items()
        )
    )
