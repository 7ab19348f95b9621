# SPDX-License-Identifier: Apache-2.0
"""Plays the other half of the schedules, because pytest runs each file in one process."""

from __future__ import annotations

import pytest

from tests.schedules.playing import BATCH, SEEDS, Play, play_all


@pytest.mark.matrix
@pytest.mark.parametrize("first", range(SEEDS // 2, SEEDS, BATCH))
def test_further_schedules_have_no_finding(play: Play, first: int) -> None:
    play_all(play, range(first, first + BATCH))
