# SPDX-License-Identifier: Apache-2.0
"""Java compares the same names as Python."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from spark_ext.log import actions
from spark_ext.model import keys

JAVA = Path(__file__).parents[2] / "jars/src/main/java/sparkext"
OPERATION = r'"([A-Z]+(?: [A-Z]+)*)"'
CONSTANT = r'static final String \w+ = "(\w+)";'
KIND = r"""(?:(?:THEN|ELSE) '|lit\(")(\w+)(?:'|"\)\.as\("kind"\))"""
KEY = re.compile(
    r'"((?:delta|parquet|sparkext\.columnMapping)\.[\w.]+|(?:checkpointP|columnMappingU)\w+)"'
)
# Prefixes, and a metadata domain that no rule reads.
ONLY_IN_JAVA = {
    "delta.enableIcebergCompat",
    *("delta.clustering", "delta.constraints."),
}
REPLACING = {
    *("REPLACE TABLE", "CREATE OR REPLACE TABLE"),
    *("REPLACE TABLE AS SELECT", "CREATE OR REPLACE TABLE AS SELECT"),
}


@pytest.mark.parametrize(
    ("file", "pattern", "named"),
    [
        (
            "log/TableReading.java",
            OPERATION,
            {keys.RESTORE, keys.CLONE, keys.CONVERT},
        ),
        (
            "log/FileGroups.java",
            CONSTANT,
            {actions.LIVE, actions.CHANGE_DATA, actions.UNTRACKED, actions.VECTORS},
        ),
        ("log/FileActions.java", KIND, {actions.LIVE, actions.CHANGE_DATA, actions.REMOVED}),
        ("log/DataFooter.java", CONSTANT, {actions.MISSING}),
    ],
)
def test_names_of_java_are_those_of_python(file: str, pattern: str, named: set[str]) -> None:
    assert set(re.findall(pattern, (JAVA / file).read_text())) == named


def test_name_history_knows_the_operations_of_python() -> None:
    named = {keys.CLONE, keys.RESTORE, keys.REMOVE_COLUMN_MAPPING} | REPLACING
    assert named <= set(re.findall(OPERATION, (JAVA / "stale/NameHistory.java").read_text()))


def test_keys_of_java_are_those_of_python() -> None:
    found = {key for file in JAVA.rglob("*.java") for key in KEY.findall(file.read_text())}
    assert found - set(KEY.findall(Path(keys.__file__).read_text())) == ONLY_IN_JAVA
