# SPDX-License-Identifier: Apache-2.0
"""Weighs faults: every fault of the log meets every phase of a removal, an alignment and a purge.

Schedules of even seeds take one fault and one phase after the other. A statement is held in the
phase, and another statement runs. The fault strikes the other statement, or the held one later.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from random import Random

from tests.schedules.act import Act
from tests.schedules.inserts import INSERT, SINK
from tests.schedules.schedule import (
    OF_LOG,
    STRIKES_AT,
    Fault,
    Move,
    Schedule,
    Strike,
    drawn_schedule,
)
from tests.schedules.scripts import ROWS, SWAP, Script
from tests.schedules.table_acts import (
    ADD,
    ALIGN,
    DROP_E,
    OPTIMIZE,
    PARTS,
    PROPERTIES,
    REMOVE_MAPPING,
    RENAME,
    REORG,
    RESTORE,
)
from tests.schedules.table_kinds import DROPPED, Kind
from tests.support.held_statement import Step


@dataclass(frozen=True)
class Phase:
    """Describes a step of a statement, or of one statement of an alignment."""

    operation: str
    act: Act
    step: Step
    part: str = ""

    def __str__(self) -> str:
        return f"{self.operation} {self.part or self.step.name}"

    @property
    def has_broken_copy(self) -> bool:
        """Whether this phase stands for its statement in the cells of `Fault.BROKEN`."""
        return self.part == "REMOVE" or (not self.part and self.step is Step.START)


PHASES = (
    *(Phase("removal", REMOVE_MAPPING, step) for step in Step),
    *(Phase("align", ALIGN, Step.COMMIT, part) for part in PARTS),
    *(Phase("purge", REORG, step) for step in Step),
)
CELLS = tuple(
    (phase, fault)
    for phase in PHASES
    for fault in (*OF_LOG, Fault.BROKEN)
    if phase.has_broken_copy or fault is not Fault.BROKEN
)
CHANGED_NAMES: tuple[Script, ...] = ((PROPERTIES,), (RENAME,), (DROP_E,), (ADD,), SWAP)
WRITTEN_ROWS: tuple[Script, ...] = tuple((act,) for act in ROWS)
BESIDE: dict[Act, tuple[Script, ...]] = {
    REMOVE_MAPPING: (*WRITTEN_ROWS, *CHANGED_NAMES, (RESTORE,)),
    ALIGN: WRITTEN_ROWS,
    REORG: ((INSERT,), (SINK,), *CHANGED_NAMES),
}
"""The scripts after which a statement that the fault strikes still commits."""
STRUCK: tuple[Script, ...] = tuple(
    (act,) for act in (*ROWS, PROPERTIES) if act not in (OPTIMIZE, REORG)
)
"""The scripts that the fault strikes, which commit in every phase of another statement."""
BEFORE_THE_LOG_ENTRY = (Step.START, Step.PREPARE, Step.COMMIT)


def schedule(seed: int) -> Schedule:
    """Returns the schedule of a seed."""
    return drawn_schedule(seed, seed // 2) if seed % 2 else _weighed_schedule(seed, seed // 2)


def _weighed_schedule(seed: int, number: int) -> Schedule:
    random = Random(f"weighed {number}")
    turn, place = divmod(number, len(CELLS))
    phase, fault = CELLS[place]
    held = Move(0, Step.START if fault is Fault.BROKEN else phase.step, phase.part)
    moves: tuple[Move, ...] = (held, Move(1, None), Move(0, None))
    if fault is Fault.BROKEN and phase.act is REORG:  # copies before its transaction starts
        held, moves = Move(0, None), moves[1:]
    is_own = fault is Fault.BROKEN or (phase.step in BEFORE_THE_LOG_ENTRY and turn % 2 == 0)
    others = random.choice(BESIDE[phase.act] if is_own else STRUCK)
    strike = Strike(fault, held if is_own else Move(1, STRIKES_AT[fault]))
    kind = _kind(random, phase, fault)
    return Schedule(seed, kind, ((phase.act,), others), moves, strike, cell_of(phase, fault))


def _kind(random: Random, phase: Phase, fault: Fault) -> Kind:
    kind = Kind(
        mapping=random.choice(("used", "used", DROPPED)),
        is_tracked=phase.part == "UNTRACK" or random.random() < 0.6,
        has_vectors=random.random() < 0.5,
        has_feed=random.random() < 0.3,
        has_partitions=random.random() < 0.15,
    )
    is_free = phase.act is REMOVE_MAPPING and fault is not Fault.BROKEN and random.random() < 0.25
    return replace(kind, mapping="free") if is_free else kind


def cell_of(phase: Phase, fault: Fault) -> str:
    return f"{phase} x {fault.name}"


def table(counts: Counter[str], planned: Counter[str]) -> str:
    """Returns a table of phases and faults: how often each met, of how often it was planned."""
    faults = (*OF_LOG, Fault.BROKEN)
    lines = [("", *(fault.name for fault in faults))]
    for phase in PHASES:
        cells = [cell_of(phase, fault) for fault in faults]
        lines.append(
            (str(phase), *(f"{counts[c]}/{planned[c]}" if planned[c] else "" for c in cells))
        )
    return "\n".join(f"{first:20}" + "".join(f"{c:>10}" for c in rest) for first, *rest in lines)


def planned(seeds: Iterable[int]) -> Counter[str]:
    """Returns how often the schedules of some seeds let each fault meet each phase."""
    return Counter(filter(None, (schedule(seed).cell for seed in seeds)))
