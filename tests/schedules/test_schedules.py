# SPDX-License-Identifier: Apache-2.0
"""Plays statements in a forced order on real tables, and judges that no value is lost.

`SCHEDULES=123,456 pytest tests/schedules -k replayed` runs the schedules of these seeds again;
`SCHEDULES=0-99` runs those of a range.
"""

from __future__ import annotations

import pytest

from tests.schedules.playing import BATCH, SEEDS, Play, asked_for, play_all

# Each check was removed once to see that one of these seeds fails, also checks of removals. The
# second line adds the missing steps and faults. The matrix plays each statement.
CHOSEN = (
    *(25, 45, 49, 60, 66, 79, 87, 113, 201, 399, 420, 428, 590, 685),
    *(52, 61, 472, 477, 587),
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
