# SPDX-License-Identifier: Apache-2.0
"""Prepared tables, and a session that is quick with a few rows."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from pyspark.sql import SparkSession
from statements import FOR_TINY_TABLES, Tables


@pytest.fixture(autouse=True)
def quick_with_tiny_tables(conf: Callable[[str, str], None]) -> None:
    for key, value in FOR_TINY_TABLES.items():
        conf(key, value)


@pytest.fixture(scope="session")
def tables(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Tables:
    return Tables(spark, tmp_path_factory.mktemp("tables"))
