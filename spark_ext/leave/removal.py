# SPDX-License-Identifier: Apache-2.0
"""May column mapping be removed from a table by metadata alone?"""

from __future__ import annotations

from dataclasses import dataclass

from spark_ext.model.column_mapping import has_physical_name, physical_name
from spark_ext.model.keys import FEATURE_NAME
from spark_ext.model.metadata import Protocol, TableMetadata
from spark_ext.model.schema import Path, walk
from spark_ext.model.usage import flag

NOT_TRACKED = "NOT_TRACKED"
HAS_DROPPED_OR_RENAMED = "HAS_DROPPED_OR_RENAMED"
PHYSICAL_NAME_DIFFERS = "PHYSICAL_NAME_DIFFERS"


@dataclass(frozen=True)
class RewriteReason:
    """Why the files of a table have to be rewritten to leave column mapping.

    Args:
        reason: `NOT_TRACKED`, `HAS_DROPPED_OR_RENAMED` or `PHYSICAL_NAME_DIFFERS`.
        column: The logical path of the column that the last is about, else empty.
    """

    reason: str
    column: Path = ()


def removal(*, table: TableMetadata, protocol: Protocol) -> tuple[RewriteReason, ...]:
    """The reasons for a rewrite; without any, metadata alone may remove column mapping.

    Both are needed: a flag of false does not prove that names agree (CREATE TABLE LIKE, CLONE),
    and names that agree do not prove that no file has a column that was dropped. A flag that is
    missing or no boolean counts as true.

    Source:
        RFC, introduction: "it simply suffices to change the mode to none".

    Example:
        >>> removal(table=table({"a": "1 a"}, "name", "false"), protocol=protocol())
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
    return tuple(reasons)
