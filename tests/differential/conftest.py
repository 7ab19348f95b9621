# SPDX-License-Identifier: Apache-2.0
"""Delta's functions in one JVM, and the schemas of the unit tests."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from delta_functions import DeltaFunctions
from pyspark.sql import SparkSession

# The strategies, and what they stand on. Only the folder of a collected test is on the path.
sys.path.insert(0, str(Path(__file__).parents[1] / "unit"))


@pytest.fixture(scope="session")
def delta(spark: SparkSession) -> DeltaFunctions:
    return DeltaFunctions(spark)
