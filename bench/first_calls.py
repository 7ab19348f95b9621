# SPDX-License-Identifier: Apache-2.0
"""Measures the first statement of a session, each in a new process.

Each statement runs on an existing table of 20 files. The nearest statement of plain delta-spark
runs beside it: the same ALTER, or DESCRIBE of the columns, the table or the history. An audit reads
the log and opens files, so the plain statement reads the table.
"""

from __future__ import annotations

import statistics
from pathlib import Path

from delta_tables import NAME_MODE, TRACKED, create
from remote import Remote, one_session
from report import Figure, Report, in_seconds

REPEATS = 5
LIMIT_SECONDS = 1
FILES = 20
ALTER = "ALTER TABLE {table} ADD COLUMN b{number} INT"
COLUMNS = "DESCRIBE TABLE {table}"
DETAIL = "DESCRIBE DETAIL {table}"
HISTORY = "DESCRIBE HISTORY {table}"
STATEMENTS = {
    "ALTER TABLE .. ADD COLUMN": (ALTER, ALTER),
    "column_mapping, DESCRIBE TABLE": ("SELECT * FROM column_mapping('{table}')", COLUMNS),
    "column_mapping_named_table, .. DETAIL": (
        "SELECT * FROM column_mapping_named_table('{table}')",
        DETAIL,
    ),
    "column_mapping_removal, .. DETAIL": (
        "SELECT * FROM column_mapping_removal('{table}')",
        DETAIL,
    ),
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


def run(folder: Path) -> Report:
    """Measures every statement on one pair of tables."""
    tables = {kind: f"delta.`{folder / f'first-{kind}'}`" for kind in ("plugin", "plain")}
    with one_session("plugin", folder / "first") as maker:
        make(maker, tables["plugin"], f"{TRACKED}, {NAME_MODE}")
        make(maker, tables["plain"], NAME_MODE)
    figures = [
        first_call(what, tables, statements, folder / f"first-{place}")
        for place, (what, statements) in enumerate(STATEMENTS.items())
    ]
    return Report(f"a process for each call, medians of {REPEATS}", figures)


def first_call(
    what: str, tables: dict[str, str], statements: tuple[str, str], folder: Path
) -> Figure:
    """Measures a statement with the plugin, and the nearest statement of plain Delta."""
    seconds: dict[str, list[float]] = {kind: [] for kind in tables}
    for number in range(REPEATS):
        for (kind, table), statement in zip(tables.items(), statements, strict=True):
            with one_session(kind, folder / f"{kind}-{number}") as fresh:
                seconds[kind].append(fresh.sql(statement.format(table=table, number=number)))
    ours, plain = (statistics.median(seconds[kind]) for kind in ("plugin", "plain"))
    return Figure(
        f"first {what}", in_seconds(ours), in_seconds(plain), ours - plain, LIMIT_SECONDS, "s"
    )


def make(session: Remote, table: str, properties: str) -> None:
    """Makes a table of `FILES` files."""
    session.sql(create(table, "a BIGINT, c BIGINT", properties))
    rows = f"SELECT /*+ REPARTITION({FILES}) */ id, id FROM range(200)"
    session.sql(f"INSERT INTO {table} {rows}")
