# SPDX-License-Identifier: Apache-2.0
"""Tests that changes that Delta refuses commit nothing."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from tests.support.delta_table import NAME_MODE, TRACKED, Table
from tests.support.table_log import FEATURE

MAPPED = f"{TRACKED}, {NAME_MODE}"
# The columns and the properties of each table, and further words of its CREATE TABLE.
TABLES = {
    "untracked": ("a INT", NAME_MODE, ""),
    "unmapped": ("a INT, b INT", TRACKED, ""),
    "nested": ("a INT NOT NULL, b STRING, s STRUCT<x: INT, y: INT>, t STRUCT<x: INT>", MAPPED, ""),
    "partitioned": ("a INT, p INT", MAPPED, "PARTITIONED BY (p)"),
    "clustered": (
        "a INT, b INT",
        f"{MAPPED}, 'delta.feature.allowColumnDefaults' = 'supported'",
        "CLUSTER BY (a)",
    ),
    "constrained": ("a INT, b INT", f"{MAPPED}, 'delta.constraints.positive' = 'a > 0'", ""),
}
GENERATED = "a INT, b INT GENERATED ALWAYS AS (a + 1)"
REPLACE_REFUSED = "DELTA_UNSUPPORTED_ALTER_TABLE_REPLACE_COL_OP"
CHANGE_REFUSED = "DELTA_UNSUPPORTED_ALTER_TABLE_CHANGE_COL_OP"
UNRESOLVED = "UNRESOLVED_COLUMN.WITH_SUGGESTION"
DEPENDENT = "DEPENDENT_COLUMN_CHANGE"


@pytest.fixture(scope="module")
def tables(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Table]:
    """Returns tables that the tests share, because no test changes them."""
    home = tmp_path_factory.mktemp("refused")
    made = {name: Table(spark, home / name) for name in [*TABLES, "generated"]}
    for name, (columns, properties, clause) in TABLES.items():
        spark.sql(
            f"CREATE TABLE {made[name].name} ({columns}) USING delta {clause}"
            f" TBLPROPERTIES ({properties})"
        )
    made["generated"].create(GENERATED, TRACKED, NAME_MODE)
    return made


@pytest.mark.every_variant
@pytest.mark.parametrize(
    ("kind", "change", "condition"),
    [
        ("nested", "ADD COLUMNS (A INT)", "FIELD_ALREADY_EXISTS"),
        ("nested", "ADD COLUMNS (s.X INT)", "FIELD_ALREADY_EXISTS"),
        ("nested", "ADD COLUMNS (c INT, C INT)", "COLUMN_ALREADY_EXISTS"),
        ("nested", "ADD COLUMNS (nope.c INT)", UNRESOLVED),
        (
            "clustered",
            "ADD COLUMN c INT DEFAULT 3",
            "WRONG_COLUMN_DEFAULTS_FOR_DELTA_ALTER_TABLE_ADD_COLUMN_NOT_SUPPORTED",
        ),
        ("nested", "RENAME COLUMN a TO A", "FIELD_ALREADY_EXISTS"),
        ("generated", "RENAME COLUMN a TO c", f"DELTA_GENERATED_COLUMNS_{DEPENDENT}"),
        ("constrained", "RENAME COLUMN a TO c", f"DELTA_CONSTRAINT_{DEPENDENT}"),
        ("partitioned", "DROP COLUMN p", "DELTA_UNSUPPORTED_DROP_PARTITION_COLUMN"),
        ("nested", "DROP COLUMN t.x", "DELTA_DROP_COLUMN_ON_SINGLE_FIELD_SCHEMA"),
        ("nested", "DROP COLUMN nope", UNRESOLVED),
        ("unmapped", "DROP COLUMN b", "DELTA_UNSUPPORTED_DROP_COLUMN"),
        ("clustered", "DROP COLUMN a", "DELTA_UNSUPPORTED_DROP_CLUSTERING_COLUMN"),
        ("generated", "DROP COLUMN a", f"DELTA_GENERATED_COLUMNS_{DEPENDENT}"),
        ("constrained", "DROP COLUMN a", f"DELTA_CONSTRAINT_{DEPENDENT}"),
        # Renames, new types, and a drop on an unmapped table: these statements refuse them.
        ("nested", "CHANGE COLUMN a c INT", "_LEGACY_ERROR_TEMP_0034"),
        ("nested", "ALTER COLUMN a TYPE STRING", CHANGE_REFUSED),
        ("nested", "ALTER COLUMN a TYPE BIGINT", CHANGE_REFUSED),
        ("nested", "REPLACE COLUMNS (a INT, c STRING, s STRUCT<x: INT, y: INT>)", REPLACE_REFUSED),
        (
            "nested",
            "REPLACE COLUMNS (a BIGINT, b STRING, s STRUCT<x: INT, y: INT>)",
            REPLACE_REFUSED,
        ),
        ("nested", "REPLACE COLUMNS (a INT, b STRING, s STRUCT<x: INT, z: INT>)", REPLACE_REFUSED),
        ("unmapped", "REPLACE COLUMNS (a INT)", REPLACE_REFUSED),
        (
            "nested",
            "SET TBLPROPERTIES ('x' = '1', 'delta.columnMapping.maxColumnId' = '99')",
            "DELTA_CANNOT_MODIFY_TABLE_PROPERTY",
        ),
        (
            "nested",
            "SET TBLPROPERTIES ('x' = '1', 'delta.columnMapping.mode' = 'id')",
            "DELTA_UNSUPPORTED_COLUMN_MAPPING_MODE_CHANGE",
        ),
        (
            "untracked",
            f"SET TBLPROPERTIES ('delta.feature.{FEATURE}' = 'no')",
            "DELTA_UNSUPPORTED_FEATURE_STATUS",
        ),
    ],
)
def test_refused_change_commits_nothing(
    tables: dict[str, Table], kind: str, change: str, condition: str
) -> None:
    with tables[kind].refusal(condition):
        tables[kind].alter(change)


def test_drop_if_exists_of_a_missing_column_commits_nothing(
    tables: dict[str, Table],
) -> None:
    with tables["nested"].no_commit():
        tables["nested"].alter("DROP COLUMN IF EXISTS c")
