# SPDX-License-Identifier: Apache-2.0
"""Tests columns with names that Spark and Delta reserve in data files."""

from __future__ import annotations

import pytest

from spark_ext.errors import CannotRemoveColumnMappingError
from tests.support.delta_table import NAME_MODE, TRACKED, Table
from tests.support.session_conf import SetConf
from tests.support.table_log import UUID

ROW_INDEX = "_tmp_metadata_row_index"  # Spark's Parquet reader fills it with row numbers
REFUSED = "USAGE_TRACKING_RESERVED_COLUMN_NAME"
OFF = "SET TBLPROPERTIES ('delta.columnMapping.mode' = 'none')"


# Refusals.


def test_removal_is_refused_for_a_reserved_name(table: Table) -> None:
    table.create_tracked(f"a INT, {ROW_INDEX} BIGINT")
    table.insert("(1, 100)")

    with table.refusal(REFUSED):
        table.alter(OFF)
    with table.refusal(REFUSED):
        table.alter("DROP FEATURE columnMapping")
    usage = table.usage
    with table.no_commit(), pytest.raises(CannotRemoveColumnMappingError):
        usage.remove_column_mapping(progress=None)
    (unmapped, *_) = usage.remove_column_mapping(dry_run=True)

    assert (unmapped.stage, unmapped.reached, unmapped.cost) == ("unmapped", False, "BLOCKED")
    (why, *_) = unmapped.reasons
    assert (why.reason, why.name) == ("RESERVED_COLUMN_NAME", ROW_INDEX)
    assert table.selected() == [(1, 100)]


def test_removal_is_refused_when_files_have_a_reserved_name(table: Table) -> None:
    """Delta's rewrite would read the row index instead, and write it."""
    table.create(f"a INT, {ROW_INDEX} BIGINT", TRACKED)
    table.insert("(1, 100)")
    table.alter(f"SET TBLPROPERTIES ({NAME_MODE})")
    table.alter(f"RENAME COLUMN {ROW_INDEX} TO b")
    assert table.log.physical_names["b"] == ROW_INDEX

    with table.refusal(REFUSED):
        table.alter(OFF)


@pytest.mark.every_variant
@pytest.mark.parametrize("properties", [(), (TRACKED,)])
def test_rewrite_by_delta_is_refused_for_a_reserved_name(
    table: Table, conf: SetConf, properties: tuple[str, ...]
) -> None:
    """Delta would replace the values by row numbers."""
    conf("spark.sparkext.columnMapping.removal", "rewrite")
    table.create("a INT", NAME_MODE, *properties)
    table.alter(f"ADD COLUMN {ROW_INDEX} BIGINT")
    table.insert("(1, 100)")

    for change in (OFF, "DROP FEATURE columnMapping"):
        with table.refusal(REFUSED):
            table.alter(change)
    assert table.selected() == [(1, 100)]


# Accepted names.


@pytest.mark.without("deletion-vectors", "row-tracking")
@pytest.mark.parametrize("name", [ROW_INDEX, ROW_INDEX.upper(), "__is_cdc", "_change_type"])
def test_column_with_a_reserved_name_keeps_its_values(table: Table, name: str) -> None:
    table.create_tracked("a INT")
    table.alter(f"ADD COLUMN {name} BIGINT")
    table.insert("(1, 100), (2, 200)")

    assert table.selected() == [(1, 100), (2, 200)]
    assert table.spark.sql(f"SELECT a FROM {table.name} WHERE {name} = 200").collect() == [(2,)]
    table.spark.sql(f"UPDATE {table.name} SET a = 3 WHERE {name} = 200")
    table.insert("(4, 400)")
    table.spark.sql(f"OPTIMIZE {table.name}")

    assert table.selected() == [(1, 100), (3, 200), (4, 400)]
    assert (table.log.flag, table.log.columns["a"]) == ("false", (1, "a"))
    assert table.log.columns[name] == (2, UUID)
    assert table.log.written_columns() == ["a", UUID]


def test_reserved_name_is_accepted_in_a_struct(table: Table) -> None:
    table.create_tracked(f"a INT, s STRUCT<{ROW_INDEX}: BIGINT>")
    table.insert("(1, struct(100)), (2, struct(200))")

    table.alter(OFF)

    assert table.log.live_files.keys() == table.log.at(1).live_files.keys()
    assert table.selected() == [(1, (100,)), (2, (200,))]


def test_removal_succeeds_after_a_rename_when_files_have_no_reserved_name(table: Table) -> None:
    table.create_tracked(f"a INT, {ROW_INDEX} BIGINT")
    table.insert("(1, 100)")
    table.alter(f"RENAME COLUMN {ROW_INDEX} TO b")

    table.alter(OFF)

    assert table.log.configuration["delta.columnMapping.mode"] == "none"
    assert table.selected() == [(1, 100)]
    assert table.log.written_columns() == ["a", "b"]
