# SPDX-License-Identifier: Apache-2.0
"""Tests that every reader reads copies of every writer's files, with renamed and dropped columns.

The oracle is the same reader on the source of the copy.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from itertools import groupby, product
from pathlib import Path
from random import Random
from typing import Any

import chdb
import polars
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession
from pyspark.sql.pandas.types import from_arrow_schema

from tests.parquet.columns import (
    KEY,
    ROW,
    Column,
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
from tests.parquet.kept import differences
from tests.parquet.renamer import BY, Outcome, Renamer
from tests.parquet.writers import BROTLI, write_all
from tests.support.compact_thrift import decoded
from tests.support.parquet_file import (
    BLOOM,
    CODEC,
    COLUMN_INDEX,
    COMPRESSED,
    DATA_PAGE,
    DATA_PAGE_V1,
    DATA_PAGE_V2,
    DICTIONARY_PAGE,
    OFFSET_INDEX,
    PAGE_TYPE,
    PATH,
    STATISTICS,
    ParquetFile,
    problems,
    start,
)

ROWS = 300
LZO = 3  # a codec that Spark and pyarrow lack

RENAMED, FEW_DROPPED, MOST_DROPPED = "renamed", "few dropped", "most dropped"
SPARKS_ENTRIES = {
    "org.apache.spark.version",
    "org.apache.spark.sql.parquet.row.metadata",
}
# The share of dropped columns. The seed drops top-level columns and nested columns.
SHARES = {FEW_DROPPED: 0.3, MOST_DROPPED: 0.8, RENAMED: 0.0}


@dataclass(frozen=True)
class Copies:
    columns: Columns
    kept: Columns
    sources: dict[str, Path]
    copies: dict[str, Path]

    @property
    def dropped(self) -> list[Column]:
        ids = {column.id for column in every(self.kept)}
        return [column for column in every(self.columns) if column.id not in ids]

    def expected(self, rows: Rows) -> Rows:
        """Returns the rows that a reader must return for a copy, by its rows of the source."""
        return values(rows, self.kept, new=False)

    def got(self, rows: Rows) -> Rows:
        assert set(rows[0]) == {column.new_name for column in self.kept}
        return values(rows, self.kept, new=True)


@pytest.fixture(scope="module")
def columns() -> Columns:
    return random_columns(Random(1))


@pytest.fixture(scope="module")
def sources(
    spark: SparkSession, columns: Columns, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Path]:
    table = random_table(columns, ROWS, Random(2))
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


def test_sources_cover_all_features_of_files(sources: dict[str, Path]) -> None:
    files = [ParquetFile.of(source) for source in sources.values()]
    columns = [(file, column) for file in files for column in file.columns]
    assert {column[CODEC] for _, column in columns} == set(range(8)) - {LZO}
    pages = {decoded(file.body, column[DATA_PAGE])[0][PAGE_TYPE] for file, column in columns}
    assert pages == {DATA_PAGE_V1, DATA_PAGE_V2}
    for field in (STATISTICS, DICTIONARY_PAGE, BLOOM):
        assert {field in column for _, column in columns} == {True, False}
    assert {len(file.row_groups) > 1 for file in files} == {True, False}


@pytest.mark.every_variant
def test_copy_is_valid(copies: Copies) -> None:
    for name, file in copies.copies.items():
        assert list(problems(ParquetFile.of(file), whole=bool(copies.dropped))) == [], name


@pytest.mark.every_variant
def test_copy_has_the_indexes_and_filters_of_its_source(copies: Copies) -> None:
    def have(file: Path) -> tuple[bool, ...]:
        parsed = ParquetFile.of(file)
        return (
            any(COLUMN_INDEX in chunk for chunk in parsed.chunks),
            any(OFFSET_INDEX in chunk for chunk in parsed.chunks),
            any(BLOOM in column for column in parsed.columns),
        )

    kinds = set()
    for name, source in copies.sources.items():
        assert have(copies.copies[name]) == have(source)
        kinds.add(have(source))
    assert {(True, True, True), (True, True, False), (False, False, False)} <= kinds


@pytest.mark.every_variant
@pytest.mark.parametrize("copies", [FEW_DROPPED, MOST_DROPPED], indirect=True)
def test_copy_contains_nothing_of_a_dropped_column(copies: Copies) -> None:
    names = [column.name.encode() for column in copies.dropped]
    texts = [marker(column.id).encode() for column in copies.dropped if is_text(column)]
    assert texts
    seen: set[bytes] = set()
    for name, copy in copies.copies.items():
        source, data = ParquetFile.of(copies.sources[name]), copy.read_bytes()
        seen |= {text for text in texts if text in source.body}
        assert [text for text in [*names, *texts] if text in data] == [], name
        for column in source.columns:
            chunk = source.body[start(column) :][: column[COMPRESSED]]
            if not set(names).isdisjoint(column[PATH].items) and len(chunk) > 200:
                assert chunk not in data, name
    assert seen == set(texts)


def is_text(column: Column) -> bool:
    return column.type in (pa.string(), pa.binary())


@pytest.mark.every_variant
def test_footer_of_a_copy_contains_no_old_name(copies: Copies) -> None:
    for name, copy in copies.copies.items():
        file = ParquetFile.of(copy)
        data = file.bytes()[len(file.body) :]
        assert [
            column.name for column in every(copies.columns) if column.name.encode() in data
        ] == []
        assert set(file.key_values) == (SPARKS_ENTRIES if name.startswith("spark") else set())


@pytest.mark.every_variant
def test_copy_keeps_everything_but_names_and_dropped_columns(copies: Copies) -> None:
    new_names = {column.name: column.new_name for column in every(copies.kept)}
    dropped = {column.name for column in copies.dropped}
    for name, copy in copies.copies.items():
        files = ParquetFile.of(copies.sources[name]), ParquetFile.of(copy)
        assert list(differences(*files, new_names=new_names, dropped=dropped)) == [], name


def by_pyarrow(file: Path) -> Rows:
    return pq.ParquetFile(file, page_checksum_verification=True).read().to_pylist()


def by_polars(file: Path) -> Rows:
    return polars.read_parquet(file).to_dicts()


def by_clickhouse(file: Path) -> Rows:
    return chdb.query(f"SELECT * FROM file('{file}', Parquet)", "ArrowTable").to_pylist()


@cache
def source_rows(reader: Callable[[Path], Rows], file: Path) -> Rows:
    return reader(file)


def test_reader_returns_the_same_rows(copies: Copies) -> None:
    for reader in (by_pyarrow, by_polars, by_clickhouse):
        for name, copy in copies.copies.items():
            source = source_rows(reader, copies.sources[name])
            assert copies.got(reader(copy)) == copies.expected(source), (reader, name)


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
            assert copies.got(rows) == copies.expected(old[name]), (name, setting)
        if condition != NO_ROWS:
            assert len(new) == len(copies.copies) - 1


def by_spark(
    spark: SparkSession, files: dict[str, Path], columns: Columns, condition: str, *, new: bool
) -> dict[str, Rows]:
    schema = from_arrow_schema(arrow_schema(columns, new=new), prefer_timestamp_ntz=True)
    names = {each.name: each.new_name if new else f"`{each.name}`" for each in (ROW, KEY)}
    rows = (
        spark.read.schema(schema)
        .option("parquet.page.verify-checksum.enabled", "true")
        .parquet(*(str(path) for name, path in files.items() if name != BROTLI))
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
