# SPDX-License-Identifier: Apache-2.0
"""Provides prepared tables, and the sessions of the actors."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from tests.schedules.actors import Theatre
from tests.schedules.playing import Player, theatre_in


@pytest.fixture(scope="session")
def theatre(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Theatre:
    return theatre_in(spark, tmp_path_factory.mktemp("theatre"))


@pytest.fixture(scope="module")
def player(
    spark: SparkSession, theatre: Theatre, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Player]:
    """Plays the schedules of a module, and prints which faults have met which phases."""
    home = tmp_path_factory.mktemp("schedules")
    player = Player(spark, theatre, home)
    yield player
    file = home.with_suffix(".json")
    player.write(file)
    print(f"\n{player.table()}\n{file}")
