# SPDX-License-Identifier: Apache-2.0
"""Short notation for logs: a table of `tables.py` for each version with new metadata.

A version is a table, a pair of a table and its writer features, or a pair of a table and a dict
with `features`, `operation` (None for no `commitInfo`), `partitions` and protocol `versions`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from spark_ext.log.actions import Commit, FileGroup, LoggedMetadata, Summary, TableLog
from spark_ext.model.metadata import Protocol, TableMetadata
from tests.unit.tables import TRACKED

Version = TableMetadata | tuple[TableMetadata, Any]


def log_of(
    *versions: Version,
    files: tuple[FileGroup, ...] | None = None,
    summaries: tuple[Summary, ...] = (),
) -> TableLog:
    commits = tuple(_commit(number, version) for number, version in enumerate(versions))
    return TableLog(
        name="t",
        last_version=len(commits) - 1,
        commits=commits,
        summaries=summaries,
        first_commit=0,
        files=files,
    )


def _commit(number: int, version: Version) -> Commit:
    metadata, facts = version if isinstance(version, tuple) else (version, {})
    details: Mapping[str, Any] = facts if isinstance(facts, Mapping) else {"features": facts}
    reader, writer = details.get("versions", (2, 7))
    features = frozenset({"columnMapping", *details.get("features", TRACKED)})
    return Commit(
        version=number,
        operation=details.get("operation", "CREATE TABLE" if number == 0 else "SET TBLPROPERTIES"),
        protocol=Protocol(reader, writer, None, features if writer >= 7 else None),
        metadata=LoggedMetadata(
            schema=metadata.schema,
            configuration=metadata.configuration,
            partition_columns=tuple(details.get("partitions", ())),
        ),
    )
