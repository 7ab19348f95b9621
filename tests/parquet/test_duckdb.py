# SPDX-License-Identifier: Apache-2.0
"""Tests files of DuckDB 2, which contain counts of NaNs that Spark's Parquet does not know."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.parquet.columns import Array, Column, Map, Struct, plan
from tests.parquet.renamer import Outcome, Renamer
from tests.support.parquet_file import STATISTICS, ParquetFile, problems

NAN_COUNT = 9  # the field of `Statistics` in parquet.thrift

A = Column(1, "col-a", "a", pa.int64())
S = Column(2, "col-s", "s", Struct((Column(3, "col-x", "x", pa.int32()),)))
L = Column(4, "col-l", "l", Array(S.type))
M = Column(5, "col-m", "m", Map(pa.string(), S.type))
DROPPED = Column(6, "col-b", "b", pa.string())
D = Column(7, "col-d", "d", pa.float64())

ROWS = """
    SELECT i AS "col-a", {'col-x': i + 1} AS "col-s", [{'col-x': i}] AS "col-l",
        MAP {'k': {'col-x': i}} AS "col-m", 'dropped ' || i AS "col-b" FROM range(3000) AS t(i)
"""
DOUBLES = 'SELECT i AS "col-a", i / 7 AS "col-d" FROM range(3000) AS t(i)'


def written(rows: str, file: Path, options: str) -> Path:
    duckdb.sql(f"COPY ({rows}) TO '{file}' (FORMAT parquet, {options})")
    return file


@pytest.mark.every_variant
@pytest.mark.parametrize(
    "options",
    [
        "PARQUET_VERSION v1, COMPRESSION snappy",
        "PARQUET_VERSION v2, COMPRESSION zstd, ROW_GROUP_SIZE 2048",
    ],
)
def test_file_of_duckdb_is_copied(tmp_path: Path, renamer: Renamer, options: str) -> None:
    source = written(ROWS, tmp_path / "source.parquet", options)
    target = tmp_path / "copy" / "t.parquet"

    outcome = renamer.copy(source, target, plan((A, S, L, M)))

    assert outcome == Outcome("COPIED", target.stat().st_size, None)
    assert list(problems(ParquetFile.of(target), whole=True)) == []
    assert b"dropped" not in target.read_bytes()
    rows = pq.read_table(target).to_pylist()
    assert rows == [
        {"a": i, "s": {"x": i + 1}, "l": [{"x": i}], "m": [("k", {"x": i})]} for i in range(3000)
    ]


def test_file_with_counts_of_nan_is_copied(tmp_path: Path, renamer: Renamer) -> None:
    source = written(DOUBLES, tmp_path / "source.parquet", "PARQUET_VERSION v2")
    target = tmp_path / "copy" / "t.parquet"

    assert renamer.copy(source, target, plan((A, D))).way == "COPIED"

    counts = [
        [column[STATISTICS].get(NAN_COUNT) for column in ParquetFile.of(file).columns]
        for file in (source, target)
    ]
    assert counts[0] == counts[1]
