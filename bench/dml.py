# SPDX-License-Identifier: Apache-2.0
"""Measures the check for stale plans in DML and reads.

Each statement runs on a tracked table in a session with the plugin, and then on an untracked table
in a session with plain delta-spark. The bench uses several pairs of sessions, because two processes
of one kind differ by some percent. The properties of a held DeltaTable's table change before each
update, and the table once dropped a column, so the check reads the commits in between.
"""

from __future__ import annotations

import statistics
from dataclasses import dataclass
from pathlib import Path

from delta_tables import NAME_MODE, TRACKED, set_properties
from remote import Remote, both_sessions
from report import Figure, Report, milliseconds

SESSIONS = 5
PAIRS = 15
"""The number of measurements of a statement in each pair of sessions."""
WARMING = 5
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
HELD = "update by a held DeltaTable"
LIMIT = 1.01


@dataclass(frozen=True)
class Row:
    """Contains median seconds of a statement, and the median ratio with its quartiles."""

    what: str
    ours: float
    plain: float
    ratio: float
    quartiles: tuple[float, float]


Seconds = dict[str, list[tuple[float, float]]]
"""Maps a statement to pairs of our seconds and the seconds of plain Delta."""


def run(folder: Path) -> Report:
    figures = [
        Figure(
            f"{row.what} (quartiles {row.quartiles[0]:.3f} to {row.quartiles[1]:.3f})",
            milliseconds(row.ours),
            milliseconds(row.plain),
            row.ratio,
            LIMIT,
        )
        for row in measured(folder)
    ]
    return Report(f"{SESSIONS} times {PAIRS} pairs, medians", figures)


def measured(folder: Path) -> list[Row]:
    """Measures all statements in several pairs of sessions."""
    found: Seconds = {what: [] for what in (*STATEMENTS, HELD)}
    for number in range(SESSIONS):
        home = folder / f"dml-{number}"
        with both_sessions(home) as (ours, plain):
            for what, pairs in seconds_in(ours, plain, home).items():
                found[what] += pairs
    return [row_of(what, pairs) for what, pairs in found.items()]


def row_of(what: str, pairs: list[tuple[float, float]]) -> Row:
    ours, plain = (statistics.median(side) for side in zip(*pairs, strict=True))
    low, middle, high = statistics.quantiles([a / b for a, b in pairs], n=4)
    return Row(what, ours, plain, middle, (low, high))


def seconds_in(ours: Remote, plain: Remote, folder: Path) -> Seconds:
    """Measures each statement, without the first runs."""
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
    found: Seconds = {what: [] for what in (*STATEMENTS, HELD)}
    for number in range(PAIRS + WARMING):
        for what, pairs in found.items():
            elapsed = [0.0, 0.0]
            # The sessions take turns to be first, because the second finds warm caches.
            for side in (0, 1) if number % 2 else (1, 0):
                session, path, _ = sides[side]
                if what == HELD:
                    set_properties(session, path, f"'a' = '{number}'")
                    elapsed[side] = session.held_update(path, f"a = {number}")
                else:
                    statement = STATEMENTS[what].format(table=f"delta.`{path}`", number=number)
                    elapsed[side] = session.sql(statement)
            if number >= WARMING:
                pairs.append((elapsed[0], elapsed[1]))
    return found
