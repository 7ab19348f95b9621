# SPDX-License-Identifier: Apache-2.0
"""The schema can be read."""

from __future__ import annotations

from collections.abc import Iterator

from spark_ext.auditing.findings import Finding
from spark_ext.log.actions import TableLog
from spark_ext.log.replay import State, since


def unreadable_schema(log: TableLog, states: tuple[State, ...]) -> Iterator[Finding]:
    """Finds a `schemaString` that is not a schema; no other check sees the columns then.

    Source:
        Protocol, "Schema Serialization Format".

    Example:
        >>> from spark_ext.model.metadata import TableMetadata
        >>> [found.version for found in unreadable_schema(*history(TableMetadata(None)))]
        [0]
    """
    version = since(states, lambda state: state.metadata.schema is None)
    if version is not None:
        yield Finding(
            version=version,
            check="unreadable_schema",
            column=None,
            file=None,
            message="`schemaString` is no schema: nothing reads the table.",
            remedy="RESTORE the table to the last version before this one.",
        )
