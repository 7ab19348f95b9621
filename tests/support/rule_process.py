# SPDX-License-Identifier: Apache-2.0
"""Names the settings of the rule process, makes a session call it, and kills it."""

from __future__ import annotations

import os
import signal
from itertools import count

import pytest
from pyspark.errors import AnalysisException, PySparkException

from tests.support.delta_table import Table
from tests.support.waiting import wait_until

PYTHON = "spark.sparkext.worker.python"
TIMEOUT = "spark.sparkext.worker.timeout"

COLUMN_NUMBERS = count()


def add_column(table: Table) -> None:
    table.alter(f"ADD COLUMN c{next(COLUMN_NUMBERS)} INT")


def refusal(table: Table) -> AnalysisException:
    """Returns the error of a change of a tracked table, and asserts that nothing was written."""
    version = table.log.version
    with pytest.raises(AnalysisException) as refused:
        add_column(table)
    assert table.log.version == version
    assert set(table.path.iterdir()) == {table.path / "_delta_log"}
    return refused.value


def parameters(error: PySparkException) -> dict[str, str]:
    return error.getMessageParameters() or {}


def kill(process: int) -> None:
    """Kills a child of the JVM, and waits until the JVM has reaped it."""
    os.kill(process, signal.SIGKILL)
    wait_until(lambda: not exists(process), "its end")


def exists(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True
