# SPDX-License-Identifier: Apache-2.0
"""The flag's value before this commit's own drops and renames are looked at."""

from __future__ import annotations

from spark_ext.model.column_mapping import is_mapped, schema_has_column_mapping_metadata
from spark_ext.model.keys import (
    FEATURE_PROPERTY,
    FEATURE_SUPPORTED,
    HAS_DROPPED_OR_RENAMED,
    IGNORE_PROTOCOL_DEFAULTS,
)
from spark_ext.model.metadata import CommitContext, TableMetadata
from spark_ext.model.usage import flag, with_flag
from spark_ext.rules.refuse_iceberg_compat_v1 import demands_iceberg_names
from spark_ext.rules.situation import (
    arrives_mapped,
    existed,
    is_in_protocol,
    is_requested,
    is_tracked,
)


def start_tracking(
    *, old: TableMetadata, new: TableMetadata, commit: CommitContext
) -> TableMetadata:
    """Gives a tracked table its flag, and new tables the feature where the session says so.

    The RFC has `false` for a new table and for an existing one without column mapping, `true` for
    an existing one with it. It does not speak of columns that arrive with a mapping (CLONE,
    RESTORE, CREATE TABLE LIKE), nor of a flag that is stale or missing. The flag is true wherever
    a drop or rename can't be excluded: a true flag costs readable names, while a false one that
    is wrong brings an old file's column back under a new column's name.

    A RESTORE or CLONE may bring the feature onto an untracked table after the rules ran. So a flag
    on an untracked table with column mapping becomes true, as if the feature were added; without
    a flag it is left as it is.

    Returns:
        `new` with the flag, in lower case; in some cases with the feature's property.

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
        # REPLACE and CLONE may lower the protocol, where Delta's configuration allows it. The
        # property keeps the feature, without which no writer would keep the flag right.
        new = new.with_property(FEATURE_PROPERTY, FEATURE_SUPPORTED)
    return with_flag(new, dropped_or_renamed=_flag_of_tracked_table(old, new, commit))


def _gets_feature_by_default(old: TableMetadata, new: TableMetadata, commit: CommitContext) -> bool:
    """Whether a new table turns column mapping on, in a session that tracks all of these.

    Not a table whose columns arrive with a mapping: nobody asked for column mapping there. Nor
    one of IcebergWriterCompatV1, which a mere default must not make fail. Nor one that wants no
    feature from a default.
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
    # With every change: whether this one brings the feature can't be seen, and an untracked table
    # has no use for its flag.
    has_flag = HAS_DROPPED_OR_RENAMED in new.configuration
    if not has_flag or not existed(old) or not _flag_of_untracked_table(old, new, commit):
        return new
    return with_flag(new, dropped_or_renamed=True)


def _flag_of_new_table(new: TableMetadata, commit: CommitContext) -> bool:
    if HAS_DROPPED_OR_RENAMED in new.configuration and flag(new) is not False:
        return True
    if not arrives_mapped(commit):
        return False
    # The source's flag is of use only if the source was tracked. A feature that this commit adds
    # shows that it perhaps was not, and its flag is a stale copy.
    being_added = is_requested(new) and (not is_in_protocol(commit) or commit.feature_default)
    return being_added or flag(new) is not False


def _flag_of_untracked_table(old: TableMetadata, new: TableMetadata, commit: CommitContext) -> bool:
    # Mode none with mapping metadata left in the schema: files may have physical names.
    was_mapped = is_mapped(old) or schema_has_column_mapping_metadata(old.schema)
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
    # Mapped columns without a flag come from where nobody tracked them: RESTORE to a version
    # before tracking, CLONE of an untracked table. Their files may hold dropped columns, which
    # neither ids nor names can tell.
    return arrives_mapped(commit)
