# SPDX-License-Identifier: Apache-2.0
"""Provides prepared tables, and the sessions of the actors."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.java_gateway import ensure_callback_server_started
from pyspark.sql import SparkSession

from tests.schedules.actors import Theatre
from tests.schedules.faults import late_jar, make_known
from tests.schedules.playing import Play, play_in
from tests.schedules.table_kinds import Originals


@pytest.fixture(scope="session")
def theatre(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Theatre:
    ensure_callback_server_started(spark.sparkContext._gateway)
    make_known(spark, late_jar(tmp_path_factory.mktemp("late")))
    return Theatre(spark, Originals(spark, tmp_path_factory.mktemp("originals")))


@pytest.fixture
def play(spark: SparkSession, theatre: Theatre, tmp_path: Path) -> Play:
    return play_in(spark, theatre, tmp_path)
