# SPDX-License-Identifier: Apache-2.0
"""Runs a schedule: each actor has a thread and a session, and one actor runs at a time.

Each commit contains the number of its statement, so the log shows which statement made the commit.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from tests.schedules.act import Act, NamedRow, Stage
from tests.schedules.faults import SCHEME, LateStorage
from tests.schedules.schedule import NAMES, Fault, Move, Schedule, Strike
from tests.schedules.table_kinds import Original, Originals
from tests.support.held_statement import Step, observed
from tests.support.table_log import USER_METADATA
from tests.support.waiting import PATIENCE

BLOCKED = 15.0
"""The seconds after which an actor counts as blocked by an actor that is held."""


@dataclass
class StatementRun:
    """Contains a statement that was run, and its outcome."""

    act: Act
    number: int
    actor: int
    began: int = -1
    """The time on the clock of the schedule."""
    ended: int = -1
    known_version: int = -1
    """The version of the table when the statement began."""
    error: Exception | None = None
    fault: Fault | None = None
    """The fault that struck the statement."""
    seen: Sequence[NamedRow] = ()
    """The rows that the statement read."""

    @property
    def signature(self) -> str:
        return f"act-{self.number}"

    @property
    def succeeded(self) -> bool:
        return self.ended >= 0 and self.error is None

    def __str__(self) -> str:
        return f"{NAMES[self.actor]}'s {self.act} ({self.number})"


@dataclass
class Run:
    """Contains the outcome of a schedule."""

    schedule: Schedule
    path: Path
    url: str
    first_version: int
    statements: list[StatementRun]
    blocked: list[Move] = field(default_factory=list)
    held: list[Move] = field(default_factory=list)
    """The moves at whose step an actor was held."""

    @property
    def has_met(self) -> bool:
        """Whether the first statement was held where the schedule says, and the fault struck."""
        strike, first = self.schedule.strike, self.schedule.moves[0]
        return (
            strike is not None
            and (first.until is None or first in self.held)
            and any(
                statement.fault is strike.fault and statement.actor == strike.after.actor
                for statement in self.statements
            )
        )


class ScheduleRunner:
    """Contains the sessions of the actors, and plays one schedule after another."""

    def __init__(self, spark: SparkSession, originals: Originals) -> None:
        self.originals = originals
        self._storage = LateStorage(spark)
        self._sessions = [_session(spark) for _ in range(3)]

    def play(self, schedule: Schedule, path: Path) -> Run:
        return self.play_on(schedule, path, self.originals.copy(schedule.kind, path))

    def play_on(self, schedule: Schedule, path: Path, original: Original) -> Run:
        """Plays a schedule on an existing copy."""
        url = f"{SCHEME}:{path}"
        run = Run(schedule, path, url, newest_version(path), [])
        self._play(run, original, itertools.count(), itertools.count(1), schedule.moves)
        return run

    def go_on(self, run: Run, original: Original) -> None:
        """Plays the rest of a schedule after the driver of the first actor was killed."""
        first = StatementRun(
            run.schedule.scripts[0][0], 1, 0, began=0, known_version=run.first_version
        )
        first.fault = Fault.KILLED
        run.statements.append(first)
        self._play(run, original, itertools.count(1), itertools.count(2), run.schedule.moves[1:])

    def _play(
        self,
        run: Run,
        original: Original,
        clock: Iterator[int],
        numbers: Iterator[int],
        moves: Sequence[Move],
    ) -> None:
        schedule, path, url = run.schedule, run.path, run.url
        actors: dict[int, _Actor] = {}
        for number in sorted({move.actor for move in moves}):
            script = schedule.scripts[number]
            stage = Stage(self._sessions[number], path, url, schedule.kind, original)
            for act in script:
                if act.prepare:
                    act.prepare(stage)
            statements = [StatementRun(act, next(numbers), number) for act in script]
            run.statements += statements
            strike = schedule.strike_of(number)
            actors[number] = _Actor(stage, statements, lambda: next(clock), strike, self._storage)
        try:
            for move in moves:
                if not actors[move.actor].go(move):
                    run.blocked.append(move)
        finally:
            for actor in actors.values():
                actor.end()
                run.held += actor.held
            self._storage.disarm()


def _session(spark: SparkSession) -> SparkSession:
    session = spark.newSession()
    session.conf.set("spark.databricks.delta.retentionDurationCheck.enabled", "false")
    # By default, one JVM's transactions on a local disk commit one after the other, so no statement
    # commits beside one that is held after its log entry. Separate drivers do not wait.
    session.conf.set("spark.databricks.delta.commitLock.enabled", "false")
    session.conf.set("spark.sparkext.columnMapping.removal.timeout", "30s")
    return session


def newest_version(path: Path) -> int:
    return max(int(entry.stem) for entry in (path / "_delta_log").glob("[0-9]" * 20 + ".json"))


def hold(spark: SparkSession, schedule: Schedule, path: Path, original: Original) -> bool:
    """Runs the first statement of a schedule to its step, and returns whether it is held there."""
    stage = Stage(_session(spark), path, str(path), schedule.kind, original)
    statement = StatementRun(schedule.scripts[0][0], 1, 0)
    return _Actor(stage, [statement], lambda: 0, None, LateStorage(spark)).hold(schedule.moves[0])


class _Actor:
    """Runs the statements of a script, and holds them at the steps of the schedule."""

    def __init__(
        self,
        stage: Stage,
        statements: list[StatementRun],
        tick: Callable[[], int],
        strike: Strike | None,
        storage: LateStorage,
    ) -> None:
        self._stage = stage
        self._statements = statements
        self._tick = tick
        self._strike = strike
        self._storage = storage
        self._until: Move | None = None
        self._is_free = False
        self._is_held = threading.Event()
        self._may_run = threading.Event()
        self._has_ended = False
        self._thread: threading.Thread | None = None
        self._current: StatementRun | None = None
        self.held: list[Move] = []

    def go(self, until: Move) -> bool:
        """Returns whether the actor is held or has ended. Otherwise it waits for another actor."""
        if self._thread and not self._is_held.wait(0):
            self._is_held.wait(BLOCKED)
        if self._has_ended:
            return True
        self._until = until
        self._is_held.clear()
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, daemon=True)
            self._thread.start()
        else:
            self._may_run.set()
        return self._is_held.wait(BLOCKED)

    def hold(self, until: Move) -> bool:
        """Returns whether the actor is held. Otherwise it has ended."""
        self.go(until)
        assert self._is_held.wait(PATIENCE), f"never gets to {until}: {self._current}"
        return bool(self.held)

    def end(self) -> None:
        self._is_free = True
        self._may_run.set()
        if self._thread:
            self._thread.join(PATIENCE)
            assert not self._thread.is_alive(), f"never ends: {self._current}"

    def _run(self) -> None:
        jvm: Any = self._stage.spark._jvm
        jvm.org.apache.spark.sql.SparkSession.setActiveSession(self._stage.spark._jsparkSession)
        try:
            with observed(jvm, self._reached):
                for statement in self._statements:
                    self._current = statement
                    self._do(statement)
                    if statement.error is not None:
                        break
        finally:
            self._has_ended = True
            self._is_held.set()

    def _do(self, statement: StatementRun) -> None:
        self._stage.spark.conf.set(USER_METADATA, statement.signature)
        statement.known_version = newest_version(self._stage.path)
        statement.began = self._tick()
        if self._strike and self._strike.after.until is None:
            self._hit(self._strike)
        try:
            seen = statement.act.run(self._stage, statement.number)
            statement.seen = seen if isinstance(seen, list) else ()
        except Exception as error:
            statement.error, statement.seen = error, self._stage.delivered
        if statement.fault and self._storage.disarm():
            statement.fault = None
        statement.ended = self._tick()

    def _reached(self, step: Step) -> None:
        part = self._stage.part
        if self._until and self._until.is_at(step, part) and not self._is_free:
            self._may_run.clear()
            self.held.append(self._until)
            self._is_held.set()
            self._may_run.wait()
        if self._strike and self._strike.after.is_at(step, part):
            self._hit(self._strike)

    def _hit(self, strike: Strike) -> None:
        assert self._current
        self._storage.arm(strike.fault)
        self._current.fault = strike.fault
        self._strike = None


def signatures(run: Run, commits: list[list[dict[str, Any]]]) -> Iterator[tuple[int, str]]:
    """Yields the versions since the start of the schedule, with the statements that made them."""
    for version, commit in enumerate(commits):
        if version > run.first_version:
            infos = [action["commitInfo"] for action in commit if "commitInfo" in action]
            yield version, infos[0].get("userMetadata", "") if infos else ""
