# SPDX-License-Identifier: Apache-2.0
"""Draws schedules by a seed: the table, the statements, and where each statement is held."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum
from random import Random

from tests.schedules.acts import (
    ADD_B,
    ADD_F,
    CHANGES,
    CLONE_OVER,
    DELETE,
    DELETE_BY_B,
    DELETE_FILE,
    DROP_B,
    DROP_E,
    DROP_MAPPING,
    FILL_F,
    HELD_DELETE_BY_B,
    HELD_MERGE,
    HELD_UPDATE,
    HELD_UPDATE_BY_B,
    INSERT,
    INSERT_INTO_HELD_VIEW,
    KEEPERS,
    MAP,
    MERGE,
    OPTIMIZE,
    OVERWRITE,
    OVERWRITE_PARTITIONS,
    PROPERTIES,
    READ_HELD,
    REMOVE_BY_DELTA,
    REMOVE_MAPPING,
    RENAME,
    RENAME_ASIDE_TO_D,
    RENAME_B_ASIDE,
    RENAME_D_TO_B,
    REORG,
    REPLACE_AS_SELECT,
    REPLACE_WHERE,
    RESTORE,
    RESTORE_MAPPED,
    SINK,
    STREAM,
    TRACK,
    UNTRACK,
    UPDATE,
    UPDATE_BY_B,
    VACUUM,
    VACUUM_NOW,
    WRITERS,
    Act,
)
from tests.schedules.table_kinds import DROPPED, MAPPINGS, Kind
from tests.support.held_statement import Step

Script = tuple[Act, ...]


class Fault(Enum):
    """Lists what goes wrong once while an actor commits: in the storage, or in its driver."""

    FAILED = "the log entry is written, and the writing fails"
    TAKEN = "the log entry is written, and the response is that it existed"
    LATE = "a listing of the log lacks the newest entry"
    KILLED = "the driver is killed where it is held"


OF_STORAGE = (Fault.FAILED, Fault.TAKEN, Fault.LATE)


@dataclass(frozen=True)
class Move:
    """Lets an actor run to a step, or to its end."""

    actor: int
    until: Step | None

    def __str__(self) -> str:
        return f"{'ABC'[self.actor]} until {self.until.name if self.until else 'its end'}"


@dataclass(frozen=True)
class Schedule:
    """Contains all that a seed decides."""

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

    def fault_of(self, actor: int) -> Fault | None:
        """Returns the fault of an actor."""
        return self.fault[1] if self.fault and self.fault[0] == actor else None

    @property
    def acts(self) -> list[Act]:
        return [act for script in self.scripts for act in script]

    @property
    def steps(self) -> set[Step]:
        return {move.until for move in self.moves if move.until}


@dataclass(frozen=True)
class Danger:
    """Contains a statement that is held, and statements in between that may harm it."""

    held: tuple[Act, ...]
    steps: tuple[Step, ...]
    others: tuple[Script, ...]
    mappings: tuple[str, ...]
    has_feed: bool | None = None
    has_partitions: bool | None = None
    is_tracked: bool | None = None


SWAP = (RENAME_B_ASIDE, RENAME_D_TO_B, RENAME_ASIDE_TO_D)
OTHER_NAMES = ((REMOVE_MAPPING,), (DROP_B, ADD_B), (RENAME, ADD_B), SWAP, (REMOVE_BY_DELTA,))
BY_B = (DELETE_BY_B, UPDATE_BY_B, HELD_DELETE_BY_B, HELD_UPDATE_BY_B)
ROWS = (UPDATE, DELETE, MERGE, DELETE_FILE, OVERWRITE, INSERT, SINK, OPTIMIZE, REORG, REPLACE_WHERE)
DANGERS = (
    # A stale plan reads files with other physical names.
    Danger(WRITERS, (Step.START,), OTHER_NAMES, ("used", "free")),
    Danger(BY_B, (Step.START,), OTHER_NAMES, ("used", "free"), has_partitions=False),
    Danger(BY_B, (Step.START,), (SWAP,), ("free",), has_partitions=True),
    # A stale plan does not know a column, and writes rows again without the column.
    Danger(
        (UPDATE, MERGE, HELD_UPDATE, HELD_MERGE),
        (Step.START,),
        ((ADD_F, FILL_F),),
        ("used", "free"),
    ),
    # The physical names change between the write of files and their commit.
    Danger(
        (INSERT, SINK, REPLACE_WHERE),
        (Step.PREPARE, Step.COMMIT),
        ((RESTORE_MAPPED,),),
        ("removed",),
    ),
    # Other statements change files while a removal copies them.
    Danger((REMOVE_MAPPING,), (Step.COMMIT,), tuple((act,) for act in ROWS), ("used",)),
    Danger(
        (REMOVE_MAPPING,),
        (Step.COMMIT,),
        ((RENAME,), (DROP_E,), SWAP, (REMOVE_MAPPING,), (REPLACE_AS_SELECT,), (RESTORE,)),
        ("used",),
    ),
    # A name is reused, so older changes seem to concern the new column.
    Danger(
        (PROPERTIES, INSERT, OPTIMIZE),
        (Step.COMMIT,),
        ((DROP_B, REMOVE_MAPPING, ADD_B, MAP),),
        ("free",),
        has_feed=True,
        is_tracked=True,
    ),
)

# This list is separate, so that the seeds of `DANGERS` keep their schedules.
PARTITIONS = Danger(
    (OVERWRITE_PARTITIONS,),
    (Step.START,),
    ((REMOVE_MAPPING,), (RENAME, ADD_B), SWAP, (*SWAP, REMOVE_MAPPING), (REMOVE_BY_DELTA,)),
    ("used", "free"),
    has_partitions=True,
)
RESTORED_COLUMNS = Danger(
    (REMOVE_MAPPING,),
    (Step.COMMIT,),
    tuple((act, *rows) for act in (RESTORE, CLONE_OVER) for rows in ((), (INSERT,), (UPDATE,))),
    (DROPPED,),
)
# These statements run no transaction, so no step can hold them.
READERS = (READ_HELD, STREAM)
BEFORE_READERS = tuple(
    (*names, *rows)
    for names in (
        *OTHER_NAMES,
        (REMOVE_MAPPING, MAP),
        (DROP_B, REMOVE_MAPPING, ADD_B, MAP),
        (ADD_F,),
        (RESTORE,),
    )
    for rows in ((INSERT,), ())
)


def schedule(seed: int) -> Schedule:
    """Returns the schedule of a seed, which depends only on this module and `acts`."""
    random = Random(f"drawn apart {seed}")
    if random.random() < 0.06:
        is_read = random.random() < 0.7
        return _read(random, seed) if is_read else _dangerous(random, seed, PARTITIONS)
    random = Random(f"brought back {seed}")
    if random.random() < 0.02:
        return _dangerous(random, seed, RESTORED_COLUMNS)
    random = Random(seed)
    if random.random() < 0.4:
        return _dangerous(random, seed, random.choice(DANGERS))
    scripts = _scripts(random)
    kind = _kind(random, [act for script in scripts for act in script])
    fault = None
    if random.random() < 0.15:
        fault = (random.randrange(len(scripts)), random.choice(OF_STORAGE))
    return Schedule(seed, kind, scripts, _moves(random, scripts), fault)


def killed_schedule(seed: int) -> Schedule:
    """Returns a schedule whose first driver is killed while its statement is held."""
    random = Random(f"killed {seed}")
    number = random.choice((2, 3))
    scripts: list[Script] = [(random.choice((*WRITERS, *(script[0] for script in CHANGES))),)]
    while len(scripts) < number:
        scripts.append(random.choice((*CHANGES, *((act,) for act in WRITERS))))
    kind = _kind(random, [act for script in scripts for act in script])
    held = Move(0, random.choice(list(Step)))
    others = (Move(actor, None) for actor in range(1, number))
    return Schedule(seed, kind, tuple(scripts), (held, *others), (0, Fault.KILLED))


def _read(random: Random, seed: int) -> Schedule:
    scripts = ((random.choice(READERS),), random.choice(BEFORE_READERS))
    kind = _kind(random, [act for script in scripts for act in script])
    return Schedule(seed, kind, scripts, (Move(1, None), Move(0, None)), None)


def _dangerous(random: Random, seed: int, danger: Danger) -> Schedule:
    scripts = ((random.choice(danger.held),), random.choice(danger.others))
    kind = replace(
        _kind(random, [act for script in scripts for act in script]),
        mapping=random.choice(danger.mappings),
    )
    for name in ("has_feed", "has_partitions", "is_tracked"):
        if getattr(danger, name) is not None:
            kind = replace(kind, **{name: getattr(danger, name)})
    moves = (Move(0, random.choice(danger.steps)), Move(1, None), Move(0, None))
    return Schedule(seed, kind, scripts, moves, None)


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


def _kind(random: Random, acts: list[Act]) -> Kind:
    mapping = random.choice(MAPPINGS)
    if {REMOVE_MAPPING, REMOVE_BY_DELTA, DROP_MAPPING} & set(acts):
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
    """Draws moves that hold actors once or twice, at least one of them beside a running actor."""
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
