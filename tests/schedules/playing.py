# SPDX-License-Identifier: Apache-2.0
"""Plays schedules by their seeds, and writes the text of failures."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterable
from pathlib import Path

from pyspark.sql import SparkSession

from tests.schedules.actors import Theatre
from tests.schedules.oracle import Finding, judge
from tests.schedules.schedule import schedule

SEEDS = 1000
BATCH = 25
Play = Callable[[int], None]


def asked_for() -> list[int]:
    """Returns the seeds that the environment names."""
    seeds: list[int] = []
    for part in filter(None, os.environ.get("SCHEDULES", "").split(",")):
        first, _, last = part.partition("-")
        seeds += range(int(first), int(last or first) + 1)
    return seeds


def play_in(spark: SparkSession, theatre: Theatre, home: Path) -> Play:
    def play(seed: int) -> None:
        chosen = schedule(seed)
        path = home / str(seed)
        try:
            judge(spark, theatre.play(chosen, path))
        except AssertionError as error:
            replay = f"SCHEDULES={seed} pytest tests/schedules -k replayed"
            raise Finding(f"{chosen}\n{error}\nAgain: {replay}") from error
        shutil.rmtree(path)

    return play


def play_all(play: Play, seeds: Iterable[int]) -> None:
    """Plays all schedules, also after a failure."""
    findings = []
    for seed in seeds:
        try:
            play(seed)
        except Finding as finding:
            findings.append(str(finding))
    assert not findings, "\n\n".join([f"{len(findings)} findings", *findings])
