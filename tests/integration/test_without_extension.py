# SPDX-License-Identifier: Apache-2.0
"""A tracked table in a session of plain delta-spark: it can be read, and not be written."""

from __future__ import annotations

from pathlib import Path

from custom_sessions import DELTA, Failure, failure_of, resolved_jars, session
from delta_table import Table
from processes import in_new_process

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
