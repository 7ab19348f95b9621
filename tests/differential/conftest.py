# SPDX-License-Identifier: Apache-2.0
"""Provides Delta's own functions in one JVM."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from tests.differential.delta_functions import DeltaFunctions


@pytest.fixture(scope="session")
def delta(spark: SparkSession) -> DeltaFunctions:
    return DeltaFunctions(spark)
