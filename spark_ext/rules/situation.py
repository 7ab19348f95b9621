# SPDX-License-Identifier: Apache-2.0
"""The facts about a commit that several rules ask for."""

from __future__ import annotations

from collections.abc import Mapping

from spark_ext.model.column_mapping import has_column_id, has_physical_name
from spark_ext.model.keys import (
    FEATURE_NAME,
    FEATURE_PREFIX,
    FEATURE_PROPERTY,
    HAS_DROPPED_OR_RENAMED,
    MAX_COLUMN_ID,
)
from spark_ext.model.metadata import CommitContext, TableMetadata
from spark_ext.model.schema import walk


def existed(old: TableMetadata) -> bool:
    """Whether the table existed before the transaction.

    The metadata of a table that is yet to be created holds the session's defaults, so that
    whether its configuration is empty proves nothing. None of these three can come from a default:
    one for the flag is refused first, and Delta refuses one for the column id.
    """
    return (
        bool(old.schema["fields"])
        or HAS_DROPPED_OR_RENAMED in old.configuration
        or MAX_COLUMN_ID in old.configuration
    )


def is_feature_requested(configuration: Mapping[str, str], feature: str) -> bool:
    """Whether a property adds a feature; Delta takes the keys in any letter case."""
    wanted = (FEATURE_PREFIX + feature).lower()
    return any(key.lower() == wanted for key in configuration)


def is_requested(new: TableMetadata) -> bool:
    """Whether the commit, or a session default, adds the tracking feature by its property."""
    return FEATURE_PROPERTY in new.configuration or is_feature_requested(
        new.configuration, FEATURE_NAME
    )


def is_in_protocol(commit: CommitContext) -> bool:
    """Whether the transaction's protocol lists the tracking feature.

    Of a table that is yet to be created this says only what the session's defaults are.
    """
    return FEATURE_NAME in (commit.protocol.writer_features or ())


def is_tracked(old: TableMetadata, new: TableMetadata, commit: CommitContext) -> bool:
    """Whether the table has the tracking feature after the commit.

    A CLONE's protocol is decided after the rules ran: of a new table, the flag that came with the
    source's properties decides. An existing table without the feature may get it from the source of
    a CLONE or a RESTORE too, which can't be seen here.

    On DROP FEATURE the transaction's protocol no longer lists the feature.
    """
    if is_requested(new):
        return True
    if existed(old):
        return is_in_protocol(commit)
    return HAS_DROPPED_OR_RENAMED in new.configuration


def arrives_mapped(commit: CommitContext) -> bool:
    """Whether columns came with ids or physical names: CLONE, RESTORE, CONVERT, LIKE, or ALTER."""
    return any(
        has_physical_name(field) or has_column_id(field)
        for _, field in walk(commit.proposed.schema)
    )
