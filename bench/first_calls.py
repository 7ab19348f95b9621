# SPDX-License-Identifier: Apache-2.0
"""What the first statement of a session costs, each time in a process of its own.

Each is asked of an existing table of 20 files. Beside it stands what plain delta-spark would be
asked at first for the like of it: the same ALTER, its columns, what it says of the table or of its
history. For an audit, which reads the log and opens files, that is to read the table.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from disable import NAME_MODE, TRACKED, Session

REPEATS = 5
FILES = 20
ALTER = "ALTER TABLE {table} ADD COLUMN b{number} INT"
COLUMNS = "DESCRIBE TABLE {table}"
DETAIL = "DESCRIBE DETAIL {table}"
HISTORY = "DESCRIBE HISTORY {table}"
STATEMENTS = {
    "ALTER TABLE .. ADD COLUMN": (ALTER, ALTER),
    "column_mapping, DESCRIBE TABLE": ("SELECT * FROM column_mapping('{table}')", COLUMNS),
    "column_mapping_table, .. DETAIL": ("SELECT * FROM column_mapping_table('{table}')", DETAIL),
    "column_mapping_exit, .. DETAIL": ("SELECT * FROM column_mapping_exit('{table}')", DETAIL),
    "column_mapping_survey, .. DETAIL": (
        "SELECT * FROM column_mapping_survey(array('{table}'))",
        DETAIL,
    ),
    "column_mapping_status, .. HISTORY": (
        "SELECT * FROM column_mapping_status('{table}')",
        HISTORY,
    ),
    "column_mapping_history, .. HISTORY": (
        "SELECT * FROM column_mapping_history('{table}')",
        HISTORY,
    ),
    "column_mapping_audit, SELECT *": (
        "SELECT * FROM column_mapping_audit('{table}')",
        "SELECT * FROM {table}",
    ),
}


@dataclass(frozen=True)
class FirstCall:
    """Median seconds of a statement with the plugin, and of Delta's nearest without."""

    what: str
    ours: float
    plain: float


def measured(
    session: Callable[[str, Path], AbstractContextManager[Session]], folder: Path
) -> list[FirstCall]:
    """Every statement on one pair of tables, in sessions of the kinds `plugin` and `plain`."""
    tables = {kind: f"delta.`{folder / f'first-{kind}'}`" for kind in ("plugin", "plain")}
    with session("plugin", folder / "first") as maker:
        make(maker, tables["plugin"], f"{TRACKED}, {NAME_MODE}")
        make(maker, tables["plain"], NAME_MODE)
    found = []
    for place, (what, statements) in enumerate(STATEMENTS.items()):
        seconds: dict[str, list[float]] = {kind: [] for kind in tables}
        for number in range(REPEATS):
            for (kind, table), statement in zip(tables.items(), statements, strict=True):
                with session(kind, folder / f"first-{place}" / f"{kind}-{number}") as fresh:
                    asked = statement.format(table=table, number=number)
                    seconds[kind].append(fresh.sql(asked))
        ours, plain = (statistics.median(seconds[kind]) for kind in ("plugin", "plain"))
        found.append(FirstCall(what, ours, plain))
    return found


def make(session: Session, table: str, properties: str) -> None:
    """A table of as many files."""
    columns = "a BIGINT, c BIGINT"
    session.sql(f"CREATE TABLE {table} ({columns}) USING delta TBLPROPERTIES ({properties})")
    rows = f"SELECT /*+ REPARTITION({FILES}) */ id, id FROM range(200)"
    session.sql(f"INSERT INTO {table} {rows}")
