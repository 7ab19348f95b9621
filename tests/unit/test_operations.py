# SPDX-License-Identifier: Apache-2.0
"""Both halves compare the same names of Delta's operations."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from spark_ext.model import operations

JAVA = Path(__file__).parents[2] / "jars/src/main/java/sparkext"
OPERATION = re.compile(r'"([A-Z]+(?: [A-Z]+)*)"')
REPLACING = {
    *("REPLACE TABLE", "CREATE OR REPLACE TABLE"),
    *("REPLACE TABLE AS SELECT", "CREATE OR REPLACE TABLE AS SELECT"),
}


@pytest.mark.parametrize(
    ("file", "named"),
    [
        (
            "stale/NameHistory.java",
            {operations.CLONE, operations.RESTORE, operations.REMOVE_COLUMN_MAPPING} | REPLACING,
        ),
        ("log/ColumnMentions.java", {operations.DROP_COLUMNS}),
    ],
)
def test_operations_of_java_are_those_of_python(file: str, named: set[str]) -> None:
    assert set(OPERATION.findall((JAVA / file).read_text())) == named
