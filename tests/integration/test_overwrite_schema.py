# SPDX-License-Identifier: Apache-2.0
"""Tests `overwriteSchema`, `replaceWhere` and dynamic partition overwrites."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.delta_table import Table
from tests.support.prepared import made_once
from tests.support.releases import NAMES_NO_MISMATCH
from tests.support.session_conf import SetConf
from tests.support.table_log import UUID, TableLog


def overwrite(table: Table, query: str, *partitioned_by: str, **options: str) -> None:
    writer = table.spark.sql(query).write.format("delta").mode("overwrite")
    writer.partitionBy(*partitioned_by).options(**options).save(str(table.path))


def by_name(log: TableLog) -> dict[str, Any]:
    return {"flag": log.flag, "columns": log.columns, "max": log.max_column_id}


@pytest.fixture
def overwritten(table: Table) -> Table:
    """Returns a tracked table with a row."""
    return filled(table)


@made_once
def filled(table: Table) -> None:
    table.create_tracked("a INT, b STRING")
    table.insert("(1, 'x')")


# Refusals.


@NAMES_NO_MISMATCH
@pytest.mark.parametrize(
    ("query", "condition"),
    [
        ("SELECT 2 AS a, 3 AS c", "DELTA_METADATA_MISMATCH"),
        ("SELECT array(2) AS a", "DELTA_FAILED_TO_MERGE_FIELDS"),
    ],
)
def test_overwrite_that_may_not_change_the_schema_is_refused(
    overwritten: Table, query: str, condition: str
) -> None:
    with overwritten.refusal(condition):
        overwrite(overwritten, query)

    assert overwritten.log.flag == "false"
    assert overwritten.rows() == [(1, "x")]


@NAMES_NO_MISMATCH
@pytest.mark.parametrize(
    ("options", "condition"),
    [
        (
            {"overwriteSchema": "true", "replaceWhere": "a = 1"},
            "DELTA_METADATA_MISMATCH",
        ),
        (
            {"overwriteSchema": "true", "partitionOverwriteMode": "dynamic"},
            "DELTA_OVERWRITE_SCHEMA_WITH_DYNAMIC_PARTITION_OVERWRITE",
        ),
        ({"mergeSchema": "true", "replaceWhere": "a = 2"}, "DELTA_REPLACE_WHERE_MISMATCH"),
    ],
)
def test_refused_overwrite_of_a_part_keeps_the_schema(
    table: Table, options: dict[str, str], condition: str
) -> None:
    table.create_tracked("a INT, b STRING", partitioned_by="a")

    with table.refusal(condition):
        overwrite(table, "SELECT 1 AS a, 2L AS c", "a", **options)

    assert (table.log.flag, table.log.columns) == ("false", {"a": (1, "a"), "b": (2, "b")})


def test_overwrite_is_refused_when_the_rules_are_unavailable(
    overwritten: Table, driver_conf: SetConf
) -> None:
    driver_conf("spark.sparkext.worker.python", "/nowhere/python")

    with overwritten.refusal("USAGE_TRACKING_RULES_UNAVAILABLE"):
        overwrite(overwritten, "SELECT 2 AS a", overwriteSchema="true")

    assert overwritten.rows() == [(1, "x")]


# overwriteSchema.


@pytest.mark.without("dynamic-overwrite")
@pytest.mark.parametrize("partitioned_by", ["a", "b"])
def test_overwrite_with_another_partitioning_keeps_the_flag_false(
    table: Table, partitioned_by: str
) -> None:
    table.create_tracked("a INT, b STRING", partitioned_by="a")
    table.insert("(1, 'x')")
    with table.one_commit():
        overwrite(table, "SELECT 2 AS a, 'y' AS b, 3 AS c", partitioned_by, overwriteSchema="true")

    assert table.log.metadata["partitionColumns"] == [partitioned_by]
    assert by_name(table.log) == {
        "flag": "false",
        "columns": {"a": (1, "a"), "b": (2, "b"), "c": (3, "c")},
        "max": 3,
    }
    assert set(table.log.actions("add")[0]["partitionValues"]) == {partitioned_by}
    assert table.rows() == [(2, "y", 3)]


@pytest.mark.without("dynamic-overwrite")
def test_overwrite_without_the_partition_column_sets_the_flag(table: Table) -> None:
    table.create_tracked("a INT, b STRING", partitioned_by="b")
    table.insert("(1, 'x')")
    with table.one_commit():
        overwrite(table, "SELECT 2 AS a, 3 AS p", "p", overwriteSchema="true")

    name = table.log.physical_names["p"]
    assert by_name(table.log) == {
        "flag": "true",
        "columns": {"a": (1, "a"), "p": (3, UUID)},
        "max": 3,
    }
    assert table.log.actions("add")[0]["partitionValues"] == {name: "3"}
    assert table.rows() == [(2, 3)]


# Overwrites of some rows.


@pytest.mark.parametrize(
    ("options", "kept"),
    [
        ({"replaceWhere": "a = 2"}, [(1, "x", None)]),
        ({"replaceWhere": "a >= 1", "mergeSchema": "true"}, []),
        ({"partitionOverwriteMode": "dynamic"}, [(1, "x", None)]),
    ],
)
def test_overwrite_of_a_part_may_add_columns(
    table: Table, options: dict[str, str], kept: list[tuple[object, ...]]
) -> None:
    table.create_tracked("a INT, b STRING", partitioned_by="a")
    table.insert("(1, 'x'), (2, 'y')")
    with table.one_commit():
        overwrite(table, "SELECT 2 AS a, 'z' AS b, 3 AS c", **{"mergeSchema": "true", **options})

    assert by_name(table.log) == {
        "flag": "false",
        "columns": {"a": (1, "a"), "b": (2, "b"), "c": (3, "c")},
        "max": 3,
    }
    assert {"b", "c"} <= set(table.log.written_columns())
    assert table.rows() == [*kept, (2, "z", 3)]


@pytest.mark.without("auto-compact")
def test_replace_where_uses_the_new_name_after_a_rename(overwritten: Table) -> None:
    overwritten.insert("(2, 'y')")
    overwritten.alter("RENAME COLUMN a TO c")
    with overwritten.one_commit():
        overwrite(
            overwritten,
            "SELECT 2 AS c, 'z' AS b, 3 AS a",
            replaceWhere="c = 2",
            mergeSchema="true",
        )

    assert by_name(overwritten.log) == {
        "flag": "true",
        "columns": {"c": (1, "a"), "b": (2, "b"), "a": (3, UUID)},
        "max": 3,
    }
    assert overwritten.log.written_columns() == ["a", "b", UUID]
    assert overwritten.rows() == [(1, "x", None), (2, "z", 3)]
