# SPDX-License-Identifier: Apache-2.0
"""Tests that every reader reads copies of every writer's files, with renamed and dropped columns.

The oracle is the same reader on the source of the copy.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from itertools import groupby, product
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from pyspark.sql.pandas.types import from_arrow_schema

from tests.parquet.columns import (
    KEY,
    ROW,
    Columns,
    Rows,
    arrow_schema,
    every,
    marker,
    plan,
    random_columns,
    random_table,
    row_key,
    values,
    without,
)
from tests.parquet.copying import (
    Reader,
    by_clickhouse,
    by_polars,
    by_pyarrow,
    footer_wrong,
)
from tests.parquet.renamer import BY, Outcome, Renamer
from tests.parquet.writers import BROTLI, DUCKDB, write_all
from tests.support.parquet_file import COMPRESSED, PATH, ParquetFile, start

# The share of dropped columns. The seed drops top-level columns and nested columns.
SHARES = {"few dropped": 0.3, "most dropped": 0.8, "renamed": 0.0}


@dataclass(frozen=True)
class Copies:
    columns: Columns
    kept: Columns
    sources: dict[str, Path]
    copies: dict[str, Path]

    def assert_same(self, copy: Rows, source: Rows, what: object) -> None:
        """Asserts that a reader returns the same for a copy and its source."""
        assert set(copy[0]) == {column.new_name for column in self.kept}
        old = values(source, self.kept, new=False)
        assert values(copy, self.kept, new=True) == old, what


@pytest.fixture(scope="module")
def columns() -> Columns:
    return random_columns(Random(1))


@pytest.fixture(scope="module")
def sources(
    spark: SparkSession, columns: Columns, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Path]:
    table = random_table(columns, 300, Random(2))
    return write_all(spark, table, tmp_path_factory.mktemp("sources"))


@pytest.fixture(scope="module", params=SHARES)
def copies(
    request: pytest.FixtureRequest,
    columns: Columns,
    sources: dict[str, Path],
    renamer: Renamer,
    tmp_path_factory: pytest.TempPathFactory,
) -> Copies:
    random = Random(3)
    kept = without(columns, lambda column: random.random() < SHARES[request.param])
    folder = tmp_path_factory.mktemp("copies")
    for name, source in sources.items():
        for by in BY:
            target = folder / by / source.name
            outcome = renamer.copy(source, target, plan(kept), by=by)
            assert outcome == Outcome("COPIED", target.stat().st_size, None), name
        assert len({(folder / by / source.name).read_bytes() for by in BY}) == 1
    targets = {name: folder / BY[0] / source.name for name, source in sources.items()}
    return Copies(columns, kept, sources, targets)


@pytest.mark.every_variant
def test_copy_differs_from_its_source_only_in_names_and_dropped_columns(copies: Copies) -> None:
    ids = {column.id for column in every(copies.kept)}
    dropped = [column for column in every(copies.columns) if column.id not in ids]
    names = {column.name.encode() for column in dropped}
    texts = [
        marker(column.id).encode()
        for column in dropped
        if column.type in (pa.string(), pa.binary())
    ]
    seen: set[bytes] = set()
    for name, copy in copies.copies.items():
        source, data = ParquetFile.of(copies.sources[name]), copy.read_bytes()
        files = source, ParquetFile.of(copy)
        assert list(footer_wrong(*files, copies.columns, copies.kept)) == [], name
        seen |= {text for text in texts if text in source.body}
        assert [text for text in (*names, *texts) if text in data] == [], name
        for column in source.columns:
            chunk = source.body[start(column) :][: column[COMPRESSED]]
            if not names.isdisjoint(column[PATH].items) and len(chunk) > 200:
                assert chunk not in data, name
    assert seen == set(texts)


@cache
def source_rows(reader: Reader, file: Path) -> Rows:
    return reader(file)


def test_reader_returns_the_same_rows(copies: Copies) -> None:
    for reader in (by_pyarrow, by_polars, by_clickhouse):
        for name, copy in copies.copies.items():
            source = source_rows(reader, copies.sources[name])
            copies.assert_same(reader(copy), source, (reader, name))


@pytest.fixture(scope="module")
def sparks_sources() -> dict[tuple[str, str], dict[str, Rows]]:
    """Returns a cache for Spark's rows of the sources, by reader and query."""
    return {}


NO_ROWS = "{key} = 'no row has it'"
CONDITIONS = [
    "true",
    "{row} BETWEEN 151 AND 154",
    f"{{key}} IN ('{row_key(5)}', '{row_key(297)}')",
    NO_ROWS,
]


def test_spark_returns_the_same_rows(
    copies: Copies,
    spark: SparkSession,
    sparks_sources: dict[tuple[str, str], dict[str, Rows]],
    conf: Any,
) -> None:
    for setting in product(["true", "false"], CONDITIONS):
        vectorized, condition = setting
        conf("spark.sql.parquet.enableVectorizedReader", vectorized)
        conf("spark.sql.parquet.enableNestedColumnVectorizedReader", vectorized)
        if setting not in sparks_sources:
            sparks_sources[setting] = by_spark(
                spark, copies.sources, copies.columns, condition, new=False
            )
        old = sparks_sources[setting]
        new = by_spark(spark, copies.copies, copies.kept, condition, new=True)
        assert new.keys() == old.keys()
        for name, rows in new.items():
            copies.assert_same(rows, old[name], (name, setting))
        if condition != NO_ROWS:
            assert len(new) == len(copies.copies) - 2


def by_spark(
    spark: SparkSession, files: dict[str, Path], columns: Columns, condition: str, *, new: bool
) -> dict[str, Rows]:
    schema = from_arrow_schema(arrow_schema(columns, new=new), prefer_timestamp_ntz=True)
    names = {each.name: each.new_name if new else f"`{each.name}`" for each in (ROW, KEY)}
    rows = (
        spark.read.schema(schema)
        .option("parquet.page.verify-checksum.enabled", "true")
        .parquet(*(str(path) for name, path in files.items() if name not in (BROTLI, DUCKDB)))
        .where(condition.format(row=names[ROW.name], key=names[KEY.name]))
        .selectExpr("*", "_metadata.file_name")
        .toArrow()
        .to_pylist()
    )
    rows.sort(key=lambda row: row["file_name"])
    found = {}
    for name, group in groupby(rows, key=lambda row: row["file_name"]):
        found[name] = [{key: row[key] for key in row if key != "file_name"} for row in group]
    return found
