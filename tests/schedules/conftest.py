# SPDX-License-Identifier: Apache-2.0
"""Provides prepared tables, and the sessions of the actors."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from tests.schedules.actors import ScheduleRunner
from tests.schedules.playing import Player, runner_in


@pytest.fixture(scope="session")
def runner(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> ScheduleRunner:
    return runner_in(spark, tmp_path_factory.mktemp("runner"))


@pytest.fixture(scope="module")
def player(
    spark: SparkSession, runner: ScheduleRunner, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Player]:
    """Plays the schedules of a module, and prints which faults have met which phases."""
    home = tmp_path_factory.mktemp("schedules")
    player = Player(spark, runner, home)
    yield player
    file = home.with_suffix(".json")
    player.write(file)
    print(f"\n{player.table()}\n{file}")
