# SPDX-License-Identifier: Apache-2.0
"""Facts about a commit that several rules use."""

from __future__ import annotations

from collections.abc import Mapping

from spark_ext.model.column_mapping import has_column_id, has_physical_name, is_mapped
from spark_ext.model.keys import (
    FEATURE_NAME,
    FEATURE_PREFIX,
    FEATURE_PROPERTY,
    HAS_DROPPED_OR_RENAMED,
    ICEBERG_WRITER_COMPAT_V1_ENABLED,
    ICEBERG_WRITER_COMPAT_V1_FEATURE,
    MAX_COLUMN_ID,
)
from spark_ext.model.metadata import CommitContext, TableMetadata
from spark_ext.model.schema import walk


def existed(old: TableMetadata) -> bool:
    """Returns whether the table existed before the transaction.

    The old metadata of a new table contains the session's defaults, so an empty configuration
    proves nothing. No default sets columns, the flag or the highest id: an earlier rule refuses a
    default for the flag, and Delta refuses a default for the highest id.
    """
    return (
        bool(old.schema["fields"])
        or HAS_DROPPED_OR_RENAMED in old.configuration
        or MAX_COLUMN_ID in old.configuration
    )


def is_feature_requested(configuration: Mapping[str, str], feature: str) -> bool:
    """Returns whether a property adds a feature; Delta ignores the letter case of the key."""
    wanted = (FEATURE_PREFIX + feature).lower()
    return any(key.lower() == wanted for key in configuration)


def is_requested(new: TableMetadata) -> bool:
    """Returns whether the commit or a session default adds the tracking feature by its property."""
    return FEATURE_PROPERTY in new.configuration or is_feature_requested(
        new.configuration, FEATURE_NAME
    )


def is_in_protocol(commit: CommitContext) -> bool:
    """Returns whether the transaction's protocol lists the tracking feature.

    For a new table, the protocol only reflects the session's defaults.
    """
    return commit.protocol.has_writer_feature(FEATURE_NAME)


def is_tracked(old: TableMetadata, new: TableMetadata, commit: CommitContext) -> bool:
    """Returns whether the table has the tracking feature after the commit.

    Delta decides the protocol of a CLONE after the rules. For a new table, the flag in the source's
    properties therefore decides. An existing table may also get the feature from the source of a
    CLONE or a RESTORE, which no rule can see.

    On DROP FEATURE, the transaction's protocol no longer lists the feature.
    """
    if is_requested(new):
        return True
    if existed(old):
        return is_in_protocol(commit)
    return HAS_DROPPED_OR_RENAMED in new.configuration


def arrives_mapped(commit: CommitContext) -> bool:
    """Returns whether the proposed metadata has a column mapping, or a part of one.

    This may be true for columns of CLONE, RESTORE, CONVERT and LIKE, and is true for every change
    that keeps columns of a mapped table. If column mapping was only partly removed, the columns
    have ids and physical names in mode `none`. Delta's CLONE and RESTORE may omit both, and keep
    the highest id.
    """
    if MAX_COLUMN_ID in commit.proposed.configuration and not is_mapped(commit.proposed):
        return True
    return any(
        has_physical_name(field) or has_column_id(field)
        for _, field in walk(commit.proposed.schema)
    )


def demands_iceberg_names(new: TableMetadata, commit: CommitContext) -> bool:
    """Returns whether a table requests IcebergWriterCompatV1 or has it."""
    enabled = ICEBERG_WRITER_COMPAT_V1_ENABLED.lower()
    return (
        commit.protocol.has_writer_feature(ICEBERG_WRITER_COMPAT_V1_FEATURE)
        or is_feature_requested(new.configuration, ICEBERG_WRITER_COMPAT_V1_FEATURE)
        or any(
            key.lower() == enabled and value.lower() == "true"
            for key, value in new.configuration.items()
        )
    )
