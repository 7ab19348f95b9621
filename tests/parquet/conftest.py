# SPDX-License-Identifier: Apache-2.0
"""Provides the Java package `sparkext.parquet`."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from tests.parquet.renamer import Renamer


@pytest.fixture(scope="session")
def renamer(spark: SparkSession) -> Renamer:
    return Renamer(spark)
