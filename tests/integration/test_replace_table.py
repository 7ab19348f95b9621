# SPDX-License-Identifier: Apache-2.0
"""Tests replacements of a table: REPLACE, CREATE OR REPLACE, `overwriteSchema` and builders."""

from __future__ import annotations

import pytest

from tests.integration import routes
from tests.integration.routes import REPLACEMENTS, Route, replace_as_select
from tests.support.delta_table import ID_MODE, NAME_MODE, NONE_MODE, TRACKED, Table, refusal
from tests.support.releases import NAMES_NO_MISMATCH, REPLACED_COLUMNS_ARE_NEW
from tests.support.session_conf import SetConf
from tests.support.table_log import UUID
from tests.support.variants import in_matrix

DOWNGRADE = "spark.databricks.delta.replace.protocolDowngradeAllowed"

Columns = dict[str, tuple[int, str]]


@pytest.fixture
def replaced(named_table: Table) -> Table:
    """Returns a tracked table with a row."""
    named_table.create_tracked("a INT, b STRING")
    named_table.insert("(1, 'x')")
    return named_table


def assert_holds(table: Table, query: str, columns: Columns, route: Route) -> None:
    """Asserts that the table has these columns, and the row in files with their physical names."""
    row = tuple(table.spark.sql(query).first() or ())
    if not route.has_rows:
        assert table.log.actions("add") == []
        assert table.rows() == []
        table.spark.sql(f"INSERT INTO {table.name} {query}")
    assert table.log.is_tracked
    assert table.log.columns == columns
    assert table.log.max_column_id == max(2, *(id for id, _ in columns.values()))
    assert table.log.written_columns() == sorted(name for _, name in columns.values())
    assert table.rows() == [row]


# Refusals.


@pytest.mark.parametrize(
    ("statement", "condition"),
    [
        ("REPLACE TABLE {t} (a INT, A INT) USING delta", "COLUMN_ALREADY_EXISTS"),
        (
            "REPLACE TABLE {t} USING delta AS SELECT 1 AS `a b`",
            "DELTA_INVALID_CHARACTERS_IN_COLUMN_NAMES",
        ),
    ],
)
def test_refused_replacement_changes_nothing(
    replaced: Table, statement: str, condition: str
) -> None:
    with replaced.refusal(condition):
        replaced.spark.sql(statement.format(t=replaced.name))

    assert replaced.log.flag == "false"
    assert replaced.rows() == [(1, "x")]


@NAMES_NO_MISMATCH
def test_save_as_table_without_overwrite_schema_refuses_a_new_column(replaced: Table) -> None:
    writer = replaced.spark.sql("SELECT 2 AS a").write.format("delta").mode("overwrite")
    other = replaced.spark.sql("SELECT 2 AS a, 3 AS c").write.format("delta").mode("overwrite")

    with replaced.refusal("DELTA_METADATA_MISMATCH"):
        other.saveAsTable(replaced.name)
    with replaced.one_commit():
        writer.saveAsTable(replaced.name)

    assert (replaced.log.flag, replaced.log.columns) == ("false", {"a": (1, "a"), "b": (2, "b")})
    assert replaced.rows() == [(2, None)]


def test_replacement_of_a_table_that_does_not_exist_is_refused(named_table: Table) -> None:
    with refusal("TABLE_OR_VIEW_NOT_FOUND"):
        REPLACEMENTS["REPLACE TABLE"].run(named_table, "SELECT 1 AS a")

    assert not named_table.path.exists()


# Column mapping is kept.


