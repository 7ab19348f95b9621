# SPDX-License-Identifier: Apache-2.0
"""Plays schedules by their seeds, counts faults, and writes the text of failures."""

from __future__ import annotations

import json
import os
import shutil
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from pyspark.java_gateway import ensure_callback_server_started
from pyspark.sql import SparkSession

from tests.schedules.actors import ScheduleRunner
from tests.schedules.faults import SCHEME, SOURCE
from tests.schedules.oracle import Finding, judge
from tests.schedules.table_kinds import Originals
from tests.schedules.weighed import planned, schedule, table
from tests.support.java_sources import add_storage

SEEDS = 1200
BATCH = 25
LEAST = 5
"""How often each fault has to meet each phase in each half of the seeds."""


def seeds_of(text: str) -> list[int]:
    """Returns the seeds of a text such as `3,5-8`."""
    seeds: list[int] = []
    for part in filter(None, text.split(",")):
        first, _, last = part.partition("-")
        seeds += range(int(first), int(last or first) + 1)
    return seeds


def asked_for() -> list[int]:
    """Returns the seeds that the environment names."""
    return seeds_of(os.environ.get("SCHEDULES", ""))


def runner_in(spark: SparkSession, home: Path) -> ScheduleRunner:
    """Returns a runner whose tables are in a new storage."""
    home.mkdir(exist_ok=True)
    ensure_callback_server_started(spark.sparkContext._gateway)
    add_storage(spark, SCHEME, SOURCE, home)
    return ScheduleRunner(spark, Originals(spark, home / "originals"))


class Player:
    """Plays schedules, and counts how often which fault met which phase."""

    def __init__(self, spark: SparkSession, runner: ScheduleRunner, home: Path) -> None:
        self._spark = spark
        self._runner = runner
        self._home = home
        self.played: list[int] = []
        self.met: Counter[str] = Counter()

    def play(self, seed: int) -> None:
        chosen = schedule(seed)
        path = self._home / str(seed)
        self.played.append(seed)
        try:
            run = self._runner.play(chosen, path)
            if chosen.cell and run.has_met:
                self.met[chosen.cell] += 1
            judge(self._spark, run)
        except AssertionError as error:
            replay = f"SCHEDULES={seed} pytest tests/schedules -k environment"
            raise Finding(f"{chosen}\n{error}\nAgain: {replay}") from error
        shutil.rmtree(path)
        shutil.rmtree(f"{path}-stream", ignore_errors=True)

    def play_all(self, seeds: Iterable[int]) -> None:
        """Plays all schedules, also after a failure."""
        findings = []
        for seed in seeds:
            try:
                self.play(seed)
            except Finding as finding:
                findings.append(str(finding))
        assert not findings, "\n\n".join([f"{len(findings)} findings", *findings])

    def require_faults(self) -> None:
        """Raises AssertionError if a fault met a phase too seldom."""
        assert len(self.played) >= SEEDS // 2, "the schedules of this module were not played"
        rare = [cell for cell in planned(self.played) if self.met[cell] < LEAST]
        assert not rare, f"{rare}\n{self.table()}"

    def table(self) -> str:
        """Returns how often each fault met each phase, of how often it was planned."""
        return table(self.met, planned(self.played))

    def write(self, file: Path) -> None:
        """Writes the seeds and the counts of this run as JSON."""
        counts = {"seeds": self.played, "met": self.met, "planned": planned(self.played)}
        file.write_text(json.dumps(counts, indent=1))
