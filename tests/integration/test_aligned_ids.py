# SPDX-License-Identifier: Apache-2.0
"""`align_names()` keeps every column id, in files that are copied as well, and the highest."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pyarrow.parquet
import pytest

from spark_ext import Progress, UsageTracking
from tests.support.delta_table import NAME_MODE, TRACKED, Table
from tests.support.removal import in_matrix
from tests.support.table_log import TableLog

ID_MODE = "'delta.columnMapping.mode' = 'id'"
ALIGNING = "sparkext.columnMapping.aligning"
MAX_COLUMN_ID = "delta.columnMapping.maxColumnId"
COLUMNS = "id INT, city STRING, gone INT, s STRUCT<x: INT, y: INT>, l ARRAY<STRUCT<z: INT>>"
ROW = "(1, 'Rome', 7, named_struct('x', 1, 'y', 0), array(named_struct('z', 5)))"


class Interrupted(Exception):
    pass


def misled(table: Table, *properties: str) -> Table:
    """A column was renamed and one of its old name added; another was dropped, and one nested."""
    table.create(COLUMNS, *properties)
    table.insert(ROW)
    table.alter("RENAME COLUMN city TO town")
    table.alter("ADD COLUMN city STRING AFTER town")
    table.alter("DROP COLUMN gone")
    table.alter("DROP COLUMN s.y")
    table.alter("ADD COLUMN last INT")
    table.alter("DROP COLUMN last")
    return table


def usage(table: Table) -> UsageTracking:
    return UsageTracking.forPath(table.spark, str(table.path))


def removal(table: Table) -> TableLog:
    """The table just after its newest removal."""
    log = table.log
    removals = (
        version
        for version in range(log.version, 0, -1)
        if log.at(version).operation == "REMOVE COLUMN MAPPING"
    )
    return log.at(next(removals))


def false_names(table: Table) -> list[Any]:
    """The fields of Spark's schemas in footers whose physical name there is another."""
    found: list[Any] = []

    def look(value: dict[str, Any]) -> dict[str, Any]:
        physical = value.get("metadata", {}).get("delta.columnMapping.physicalName")
        if physical not in (None, value.get("name")):
            found.append(value)
        return value

    for file in table.log.live_files:
        # In mode id a copy has none.
        told = pyarrow.parquet.read_schema(table.path / file).metadata or {}
        json.loads(told.get(b"org.apache.spark.sql.parquet.row.metadata", "{}"), object_hook=look)
    return found


def beside(number: int, act: Callable[[], object]) -> Callable[[Progress], None]:
    """Acts just before the statement of this number begins."""
    begun: list[str] = []

    def watch(progress: Progress) -> None:
        if progress.statement not in begun:
            begun.append(progress.statement)
            if len(begun) == number + 1:
                act()

    return watch


def interrupt() -> None:
    raise Interrupted


@pytest.mark.without("auto-compact", "deletion-vectors")
@pytest.mark.parametrize(
    "properties", [(TRACKED, NAME_MODE), (NAME_MODE,), *in_matrix(((TRACKED, ID_MODE),))]
)
def test_every_id_and_the_highest_stay(table: Table, properties: tuple[str, ...]) -> None:
    misled(table, *properties)
    before, most = table.log.ids, table.log.max_column_id
    assert most > max(before.values())

    assert usage(table).align_names(to_name_mode=True, progress=None).aligned

    assert (table.log.ids, table.log.max_column_id) == (before, most)
    assert ALIGNING not in table.log.configuration
    assert false_names(table) == []
    in_files = removal(table).parquet_field_ids()
    assert in_files == {path: id for path, id in before.items() if path != "city"}
    table.alter("ADD COLUMN fare INT")
    table.insert("(2, 'Oslo', 'X', named_struct('x', 2), NULL, 9)")
    assert (table.log.ids["fare"], table.log.max_column_id) == (most + 1, most + 1)
    assert table.rows("id, town, city, fare") == [(1, "Rome", None, None), (2, "Oslo", "X", 9)]


