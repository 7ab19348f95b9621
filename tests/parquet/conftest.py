# SPDX-License-Identifier: Apache-2.0
"""The Java room that gives data files other names."""

from __future__ import annotations

import pytest
from parquet_renamer import Renamer
from pyspark.sql import SparkSession


@pytest.fixture(scope="session")
def renamer(spark: SparkSession) -> Renamer:
    return Renamer(spark)
