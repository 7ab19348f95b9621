# SPDX-License-Identifier: Apache-2.0
"""Measures the CPU time that the check for stale plans adds to DML and reads.

A statement runs on a tracked table in a session with the plugin, and on an untracked table in a
session with plain delta-spark. The CPU time is that of all processes of a session, because wall
time depends on other processes. JVMs of one kind differ, so the unit of the statistics is a pair of
new sessions: the bounds are those of Student's t over the means of the pairs. The JVMs compile with
C1 only and collect in one thread, because the times of C2 and of parallel collectors differ more
between two runs than the two sides do. For the same reason, no collection falls into a measurement:
one runs before each statement.

The properties of a held DeltaTable's table change before each update, and the table once dropped a
column, so the check reads the commits in between.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from delta_tables import NAME_MODE, TRACKED, set_properties
from remote import Remote, both_sessions
from report import Figure, Report, milliseconds

SESSIONS = 6
"""The number of pairs of sessions."""
ROUNDS = 8
"""The number of measurements of a statement in each pair of sessions."""
WARMING = 3
T = {3: 3.182, 4: 2.776, 5: 2.571, 6: 2.447, 7: 2.365, 8: 2.306, 9: 2.262}
"""Student's t for 95 % by the degrees of freedom, one less than the sessions."""
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
STEADY = {
    "spark.driver.memory": "2g",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xms2g -Xmn1500m",
}


@dataclass(frozen=True)
class Side:
    """Contains a session and its table."""

    session: Remote
    path: Path

    def cpu_seconds(self, what: str, number: int) -> float:
        """Returns the CPU time of one statement."""
        if what == HELD:
            set_properties(self.session, self.path, f"'a' = '{number}'")
            return self._cost(lambda: self.session.held_update(self.path, f"a = {number}"))
        statement = STATEMENTS[what].format(table=f"delta.`{self.path}`", number=number)
        return self._cost(lambda: self.session.sql(statement))

    def _cost(self, run: Callable[[], object]) -> float:
        self.session.collect_garbage()
        before = self.session.cpu_seconds()
        run()
        return self.session.cpu_seconds() - before


Pairs = list[tuple[float, float]]
"""Our seconds and the seconds of plain Delta."""


def run(folder: Path) -> Report:
    found: dict[str, list[Pairs]] = {what: [] for what in (*STATEMENTS, HELD)}
    for number in range(SESSIONS):
        home = folder / f"dml-{number}"
        with both_sessions(home, STEADY) as sessions:
            for what, pairs in measured(sessions, home).items():
                found[what].append(pairs)
    # Noise of one statement is less in the sum of all.
    found["all of them"] = [
        [summed(list(each)) for each in zip(*pairs, strict=True)]
        for pairs in zip(*found.values(), strict=True)
    ]
    figures = [figure(what, pairs) for what, pairs in found.items()]
    return Report(f"CPU time, {SESSIONS} pairs of sessions, {ROUNDS} rounds in each", figures)


def measured(sessions: tuple[Remote, Remote], folder: Path) -> dict[str, Pairs]:
    """Measures each statement in two new sessions, without the first rounds."""
    sides = Side(sessions[0], folder / "tracked"), Side(sessions[1], folder / "plain")
    for side, properties in zip(sides, (f"{TRACKED}, {NAME_MODE}", NAME_MODE), strict=True):
        side.session.sql(
            f"CREATE TABLE delta.`{side.path}` USING delta TBLPROPERTIES ({properties}) AS"
            f" SELECT id AS a, id AS c0, id AS d, id AS e FROM range(0, {ROWS}, 1, {FILES})"
        )
        side.session.sql(f"ALTER TABLE delta.`{side.path}` DROP COLUMN e")
        side.session.hold(side.path)
    found: dict[str, Pairs] = {what: [] for what in (*STATEMENTS, HELD)}
    for number in range(WARMING + ROUNDS):
        for what, pairs in found.items():
            cost = [0.0, 0.0]
            # The sessions take turns to be first, because the second finds warm caches.
            for place in (0, 1) if number % 2 else (1, 0):
                cost[place] = sides[place].cpu_seconds(what, number)
            if number >= WARMING:
                pairs.append((cost[0], cost[1]))
    return found


def summed(pairs: Pairs) -> tuple[float, float]:
    """Returns the seconds of both sides for several statements."""
    ours, plain = zip(*pairs, strict=True)
    return sum(ours), sum(plain)


def figure(what: str, sessions: list[Pairs]) -> Figure:
    """Returns the geometric mean of the ratios with its bounds."""
    logs = [statistics.mean(math.log(a / b) for a, b in pairs) for pairs in sessions]
    mean = statistics.mean(logs)
    error = T[len(logs) - 1] * statistics.stdev(logs) / math.sqrt(len(logs))
    ours, plain = (
        statistics.median(pair[side] for pairs in sessions for pair in pairs) for side in (0, 1)
    )
    bounds = math.exp(mean - error), math.exp(mean + error)
    return Figure(
        what, milliseconds(ours), milliseconds(plain), math.exp(mean), LIMIT, interval=bounds
    )
