# SPDX-License-Identifier: Apache-2.0
"""Delta's two connectors: which one a session has, and from which Delta on."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import DataFrame

from tests.support.releases import DELTA, SPARK

Rows = list[tuple[object, ...]]

MODE = "spark.databricks.delta.v2.enableMode"
MODES = ["NONE", "AUTO", "STRICT"]
# Most tests of this folder run in the first as they are, and all tests in the one without Kernel.
AUTO_ELSEWHERE: list[Any] = [
    "STRICT",
    *(pytest.param(m, marks=pytest.mark.matrix) for m in MODES[:2]),
]
TWO_CONNECTORS = pytest.mark.skipif(DELTA < (4, 4), reason="Delta has one connector")
# Earlier ones do not look at Kernel's tables again before they run a query.
LOOKS_AGAIN = SPARK >= (4, 2)
# This one reads them in the version that it found, whatever the statement writes.
KEEPS_VERSION = SPARK < (4, 1)
# Earlier ones take the format of the table.
LIKE_TAKES_DEFAULT_FORMAT = SPARK >= (4, 2)


def rows(frame: DataFrame) -> Rows:
    return sorted(map(tuple, frame.collect()), key=repr)
