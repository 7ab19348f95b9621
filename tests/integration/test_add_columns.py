# SPDX-License-Identifier: Apache-2.0
"""Tests ALTER TABLE ADD COLUMN(S)."""

from __future__ import annotations

import deltalake
import pytest

from tests.support.delta_table import ID_MODE, NAME_MODE, TRACKED, Table
from tests.support.releases import WRITES_PARTITION_COLUMNS
from tests.support.table_log import TableLog, is_uuid_name

# Every place to which a field can be added, each with a field `x`.
NESTED = (
    "a INT, s STRUCT<x: INT, t: STRUCT<x: INT>>, r ARRAY<STRUCT<x: INT>>,"
    " m MAP<STRUCT<x: INT>, STRUCT<x: INT>>"
)
PLACES = ["", "s.", "s.t.", "r.element.", "m.key.", "m.value."]
NESTED_ROW = (
    "(1, struct(2, struct(3)), array(struct(4)), map(struct(5), struct(6)))",
    "a, s.x, s.t.x, r[0].x, map_keys(m)[0].x, map_values(m)[0].x",
    [(1, 2, 3, 4, 5, 6)],
)


def leaf(path: str) -> str:
    return path.rsplit(".", 1)[-1]


def physical_names_as_logical(log: TableLog) -> bool:
    return all(leaf(path) == name for path, name in log.physical_names.items())


def is_kept(before: TableLog, after: TableLog) -> bool:
    """Returns whether the existing columns kept their ids and physical names."""
    return all(
        after.ids[path] == before.ids[path] and after.physical_names[path] == name
        for path, name in before.physical_names.items()
    )


# Tables without drops and renames.


@pytest.mark.parametrize("place", PLACES)
def test_new_column_at_any_level_has_its_logical_name(table: Table, place: str) -> None:
    values, selected, rows = NESTED_ROW
    table.create_tracked(NESTED)
    table.insert(values)
    before = table.log

    with table.one_commit():
        table.alter(f"ADD COLUMN {place}new INT")

    assert table.log.operation == "ADD COLUMNS"
    assert table.log.flag == "false"
    assert table.log.physical_names[f"{place}new"] == "new"
    assert table.log.ids[f"{place}new"] == before.max_column_id + 1
    assert table.log.max_column_id == before.max_column_id + 1
    assert is_kept(before, table.log)
    assert table.log.actions("add") == []
    new = {"r.element.": "r[0].", "m.key.": "map_keys(m)[0].", "m.value.": "map_values(m)[0]."}
    assert table.selected(f"{selected}, {new.get(place, place)}new") == [(*rows[0], None)]


@pytest.mark.without("row-tracking")
def test_several_new_columns_have_logical_names_and_ids_in_one_commit(table: Table) -> None:
    table.create_tracked("a INT, s STRUCT<x: INT>")
    table.insert("(1, struct(2))")
    before = table.log

    with table.one_commit():
        table.alter(
            "ADD COLUMNS (c INT COMMENT 'third', `d e` STRUCT<x: INT, y: ARRAY<STRUCT<x: INT>>>,"
            " f MAP<STRUCT<x: INT>, STRUCT<x: INT>>, s.y INT)"
        )
    after = table.log
    table.insert(
        "(3, struct(4, 5), 6, struct(7, array(struct(8))), map(struct(9), struct(10)))",
    )

    added = set(after.ids) - set(before.ids)
    assert after.flag == "false"
    assert physical_names_as_logical(after)
    assert is_kept(before, after)
    assert sorted(after.ids[path] for path in added) == list(range(4, 13))
    assert after.max_column_id == 12
    assert after.fields["c"].metadata["comment"] == "third"
    assert table.log.parquet_columns() == [
        "a",
        "c",
        "d e.x",
        "d e.y.element.x",
        "f.key.x",
        "f.value.x",
        "s.x",
        "s.y",
    ]
    assert table.selected("a, s.y, c, `d e`.y[0].x, map_values(f)[0].x") == [
        (1, None, None, None, None),
        (3, 5, 6, 8, 10),
    ]
    assert table.selected("a, s.x") == [(1, 2), (3, 4)]


@pytest.mark.parametrize(
    ("column", "columns"),
    [
        ("c INT FIRST", ["c", "a", "s", "s.x", "s.y"]),
        ("c INT AFTER a", ["a", "c", "s", "s.x", "s.y"]),
        ("s.c INT FIRST", ["a", "s", "s.c", "s.x", "s.y"]),
        ("s.c INT AFTER x", ["a", "s", "s.x", "s.c", "s.y"]),
    ],
)
def test_new_column_has_its_logical_name_at_any_position(
    table: Table, column: str, columns: list[str]
) -> None:
    table.create_tracked("a INT, s STRUCT<x: INT, y: INT>")
    table.insert("(1, struct(2, 3))")
    before = table.log

    with table.one_commit():
        table.alter(f"ADD COLUMN {column}")

    assert list(table.log.fields) == columns
    assert table.log.flag == "false"
    assert physical_names_as_logical(table.log)
    assert is_kept(before, table.log)
    assert table.selected("a, s.x, s.y") == [(1, 2, 3)]


