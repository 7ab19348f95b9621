# SPDX-License-Identifier: Apache-2.0
"""Runs one random history with a fixed seed. `make soak` runs more."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.histories.readers import PlainSpark
from tests.histories.soak import run
from tests.histories.table_steps import World


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PlainSpark]:
    session = PlainSpark(tmp_path_factory.mktemp("plain"))
    session.wait_until_ready()
    yield session
    session.stop()


def test_tables_follow_the_model_through_a_random_history(
    spark: SparkSession, plain: PlainSpark, tmp_path: Path
) -> None:
    world = World(spark, plain, tmp_path, has_simplest=False)

    run(world, first_seed=9, examples=1, steps=12)

    # A history without drops and renames would prove little.
    assert world.counts["flag became true"]