@routes.each(REPLACEMENTS)
@pytest.mark.parametrize(
    ("query", "flag", "columns"),
    [
        ("SELECT 2 AS a, 'y' AS b, 3 AS c", "false", {"a": (1, "a"), "b": (2, "b"), "c": (3, "c")}),
        ("SELECT 2 AS a, 3 AS c", "true", {"a": (1, "a"), "c": (3, UUID)}),
        *in_matrix(
            ("SELECT 'y' AS b, 2 AS a", "false", {"b": (2, "b"), "a": (1, "a")}),
            ("SELECT 2 AS a", "true", {"a": (1, "a")}),
            ("SELECT 2L AS a, 'y' AS b", "true", {"a": (3, UUID), "b": (2, "b")}),
            ("SELECT 2 AS A, 'y' AS b", "true", {"A": (1, "a"), "b": (2, "b")}),
            ("SELECT 2 AS c", "true", {"c": (3, UUID)}),
        ),
    ],
)
def test_replacement_keeps_columns_and_sets_the_flag_when_a_column_is_dropped_or_changed(
    replaced: Table, route: Route, query: str, flag: str, columns: Columns
) -> None:
    with replaced.one_commit():
        route.run(replaced, query)

    assert replaced.log.flag == flag
    assert_holds(replaced, query, columns, route)


@routes.each(REPLACEMENTS)
def test_flag_is_still_true_when_a_replacement_adds_a_dropped_column_again(
    replaced: Table, route: Route
) -> None:
    replaced.alter("DROP COLUMN b")

    with replaced.one_commit():
        route.run(replaced, "SELECT 2 AS a, 'y' AS b")

    assert replaced.log.flag == "true"
    assert_holds(replaced, "SELECT 2 AS a, 'y' AS b", {"a": (1, "a"), "b": (3, UUID)}, route)


@routes.each({name: REPLACEMENTS[name] for name in ("overwriteSchema", "REPLACE TABLE AS SELECT")})
@pytest.mark.parametrize(
    ("query", "flag", "names"),
    [
        pytest.param(
            "SELECT named_struct('x', 1, 'y', 2) AS s, array(named_struct('x', 3)) AS r, 4 AS n",
            "false",
            {"s": "s", "s.x": "x", "s.y": "y", "r": "r", "r.element.x": "x", "n": "n"},
            id="one more",
        ),
        pytest.param(
            "SELECT named_struct('x', 1, 'y', 2) AS s, array(named_struct('X', 3)) AS r, 4 AS n",
            "true",
            {"s": "s", "s.x": "x", "s.y": "y", "r": UUID, "r.element.X": "x", "n": UUID},
            id="case changed",
            marks=pytest.mark.matrix,
        ),
    ],
)
def test_replacement_of_nested_fields_follows_each_field(
    table: Table, route: Route, query: str, flag: str, names: dict[str, str]
) -> None:
    table.create_tracked("s STRUCT<x: INT, y: INT>, r ARRAY<STRUCT<x: INT>>")
    with table.one_commit():
        route.run(table, query)

    assert table.log.flag == flag
    assert {path: name for path, (_, name) in table.log.columns.items()} == names
    assert len(set(table.log.ids.values())) == len(names)
    assert table.log.max_column_id == max(id for id in table.log.ids.values() if id)
    assert table.selected("s.x, s.y, r[0].x, n") == [(1, 2, 3, 4)]


@routes.each({name: REPLACEMENTS[name] for name in ("overwriteSchema", "REPLACE TABLE AS SELECT")})
def test_replacement_without_a_nested_field_sets_the_flag(table: Table, route: Route) -> None:
    table.create_tracked("a INT, s STRUCT<x: INT, y: INT>")
    table.insert("(1, struct(2, 3))")
    with table.one_commit():
        route.run(table, "SELECT 4 AS a, named_struct('x', 5) AS s")

    assert table.log.flag == "true"
    assert table.log.columns["a"] == (1, "a")
    assert table.log.max_column_id >= 4
    assert table.selected("a, s.x") == [(4, 5)]


@REPLACED_COLUMNS_ARE_NEW
def test_replacement_with_another_partitioning_keeps_the_flag_false(replaced: Table) -> None:
    with replaced.one_commit():
        replaced.spark.sql(
            f"REPLACE TABLE {replaced.name} USING delta PARTITIONED BY (b)"
            f" TBLPROPERTIES ({NAME_MODE}) AS SELECT 2 AS a, 'y' AS b"
        )

    assert replaced.log.metadata["partitionColumns"] == ["b"]
    assert (replaced.log.flag, replaced.log.columns) == ("false", {"a": (1, "a"), "b": (2, "b")})
    assert replaced.log.actions("add")[0]["partitionValues"] == {"b": "y"}
    assert replaced.rows() == [(2, "y")]


