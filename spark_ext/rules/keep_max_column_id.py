# SPDX-License-Identifier: Apache-2.0
"""The highest column id never decreases while column mapping is on."""

from __future__ import annotations

from spark_ext.model.column_mapping import is_mapped, max_column_id
from spark_ext.model.keys import MAX_COLUMN_ID
from spark_ext.model.metadata import CommitContext, TableMetadata
from spark_ext.rules.situation import existed, is_tracked


def keep_max_column_id(
    *, old: TableMetadata, new: TableMetadata, commit: CommitContext
) -> TableMetadata:
    """Restores the old highest id if the commit has a lower highest id, or none.

    Delta's own assignment does the same, except for RESTORE and CLONE. After such a commit, Delta
    would assign the id of a dropped column again.

    Source:
        Protocol, "Writer Requirements for Column Mapping": `maxColumnId` "must increase
        monotonically".

    Example:
        >>> old = table({"a": "1 a"}, "name", "true", {"delta.columnMapping.maxColumnId": "7"})
        >>> new = table({"a": "1 a"}, "name", "true", {"delta.columnMapping.maxColumnId": "4"})
        >>> max_column_id(keep_max_column_id(old=old, new=new, commit=commit(new)))
        7
    """
    if not is_tracked(old, new, commit) or not existed(old):
        return new
    if not is_mapped(old) or not is_mapped(new) or MAX_COLUMN_ID not in old.configuration:
        return new
    if max_column_id(new) >= max_column_id(old):
        return new
    return new.with_property(MAX_COLUMN_ID, old.configuration[MAX_COLUMN_ID])