def test_new_column_has_the_next_id_and_its_logical_name_in_every_commit(table: Table) -> None:
    table.create_tracked("a INT")

    for number in range(2, 5):
        with table.one_commit():
            table.alter(f"ADD COLUMN `c {number}` INT")
        assert table.log.max_column_id == number
        assert table.log.ids[f"c {number}"] == number

    assert table.log.flag == "false"
    assert physical_names_as_logical(table.log)


def test_files_in_id_mode_have_the_logical_names_and_the_ids(table: Table) -> None:
    table.create("a INT", TRACKED, ID_MODE)
    table.insert("(1)")
    with table.one_commit():
        table.alter("ADD COLUMNS (c INT, `d e` INT)")
    added = table.log
    table.insert("(2, 3, 4)")

    assert added.flag == "false"
    assert added.physical_names == {"a": "a", "c": "c", "d e": "d e"}
    assert table.log.parquet_field_ids() == added.ids == {"a": 1, "c": 2, "d e": 3}
    assert table.rows() == [(1, None, None), (2, 3, 4)]


def test_new_column_of_a_partitioned_table_of_the_catalog_has_its_logical_name(
    named_table: Table,
) -> None:
    named_table.create_tracked("a INT, p INT", partitioned_by="p")
    named_table.insert("(1, 2)")

    with named_table.one_commit():
        named_table.alter("ADD COLUMN c INT")
    named_table.insert("(3, 4, 5)")

    assert named_table.log.flag == "false"
    assert named_table.log.physical_names == {"a": "a", "p": "p", "c": "c"}
    partition = ["p"] if WRITES_PARTITION_COLUMNS else []
    assert named_table.log.parquet_columns() == ["a", "c", *partition]
    assert named_table.selected("a, p, c") == [(1, 2, None), (3, 4, 5)]


@pytest.mark.without("deletion-vectors")
def test_another_reader_finds_every_value_by_its_name(table: Table) -> None:
    table.create_tracked("a INT, s STRUCT<x: INT>")
    table.insert("(1, struct(2))")
    table.alter("ADD COLUMNS (`b c` STRING, s.y INT)")
    table.insert("(3, struct(4, 5), 'six')")

    read = deltalake.DeltaTable(str(table.path)).to_pyarrow_table()

    assert table.log.flag == "false"
    assert sorted(read.to_pylist(), key=lambda row: row["a"]) == [
        {"a": 1, "s": {"x": 2, "y": None}, "b c": None},
        {"a": 3, "s": {"x": 4, "y": 5}, "b c": "six"},
    ]


# After a drop or rename.


def test_new_columns_at_every_level_have_uuid_names_once_the_flag_is_true(table: Table) -> None:
    values, selected, rows = NESTED_ROW
    table.create_tracked(f"{NESTED}, gone INT")
    table.insert(f"{values[:-1]}, 7)")
    table.alter("DROP COLUMN gone")
    before = table.log

    added = [f"{place}new" for place in PLACES]
    with table.one_commit():
        table.alter(f"ADD COLUMNS ({', '.join(f'{path} INT' for path in added)}, z STRUCT<x: INT>)")

    names = [table.log.physical_names[path] for path in [*added, "z", "z.x"]]
    assert table.log.flag == "true"
    assert all(is_uuid_name(name) for name in names)
    assert len(set(names)) == len(names)
    assert is_kept(before, table.log)
    assert table.log.max_column_id == before.max_column_id + len(names)
    assert table.selected(selected) == rows
    assert table.selected("new, s.new, r[0].new, z") == [(None, None, None, None)]


@pytest.mark.parametrize("mode", ["name", "id"])
@pytest.mark.parametrize("column", ["b", "B", "s.x"])
def test_column_dropped_and_added_again_reads_null(table: Table, mode: str, column: str) -> None:
    table.create(
        "a INT, b INT, s STRUCT<x: INT, y: INT>", TRACKED, f"'delta.columnMapping.mode' = '{mode}'"
    )
    table.insert("(1, 2, struct(3, 4))")
    dropped_id = table.log.ids[column.lower()]

    table.alter(f"DROP COLUMN {column.lower()}")
    with table.one_commit():
        table.alter(f"ADD COLUMN {column} INT")

    assert table.log.flag == "true"
    assert is_uuid_name(table.log.physical_names[column])
    assert table.log.ids[column] == table.log.max_column_id > dropped_id
    assert table.selected(column) == [(None,)]
    assert table.selected("a, s.y") == [(1, 4)]


# Nested ids of IcebergCompatV2.


@pytest.mark.without("deletion-vectors")
def test_nested_ids_of_iceberg_compat_v2_start_with_the_uuid_name(table: Table) -> None:
    table.create("a INT, b INT", TRACKED, NAME_MODE, "'delta.enableIcebergCompatV2' = 'true'")
    table.alter("DROP COLUMN b")

    table.alter("ADD COLUMN m MAP<INT, INT>")

    name = table.log.physical_names["m"]
    nested_ids = table.log.fields["m"].metadata["delta.columnMapping.nested.ids"]
    assert is_uuid_name(name)
    assert set(nested_ids) == {f"{name}.key", f"{name}.value"}
