# SPDX-License-Identifier: Apache-2.0
"""Compares the answers of engines on tables with the flag true, with and without filters.

docs/for-engines.md contains the results, under "Flag `true`".
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tests.engines import engines
from tests.engines.filtered import ENGINES, HERE, Filter, answer_of
from tests.engines.misled import CASES, Case
from tests.support.delta_table import NAME_MODE, TRACKED, Table

Rows = list[dict[str, Any]]
Engine = Callable[[Path, Filter | None], Rows]

# The known wrong answers by table: all rows, or the rows of a filter.
WRONG = {
    "clickhouse": {
        "rename and add": ["city = 'X'", "city IS NULL"],
        "swap": ["a = 'b1'", "b = 'a1'", "a = 'a2'", "b = 'b2'"],
        "drop and add": ["city IS NULL"],
        "nested": ["s.city = 'X'", "s.city IS NULL"],
    },
    "clickhouse_without_push_down": {},
    "deltalake_by_datafusion": {},
    "deltalake_by_pyarrow": {
        case: ["rows", *(each.sql for each in CASES[case].filters)] for case in CASES
    },
    "polars": {case: ["refused"] for case in CASES},
    "kernel": {},
}
# On any table, a filter on an added column skips the files from before the column.
ADDED = {
    case: {"deltalake_by_pyarrow": ["city IS NULL"]} for case in ("rename and add", "drop and add")
}


@pytest.fixture(scope="module")
def readers(spark: SparkSession) -> dict[str, Engine]:
    return {**{name: ENGINES[name] for name in HERE}, "kernel": engines.filtered_kernel(spark)}


@pytest.fixture(params=CASES)
def case(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


def wrong(engine: Engine, path: Path, case: Case) -> list[str]:
    """Returns the answers of an engine that the case does not expect, or only `refused`."""
    found = [answer_of(engine, path, each) for each in (None, *case.filters)]
    return judged(found, case)


def judged(found: list[Rows | str], case: Case) -> list[str]:
    if all(isinstance(each, str) for each in found):
        return ["refused"]
    everything, *filtered = found
    whole = not isinstance(everything, str) and engines.rows(everything) == engines.rows(case.rows)
    return [
        *([] if whole else ["rows"]),
        *(
            where.sql
            for (where, ids), rows in zip(case.filters.items(), filtered, strict=True)
            if isinstance(rows, str) or sorted(row["id"] for row in rows) != ids
        ),
    ]


def test_engines_answer_as_listed_when_names_mislead(
    table: Table, readers: dict[str, Engine], case: str
) -> None:
    made = CASES[case].make(table, TRACKED, NAME_MODE)
    assert made.log.flag == "true"

    found = {name: wrong(engine, made.path, CASES[case]) for name, engine in readers.items()}

    assert found == {name: WRONG[name].get(case, []) for name in found}


def test_delta_is_not_misled(table: Table, case: str) -> None:
    made = CASES[case].make(table, TRACKED, NAME_MODE)

    for where, ids in CASES[case].filters.items():
        kept = made.spark.sql(f"SELECT id FROM {made.name} WHERE {where.sql} ORDER BY id")
        assert [row.id for row in kept.collect()] == ids, where


def test_engines_are_not_misled_after_names_are_aligned(
    table: Table, readers: dict[str, Engine], case: str
) -> None:
    made = CASES[case].make(table, TRACKED, NAME_MODE)
    assert made.usage.align_names(progress=None).aligned

    found = {name: wrong(engine, made.path, CASES[case]) for name, engine in readers.items()}

    known = {"polars": ["refused"], **ADDED.get(case, {})}
    assert found == {name: known.get(name, []) for name in found}


@pytest.mark.matrix
def test_pyarrow_misses_nulls_of_an_added_column_without_column_mapping_too(
    table: Table, readers: dict[str, Engine]
) -> None:
    table.create("id INT")
    table.insert("(1)")
    table.alter("ADD COLUMN city STRING")
    table.insert("(2, 'X')")

    assert readers["deltalake_by_pyarrow"](table.path, Filter("city")) == []
    assert len(readers["deltalake_by_pyarrow"](table.path, None)) == 2


@pytest.mark.matrix
def test_clickhouse_filters_fields_of_structs_as_listed(table: Table) -> None:
    made = CASES["nested"].make(table, TRACKED, NAME_MODE)

    def read(where: str) -> Rows:
        return engines.clickhouse(made.path, where)

    with pytest.raises(RuntimeError, match="NOT_FOUND_COLUMN"):
        read("s.town = 'Rome'")
    assert read("s.city = 'Rome'") == [{"id": 1, "s": {"town": "Rome"}}]  # its city is null
