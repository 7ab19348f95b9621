# SPDX-License-Identifier: Apache-2.0
"""Decides whether a removal of column mapping is metadata only."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from spark_ext.errors import ReservedColumnNameError
from spark_ext.model.column_mapping import (
    is_mapped,
    mode_of,
    physical_name,
    schema_has_column_mapping_metadata,
)
from spark_ext.model.keys import FEATURE_NAME, MODE_ID, SILENTLY_REPLACED_COLUMNS
from spark_ext.model.metadata import Protocol, TableMetadata
from spark_ext.model.schema import Path, walk
from spark_ext.model.usage import flag

NOT_TRACKED = "NOT_TRACKED"
HAS_DROPPED_OR_RENAMED = "HAS_DROPPED_OR_RENAMED"
PHYSICAL_NAME_DIFFERS = "PHYSICAL_NAME_DIFFERS"
FILES_READ_BY_ID = "FILES_READ_BY_ID"


@dataclass(frozen=True)
class RewriteReason:
    """A reason why a removal of column mapping has to change files.

    Args:
        reason: `NOT_TRACKED`, `HAS_DROPPED_OR_RENAMED`, `PHYSICAL_NAME_DIFFERS`, or
            `FILES_READ_BY_ID`: in mode `id`, files may have any names, so footers have to be read.
            If all names are right, no file is copied.
        column: The logical path of the column for `PHYSICAL_NAME_DIFFERS`, else empty.
    """

    reason: str
    column: Path = ()


def rewrite_reasons(*, table: TableMetadata, protocol: Protocol) -> tuple[RewriteReason, ...]:
    """Returns the reasons to change files; if empty, a removal is metadata only.

    The rule checks the flag and the names. A false flag does not prove that names are equal (CREATE
    TABLE LIKE, CLONE), and equal names do not prove that no file contains a dropped column. A
    missing or invalid flag counts as true. In mode `id`, files of other writers may have other
    names.

    Source:
        RFC, introduction: "it simply suffices to change the mode to none"; Protocol, "Reader
        Requirements for Column Mapping".

    Example:
        >>> rewrite_reasons(table=table({"a": "1 a"}, "name", "false"), protocol=protocol())
        ()
    """
    if not protocol.has_writer_feature(FEATURE_NAME):
        return (RewriteReason(NOT_TRACKED),)
    reasons = []
    if flag(table) is not False:
        reasons.append(RewriteReason(HAS_DROPPED_OR_RENAMED))
    for path, field in walk(table.schema):
        if physical_name(field) != field["name"]:
            reasons.append(RewriteReason(PHYSICAL_NAME_DIFFERS, path))
    if not reasons and mode_of(table.configuration) == MODE_ID:
        reasons.append(RewriteReason(FILES_READ_BY_ID))
    return tuple(reasons)


def is_free(*, table: TableMetadata, protocol: Protocol) -> bool:
    """Returns whether a removal of column mapping is metadata only.

    Raises:
        ReservedColumnNameError: USAGE_TRACKING_RESERVED_COLUMN_NAME, even if files need changes.

    Example:
        >>> is_free(table=table({"b": "1 a"}, "name", "true"), protocol=protocol())
        False
    """
    for column, name in reserved_columns(table):
        raise ReservedColumnNameError(column=column, name=name)
    return not rewrite_reasons(table=table, protocol=protocol)


def reserved_columns(table: TableMetadata) -> Iterable[tuple[str, str]]:
    """Yields the columns that Spark or Delta would read as internal columns without mapping.

    Yields:
        A column's name and the reserved name, which is its logical or its physical name. If the
        physical name is reserved, a rewrite would also read and write the internal column.
    """
    if not is_mapped(table) and not schema_has_column_mapping_metadata(table.schema):
        return
    for field in table.schema["fields"]:
        for name in (field["name"], physical_name(field)):
            if name.lower() in SILENTLY_REPLACED_COLUMNS:
                yield field["name"], name
                break
