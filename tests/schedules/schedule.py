# SPDX-License-Identifier: Apache-2.0
"""Draws schedules by a seed: the table, the statements, and where each statement is held."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum
from random import Random

from tests.schedules.act import Act
from tests.schedules.inserts import INSERT_INTO_HELD_VIEW
from tests.schedules.scripts import (
    ALIGNED,
    BEFORE_READERS,
    BEFORE_UNREAD,
    BESIDE_ALIGN,
    CHANGES,
    DANGERS,
    KEEPERS,
    PARTITIONS,
    READERS,
    RESTORED_COLUMNS,
    UNREAD_READERS,
    WRITERS,
    Danger,
    Script,
)
from tests.schedules.table_acts import (
    ALIGN,
    CLONE_OVER,
    DROP_MAPPING,
    MAP,
    PARTS,
    REMOVE_BY_DELTA,
    REMOVE_MAPPING,
    TRACK,
    UNTRACK,
    VACUUM,
    VACUUM_NOW,
)
from tests.schedules.table_kinds import DROPPED, MAPPINGS, Kind
from tests.support.held_statement import Step

NAMES = "ABC"
FIRST_ALIGNMENT = 60
"""The first seed whose killed driver aligns names."""


class Fault(Enum):
    """Lists what goes wrong once while a statement runs: in the storage, or in its driver."""

    FAILED = "the log entry is written, and the writing fails"
    TAKEN = "the log entry is written, and the response is that it existed"
    LATE = "a listing of the log lacks the newest entry"
    BROKEN = "the writing of a data file fails"
    KILLED = "the driver is killed where it is held"


OF_LOG = (Fault.FAILED, Fault.TAKEN, Fault.LATE)
STRIKES_AT = {Fault.FAILED: Step.COMMIT, Fault.TAKEN: Step.COMMIT, Fault.LATE: Step.START}


@dataclass(frozen=True)
class Move:
    """Lets an actor run to a step, in any or in one statement of its act, or to its end."""

    actor: int
    until: Step | None
    part: str = ""

    def __str__(self) -> str:
        end = f"{self.until.name}{' of ' * bool(self.part)}{self.part}" if self.until else "its end"
        return f"{NAMES[self.actor]} until {end}"

    def is_at(self, step: Step, part: str) -> bool:
        return step is self.until and self.part in ("", part)


@dataclass(frozen=True)
class Strike:
    """Contains a fault that happens once: after an actor came to a step, or began."""

    fault: Fault
    after: Move

    def __str__(self) -> str:
        after = f" after {self.after}" if self.after.until else " from its start"
        return f"for {NAMES[self.after.actor]} {self.fault.value}{after}"


@dataclass(frozen=True)
class Schedule:
    """Contains all that a seed decides."""

    seed: int
    kind: Kind
    scripts: tuple[Script, ...]
    moves: tuple[Move, ...]
    strike: Strike | None = None
    cell: str = ""
    """The fault and the phase of the statement that the fault meets."""

    def __str__(self) -> str:
        scripts = (
            f"{NAMES[actor]} = {', '.join(map(str, script))}"
            for actor, script in enumerate(self.scripts)
        )
        strike = f"; {self.strike}" if self.strike else ""
        moves = ", ".join(map(str, self.moves))
        return f"seed {self.seed}: table {self.kind}; {'; '.join(scripts)}; {moves}{strike}"

    def strike_of(self, actor: int) -> Strike | None:
        """Returns the strike of an actor."""
        return self.strike if self.strike and self.strike.after.actor == actor else None

    @property
    def acts(self) -> list[Act]:
        return [act for script in self.scripts for act in script]


def drawn_schedule(seed: int, number: int) -> Schedule:
    """Returns the schedule that a number decides. The seed is only its label."""
    random = Random(f"unread {number}")
    if random.random() < 0.08:
        readers, before = UNREAD_READERS, BEFORE_UNREAD
        return _read(random, seed, readers, before)
    if random.random() < 0.08:
        aligned = (random.choice(ALIGNED), random.choice(BESIDE_ALIGN))
        return Schedule(seed, _kind(random, aligned), aligned, _moves(random, aligned))
    random = Random(f"drawn apart {number}")
    if random.random() < 0.06:
        is_read = random.random() < 0.7
        if is_read:
            return _read(random, seed, READERS, BEFORE_READERS)
        return _dangerous(random, seed, PARTITIONS)
    random = Random(f"brought back {number}")
    if random.random() < 0.02:
        return _dangerous(random, seed, RESTORED_COLUMNS)
    random = Random(number)
    if random.random() < 0.4:
        return _dangerous(random, seed, random.choice(DANGERS))
    scripts = _scripts(random)
    kind = _kind(random, scripts)
    strike = None
    if random.random() < 0.15:
        actor, fault = random.randrange(len(scripts)), random.choice(OF_LOG)
        strike = Strike(fault, Move(actor, STRIKES_AT[fault]))
    return Schedule(seed, kind, scripts, _moves(random, scripts), strike)


def killed_schedule(seed: int) -> Schedule:
    """Returns a schedule whose first driver is killed while its statement is held."""
    random = Random(f"killed {seed}")
    number = random.choice((2, 3))
    scripts: list[Script] = [(random.choice((*WRITERS, *(script[0] for script in CHANGES))),)]
    while len(scripts) < number:
        scripts.append(random.choice((*CHANGES, *((act,) for act in WRITERS))))
    kind = _kind(random, scripts)
    held = Move(0, random.choice(list(Step)))
    if seed >= FIRST_ALIGNMENT:
        scripts[0], held = (ALIGN,), Move(0, Step.COMMIT, random.choice([*PARTS]))
        is_tracked = kind.is_tracked or held.part == "UNTRACK"  # others have nothing to untrack
        kind = replace(kind, mapping="used", is_empty=False, is_tracked=is_tracked)
    others = (Move(actor, None) for actor in range(1, number))
    return Schedule(seed, kind, tuple(scripts), (held, *others), Strike(Fault.KILLED, held))


def _read(random: Random, seed: int, readers: Sequence[Act], before: Sequence[Script]) -> Schedule:
    scripts = ((random.choice(readers),), random.choice(before))
    kind = _kind(random, scripts)
    return Schedule(seed, kind, scripts, (Move(1, None), Move(0, None)))


def _dangerous(random: Random, seed: int, danger: Danger) -> Schedule:
    scripts = ((random.choice(danger.held),), random.choice(danger.others))
    kind = replace(
        _kind(random, scripts),
        mapping=random.choice(danger.mappings),
    )
    for name in ("has_feed", "has_partitions", "is_tracked"):
        if getattr(danger, name) is not None:
            kind = replace(kind, **{name: getattr(danger, name)})
    moves = (Move(0, random.choice(danger.steps)), Move(1, None), Move(0, None))
    return Schedule(seed, kind, scripts, moves)


def _scripts(random: Random) -> tuple[Script, ...]:
    number = 2 if random.random() < 0.6 else 3
    scripts: list[Script] = [random.choice(CHANGES)]
    while len(scripts) < number:
        chance = random.random()
        if chance < 0.6:
            scripts.append((random.choice(WRITERS),))
        elif chance < 0.8:
            scripts.append((random.choice(KEEPERS),))
        else:
            scripts.append(random.choice(CHANGES))
    # VACUUM_NOW deletes files that a statement is about to commit, except the copies of a removal.
    if all(act in (REMOVE_MAPPING, VACUUM) for script in scripts for act in script):
        scripts = [tuple(VACUUM_NOW if act is VACUUM else act for act in s) for s in scripts]
    random.shuffle(scripts)
    return tuple(scripts)


def _kind(random: Random, scripts: Sequence[Script]) -> Kind:
    acts = [act for script in scripts for act in script]
    mapping = random.choice(MAPPINGS)
    if ALIGN in acts:
        mapping = random.choice(("used", "used", DROPPED, "free"))
    elif {REMOVE_MAPPING, REMOVE_BY_DELTA, DROP_MAPPING} & set(acts):
        mapping = random.choice(("used", "used", "used", "free"))
    elif MAP in acts:
        mapping = random.choice(("plain", "removed", "removed"))
    elif any(act.name.startswith(("rename", "drop ")) for act in acts):
        mapping = random.choice(("free", "used"))
    is_tracked = random.random() < 0.6
    if TRACK in acts:
        is_tracked = False
    elif UNTRACK in acts:
        is_tracked = True
    has_feed = random.random() < 0.3
    return Kind(
        mapping,
        is_tracked,
        has_vectors=random.random() < 0.5,
        has_feed=has_feed,
        is_empty=CLONE_OVER in acts,
        # Spark writes into a view of partitioned files without Delta, with and without spark-ext.
        has_partitions=random.random() < 0.15 and INSERT_INTO_HELD_VIEW not in acts,
    )


def _moves(random: Random, scripts: tuple[Script, ...]) -> tuple[Move, ...]:
    """Draws moves that hold actors up to twice. Every actor runs beside another actor."""
    if random.random() < 0.6:
        return _around(random, scripts)
    actors = len(scripts)
    while True:
        ways = [_way(random, actor, random.choice((0, 1, 1, 2))) for actor in range(actors)]
        moves = _mixed(random, ways)
        if _overlap(moves):
            return moves


def _around(random: Random, scripts: tuple[Script, ...]) -> tuple[Move, ...]:
    """Draws moves in which one actor starts first and ends last, held at a dangerous step."""
    actors = len(scripts)
    first = random.choices(range(actors), [4 if len(script) == 1 else 1 for script in scripts])[0]
    steps = [Step.START, Step.PREPARE, Step.COMMIT]
    weights = {REMOVE_MAPPING: (1, 1, 8)}.get(scripts[first][0], (5, 1, 2))
    held_at = Move(first, random.choices(steps, weights)[0])
    others = [
        _way(random, actor, random.choice((0, 0, 1))) for actor in range(actors) if actor != first
    ]
    return (held_at, *_mixed(random, others), Move(first, None))


def _way(random: Random, actor: int, times: int) -> list[Move]:
    """Returns the moves of an actor that is held a number of times."""
    return [*(Move(actor, random.choice(list(Step))) for _ in range(times)), Move(actor, None)]


def _mixed(random: Random, ways: list[list[Move]]) -> tuple[Move, ...]:
    moves = []
    while any(ways):
        moves.append(random.choice([way for way in ways if way]).pop(0))
    return tuple(moves)


def _overlap(moves: tuple[Move, ...]) -> bool:
    """Returns whether every actor runs beside another actor."""
    actors = {move.actor for move in moves}
    spans = []
    for actor in sorted(actors):
        places = [place for place, move in enumerate(moves) if move.actor == actor]
        spans.append((places[0], places[-1]))
    return all(any(a != b and a[0] < b[1] and b[0] < a[1] for b in spans if b != a) for a in spans)
