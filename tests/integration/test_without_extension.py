# SPDX-License-Identifier: Apache-2.0
"""Tracked tables, and clones of them, in a session of plain delta-spark."""

from __future__ import annotations

from pathlib import Path

from custom_sessions import DELTA, Failure, failure_of, resolved_jars, session
from delta_table import Table
from processes import in_new_process
from table_log import UUID

WRITES = [
    "INSERT INTO {t} VALUES (3, 'z')",
    "ALTER TABLE {t} ADD COLUMN d INT",
    "ALTER TABLE {t} RENAME COLUMN b TO d",
    "ALTER TABLE {t} SET TBLPROPERTIES ('note' = 'n')",
]

Visit = tuple[list[tuple[object, ...]], dict[str, Failure | None]]


def visit(home: Path, jars: list[str], path: Path) -> Visit:
    """The table's rows, and how each write of it fails."""
    spark = session(home, jars, extensions=[DELTA]).getOrCreate()
    table = Table(spark, path)
    failures = {
        write: failure_of(lambda w=write: spark.sql(w.format(t=table.name))) for write in WRITES
    }
    return table.rows(), failures


def test_a_tracked_table_can_be_read_and_not_written(table: Table, tmp_path: Path) -> None:
    table.create_tracked("a INT, b STRING")
    table.insert("(1, 'x'), (2, 'y')")
    table.alter("RENAME COLUMN a TO c")
    version = table.log.version

    rows, failures = in_new_process(visit, tmp_path, resolved_jars(table.spark), table.path)

    assert rows == table.rows() == [(1, "x"), (2, "y")]
    assert list(failures) == WRITES
    for failure in failures.values():
        assert failure is not None
        assert failure.condition == "DELTA_UNSUPPORTED_FEATURES_FOR_WRITE"
        assert failure.sql_state == "56038"
        assert "columnMappingUsageTracking" in failure.parameters["unsupported"]
    assert table.log.version == version
    assert table.log.flag == "true"


def clone_and_change(home: Path, jars: list[str], source: Path, path: Path) -> None:
    """A clone in which a column was dropped that stays in the files under its own name."""
    spark = session(home, jars, extensions=[DELTA]).getOrCreate()
    clone = Table(spark, path)
    spark.sql(f"CREATE TABLE {clone.name} SHALLOW CLONE delta.`{source}`")
    clone.alter("SET TBLPROPERTIES ('delta.columnMapping.mode' = 'none')")
    clone.alter("ADD COLUMN c INT")
    clone.insert("(2, 'y', 20)")
    clone.alter("SET TBLPROPERTIES ('delta.columnMapping.mode' = 'name')")
    clone.alter("DROP COLUMN c")


def test_a_clone_that_was_changed_without_us_comes_back_with_the_flag_true(
    table: Table, tmp_path: Path
) -> None:
    table.create_tracked("a INT, b STRING")
    table.insert("(1, 'x')")
    clone = Table(table.spark, table.path.with_name("changed"))
    in_new_process(clone_and_change, tmp_path, resolved_jars(table.spark), table.path, clone.path)
    # Its flag is this table's from before the drop, and so is its creation time.
    assert (clone.log.is_tracked, clone.log.flag) == (False, "false")
    assert clone.log.metadata["createdTime"] == table.log.metadata["createdTime"]

    table.spark.sql(f"DELETE FROM {table.name}")
    table.spark.sql(f"CREATE OR REPLACE TABLE {table.name} SHALLOW CLONE {clone.name}")
    table.alter("ADD COLUMN c INT")

    assert (table.log.is_tracked, table.log.flag) == (True, "true")
    assert table.log.columns["c"] == (4, UUID)
    assert table.rows() == [(1, "x", None), (2, "y", None)]
