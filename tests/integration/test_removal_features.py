# SPDX-License-Identifier: Apache-2.0
"""Tests byte copies of tables with further features of Delta, and of files by other writers."""

from __future__ import annotations

import re
import shutil
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet
import pytest
from pyspark.errors import StreamingQueryException

from tests.support.delta_table import NAME_MODE, TRACKED, Table
from tests.support.removal import by_delta, counts, insert_one_file, unmap


def assert_is_like_by_delta(table: Table, *copied: int) -> None:
    """Asserts that our removal gives the schema, protocol and rows of Delta's rewrite."""
    twin = by_delta(table)
    before = table.selected()

    log = unmap(table)

    assert counts(log) == copied
    assert log.metadata == twin.log.metadata
    assert log.protocol == twin.log.protocol
    assert table.selected() == twin.selected() == before


@pytest.mark.matrix
def test_generated_columns_are_copied_as_by_delta(table: Table) -> None:
    table.create("a INT, g INT GENERATED ALWAYS AS (a * 2), x INT", TRACKED, NAME_MODE)
    table.spark.sql(f"INSERT INTO {table.name} (a, x) VALUES (1, 1)")
    table.alter("RENAME COLUMN x TO y")

    assert_is_like_by_delta(table, 0, 1, 0)

    table.spark.sql(f"INSERT INTO {table.name} (a, y) VALUES (2, 2)")
    assert table.selected("a, g, y") == [(1, 2, 1), (2, 4, 2)]


@pytest.mark.matrix
def test_identity_columns_are_copied_as_by_delta(table: Table) -> None:
    table.create("a BIGINT GENERATED ALWAYS AS IDENTITY, b INT", TRACKED, NAME_MODE)
    table.spark.sql(f"INSERT INTO {table.name} (b) VALUES (1)")
    table.alter("RENAME COLUMN b TO c")

    assert_is_like_by_delta(table, 0, 1, 0)

    table.spark.sql(f"INSERT INTO {table.name} (c) VALUES (2)")
    assert table.selected("a, c") == [(1, 1), (2, 2)]


@pytest.mark.matrix
def test_constraints_and_defaults_are_copied_as_by_delta(table: Table) -> None:
    defaults = "'delta.feature.allowColumnDefaults' = 'supported'"
    table.create("a INT NOT NULL, b INT DEFAULT 7, x INT", TRACKED, NAME_MODE, defaults)
    table.insert("(1, 1, 1)")
    table.alter("ADD CONSTRAINT positive CHECK (a > 0)")
    table.alter("RENAME COLUMN x TO y")

    assert_is_like_by_delta(table, 0, 1, 0)

    table.spark.sql(f"INSERT INTO {table.name} (a, y) VALUES (2, 2)")
    assert table.selected() == [(1, 1, 1), (2, 7, 2)]
    with pytest.raises(Exception, match="positive"):
        table.insert("(0, 0, 0)")


@pytest.mark.matrix
def test_char_and_varchar_are_copied_as_by_delta(table: Table) -> None:
    table.create_tracked("c CHAR(3), v VARCHAR(5), s STRUCT<c: CHAR(2)>")
    table.insert("('a', 'bb', named_struct('c', 'x'))")
    table.alter("RENAME COLUMN c TO d")
    table.alter("RENAME COLUMN v TO w")

    assert_is_like_by_delta(table, 0, 1, 0)

    assert table.selected("d, w, s.c") == [("a  ", "bb", "x ")]


def test_variants_are_copied(table: Table) -> None:
    table.create_tracked("v VARIANT, a ARRAY<VARIANT>, s STRUCT<x: VARIANT, y: INT>")
    table.insert(
        "(parse_json('{\"metadata\": 1, \"value\": [2]}'), array(parse_json('1'), NULL),"
        " named_struct('x', parse_json('\"t\"'), 'y', 1))"
    )
    table.alter("RENAME COLUMN v TO w")
    table.alter("RENAME COLUMN s.x TO z")
    table.alter("DROP COLUMN s.y")
    texts = "to_json(w), to_json(a), to_json(s.z)"
    before = table.selected(texts)

    assert counts(unmap(table)) == (0, 1, 0)

    assert table.selected(texts) == before == [('{"metadata":1,"value":[2]}', "[1,null]", '"t"')]


@pytest.mark.without("auto-compact")
def test_widened_types_are_copied_as_by_delta(table: Table) -> None:
    widening = "'delta.enableTypeWidening' = 'true'"
    table.create(
        "a TINYINT, b INT, d DECIMAL(5, 2), s STRUCT<x: SMALLINT>", TRACKED, NAME_MODE, widening
    )
    table.insert("(1, 2, 3.25, named_struct('x', 4))")
    for change in ("a TYPE INT", "b TYPE BIGINT", "d TYPE DECIMAL(12, 4)", "s.x TYPE INT"):
        table.alter(f"ALTER COLUMN {change}")
    for name in "abd":
        table.alter(f"RENAME COLUMN {name} TO {name}2")
    table.insert("(70000, 3000000000, 12345678.1234, named_struct('x', 70000))")

    assert_is_like_by_delta(table, 0, 2, 0)

    assert table.selected() == [
        (1, 2, Decimal("3.2500"), (4,)),
        (70000, 3000000000, Decimal("12345678.1234"), (70000,)),
    ]
    assert table.frame().where("a2 = 1 AND b2 = 2 AND d2 = 3.25").count() == 1


