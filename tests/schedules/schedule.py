# SPDX-License-Identifier: Apache-2.0
"""The seeded choice: which table, which statements, where they are held, who goes on when."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from random import Random

from acts import (
    CHANGES,
    CLONE_OVER,
    DROP_MAPPING,
    KEEPERS,
    LEAVE,
    LEAVE_BY_DELTA,
    MAP,
    TRACK,
    UNTRACK,
    VACUUM,
    VACUUM_NOW,
    WRITERS,
    Act,
)
from held_statement import Step
from table_kinds import MAPPINGS, Kind

Script = tuple[Act, ...]


class Fault(Enum):
    """What the storage does wrong, once, while an actor commits."""

    FAILED = "the log entry is written, and the writing fails"
    TAKEN = "the log entry is written, and the answer is that it was there"
    LATE = "a listing of the log has not the newest entry"


@dataclass(frozen=True)
class Move:
    """An actor goes on until it gets to a step, or until it ends."""

    actor: int
    until: Step | None

    def __str__(self) -> str:
        return f"{'ABC'[self.actor]} until {self.until.name if self.until else 'its end'}"


@dataclass(frozen=True)
class Schedule:
    """All that a seed decides."""

    seed: int
    kind: Kind
    scripts: tuple[Script, ...]
    moves: tuple[Move, ...]
    fault: tuple[int, Fault] | None

    def __str__(self) -> str:
        scripts = (
            f"{'ABC'[actor]} = {', '.join(map(str, script))}"
            for actor, script in enumerate(self.scripts)
        )
        fault = f"; for {'ABC'[self.fault[0]]} {self.fault[1].value}" if self.fault else ""
        moves = ", ".join(map(str, self.moves))
        return f"seed {self.seed}: table {self.kind}; {'; '.join(scripts)}; {moves}{fault}"

    @property
    def acts(self) -> list[Act]:
        return [act for script in self.scripts for act in script]

    @property
    def steps(self) -> set[Step]:
        return {move.until for move in self.moves if move.until}


def schedule(seed: int) -> Schedule:
    """The same for the same seed, as long as nobody changes this module or `acts`."""
    random = Random(seed)
    scripts = _scripts(random)
    kind = _kind(random, [act for script in scripts for act in script])
    fault = None
    if random.random() < 0.15:
        fault = (random.randrange(len(scripts)), random.choice(list(Fault)))
    return Schedule(seed, kind, scripts, _moves(random, len(scripts)), fault)


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
    # Who removes what nobody needs yet harms whoever is about to need it, but for a removal.
    if all(act in (LEAVE, VACUUM) for script in scripts for act in script):
        scripts = [tuple(VACUUM_NOW if act is VACUUM else act for act in s) for s in scripts]
    random.shuffle(scripts)
    return tuple(scripts)


def _kind(random: Random, acts: list[Act]) -> Kind:
    mapping = random.choice(MAPPINGS)
    if {LEAVE, LEAVE_BY_DELTA, DROP_MAPPING} & set(acts):
        mapping = random.choice(("used", "used", "used", "free"))
    elif MAP in acts:
        mapping = random.choice(("plain", "left", "left"))
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
    )


def _moves(random: Random, actors: int) -> tuple[Move, ...]:
    """Actors are held once or twice; one of them at least beside another that goes on."""
    steps = list(Step)
    while True:
        ways = [
            [*(Move(actor, random.choice(steps)) for _ in range(random.choice((0, 1, 1, 2)))),
             Move(actor, None)]
            for actor in range(actors)
        ]  # fmt: skip
        moves = []
        while any(ways):
            moves.append(random.choice([way for way in ways if way]).pop(0))
        if _overlap(moves):
            return tuple(moves)


def _overlap(moves: list[Move]) -> bool:
    """Whether none ends before another begins, nor begins when others have ended."""
    actors = {move.actor for move in moves}
    spans = []
    for actor in sorted(actors):
        places = [place for place, move in enumerate(moves) if move.actor == actor]
        spans.append((places[0], places[-1]))
    return all(any(a != b and a[0] < b[1] and b[0] < a[1] for b in spans if b != a) for a in spans)
