# SPDX-License-Identifier: Apache-2.0
"""Prepared tables, and the sessions of the actors."""

from __future__ import annotations

from pathlib import Path

import pytest
from actors import Theatre
from faults import late_jar, make_known
from playing import Play, play_in
from pyspark.java_gateway import ensure_callback_server_started
from pyspark.sql import SparkSession
from table_kinds import Originals


@pytest.fixture(scope="session")
def theatre(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Theatre:
    ensure_callback_server_started(spark.sparkContext._gateway)
    make_known(spark, late_jar(tmp_path_factory.mktemp("late")))
    return Theatre(spark, Originals(spark, tmp_path_factory.mktemp("originals")))


@pytest.fixture
def play(spark: SparkSession, theatre: Theatre, tmp_path: Path) -> Play:
    return play_in(spark, theatre, tmp_path)
