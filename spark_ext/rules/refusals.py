# SPDX-License-Identifier: Apache-2.0
"""Changes of a table that no commit may contain."""

from __future__ import annotations

from spark_ext.errors import (
    FlagNotModifiableError,
    IcebergWriterCompatError,
    IncompleteRemovalError,
)
from spark_ext.model.column_mapping import is_mapped, schema_has_column_mapping_metadata
from spark_ext.model.keys import (
    COLUMN_MAPPING_MODE,
    FEATURE_NAME,
    HAS_DROPPED_OR_RENAMED,
    MODE_NONE,
)
from spark_ext.model.metadata import CommitContext, TableMetadata
from spark_ext.rules.situation import demands_iceberg_names, is_tracked


def refuse_flag_default(
    *, old: TableMetadata, new: TableMetadata, commit: CommitContext
) -> TableMetadata:
    """Refuses to create or replace a table if the session sets a default for the flag.

    Delta copies the default into the new table's properties. No later rule could distinguish the
    default from the flag of a CLONE.

    Raises:
        FlagNotModifiableError: DELTA_CANNOT_MODIFY_TABLE_PROPERTY.

    Source:
        Delta 4.4.0, DeltaConfig.scala, `mergeGlobalConfigs`.

    Example:
        >>> refusing = commit(table(), creating_table=True, flag_default=True)
        >>> refuse_flag_default(old=table(), new=table(), commit=refusing)
        Traceback (most recent call last):
        ...
        spark_ext.errors.FlagNotModifiableError: Cannot create or replace the table: ...
    """
    if commit.creating_table and commit.flag_default:
        raise FlagNotModifiableError(prop=HAS_DROPPED_OR_RENAMED)
    return new


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


def refuse_incomplete_removal(
    *, old: TableMetadata, new: TableMetadata, commit: CommitContext
) -> TableMetadata:
    """Refuses the mode `none` for a tracked table whose columns keep their physical names.

    Delta removes column mapping only if UNSET names `delta.columnMapping.mode`, or SET has the
    value `none`, in exactly this letter case. With any other letter case, Delta commits the mode
    alone: renamed columns are then null, and DROP FEATURE writes the nulls into files.

    Raises:
        IncompleteRemovalError: USAGE_TRACKING_INCOMPLETE_REMOVAL.

    Source:
        Delta 4.4.0, alterDeltaTableCommands.scala, `AlterTableUnsetPropertiesDeltaCommand` and
        `AlterTableSetPropertiesDeltaCommand`.

    Example:
        >>> old, new = table({"a": "1 a"}, "name", "false"), table({"a": "1 a"}, "None", "false")
        >>> refuse_incomplete_removal(old=old, new=new, commit=commit(new))
        Traceback (most recent call last):
        ...
        spark_ext.errors.IncompleteRemovalError: Cannot remove column mapping: ...
    """
    if not is_tracked(old, new, commit) or not is_mapped(old) or is_mapped(new):
        return new
    if schema_has_column_mapping_metadata(new.schema):
        raise IncompleteRemovalError(property=COLUMN_MAPPING_MODE, value=MODE_NONE)
    return new
