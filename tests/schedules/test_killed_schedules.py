# SPDX-License-Identifier: Apache-2.0
"""Plays schedules in which a driver is killed while its statement is held."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.schedules.actors import Run, ScheduleRunner, newest_version
from tests.schedules.faults import SCHEME
from tests.schedules.killed import hold_and_kill
from tests.schedules.oracle import judge
from tests.schedules.schedule import killed_schedule
from tests.support.custom_sessions import our_jar, resolved_jars

SEEDS = 90
BATCH = 30
HELD = 0.9
"""The share of the statements that have to be held when their driver is killed."""


@pytest.mark.matrix  # each driver is a JVM
@pytest.mark.parametrize("first", range(0, SEEDS, BATCH))
def test_schedules_with_a_killed_driver_have_no_finding(
    spark: SparkSession, runner: ScheduleRunner, tmp_path: Path, first: int
) -> None:
    seeds = range(first, first + BATCH)
    originals = {
        seed: runner.originals.copy(killed_schedule(seed).kind, tmp_path / str(seed))
        for seed in seeds
    }
    versions = {seed: newest_version(tmp_path / str(seed)) for seed in seeds}
    held = hold_and_kill(tmp_path, [*resolved_jars(spark), our_jar()], originals)

    assert len(held) >= HELD * BATCH, f"not held: {[*map(killed_schedule, {*seeds} - held)]}"
    findings = []
    for seed in seeds:
        path = tmp_path / str(seed)
        run = Run(killed_schedule(seed), path, f"{SCHEME}:{path}", versions[seed], [])
        try:
            runner.go_on(run, originals[seed])
            judge(spark, run)
        except AssertionError as error:
            findings.append(f"{run.schedule}\n{error}")
    assert not findings, "\n\n".join([f"{len(findings)} findings", *findings])
