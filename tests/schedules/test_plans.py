# SPDX-License-Identifier: Apache-2.0
"""Tests plans: each fault meets each phase in which it can strike, and a seed decides all."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from tests.schedules.actors import Run, StatementRun
from tests.schedules.playing import SEEDS
from tests.schedules.schedule import Fault
from tests.schedules.table_acts import ALIGN, REMOVE_MAPPING, REORG
from tests.schedules.weighed import CELLS, cell_of, planned, schedule
from tests.support.held_statement import Step

LEAST = 12
ROOT = Path(__file__).parents[2]
DIGEST = "from tests.schedules.test_plans import digest; print(digest())"


def digest() -> str:
    texts = "\n".join(str(schedule(seed)) for seed in range(SEEDS))
    return hashlib.sha256(texts.encode()).hexdigest()


def test_each_cell_has_enough_schedules() -> None:
    counts = planned(range(SEEDS))

    assert counts.keys() == {cell_of(phase, fault) for phase, fault in CELLS}
    assert min(counts.values()) >= LEAST, counts


def test_each_fault_meets_a_held_statement_in_enough_schedules() -> None:
    held: Counter[tuple[str, Step | None, str, Fault]] = Counter()
    for seed in range(0, SEEDS, 2):
        found = schedule(seed)
        move = found.moves[0]
        assert found.strike
        held[str(found.scripts[0][0]), move.until, move.part, found.strike.fault] += 1

    for fault in (Fault.FAILED, Fault.TAKEN, Fault.LATE):
        for act in (REMOVE_MAPPING, REORG):
            assert min(held[str(act), step, "", fault] for step in Step) >= LEAST
        for part in ("MARK", "REMOVE", "UNTRACK", "MAP", "END"):
            assert held[str(ALIGN), Step.COMMIT, part, fault] >= LEAST
    for act, part in ((REMOVE_MAPPING, ""), (ALIGN, "REMOVE")):
        assert held[str(act), Step.START, part, Fault.BROKEN] >= LEAST
    assert held[str(REORG), None, "", Fault.BROKEN] >= LEAST


@pytest.mark.every_variant
@pytest.mark.parametrize("actor", [0, 1])
def test_phase_is_met_only_if_the_statement_was_held_and_the_fault_struck(actor: int) -> None:
    chosen = next(
        each
        for each in map(schedule, range(0, SEEDS, 2))
        if each.strike and each.strike.after.actor == actor and each.moves[0].actor == 0
    )
    assert chosen.strike
    statements = [StatementRun(script[0], n, n) for n, script in enumerate(chosen.scripts)]
    run = Run(chosen, ROOT, "", 0, statements)

    statements[1 - actor].fault = chosen.strike.fault
    run.held = [chosen.moves[0]]
    assert not run.has_met
    statements[actor].fault = chosen.strike.fault
    assert run.has_met
    run.held = []
    assert not run.has_met


def test_seed_decides_the_schedule_in_every_process() -> None:
    command = [sys.executable, "-c", DIGEST]
    environment = {**os.environ, "PYTHONHASHSEED": "1", "PYTHONPATH": str(ROOT)}
    other = subprocess.run(command, env=environment, cwd=ROOT, check=True, capture_output=True)

    assert other.stdout.decode().strip() == digest()
