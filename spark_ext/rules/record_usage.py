# SPDX-License-Identifier: Apache-2.0
"""The commit that drops or renames a column sets the flag."""

from __future__ import annotations

from spark_ext.model.changes import column_changes, dropped_paths
from spark_ext.model.column_mapping import (
    column_id,
    column_ids,
    has_column_id,
    is_mapped,
    max_column_id,
    nested_column_ids,
    physical_name,
)
from spark_ext.model.metadata import CommitContext, TableMetadata, flag, with_flag
from spark_ext.model.schema import Path, Schema, differing, walk
from spark_ext.rules.situation import arrives_mapped, existed, is_tracked

_Identity = tuple[Path, int]


def record_usage(*, old: TableMetadata, new: TableMetadata, commit: CommitContext) -> TableMetadata:
    """Sets the flag if this commit drops or renames a column at any level, by any statement.

    Columns of a mapped table are compared by id. overwriteSchema and REPLACE assign a new id to a
    column of the same name and another type, because older files have the old type.

    Columns may come from another table or another version (CLONE over an existing table, RESTORE).
    The rule then sets the flag unless the table knows all these columns, or ids and names prove
    that no column was dropped or renamed. The flag that comes with the columns may be outdated
    if a session without usage tracking copied it. Columns without column mapping set the flag only
    if they come from an untracked table or version whose column mapping was only partly removed.

    Source:
        RFC, "Writer Requirements for Usage Tracking".

    Example:
        >>> old = table({"a": "1 a"}, "name", "false")
        >>> new = table({"b": "1 a"}, "name", "false")
        >>> flag(record_usage(old=old, new=new, commit=commit(new)))
        True
    """
    if not is_tracked(old, new, commit) or not existed(old) or flag(new) is not False:
        return new
    if not _is_dropped_or_renamed(old, new) and not _may_have_changed_before(old, commit):
        return new
    return with_flag(new, dropped_or_renamed=True)


def _is_dropped_or_renamed(old: TableMetadata, new: TableMetadata) -> bool:
    if not is_mapped(old):
        # Without mapping, no statement drops a column and keeps the column in files.
        return False
    if not is_mapped(new):
        return bool(dropped_paths(old.schema, new.schema))
    if not (_is_identified(old.schema) and _is_identified(new.schema)):
        # Another writer omitted ids. A column that cannot be compared may have been dropped.
        return True
    changes = column_changes(old.schema, new.schema)
    return bool(changes.dropped or changes.renamed)


def _may_have_changed_before(old: TableMetadata, commit: CommitContext) -> bool:
    """Returns whether columns of a RESTORE or CLONE may have been dropped or renamed before.

    Their flag may be outdated: a session without usage tracking copies a flag and never sets it.
    """
    proposed = commit.proposed
    if not is_mapped(proposed):
        return commit.copies_untracked and arrives_mapped(commit)
    before, after = differing(old.schema, proposed.schema)
    known = _identities(before) if is_mapped(old) else set()
    arriving = _identities(after)
    if arriving in (known, set()) and max_column_id(proposed) <= max_column_id(old):
        # After `align_names()`, the table has no data of dropped columns. Older versions may.
        return commit.copies_untracked and _has_dropped(proposed)
    return _has_dropped(proposed) or _has_other_names(after, arriving - known)


def _identities(schema: Schema) -> set[_Identity]:
    """Returns each id of a schema with its physical path, nested ids included."""
    found: set[_Identity] = set()
    for path, field in walk(schema, name=physical_name):
        if has_column_id(field):
            found.add((path, column_id(field)))
            found.update(((nested,), id) for nested, id in nested_column_ids(field).items())
    return found


def _has_dropped(metadata: TableMetadata) -> bool:
    # Ids are assigned in order, and never reused. A missing id belonged to a dropped column.
    return column_ids(metadata.schema) != set(range(1, max_column_id(metadata) + 1))


def _has_other_names(schema: Schema, identities: set[_Identity]) -> bool:
    ids = {id for _, id in identities}
    return any(
        physical_name(field) != field["name"]
        for _, field in walk(schema)
        if has_column_id(field) and column_id(field) in ids
    )


def _is_identified(schema: Schema) -> bool:
    return all(has_column_id(field) for _, field in walk(schema))
