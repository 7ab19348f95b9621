# SPDX-License-Identifier: Apache-2.0
"""Plays statements in a forced order on real tables, and judges that no value is lost.

`SCHEDULES=123,456 pytest tests/schedules -k environment` runs the schedules of these seeds again;
`SCHEDULES=0-99` runs those of a range.
"""

from __future__ import annotations

import pytest

from tests.schedules.playing import BATCH, SEEDS, Player, asked_for

# Checks of the plugin, also of the removal, were deleted on purpose; each deletion makes one of
# these seeds fail. The second line adds the steps and the faults that the first line lacks. The
# third line adds faults of data files and rows that a reader has not read. The matrix plays each
# statement.
CHOSEN = (
    *(51, 91, 99, 121, 133, 159, 175, 227, 403, 799, 841, 857, 1181, 1371),
    *(105, 123, 945, 955, 1175),
    *(6, 13, 14, 140, 358, 523),
)


@pytest.mark.every_variant
@pytest.mark.parametrize("seed", CHOSEN, ids=lambda seed: f"seed-{seed}")
def test_chosen_schedule_has_no_finding(player: Player, seed: int) -> None:
    player.play(seed)


@pytest.mark.matrix
@pytest.mark.parametrize("first", range(0, SEEDS // 2, BATCH))
def test_drawn_schedules_have_no_finding(player: Player, first: int) -> None:
    player.play_all(range(first, first + BATCH))


@pytest.mark.matrix
def test_faults_meet_their_phases(player: Player) -> None:
    player.require_faults()


@pytest.mark.skipif(not asked_for(), reason="the environment names no seeds")
def test_schedules_of_the_environment_have_no_finding(player: Player) -> None:
    player.play_all(asked_for())
