# SPDX-License-Identifier: Apache-2.0
"""The session's defaults for new tables must not set the flag."""

from __future__ import annotations

from spark_ext.errors import FlagNotModifiableError
from spark_ext.model.keys import HAS_DROPPED_OR_RENAMED
from spark_ext.model.metadata import CommitContext, TableMetadata


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
