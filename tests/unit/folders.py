# SPDX-License-Identifier: Apache-2.0
"""Builds the folders of tables, and the columns that their files contain."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from spark_ext.log.actions import LIVE, FileGroup, ParquetColumn, TableLog
from spark_ext.log.folder import LogFiles, TableFolder
from spark_ext.model.schema import Path
from tests.unit.logs import log
from tests.unit.tables import table

HOUR = 3600 * 1000
DAY = 24 * HOUR
NOW = 100 * DAY + HOUR
WEEK, MONTH = 7 * DAY, 30 * DAY

BOTH = table({"a": "1 a", "b": "2 b"}, "name", "false")
ONE = table({"a": "1 a"}, "name", "true")
DROP = log(("CREATE TABLE", BOTH), ("DROP COLUMNS", ONE))


def folder(of: TableLog = DROP, files: tuple[FileGroup, ...] = (), **facts: Any) -> TableFolder:
    return TableFolder(
        name="t",
        log=replace(of, files=files),
        now=NOW,
        deleted_file_retention=WEEK,
        log_retention=MONTH,
        **facts,
    )


def data(kind: str, *columns: Path | str, **facts: Any) -> FileGroup:
    facts = {"example": "f", "num_files": 1, "size_in_bytes": 10, "added_under": 0, **facts}
    if kind != LIVE:
        facts.setdefault("removable_from", NOW)
    found = (ParquetColumn((each,) if isinstance(each, str) else each) for each in columns)
    return FileGroup(kind=kind, columns=facts.pop("columns", tuple(found)), **facts)


def logged(kind: str, **facts: Any) -> LogFiles:
    return LogFiles(kind, **{"num_files": 1, "version": 0, "under": 0, **facts})
