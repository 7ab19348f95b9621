# SPDX-License-Identifier: Apache-2.0
"""Overwrites: `overwriteSchema`, `replaceWhere`, and dynamic partition overwrite."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.support.delta_table import NAME_MODE, TRACKED, Table
from tests.support.releases import NAMES_NO_MISMATCH
from tests.support.table_log import UUID, TableLog

SetConf = Callable[[str, str], None]


def overwrite(table: Table, query: str, *partitioned_by: str, **options: str) -> None:
    writer = table.spark.sql(query).write.format("delta").mode("overwrite")
    writer.partitionBy(*partitioned_by).options(**options).save(str(table.path))


def overwrite_schema(table: Table, query: str, *partitioned_by: str) -> None:
    overwrite(table, query, *partitioned_by, overwriteSchema="true")


def by_name(log: TableLog) -> dict[str, Any]:
    return {"flag": log.flag, "columns": log.columns, "max": log.max_column_id}


@pytest.fixture
def overwritten(table: Table) -> Table:
    """A tracked table with a row, about to be overwritten."""
    table.create_tracked("a INT, b STRING")
    table.insert("(1, 'x')")
    return table


# Refusals.


@NAMES_NO_MISMATCH
@pytest.mark.parametrize(
    ("query", "condition"),
    [
        ("SELECT 2 AS a, 3 AS c", "DELTA_METADATA_MISMATCH"),
        ("SELECT array(2) AS a", "DELTA_FAILED_TO_MERGE_FIELDS"),
    ],
)
def test_an_overwrite_that_may_not_change_the_schema_is_refused(
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
def test_what_overwrites_a_part_can_not_overwrite_the_schema(
    table: Table, options: dict[str, str], condition: str
) -> None:
    table.create_tracked("a INT, b STRING", partitioned_by="a")

    with table.refusal(condition):
        overwrite(table, "SELECT 1 AS a, 2L AS c", "a", **options)

    assert (table.log.flag, table.log.columns) == ("false", {"a": (1, "a"), "b": (2, "b")})


def test_without_rules_the_table_stays_as_it_was(overwritten: Table, driver_conf: SetConf) -> None:
    driver_conf("spark.sparkext.worker.python", "/nowhere/python")

    with overwritten.refusal("USAGE_TRACKING_RULES_UNAVAILABLE"):
        overwrite_schema(overwritten, "SELECT 2 AS a")

    assert overwritten.rows() == [(1, "x")]


# overwriteSchema.


@pytest.mark.parametrize(
    ("query", "columns", "max_column_id"),
    [
        pytest.param(
            "SELECT 'y' AS b, 2 AS a", {"b": (2, "b"), "a": (1, "a")}, 2, id="other order"
        ),
        pytest.param(
            "SELECT 2 AS a, 'y' AS b, 3 AS c",
            {"a": (1, "a"), "b": (2, "b"), "c": (3, "c")},
            3,
            id="more",
        ),
    ],
)
def test_columns_that_stay_keep_id_and_name_and_the_flag_stays_false(
    overwritten: Table, query: str, columns: dict[str, tuple[int, str]], max_column_id: int
) -> None:
    with overwritten.one_commit():
        overwrite_schema(overwritten, query)

    assert by_name(overwritten.log) == {"flag": "false", "columns": columns, "max": max_column_id}
    assert overwritten.log.written_columns() == sorted(columns)
    assert overwritten.rows() == list(map(tuple, overwritten.spark.sql(query).collect()))


@pytest.mark.parametrize(
    ("query", "columns", "max_column_id"),
    [
        pytest.param("SELECT 2 AS a", {"a": (1, "a")}, 2, id="fewer"),
        pytest.param("SELECT 2 AS a, 3 AS c", {"a": (1, "a"), "c": (3, UUID)}, 3, id="another one"),
        pytest.param(
            "SELECT 2L AS a, 'y' AS b", {"a": (3, UUID), "b": (2, "b")}, 3, id="type changed"
        ),
        pytest.param(
            "SELECT 2 AS A, 'y' AS b", {"A": (1, "a"), "b": (2, "b")}, 2, id="case changed"
        ),
        pytest.param("SELECT 2 AS c", {"c": (3, UUID)}, 3, id="all new"),
    ],
)
def test_a_column_that_goes_or_changes_sets_the_flag_in_that_commit(
    overwritten: Table, query: str, columns: dict[str, tuple[int, str]], max_column_id: int
) -> None:
    with overwritten.one_commit():
        overwrite_schema(overwritten, query)

    assert by_name(overwritten.log) == {"flag": "true", "columns": columns, "max": max_column_id}
    assert overwritten.log.written_columns() == sorted(name for _, name in columns.values())
    assert overwritten.rows() == list(map(tuple, overwritten.spark.sql(query).collect()))


@pytest.mark.parametrize(
    ("query", "flag", "names"),
    [
        pytest.param(
            "SELECT named_struct('x', 1, 'y', 2) AS s, array(named_struct('x', 3)) AS r, 4 AS n",
            "false",
            {"s": "s", "s.x": "x", "s.y": "y", "r": "r", "r.element.x": "x", "n": "n"},
            id="same",
        ),
        pytest.param(
            "SELECT named_struct('x', 1, 'y', 2) AS s, array(named_struct('X', 3)) AS r, 4 AS n",
            "true",
            {"s": "s", "s.x": "x", "s.y": "y", "r": UUID, "r.element.X": "x", "n": UUID},
            id="case changed",
        ),
    ],
)
def test_nested_fields_are_columns_too(
    table: Table, query: str, flag: str, names: dict[str, str]
) -> None:
    table.create_tracked("s STRUCT<x: INT, y: INT>, r ARRAY<STRUCT<x: INT>>")
    with table.one_commit():
        overwrite_schema(table, query)

    assert table.log.flag == flag
    assert {path: name for path, (_, name) in table.log.columns.items()} == names
    assert len(set(table.log.ids.values())) == len(names)
    assert table.log.max_column_id == max(id for id in table.log.ids.values() if id)
    assert table.rows("s.x, s.y, r[0].x, n") == [(1, 2, 3, 4)]


def test_a_nested_field_that_goes_sets_the_flag(table: Table) -> None:
    table.create_tracked("a INT, s STRUCT<x: INT, y: INT>")
    table.insert("(1, struct(2, 3))")
    with table.one_commit():
        overwrite_schema(table, "SELECT 4 AS a, named_struct('x', 5) AS s")

    assert table.log.flag == "true"
    assert table.log.columns["a"] == (1, "a")
    assert table.log.max_column_id >= 4
    assert table.rows("a, s.x") == [(4, 5)]


def test_the_flag_stays_true_though_the_dropped_column_comes_back(overwritten: Table) -> None:
    overwrite_schema(overwritten, "SELECT 2 AS a")
    with overwritten.one_commit():
        overwrite_schema(overwritten, "SELECT 3 AS a, 'y' AS b")

    assert by_name(overwritten.log) == {
        "flag": "true",
        "columns": {"a": (1, "a"), "b": (3, UUID)},
        "max": 3,
    }
    assert overwritten.log.written_columns() == ["a", UUID]
    assert overwritten.rows() == [(3, "y")]


@pytest.mark.without("dynamic-overwrite")
@pytest.mark.parametrize("partitioned_by", ["a", "b"])
def test_a_partitioning_that_changes_is_no_drop(table: Table, partitioned_by: str) -> None:
    table.create_tracked("a INT, b STRING", partitioned_by="a")
    table.insert("(1, 'x')")
    with table.one_commit():
        overwrite_schema(table, "SELECT 2 AS a, 'y' AS b, 3 AS c", partitioned_by)

    assert table.log.metadata["partitionColumns"] == [partitioned_by]
    assert by_name(table.log) == {
        "flag": "false",
        "columns": {"a": (1, "a"), "b": (2, "b"), "c": (3, "c")},
        "max": 3,
    }
    assert set(table.log.actions("add")[0]["partitionValues"]) == {partitioned_by}
    assert table.rows() == [(2, "y", 3)]


@pytest.mark.without("dynamic-overwrite")
def test_a_partition_column_that_goes_sets_the_flag(table: Table) -> None:
    table.create_tracked("a INT, b STRING", partitioned_by="b")
    table.insert("(1, 'x')")
    with table.one_commit():
        overwrite_schema(table, "SELECT 2 AS a, 3 AS p", "p")

    name = table.log.physical_names["p"]
    assert by_name(table.log) == {
        "flag": "true",
        "columns": {"a": (1, "a"), "p": (3, UUID)},
        "max": 3,
    }
    assert table.log.actions("add")[0]["partitionValues"] == {name: "3"}
    assert table.rows() == [(2, 3)]


@pytest.mark.parametrize(
    ("properties", "query", "flag", "columns"),
    [
        ([TRACKED], "SELECT 2L AS b", "false", {"b": (None, None)}),
        ([NAME_MODE], "SELECT 2L AS b", None, {"b": (2, UUID)}),
    ],
)
def test_other_tables_have_deltas_names(
    table: Table,
    properties: list[str],
    query: str,
    flag: str | None,
    columns: dict[str, tuple[int | None, str | None]],
) -> None:
    table.create("a INT", *properties)
    with table.one_commit():
        overwrite_schema(table, query)

    assert (table.log.flag, table.log.columns) == (flag, columns)
    assert table.rows() == [(2,)]


# Overwrites of a part.


@pytest.mark.parametrize(
    ("options", "kept"),
    [
        ({"replaceWhere": "a = 2"}, [(1, "x", None)]),
        ({"replaceWhere": "a >= 1", "mergeSchema": "true"}, []),
        ({"partitionOverwriteMode": "dynamic"}, [(1, "x", None)]),
    ],
)
def test_an_overwrite_of_a_part_may_add_columns(
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
def test_after_a_rename_replace_where_goes_by_the_new_name(overwritten: Table) -> None:
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
