# SPDX-License-Identifier: Apache-2.0
"""Provides prepared tables."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from tests.concurrency.statements import Tables


@pytest.fixture(scope="session")
def tables(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Tables:
    return Tables(spark, tmp_path_factory.mktemp("tables"))
