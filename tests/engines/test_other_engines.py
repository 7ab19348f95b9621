# SPDX-License-Identifier: Apache-2.0
"""Tests how other engines read and write a tracked table after each removal stage."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime, timezone
from decimal import Decimal
from pathlib import Path

import pyarrow
import pytest
from deltalake import write_deltalake
from deltalake.exceptions import DeltaError, DeltaProtocolError
from polars.exceptions import ShapeError
from pyspark.sql import SparkSession

from spark_ext.tables.goals import Until
from tests.engines import engines
from tests.engines.engines import Rows
from tests.support.delta_table import NAME_MODE, Table
from tests.support.prepared import made_once
from tests.support.removal import counts, insert_one_file
from tests.support.variants import in_matrix

Reader = Callable[[Path], Rows]

COLUMNS = "id INT, name STRING, s STRUCT<x: INT, y: STRING>, l ARRAY<STRUCT<z: INT>>"
VALUES = (
    "(1, 'one', named_struct('x', 10, 'y', 'a'), array(named_struct('z', 100))),"
    " (2, 'two', NULL, array(named_struct('z', 200), named_struct('z', 201)))"
)
ROWS = [
    {"id": 1, "name": "one", "s": {"x": 10, "y": "a"}, "l": [{"z": 100}]},
    {"id": 2, "name": "two", "l": [{"z": 200}, {"z": 201}]},
]


@pytest.fixture(scope="module")
def readers(spark: SparkSession) -> dict[str, Reader]:
    return {
        "deltalake by DataFusion": engines.deltalake_by_datafusion,
        "deltalake by pyarrow": engines.deltalake_by_pyarrow,
        "polars": engines.polars_,
        "ClickHouse": engines.clickhouse,
        "Kernel": engines.kernel(spark),
    }


@pytest.fixture(params=["", "id"], ids=["plain", "partitioned"])
def tracked(request: pytest.FixtureRequest, table: Table) -> Table:
    return filled(table, request.param)


@made_once
def filled(table: Table, partitioned_by: str) -> None:
    table.create_tracked(COLUMNS, partitioned_by=partitioned_by)
    table.insert(VALUES)


def read_by(readers: dict[str, Reader], path: Path, *, but: str = "") -> dict[str, Rows]:
    return {name: reader(path) for name, reader in readers.items() if name != but}


def remove_mapping(table: Table, until: Until) -> list[bool]:
    usage = table.usage
    stages = usage.remove_column_mapping(until=until, progress=None)
    return [step.reached for step in stages]


def remove_features(table: Table) -> None:
    assert remove_mapping(table, "writers") == [True, True, False]
    table.age_log()
    assert remove_mapping(table, "writers") == [True, True, True]


def append(path: Path) -> None:
    more = pyarrow.table(
        {
            "id": pyarrow.array([3], pyarrow.int32()),
            "name": ["three"],
            "s": pyarrow.array(
                [{"x": 30, "y": "c"}],
                pyarrow.struct([("x", pyarrow.int32()), ("y", pyarrow.string())]),
            ),
            "l": pyarrow.array(
                [[{"z": 300}]], pyarrow.list_(pyarrow.struct([("z", pyarrow.int32())]))
            ),
        }
    )
    write_deltalake(str(path), more, mode="append")


# Refusals and wrong values of mapped tables. Without them, the answers below would prove nothing.


def test_polars_refuses_a_mapped_table(tracked: Table, readers: dict[str, Reader]) -> None:
    with pytest.raises(DeltaProtocolError, match="reader version"):
        readers["polars"](tracked.path)


@pytest.mark.parametrize("until", [None, "unmapped", "readers"])
def test_deltalake_refuses_to_write_before_the_last_removal_stage(
    tracked: Table, until: Until | None
) -> None:
    if until:
        remove_mapping(tracked, until)

    with tracked.no_commit(), pytest.raises(DeltaError):
        append(tracked.path)


def test_uuid_names_hide_values_from_readers_that_ignore_them(
    table: Table, readers: dict[str, Reader]
) -> None:
    table.create(COLUMNS, NAME_MODE)
    table.insert(VALUES)

    assert read_by(readers, table.path, but="polars") == {
        "deltalake by DataFusion": ROWS,
        "deltalake by pyarrow": [{}, {}],
        "ClickHouse": [{key: row[key] for key in row if key != "l"} for row in ROWS],
        "Kernel": ROWS,
    }


def test_deltalake_reads_fields_of_structs_in_maps_by_position(table: Table) -> None:
    table.create("m MAP<STRING, STRUCT<l: ARRAY<STRUCT<old: INT>>>>", NAME_MODE)
    table.insert("(map('k', named_struct('l', array(named_struct('old', 5)))))")
    table.alter("ADD COLUMN m.value.l.element.new INT")
    table.alter("DROP COLUMN m.value.l.element.old")

    assert table.selected("m['k'].l[0].new") == [(None,)]
    assert engines.deltalake_by_datafusion(table.path) == [{"m": [("k", {"l": [{"new": 5}]})]}]


# Values after each removal stage.


@pytest.mark.parametrize(
    ("until", "reached"),
    [
        (None, []),
        ("unmapped", [True, False, False]),
        # Reader version 1, which polars reads too.
        ("readers", [True, True, False]),
    ],
)
def test_table_is_read_as_written_at_each_stage(
    tracked: Table, readers: dict[str, Reader], until: Until | None, reached: list[bool]
) -> None:
    if until:
        assert remove_mapping(tracked, until) == reached

    found = read_by(readers, tracked.path, but="" if until == "readers" else "polars")
    assert found == dict.fromkeys(found, ROWS)


def test_deltalake_writes_after_the_last_removal_stage_and_engines_read_the_rows(
    tracked: Table, readers: dict[str, Reader]
) -> None:
    remove_features(tracked)

    append(tracked.path)

    rows = [*ROWS, {"id": 3, "name": "three", "s": {"x": 30, "y": "c"}, "l": [{"z": 300}]}]
    is_partitioned = bool(tracked.log.metadata["partitionColumns"])
    found = read_by(readers, tracked.path, but="polars" if is_partitioned else "")
    assert found == dict.fromkeys(found, rows)
    assert len(tracked.selected()) == 3
    if is_partitioned:
        # Delta gives the folders of a mapped table random names. Other writers call them `id=3`.
        # polars 2.1.0 refuses a table with both, unless it reads through pyarrow.
        with pytest.raises(ShapeError):
            engines.polars_(tracked.path)
        assert engines.polars_(tracked.path, use_pyarrow=True) == rows


@pytest.mark.parametrize("partitioned_by", ["p", *in_matrix("")], ids=["partitioned", "plain"])
def test_byte_copies_are_read_by_every_engine(
    table: Table, readers: dict[str, Reader], partitioned_by: str
) -> None:
    table.create_tracked(
        "id BIGINT, gone INT, d DECIMAL(20, 3), day DATE, at TIMESTAMP, p STRING,"
        " s STRUCT<x: STRING, y: STRUCT<z: INT, gone: STRING>>, l ARRAY<STRUCT<v: INT>>",
        partitioned_by=partitioned_by,
    )
    insert_one_file(
        table,
        "(1, 7, 1.125, date'2024-02-29', timestamp'2024-02-29 01:02:03Z', 'u v', named_struct("
        "'x', 'ä', 'y', named_struct('z', 1, 'gone', 'g')), array(named_struct('v', 5))),"
        "(2, NULL, NULL, NULL, NULL, 'x/y=z', NULL, NULL)",
    )
    for old, new in {"d": "Größe", "s.y.z": "w", "s": "St", "p": "q"}.items():
        table.alter(f"RENAME COLUMN {old} TO `{new}`")
    for dropped in ("gone", "St.y.gone"):
        table.alter(f"DROP COLUMN {dropped}")
    table.alter("ADD COLUMN late INT")
    table.remove_mapping()
    assert counts(table.log)[1] > 0
    assert remove_mapping(table, "readers") == [True, True, False]

    first = {
        "id": 1,
        "Größe": Decimal("1.125"),
        "day": date(2024, 2, 29),
        "at": datetime(2024, 2, 29, 1, 2, 3, tzinfo=timezone.utc),
        "q": "u v",
        "St": {"x": "ä", "y": {"w": 1}},
        "l": [{"v": 5}],
    }
    nested = ("id", "q", "St", "l")  # ClickHouse and Kernel return other types of numbers and times
    for name, rows in read_by(readers, table.path, but="Kernel").items():
        compared = nested if name == "ClickHouse" else tuple(first)
        row = next(row for row in rows if row["id"] == 1)
        assert {key: row[key] for key in compared} == {key: first[key] for key in compared}, name
        assert len(rows) == 2
        assert next(row for row in rows if row["id"] == 2) == {"id": 2, "q": "x/y=z"}
