# SPDX-License-Identifier: Apache-2.0
"""Statements in forced order over real Delta, by seeds: whatever comes first, no value is lost.

`SCHEDULES=123,456 pytest tests/schedules -k replayed` runs the schedules of these seeds again;
`SCHEDULES=0-99` those of a range.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest
from actors import Theatre
from oracle import Finding, judge
from pyspark.sql import SparkSession
from schedule import schedule

CHOSEN = range(30)
SEEDS = 1000
BATCH = 25


def asked_for() -> list[int]:
    """The seeds that the environment names."""
    seeds: list[int] = []
    for part in filter(None, os.environ.get("SCHEDULES", "").split(",")):
        first, _, last = part.partition("-")
        seeds += range(int(first), int(last or first) + 1)
    return seeds


@pytest.fixture
def play(spark: SparkSession, theatre: Theatre, tmp_path: Path) -> Callable[[int], None]:
    def play_one(seed: int) -> None:
        chosen = schedule(seed)
        path = tmp_path / str(seed)
        try:
            run = theatre.play(chosen, path)
            judge(spark, run)
        except (Finding, AssertionError) as error:
            replay = f"SCHEDULES={seed} pytest tests/schedules -k replayed"
            raise Finding(f"{chosen}\n{error}\nAgain: {replay}") from error
        shutil.rmtree(path)

    return play_one


def play_all(play: Callable[[int], None], seeds: Iterable[int]) -> None:
    """All of them, whatever the first ones show."""
    findings = []
    for seed in seeds:
        try:
            play(seed)
        except Finding as finding:
            findings.append(str(finding))
    assert not findings, "\n\n".join([f"{len(findings)} findings", *findings])


@pytest.mark.every_variant
@pytest.mark.parametrize("seed", CHOSEN, ids=lambda seed: f"seed-{seed}")
def test_schedule(play: Callable[[int], None], seed: int) -> None:
    play(seed)


@pytest.mark.matrix
@pytest.mark.parametrize("first", range(0, SEEDS, BATCH))
def test_schedules(play: Callable[[int], None], first: int) -> None:
    play_all(play, range(first, first + BATCH))


@pytest.mark.skipif(not asked_for(), reason="the environment names no seeds")
def test_replayed(play: Callable[[int], None]) -> None:
    play_all(play, asked_for())
