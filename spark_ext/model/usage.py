# SPDX-License-Identifier: Apache-2.0
"""The flag of usage tracking among a table's properties."""

from __future__ import annotations

from spark_ext.model.keys import HAS_DROPPED_OR_RENAMED
from spark_ext.model.metadata import TableMetadata


def flag(metadata: TableMetadata) -> bool | None:
    """The flag; None where it is absent or no boolean, the text of a boolean being any case.

    Source:
        RFC, "Usage Tracking".
    """
    return parsed_flag(metadata.configuration.get(HAS_DROPPED_OR_RENAMED))


def parsed_flag(value: object) -> bool | None:
    """A property's value as `flag` understands it, whatever a log has there."""
    return {"true": True, "false": False}.get(str(value).lower())


def with_flag(metadata: TableMetadata, *, dropped_or_renamed: bool) -> TableMetadata:
    """The metadata with the flag."""
    return metadata.with_property(HAS_DROPPED_OR_RENAMED, str(dropped_or_renamed).lower())
