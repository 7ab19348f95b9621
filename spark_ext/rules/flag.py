# SPDX-License-Identifier: Apache-2.0
"""The flag gets its first value, and a commit that drops or renames a column sets it."""

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
from spark_ext.model.keys import (
    FEATURE_PROPERTY,
    FEATURE_SUPPORTED,
    HAS_DROPPED_OR_RENAMED,
    IGNORE_PROTOCOL_DEFAULTS,
    MAX_COLUMN_ID,
)
from spark_ext.model.metadata import CommitContext, TableMetadata, flag, with_flag
from spark_ext.model.schema import Path, Schema, differing, walk
from spark_ext.rules.situation import (
    arrives_mapped,
    demands_iceberg_names,
    existed,
    is_in_protocol,
    is_requested,
    is_tracked,
)


def start_tracking(
    *, old: TableMetadata, new: TableMetadata, commit: CommitContext
) -> TableMetadata:
    """Sets the flag of a tracked table, and adds the feature to new tables by a session default.

    In the RFC the flag is `false` for a new table and for an existing table without column mapping,
    and `true` for an existing table with column mapping. The RFC does not define the flag of
    columns that arrive with a mapping (CLONE, RESTORE, CREATE TABLE LIKE), nor an outdated or
    missing flag. The rule sets `true` whenever a drop or rename cannot be excluded. A wrong `true`
    costs readable names; a wrong `false` shows an old file's column under a new column's name.

    A RESTORE or CLONE may add the feature to an untracked table after the rules. If an existing
    untracked table has a flag, the rule therefore sets the flag as if the feature were added: to
    `true` if the table had column mapping before the commit, if column mapping was only partly
    removed, if the columns arrive with a mapping, or if the flag was not `false`. A commit that
    enables column mapping keeps `false`. The rule sets no flag on an untracked table without a
    flag, and changes no new untracked table.

    Returns:
        `new` with the flag in lower case, in some cases also with the feature's property.

    Source:
        RFC, "Writer Requirements for Usage Tracking".

    Example:
        >>> requested = {"delta.feature.columnmappingusagetracking": "supported"}
        >>> new = table({"a": ""}, properties=requested)
        >>> flag(start_tracking(old=table(), new=new, commit=commit(new)))
        False
    """
    if _gets_feature_by_default(old, new, commit):
        new = new.with_property(FEATURE_PROPERTY, FEATURE_SUPPORTED)
    if not is_tracked(old, new, commit):
        return _with_arriving_flag(old, new, commit)
    if not existed(old):
        return with_flag(new, dropped_or_renamed=_flag_of_new_table(new, commit))
    if not is_in_protocol(commit):
        return with_flag(new, dropped_or_renamed=_flag_of_untracked_table(old, new, commit))
    if commit.creating_table and not is_requested(new):
        # REPLACE and CLONE may lower the protocol if Delta's configuration allows it. The property
        # keeps the feature, without which other writers would not maintain the flag.
        new = new.with_property(FEATURE_PROPERTY, FEATURE_SUPPORTED)
    return with_flag(new, dropped_or_renamed=_flag_of_tracked_table(old, new, commit))


def _gets_feature_by_default(old: TableMetadata, new: TableMetadata, commit: CommitContext) -> bool:
    """Returns whether the session's default adds the feature to a new table with column mapping.

    Three kinds of tables do not get the feature: tables whose columns arrive with a mapping, tables
    with IcebergWriterCompatV1, which would fail, and tables that ignore defaults for features.
    """
    return (
        commit.enabled_by_default
        and commit.creating_table
        and not existed(old)
        and is_mapped(new)
        and not is_tracked(old, new, commit)
        and not arrives_mapped(commit)
        and not demands_iceberg_names(new, commit)
        and new.configuration.get(IGNORE_PROTOCOL_DEFAULTS, "").lower() != "true"
    )


def _with_arriving_flag(
    old: TableMetadata, new: TableMetadata, commit: CommitContext
) -> TableMetadata:
    # No rule can see whether this change adds the feature, so every change of an existing table
    # with a flag sets the flag. An untracked table does not use its flag.
    has_flag = HAS_DROPPED_OR_RENAMED in new.configuration
    if not has_flag or not existed(old) or not _flag_of_untracked_table(old, new, commit):
        return new
    return with_flag(new, dropped_or_renamed=True)


def _flag_of_new_table(new: TableMetadata, commit: CommitContext) -> bool:
    if HAS_DROPPED_OR_RENAMED in new.configuration and flag(new) is not False:
        return True
    if not arrives_mapped(commit):
        return False
    # The source's flag is valid only if the source was tracked. If this commit adds the feature,
    # the source may be untracked, and its flag may be outdated.
    being_added = is_requested(new) and (not is_in_protocol(commit) or commit.feature_default)
    return being_added or flag(new) is not False


def _flag_of_untracked_table(old: TableMetadata, new: TableMetadata, commit: CommitContext) -> bool:
    # A complete removal also removes the highest id. If the highest id remains, files may have
    # physical names.
    was_mapped = is_mapped(old) or MAX_COLUMN_ID in old.configuration
    if was_mapped or arrives_mapped(commit):
        return True
    return any(
        HAS_DROPPED_OR_RENAMED in metadata.configuration and flag(metadata) is not False
        for metadata in (old, new)
    )


def _flag_of_tracked_table(old: TableMetadata, new: TableMetadata, commit: CommitContext) -> bool:
    if flag(old) is not False:
        return True
    if HAS_DROPPED_OR_RENAMED in new.configuration:
        return flag(new) is not False
    # Mapped columns without a flag come from an untracked table or version (CLONE, RESTORE). Their
    # files may contain dropped columns, and neither ids nor names show it.
    return arrives_mapped(commit)


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
