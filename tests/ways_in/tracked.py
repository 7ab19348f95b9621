# SPDX-License-Identifier: Apache-2.0
"""Contains the statements that each kind of session runs, and checks the log of their table."""

from __future__ import annotations

from tests.support.table_log import TableLog, is_uuid_name

CREATE = (
    "CREATE TABLE {t} (a INT, b STRING) USING delta TBLPROPERTIES ("
    "'delta.columnMapping.mode' = 'name',"
    " 'delta.feature.columnMappingUsageTracking' = 'supported')"
)
TRACK = [
    CREATE,
    "ALTER TABLE {t} ADD COLUMN c INT",
    "INSERT INTO {t} VALUES (1, 'x', 2)",
    "ALTER TABLE {t} RENAME COLUMN a TO d",
    "ALTER TABLE {t} ADD COLUMN a INT",
]
SET_FLAG = "ALTER TABLE {t} SET TBLPROPERTIES ('delta.columnMapping.hasDroppedOrRenamed' = 'false')"
REFUSED = "DELTA_CANNOT_MODIFY_TABLE_PROPERTY"
NAMES = "SELECT name, physicalName FROM column_mapping('{t}') WHERE name = 'd'"


def statements(*more: str, table: str = "t") -> list[str]:
    """Returns the statements that track and change a table, and more statements."""
    return [text.format(t=table) for text in (*TRACK, *more)]


def sql_text(*more: str, table: str = "t") -> str:
    """Returns the statements as text for a SQL shell."""
    return "".join(f"{statement};\n" for statement in statements(*more, table=table))


def assert_tracked(log: TableLog) -> None:
    """Asserts that the log contains these statements and nothing else."""
    assert log.version == 4
    assert log.is_tracked
    assert log.at(1).physical_names == {"a": "a", "b": "b", "c": "c"}
    assert log.at(2).flag == "false"
    assert log.at(2).parquet_columns() == ["a", "b", "c"]
    assert log.at(3).operation == "RENAME COLUMN"
    assert log.at(3).flag == "true"
    assert log.at(3).physical_names == {"d": "a", "b": "b", "c": "c"}
    assert log.flag == "true"
    assert is_uuid_name(log.physical_names["a"])
