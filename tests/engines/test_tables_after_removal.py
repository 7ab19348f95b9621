# SPDX-License-Identifier: Apache-2.0
"""Tests that other engines read byte copies of a removal as they read files of Delta's rewrite."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.engines import engines
from tests.engines.engines import Rows
from tests.support.delta_table import Table
from tests.support.removal import (
    OPERATION,
    by_delta,
    counts,
    insert_one_file,
)
from tests.support.variants import in_matrix

ENGINES: list[Callable[..., Rows]] = [
    engines.deltalake_by_datafusion,
    engines.deltalake_by_pyarrow,
    engines.polars_,
    engines.clickhouse,
]
COLUMNS = (
    "id BIGINT, gone INT, t TINYINT, f FLOAT, d DECIMAL(20, 3), day DATE, at TIMESTAMP, b BOOLEAN,"
    " s STRUCT<x: STRING, y: STRUCT<z: INT, gone: STRING>>, l ARRAY<STRUCT<v: INT>>, p STRING"
)
ROWS = (
    "(1, 7, 1, 0.5, 1.125, date'2024-02-29', timestamp'2024-02-29 01:02:03Z', true, named_struct("
    "'x', 'ä', 'y', named_struct('z', 1, 'gone', 'g')), array(named_struct('v', 5), NULL), 'u v'),"
    "(2, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),"
    "(3, 8, -1, -1e30, -99999999999999999.999, date'1970-01-01', timestamp'1999-12-31 23:59:59Z',"
    " false, named_struct('x', NULL, 'y', NULL), array(), 'x/y=z')"
)


@pytest.fixture(params=["p", *in_matrix("")], ids=["partitioned", "plain"])
def removed(request: pytest.FixtureRequest, table: Table) -> tuple[Table, Table]:
    """Returns a table after our removal by byte copy, and its copy after Delta's rewrite."""
    table.create_tracked(COLUMNS, partitioned_by=request.param)
    insert_one_file(table, ROWS)
    for old, new in {"f": "f2", "d": "Größe", "s.y.z": "w", "s": "St", "p": "q"}.items():
        table.alter(f"RENAME COLUMN {old} TO `{new}`")
    for dropped in ("gone", "St.y.gone"):
        table.alter(f"DROP COLUMN {dropped}")
    table.alter("ADD COLUMN late INT")
    twin = by_delta(table, drop_feature)
    drop_feature(table)
    return table, twin


def drop_feature(table: Table) -> None:
    table.alter("DROP FEATURE columnMapping")


def plain(rows: Rows) -> list[dict[str, Any]]:
    return sorted(rows, key=lambda row: row["id"])


def test_every_engine_reads_the_same_rows_after_removal(removed: tuple[Table, Table]) -> None:
    ours, theirs = removed
    (version,) = (v for v in range(ours.log.version) if ours.log.at(v).operation == OPERATION)
    assert counts(ours.log.at(version))[1] > 0

    for engine in ENGINES:
        read = engine(ours.path)
        assert read == engine(theirs.path), engine
        assert [row["id"] for row in plain(read)] == [1, 2, 3]
        assert plain(read)[0]["St"] == {"x": "ä", "y": {"w": 1}}
        assert plain(read)[0]["q"] == "u v"