@pytest.mark.without("auto-compact", "deletion-vectors")
def test_a_table_whose_files_are_kept_keeps_its_ids(table: Table) -> None:
    table.create("a INT, b INT", TRACKED, NAME_MODE)
    table.insert("(1, 2)")
    files = table.log.live_files
    table.alter("ADD COLUMN c INT")
    table.alter("DROP COLUMN c")
    table.alter("ADD COLUMN d INT")
    before, most = table.log.ids, table.log.max_column_id

    usage(table).align_names(progress=None)

    assert table.log.live_files == files
    assert (
        (table.log.ids, table.log.max_column_id) == (before, most) == ({"a": 1, "b": 2, "d": 4}, 4)
    )
    assert table.log.at(1).parquet_field_ids() == {"a": 1, "b": 2}


@pytest.mark.parametrize("number", [2, *in_matrix(3)])
def test_a_column_that_comes_meanwhile_gets_an_id_that_was_never_used(
    table: Table, number: int
) -> None:
    misled(table, TRACKED, NAME_MODE)
    before, most = table.log.ids, table.log.max_column_id

    def add() -> None:
        table.alter("ADD COLUMN fare INT FIRST")

    usage(table).align_names(progress=beside(number, add))

    assert table.log.ids == {"fare": most + 1, **before}
    assert table.log.max_column_id == most + 1


def test_an_id_follows_its_column_when_it_is_renamed_just_before_the_removal(table: Table) -> None:
    misled(table, TRACKED, NAME_MODE)
    before, most = table.log.ids, table.log.max_column_id

    def rename() -> None:
        table.alter("RENAME COLUMN id TO number")
        table.alter("ADD COLUMN id INT")

    usage(table).align_names(progress=beside(1, rename))

    before["number"] = before.pop("id")
    assert table.log.ids == {**before, "id": most + 1}
    assert table.log.max_column_id == most + 1


def test_a_column_of_another_type_that_replaces_one_gets_an_id_of_its_own(table: Table) -> None:
    table.create("a INT, b INT", TRACKED, NAME_MODE)
    table.insert("(1, 2)")
    table.alter("RENAME COLUMN b TO c")

    def overwrite() -> None:
        frame = table.spark.sql("SELECT 'x' AS a, 3 AS c")
        writer = frame.write.format("delta").mode("overwrite").option("overwriteSchema", "true")
        writer.save(str(table.path))

    usage(table).align_names(progress=beside(2, overwrite))

    assert table.log.ids == {"a": 3, "c": 2}
    assert table.rows() == [("x", 3)]


@pytest.mark.parametrize("number", [2, *in_matrix(1, 3, 4)])
def test_a_call_that_was_interrupted_keeps_the_ids(table: Table, number: int) -> None:
    misled(table, TRACKED, NAME_MODE)
    before, most = table.log.ids, table.log.max_column_id
    with suppress(Interrupted):
        usage(table).align_names(progress=beside(number, interrupt))

    usage(table).align_names(progress=None)

    assert (table.log.ids, table.log.max_column_id) == (before, most)
    assert ALIGNING not in table.log.configuration


def test_ids_that_were_used_after_a_version_that_is_restored_are_not_given_again(
    table: Table,
) -> None:
    misled(table, TRACKED, NAME_MODE)
    before, most = table.log.ids, table.log.max_column_id
    with suppress(Interrupted):
        usage(table).align_names(progress=beside(2, interrupt))
    removed = table.log.version
    usage(table).align_names(progress=None)
    table.alter("ADD COLUMN fare INT")
    assert table.log.ids["fare"] == most + 1
    table.spark.sql(f"RESTORE TABLE {table.name} TO VERSION AS OF {removed}")

    usage(table).align_names(progress=None)

    assert (table.log.ids, table.log.max_column_id) == (before, most + 1)


def test_a_removal_for_good_is_deltas_and_numbers_anew(table: Table) -> None:
    misled(table, TRACKED, NAME_MODE)
    usage(table).remove_column_mapping(progress=None)
    assert MAX_COLUMN_ID not in table.log.configuration

    table.alter(f"SET TBLPROPERTIES ({NAME_MODE})")

    assert sorted(table.log.ids.values()) == list(range(1, len(table.log.ids) + 1))
