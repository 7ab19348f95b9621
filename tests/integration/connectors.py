# SPDX-License-Identifier: Apache-2.0
"""Selects one of Delta's two connectors, and states what each release does with Kernel's tables."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import DataFrame

from tests.support.releases import DELTA, SPARK

Rows = list[tuple[object, ...]]

MODE = "spark.databricks.delta.v2.enableMode"
MODES = ["NONE", "AUTO", "STRICT"]
# Most tests of this folder run in mode AUTO. TEST_SETTINGS=one-connector runs all in NONE.
AUTO_ELSEWHERE: list[Any] = [
    "STRICT",
    *(pytest.param(m, marks=pytest.mark.matrix) for m in MODES[:2]),
]
TWO_CONNECTORS = pytest.mark.skipif(DELTA < (4, 4), reason="Delta has one connector")
# Older releases do not resolve Kernel's tables again before a query runs.
LOOKS_AGAIN = SPARK >= (4, 2)
# These releases read Kernel's tables in the version of the analysis.
KEEPS_VERSION = SPARK < (4, 1)
# Older releases take the format of the source table.
LIKE_TAKES_DEFAULT_FORMAT = SPARK >= (4, 2)


def rows(frame: DataFrame) -> Rows:
    return sorted(map(tuple, frame.collect()), key=repr)
