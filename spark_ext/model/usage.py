# SPDX-License-Identifier: Apache-2.0
"""Reads and sets the flag of usage tracking in a table's properties."""

from __future__ import annotations

from spark_ext.model.keys import HAS_DROPPED_OR_RENAMED
from spark_ext.model.metadata import TableMetadata


def flag(metadata: TableMetadata) -> bool | None:
    """Returns the flag; None if the property is missing or not a boolean in any letter case.

    Source:
        RFC, "Usage Tracking".
    """
    return parsed_flag(metadata.configuration.get(HAS_DROPPED_OR_RENAMED))


def parsed_flag(value: object) -> bool | None:
    """Returns the flag for any value of the property in a log, as `flag` does."""
    return {"true": True, "false": False}.get(str(value).lower())


def with_flag(metadata: TableMetadata, *, dropped_or_renamed: bool) -> TableMetadata:
    """Returns the metadata with a value of the flag."""
    return metadata.with_property(HAS_DROPPED_OR_RENAMED, str(dropped_or_renamed).lower())
