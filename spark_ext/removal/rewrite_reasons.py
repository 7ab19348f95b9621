# SPDX-License-Identifier: Apache-2.0
"""May a table remove column mapping by metadata alone?"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from spark_ext.errors import ReservedColumnNameError
from spark_ext.model.column_mapping import (
    has_physical_name,
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
    """Why the files of a table have to be rewritten to remove column mapping.

    Args:
        reason: `NOT_TRACKED`, `HAS_DROPPED_OR_RENAMED`, `PHYSICAL_NAME_DIFFERS`, or
            `FILES_READ_BY_ID`: mode `id` does not look at names in files, which may be any, so
            only their footers tell; where they agree, no file is touched.
        column: The logical path of the column that `PHYSICAL_NAME_DIFFERS` is about, else empty.
    """

    reason: str
    column: Path = ()


def rewrite_reasons(*, table: TableMetadata, protocol: Protocol) -> tuple[RewriteReason, ...]:
    """The reasons for a rewrite; without any, metadata alone may remove column mapping.

    Both are needed: a flag of false does not prove that names agree (CREATE TABLE LIKE, CLONE),
    and names that agree do not prove that no file has a column that was dropped. A flag that is
    missing or no boolean counts as true. In mode `id` both do not suffice: another writer's files
    may have other names.

    Source:
        RFC, introduction: "it simply suffices to change the mode to none"; Protocol, "Reader
        Requirements for Column Mapping".

    Example:
        >>> rewrite_reasons(table=table({"a": "1 a"}, "name", "false"), protocol=protocol())
        ()
    """
    if FEATURE_NAME not in (protocol.writer_features or ()):
        return (RewriteReason(NOT_TRACKED),)
    reasons = []
    if flag(table) is not False:
        reasons.append(RewriteReason(HAS_DROPPED_OR_RENAMED))
    for path, field in walk(table.schema):
        if has_physical_name(field) and physical_name(field) != field["name"]:
            reasons.append(RewriteReason(PHYSICAL_NAME_DIFFERS, path))
    if not reasons and mode_of(table.configuration) == MODE_ID:
        reasons.append(RewriteReason(FILES_READ_BY_ID))
    return tuple(reasons)


def is_free(*, table: TableMetadata, protocol: Protocol) -> bool:
    """Whether metadata alone may remove column mapping.

    Raises:
        ReservedColumnNameError: USAGE_TRACKING_RESERVED_COLUMN_NAME, where no rewrite may either.

    Example:
        >>> is_free(table=table({"b": "1 a"}, "name", "true"), protocol=protocol())
        False
    """
    for column, name in reserved_columns(table):
        raise ReservedColumnNameError(column=column, name=name)
    return not rewrite_reasons(table=table, protocol=protocol)


def reserved_columns(table: TableMetadata) -> Iterable[tuple[str, str]]:
    """The columns of a mapped table that would be read as others without column mapping.

    Returns:
        Pairs of a column's name and its own or its physical name, which is reserved. Where the
        physical name is, a rewrite would read it as another column too, and write what it read.
    """
    if not is_mapped(table) and not schema_has_column_mapping_metadata(table.schema):
        return
    for field in table.schema["fields"]:
        for name in (field["name"], physical_name(field)):
            if name.lower() in SILENTLY_REPLACED_COLUMNS:
                yield field["name"], name
                break
