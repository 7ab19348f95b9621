# SPDX-License-Identifier: Apache-2.0
"""A removal of column mapping must be complete."""

from __future__ import annotations

from spark_ext.errors import IncompleteRemovalError
from spark_ext.model.column_mapping import is_mapped, schema_has_column_mapping_metadata
from spark_ext.model.keys import COLUMN_MAPPING_MODE, MODE_NONE
from spark_ext.model.metadata import CommitContext, TableMetadata
from spark_ext.rules.situation import is_tracked


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
