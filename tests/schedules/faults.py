# SPDX-License-Identifier: Apache-2.0
"""Controls the faults of the storage `late:`, which serves the local disk."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from tests.schedules.schedule import Fault

SOURCE = Path(__file__).with_name("LateFileSystem.java")
SCHEME = "late"
FAULT = "late.fault"
MESSAGE = "The storage is late"


class LateStorage:
    """Controls the next fault of the storage."""

    def __init__(self, spark: SparkSession) -> None:
        jvm: Any = spark._jvm
        self._system = jvm.java.lang.System

    def arm(self, fault: Fault) -> None:
        self._system.setProperty(FAULT, fault.name)

    def disarm(self) -> bool:
        """Removes the fault, and returns whether the fault has not happened."""
        return self._system.clearProperty(FAULT) is not None
