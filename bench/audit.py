# SPDX-License-Identifier: Apache-2.0
"""Measures an audit and other table functions on a growing table.

Statements make the table and its first file. The bench writes further commits as text. Each of
these commits adds a hundred hard links to a copy of that file, so every file has a footer to read.
"""

from __future__ import annotations

import json
import os
import shutil
import statistics
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from delta_tables import LINKS, NAME_MODE, TRACKED, create
from remote import Remote, one_session
from report import Report, milliseconds, table

FILES_PER_COMMIT = 100
COMMITS = (100, 300, 1_000)
REPEATS = 3
STATEMENTS = {
    "audit": "SELECT * FROM column_mapping_audit('{}')",
    "column_mapping": "SELECT * FROM column_mapping('{}')",
    "status": "SELECT * FROM column_mapping_status('{}')",
}


@dataclass(frozen=True)
class Audited:
    """Contains median seconds of each statement at one size of a table."""

    commits: int
    files: int
    seconds: dict[str, float]


def run(folder: Path) -> Report:
    with one_session("plugin", folder) as ours:
        rows = measured(ours, folder)
    cells = (
        (
            f"{row.commits:,}",
            f"{row.files:,}",
            *(f"{seconds:.2f} s" for seconds in row.seconds.values()),
            milliseconds(row.seconds["audit"] / row.files * 1_000),
        )
        for row in rows
    )
    headings = ("commits", "files", *STATEMENTS, "audit of 1,000 files")
    return Report(tables=[table("table functions", headings, cells)])


def measured(session: Remote, folder: Path) -> list[Audited]:
    """Measures each size on one growing table."""
    path = folder / "audited"
    name = f"delta.`{path}`"
    session.sql(create(name, "a INT, b STRING", f"{TRACKED}, {NAME_MODE}"))
    session.sql(f"INSERT INTO {name} VALUES (1, 'x')")
    session.sql(f"ALTER TABLE {name} RENAME COLUMN a TO c")
    first = first_file(path)
    found = []
    written = 0
    for commits in COMMITS:
        for number in range(written, commits):
            commit(path, first, number)
        written = commits
        seconds = {what: median(session, text.format(name)) for what, text in STATEMENTS.items()}
        found.append(Audited(commits, commits * FILES_PER_COMMIT, seconds))
    return found


def first_file(path: Path) -> dict[str, Any]:
    """Returns the `add` action of the only file of the table."""
    lines = (path / "_delta_log" / f"{1:020}.json").read_text().splitlines()
    (add,) = (action["add"] for action in map(json.loads, lines) if "add" in action)
    found: dict[str, Any] = add
    return found


def commit(path: Path, first: dict[str, Any], number: int) -> None:
    """Writes a commit that adds links to copies of the first file of the table."""
    version = 3 + number
    adds = []
    for count in range(FILES_PER_COMMIT):
        place = number * FILES_PER_COMMIT + count
        source = path / f"source-{place // LINKS}.parquet"
        if not source.exists():
            shutil.copyfile(path / first["path"], source)
        name = f"part-{place:08}.parquet"
        os.link(source, path / name)
        adds.append({"add": {**first, "path": name}})
    info = {"timestamp": 1_767_225_600_000, "operation": "WRITE", "operationParameters": {}}
    actions = [{"commitInfo": info}, *adds]
    text = "".join(json.dumps(action, separators=(",", ":")) + "\n" for action in actions)
    (path / "_delta_log" / f"{version:020}.json").write_text(text)


def median(session: Remote, statement: str) -> float:
    """Returns the median seconds of several runs without the first."""
    return statistics.median([session.sql(statement) for _ in range(REPEATS + 1)][1:])