# The mode changes.


@pytest.mark.parametrize(
    ("properties", "query", "flag"),
    [
        (NONE_MODE, "SELECT 2 AS a, 'y' AS b, 3 AS c", "false"),
        ("'delta.appendOnly' = 'false'", "SELECT 2 AS a, 'y' AS b", "false"),
        (NONE_MODE, "SELECT 2 AS a", "true"),
        (NONE_MODE, "SELECT 2 AS A, 'y' AS b", "true"),
    ],
)
def test_replacement_without_mapping_is_still_tracked(
    replaced: Table, properties: str, query: str, flag: str
) -> None:
    with replaced.one_commit():
        replace_as_select(replaced, query, properties)
    without = replaced.log
    replaced.alter(f"SET TBLPROPERTIES ({NAME_MODE})")
    replaced.alter("ADD COLUMN d INT")

    assert (without.is_tracked, without.flag) == (True, flag)
    assert set(without.columns.values()) == {(None, None)}
    assert without.written_columns() == sorted(without.columns)
    assert (replaced.log.is_tracked, replaced.log.flag) == (True, flag)
    assert replaced.log.physical_names.items() >= {name: name for name in without.columns}.items()
    assert replaced.log.columns["d"][1] == {"false": "d", "true": UUID}[flag]
    [row] = replaced.spark.sql(query).collect()
    assert replaced.rows() == [(*row, None)]


def test_replacement_in_the_other_mode_has_new_columns_only(replaced: Table) -> None:
    with replaced.one_commit():
        replace_as_select(replaced, "SELECT 2 AS a, 'y' AS b", ID_MODE)

    names = [column.physical_name for column in replaced.log.fields.values()]
    assert replaced.log.configuration["delta.columnMapping.mode"] == "id"
    assert replaced.log.flag == "true"
    assert replaced.log.columns == {"a": (3, UUID), "b": (4, UUID)}
    assert replaced.log.parquet_field_ids() == dict(zip(names, [3, 4], strict=True))
    assert replaced.rows() == [(2, "y")]


# Tracking starts with the replacement.


@pytest.mark.parametrize(
    ("properties", "flag", "columns"),
    [
        pytest.param([], "false", {"a": (1, "a"), "c": (2, "c")}, id="plain"),
        pytest.param([NAME_MODE], "true", {"a": (1, UUID), "c": (3, UUID)}, id="mapped"),
    ],
)
def test_replacement_with_the_feature_starts_tracking(
    table: Table, properties: list[str], flag: str, columns: Columns
) -> None:
    table.create("a INT, b STRING", *properties)
    with table.one_commit():
        replace_as_select(table, "SELECT 2 AS a, 3 AS c", f"{TRACKED}, {NAME_MODE}")

    assert (table.log.is_tracked, table.log.flag) == (True, flag)
    assert table.log.columns == columns
    assert table.log.max_column_id == max(id for id, _ in columns.values())
    assert table.log.written_columns() == sorted(name for _, name in columns.values())
    assert table.rows() == [(2, 3)]


@pytest.mark.parametrize("mode", [NAME_MODE, NONE_MODE])
def test_replacement_keeps_the_feature_when_the_protocol_may_go_down(
    replaced: Table, conf: SetConf, mode: str
) -> None:
    replaced.alter("SET TBLPROPERTIES ('delta.enableChangeDataFeed' = 'true')")
    conf(DOWNGRADE, "true")

    with replaced.one_commit():
        replace_as_select(replaced, "SELECT 2 AS a", mode)

    assert "changeDataFeed" not in replaced.log.writer_features
    assert (replaced.log.is_tracked, replaced.log.flag) == (True, "true")
    assert replaced.rows() == [(2,)]
