# SPDX-License-Identifier: Apache-2.0
"""The flag becomes true in the commit that drops or renames a column."""

from __future__ import annotations

from spark_ext.changes import column_changes, dropped_paths
from spark_ext.column_mapping import (
    column_id,
    column_ids,
    has_column_id,
    is_mapped,
    max_column_id,
    physical_name,
)
from spark_ext.metadata import CommitContext, TableMetadata
from spark_ext.rules.situation import existed, flag, is_tracked, with_flag
from spark_ext.schema import Schema, differing, walk


def record_usage(*, old: TableMetadata, new: TableMetadata, commit: CommitContext) -> TableMetadata:
    """Sets the flag if this commit drops or renames a column at any level, by any statement.

    Columns of a mapped table are compared by id, since overwriteSchema and REPLACE give a column
    of the same name but another type a new id: its old files hold the old type under that name.

    Columns that come with another table's metadata (CLONE over an existing table) are taken for
    changed unless this table knows them all: the flag that comes with them may be a stale copy,
    made and left behind by a session without usage tracking, and their files may hold columns
    that were dropped since.

    Without mapping a column can't be dropped while files keep it, so a table that was unmapped
    stays as it is.

    Source:
        RFC, "Writer Requirements for Usage Tracking".

    Example:
        >>> from spark_ext.keys import COLUMN_ID, FEATURE_NAME
        >>> from spark_ext.metadata import Protocol
        >>> flag = "delta.columnMapping.hasDroppedOrRenamed"
        >>> tracked = {"delta.columnMapping.mode": "name", flag: "false"}
        >>> column = {"name": "a", "type": "long", "metadata": {COLUMN_ID: 1}}
        >>> old = TableMetadata({"type": "struct", "fields": [column]}, tracked)
        >>> new = old.with_schema({"type": "struct", "fields": [{**column, "name": "b"}]})
        >>> commit = CommitContext(new, Protocol(1, 7, None, frozenset({FEATURE_NAME})))
        >>> record_usage(old=old, new=new, commit=commit).configuration[flag]
        'true'
    """
    if not is_tracked(old, new, commit) or not existed(old) or flag(new) is not False:
        return new
    if not is_mapped(old):
        return new
    if not _is_dropped_or_renamed(old, new) and not _brings_unknown_columns(old, commit):
        return new
    return with_flag(new, dropped_or_renamed=True)


def _is_dropped_or_renamed(old: TableMetadata, new: TableMetadata) -> bool:
    if not is_mapped(new):
        return bool(dropped_paths(old.schema, new.schema))
    if not (_is_identified(old.schema) and _is_identified(new.schema)):
        # A foreign writer left ids out. What can't be compared may have been dropped.
        return True
    changes = column_changes(old.schema, new.schema)
    return bool(changes.dropped or changes.renamed)


def _brings_unknown_columns(old: TableMetadata, commit: CommitContext) -> bool:
    proposed = commit.proposed
    before, after = differing(old.schema, proposed.schema)
    known, brought = column_ids(before), column_ids(after)
    # Ids that were used up beyond ours belonged to columns that may have been dropped since.
    if brought <= known and max_column_id(proposed) <= max_column_id(old):
        return False
    return not _was_updated_before(old, proposed, brought - known)


def _was_updated_before(old: TableMetadata, proposed: TableMetadata, added: frozenset[int]) -> bool:
    """Whether an earlier update in this transaction, of a table with identity columns, added them.

    A clone that comes back to the table it was made of has the same creation time. A session
    without usage tracking may have dropped columns there, but no id of theirs is given again, and
    it gives new columns no logical names unless it rewrites all files.
    """
    next_ids = range(max_column_id(old) + 1, max_column_id(proposed) + 1)
    return (
        proposed.created_time == old.created_time
        and added == set(next_ids)
        and all(
            physical_name(field) == field["name"]
            for _, field in walk(proposed.schema)
            if has_column_id(field) and column_id(field) in added
        )
    )


def _is_identified(schema: Schema) -> bool:
    return all(has_column_id(field) for _, field in walk(schema))
