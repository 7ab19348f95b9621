# SPDX-License-Identifier: Apache-2.0
"""Plays the other half of the schedules, because pytest runs each file in one process."""

from __future__ import annotations

import pytest

from tests.schedules.playing import BATCH, SEEDS, Player


@pytest.mark.matrix
@pytest.mark.parametrize("first", range(SEEDS // 2, SEEDS, BATCH))
def test_further_schedules_have_no_finding(player: Player, first: int) -> None:
    player.play_all(range(first, first + BATCH))


@pytest.mark.matrix
def test_faults_of_further_schedules_meet_their_phases(player: Player) -> None:
    player.require_faults()
