# SPDX-License-Identifier: Apache-2.0
"""What it costs that a plan's columns are compared with the table's: DML and reads.

Each statement runs on a tracked table in a session with the plugin, and on an untracked one in one
with plain delta-spark, one after the other. A DeltaTable of before is one whose table got other
properties since, and has once dropped a column: then the commits in between are asked.
"""

from __future__ import annotations

import statistics
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import disable
from disable import NAME_MODE, TRACKED, set_properties

PAIRS = 60
ROWS = 1_000_000
FILES = 4
STATEMENTS = {
    "SELECT": "SELECT sum(c0) FROM {table} WHERE a > {number}",
    "UPDATE": "UPDATE {table} SET c0 = c0 + 1 WHERE a = {number}",
    "DELETE": "DELETE FROM {table} WHERE a = {number} + 500000",
    "MERGE": "MERGE INTO {table} USING (SELECT {number} AS k) ON a = k"
    " WHEN MATCHED THEN UPDATE SET c0 = 0",
    "INSERT": "INSERT INTO {table} SELECT a, c0, d FROM {table} WHERE a = {number}",
}
HELD = "update, DeltaTable of before"


class Session(disable.Session, Protocol):
    """A session that holds DeltaTables."""

    def hold(self, path: Path) -> float:
        """Makes one."""

    def held_update(self, path: Path, condition: str) -> float:
        """Seconds of an update by it."""


@dataclass(frozen=True)
class Row:
    """Median seconds of a statement, and the median of the ratios."""

    what: str
    ours: float
    plain: float
    ratio: float
    limit: float = 1.01


def measured(ours: Session, plain: Session, folder: Path) -> list[Row]:
    """All statements, each once more than asked: the first is left out."""
    sides = (
        (ours, folder / "tracked", f"{TRACKED}, {NAME_MODE}"),
        (plain, folder / "plain", NAME_MODE),
    )
    for session, path, properties in sides:
        session.sql(
            f"CREATE TABLE delta.`{path}` USING delta TBLPROPERTIES ({properties}) AS"
            f" SELECT id AS a, id AS c0, id AS d, id AS e FROM range(0, {ROWS}, 1, {FILES})"
        )
        session.sql(f"ALTER TABLE delta.`{path}` DROP COLUMN e")
        session.hold(path)
    seconds: dict[str, tuple[list[float], list[float]]] = {
        what: ([], []) for what in (*STATEMENTS, HELD)
    }
    for number in range(PAIRS + 1):
        for what in seconds:
            # In turns also who is first: the second finds the caches warm.
            for side in (0, 1) if number % 2 else (1, 0):
                session, path, _ = sides[side]
                if what == HELD:
                    set_properties(session, path, f"'a' = '{number}'")
                    elapsed = session.held_update(path, f"a = {number}")
                else:
                    statement = STATEMENTS[what].format(table=f"delta.`{path}`", number=number)
                    elapsed = session.sql(statement)
                if number > 0:
                    seconds[what][side].append(elapsed)
    return [
        Row(
            what,
            statistics.median(of_ours),
            statistics.median(of_plain),
            statistics.median(a / b for a, b in zip(of_ours, of_plain, strict=True)),
        )
        for what, (of_ours, of_plain) in seconds.items()
    ]