@pytest.mark.matrix
def test_materialized_partition_columns_are_copied(table: Table) -> None:
    materialized = "'delta.feature.materializePartitionColumns' = 'supported'"
    table.create("a INT, p INT", TRACKED, NAME_MODE, materialized, partitioned_by="p")
    insert_one_file(table, "(1, 2)")
    table.alter("RENAME COLUMN p TO q")

    log = unmap(table)

    assert counts(log) == (0, 1, 0)
    assert log.parquet_columns() == ["a", "q"]
    assert table.selected() == [(1, 2)]


@pytest.mark.matrix
def test_stream_from_the_table_continues_as_after_deltas_rewrite(
    table: Table, tmp_path: Path
) -> None:
    table.create_tracked("a INT, b INT")
    table.insert("(1, 1)")
    table.alter("RENAME COLUMN a TO c")
    stream(table, tmp_path / "ours")
    shutil.copytree(tmp_path / "ours", tmp_path / "theirs")
    twin = by_delta(table)
    unmap(table)
    table.insert("(2, 2)")
    twin.insert("(2, 2)")

    ended = outcome(table, tmp_path / "ours")

    assert ended == outcome(twin, tmp_path / "theirs")
    assert ended == "[1]"


def stream(table: Table, checkpoint: Path) -> Any:
    rows = table.spark.readStream.format("delta").load(str(table.path))
    writer = rows.writeStream.format("noop").trigger(availableNow=True)
    query = writer.option("checkpointLocation", str(checkpoint)).start()
    query.awaitTermination()
    return query


def outcome(table: Table, checkpoint: Path) -> str:
    try:
        query = stream(table, checkpoint)
    except StreamingQueryException as error:
        found = re.search(r"DELTA_[A-Z_]+", str(error))
        return found[0] if found else str(error)
    return str([progress["numInputRows"] for progress in query.recentProgress])


# Files by other writers.


def add_file(table: Table, content: pyarrow.Table, **options: Any) -> None:
    """Adds a file of pyarrow to the log without statistics, as another engine may."""
    name = f"other {len(table.log.commits)}.parquet"
    pyarrow.parquet.write_table(content, table.path / name, **options)
    table.log.append_foreign(
        {
            "add": {
                "path": name.replace(" ", "%20"),
                "partitionValues": {},
                "size": (table.path / name).stat().st_size,
                "modificationTime": 0,
                "dataChange": True,
            }
        }
    )


@pytest.mark.without("row-tracking")
@pytest.mark.parametrize(
    "options",
    [
        {"compression": "zstd", "data_page_version": "2.0", "write_page_index": True},
        pytest.param(
            {"compression": "none", "use_dictionary": False, "row_group_size": 2},
            marks=pytest.mark.matrix,
        ),
        pytest.param(
            {"compression": "gzip", "write_statistics": False, "store_schema": False},
            marks=pytest.mark.matrix,
        ),
    ],
)
def test_files_of_another_engine_are_copied(table: Table, options: dict[str, Any]) -> None:
    table.create_tracked("a INT, b STRING, l ARRAY<INT>, gone INT")
    insert_one_file(table, "(0, 'w', array(1), 9)")
    content = pyarrow.table(
        {
            "a": pyarrow.array([1, 2, 3, None, 5], pyarrow.int32()),
            "gone": pyarrow.array([4711] * 5, pyarrow.int32()),
            "l": pyarrow.array([[1, 2], [], None, [None], [3]], pyarrow.list_(pyarrow.int32())),
            "b": ["x", None, "ä", "", "z" * 1000],
        }
    )
    add_file(table, content, **options)
    table.alter("RENAME COLUMN a TO c")
    table.alter("DROP COLUMN gone")
    before = table.selected()

    log = unmap(table)

    assert counts(log) == (0, 2, 0)
    assert table.selected() == before
    assert [tuple(row) for row in table.frame().where("c = 2").collect()] == [(2, None, [])]
    assert [row["c"] for row in table.frame().where("b = 'ä'").collect()] == [3]


@pytest.mark.broken_table("file_columns", "values_changed")
@pytest.mark.without("row-tracking")
def test_file_with_names_in_another_letter_case_is_rewritten(table: Table) -> None:
    """Spark ignores letter case, so it reads the file."""
    table.create_tracked("Abc INT, d INT")
    table.insert("(1, 1)")
    add_file(table, pyarrow.table({"aBC": pyarrow.array([2], pyarrow.int32())}))
    table.alter("RENAME COLUMN d TO e")
    before = table.selected()

    log = unmap(table)

    assert counts(log) == (0, 1, 1)
    assert table.selected() == before == [(1, 1), (2, None)]
    assert log.parquet_columns() == ["Abc", "e"]


@pytest.mark.matrix
def test_column_named_as_a_dropped_one_in_another_letter_case_is_copied(table: Table) -> None:
    table.create_tracked("Abc INT, d INT")
    insert_one_file(table, "(1, 1)")
    table.alter("DROP COLUMN Abc")
    table.alter("ADD COLUMN ABC INT")
    insert_one_file(table, "(2, 2)")

    log = unmap(table)

    assert counts(log) == (0, 2, 0)
    assert table.selected() == [(1, None), (2, 2)]
    assert log.parquet_columns() == ["ABC", "d"]
