# SPDX-License-Identifier: Apache-2.0
"""Makes the tables of several benches."""

from __future__ import annotations

import json
import os
from pathlib import Path

from remote import Remote

TRACKED = "'delta.feature.columnMappingUsageTracking' = 'supported'"
NAME_MODE = "'delta.columnMapping.mode' = 'name'"
NO_MODE = "'delta.columnMapping.mode' = 'none'"

ROWS_OF_COUNTED_FILES = 100
LINKS = 10_000
"""A written file gets fewer than twice as many links: file systems limit them."""


def create(table: str, columns: str, properties: str) -> str:
    """Returns a CREATE TABLE statement."""
    clause = f"TBLPROPERTIES ({properties})" if properties else ""
    return f"CREATE TABLE {table} ({columns}) USING delta {clause}"


def set_properties(session: Remote, path: Path | str, properties: str) -> float:
    """Sets properties, and returns the seconds of the statement."""
    return session.sql(f"ALTER TABLE delta.`{path}` SET TBLPROPERTIES ({properties})")


def write(session: Remote, path: Path, rows: int, files: int) -> None:
    """Writes a table without column mapping: an id and four random doubles."""
    doubles = ", ".join(f"rand({seed}) AS x{seed}" for seed in range(4))
    session.sql(
        f"CREATE TABLE delta.`{path}` USING delta AS"
        f" SELECT id, {doubles} FROM range(0, {rows}, 1, {files})"
    )


def of_files(session: Remote, path: Path, count: int) -> None:
    """Writes a few files of a hundred rows, and a commit that adds links to these files."""
    written = max(1, count // LINKS)
    write(session, path, ROWS_OF_COUNTED_FILES * written, written)
    log = path / "_delta_log"
    actions = map(json.loads, (log / f"{0:020}.json").read_text().splitlines())
    adds = [action["add"] for action in actions if "add" in action]
    lines = [json.dumps({"commitInfo": {"timestamp": 0, "operation": "WRITE"}})]
    for number in range(written, count):
        add = adds[number % written]
        link = f"part-{number:05}.parquet"
        os.link(path / add["path"], path / link)
        lines.append(json.dumps({"add": {**add, "path": link}}))
    (log / f"{1:020}.json").write_text("\n".join(lines) + "\n")
