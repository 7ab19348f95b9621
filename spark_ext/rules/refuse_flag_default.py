# SPDX-License-Identifier: Apache-2.0
"""The flag may not come from the session's defaults for new tables."""

from __future__ import annotations

from spark_ext.errors import FlagNotModifiableError
from spark_ext.model.keys import HAS_DROPPED_OR_RENAMED
from spark_ext.model.metadata import CommitContext, TableMetadata


def refuse_flag_default(
    *, old: TableMetadata, new: TableMetadata, commit: CommitContext
) -> TableMetadata:
    """Refuses to create a table while the session sets a default for the flag.

    Delta copies such a default into the new table's properties, where no later rule could tell
    it from a flag that a CLONE brought.

    Raises:
        FlagNotModifiableError: DELTA_CANNOT_MODIFY_TABLE_PROPERTY.

    Source:
        Delta 4.4.0, DeltaConfig.scala, `mergeGlobalConfigs`.

    Example:
        >>> refusing = commit(table(), creating_table=True, flag_default=True)
        >>> refuse_flag_default(old=table(), new=table(), commit=refusing)
        Traceback (most recent call last):
        ...
        spark_ext.errors.FlagNotModifiableError: Cannot create the table: ...
    """
    if commit.creating_table and commit.flag_default:
        raise FlagNotModifiableError(prop=HAS_DROPPED_OR_RENAMED)
    return new
