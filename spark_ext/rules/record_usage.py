# SPDX-License-Identifier: Apache-2.0
"""The flag becomes true in the commit that drops or renames a column."""

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
from spark_ext.model.metadata import CommitContext, TableMetadata
from spark_ext.model.schema import Path, Schema, differing, walk
from spark_ext.model.usage import flag, with_flag
from spark_ext.rules.situation import existed, is_tracked

_Identity = tuple[Path, int]


def record_usage(*, old: TableMetadata, new: TableMetadata, commit: CommitContext) -> TableMetadata:
    """Sets the flag if this commit drops or renames a column at any level, by any statement.

    Columns of a mapped table are compared by id, since overwriteSchema and REPLACE give a column
    of the same name but another type a new id: its old files hold the old type under that name.

    Columns that come with the metadata of another table or another time (CLONE over an existing
    table, RESTORE) are taken for changed unless this table knows them all, or their ids and names
    prove that none was dropped or renamed: the flag that comes with them may be a stale copy, made
    and left behind by a session without usage tracking.

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
    if not _is_dropped_or_renamed(old, new) and not _brings_unknown_past(old, commit.proposed):
        return new
    return with_flag(new, dropped_or_renamed=True)


def _is_dropped_or_renamed(old: TableMetadata, new: TableMetadata) -> bool:
    if not is_mapped(old):
        # A column can't be dropped without mapping while files keep it.
        return False
    if not is_mapped(new):
        return bool(dropped_paths(old.schema, new.schema))
    if not (_is_identified(old.schema) and _is_identified(new.schema)):
        # A foreign writer left ids out. What can't be compared may have been dropped.
        return True
    changes = column_changes(old.schema, new.schema)
    return bool(changes.dropped or changes.renamed)


def _brings_unknown_past(old: TableMetadata, proposed: TableMetadata) -> bool:
    """Whether columns that a RESTORE or CLONE brings may have been dropped or renamed before.

    The flag that they bring may be stale: a session without usage tracking copies it when it
    clones, and leaves it as it is.
    """
    if not is_mapped(proposed):
        return False
    before, after = differing(old.schema, proposed.schema)
    known = _identities(before) if is_mapped(old) else set()
    brought = _identities(after)
    if brought in (known, set()) and max_column_id(proposed) <= max_column_id(old):
        return False
    return _has_dropped(proposed) or _has_other_names(after, brought - known)


def _identities(schema: Schema) -> set[_Identity]:
    """Where in the files each id of a schema belongs, nested ids included."""
    found: set[_Identity] = set()
    for path, field in walk(schema, name=physical_name):
        if has_column_id(field):
            found.add((path, column_id(field)))
            found.update(((nested,), id) for nested, id in nested_column_ids(field).items())
    return found


def _has_dropped(metadata: TableMetadata) -> bool:
    # Ids are given in order and never again, so one that is missing was a dropped column's.
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
