# SPDX-License-Identifier: Apache-2.0
"""Tests that the validator and the readers find the defects that a bad copy would have.

Each change makes a copy as if the copying code lacked a step.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from tests.parquet.copied_file import NUMBER, ROWS
from tests.support.compact_thrift import I32, I64, LIST, STRUCT, List, Struct, decoded, encoded
from tests.support.parquet_file import (
    BLOOM,
    BLOOM_LENGTH,
    COLUMN_INDEX,
    COLUMN_ORDERS,
    COLUMNS,
    COMPRESSED,
    DATA_PAGE,
    DICTIONARY_PAGE,
    FIELD_ID,
    FILE_OFFSET,
    GROUP_COMPRESSED,
    GROUP_OFFSET,
    METADATA,
    NUM_ROWS,
    NUM_VALUES,
    OFFSET_INDEX,
    OFFSET_INDEX_LENGTH,
    PATH,
    SORTING,
    TOTAL_BYTE_SIZE,
    UNCOMPRESSED,
    ParquetFile,
    problems,
)

pytestmark = pytest.mark.every_variant  # each takes well under a second


@pytest.fixture
def file(copied: tuple[ParquetFile, ParquetFile]) -> ParquetFile:
    """Returns a copy that the test may break."""
    return ParquetFile.of(copied[1].bytes())


def test_copy_is_valid_and_has_everything_that_these_tests_break(file: ParquetFile) -> None:
    assert list(problems(file, whole=True)) == []
    assert len(file.row_groups) > 1
    number, text = file.chunks[:2]
    assert {OFFSET_INDEX, COLUMN_INDEX} <= set(number.fields) & set(text.fields)
    assert len(offset_index(file)[1].items) > 1
    assert BLOOM in number[METADATA]
    assert DICTIONARY_PAGE in text[METADATA]
    assert DICTIONARY_PAGE not in number[METADATA]


Change = Callable[[ParquetFile], None]


def add(where: Callable[[ParquetFile], Struct], field: int, by: int) -> Change:
    """Adds to a number, as if an offset or a size were not updated."""

    def change(file: ParquetFile) -> None:
        found = where(file)
        found.put(field, found.types[field], found[field] + by)

    return change


def group(file: ParquetFile) -> Struct:
    return file.row_groups[1]


def number(file: ParquetFile) -> Struct:
    return file.row_groups[1][COLUMNS].items[0]


def text(file: ParquetFile) -> Struct:
    return file.row_groups[1][COLUMNS].items[1]


def number_column(file: ParquetFile) -> Struct:
    return number(file)[METADATA]


def text_column(file: ParquetFile) -> Struct:
    return text(file)[METADATA]


def offset_index(file: ParquetFile) -> Struct:
    return decoded(file.body, number(file)[OFFSET_INDEX])[0]


def page(number_: int, field: int, by: int) -> Change:
    """Changes a page's entry in an offset index."""

    def change(file: ParquetFile) -> None:
        index = offset_index(file)
        location = index[1].items[number_]
        location.put(field, location.types[field], location[field] + by)
        replace_offset_index(file, index)

    return change


def replace_offset_index(file: ParquetFile, index: Struct) -> None:
    number(file).put(OFFSET_INDEX, I64, len(file.body))
    file.body += encoded(index)
    number(file).put(OFFSET_INDEX_LENGTH, I32, len(encoded(index)))


def another_column(file: ParquetFile) -> None:
    """Adds a chunk without a column in the schema."""
    group(file)[COLUMNS].items.append(text(file))


def another_path(file: ParquetFile) -> None:
    number_column(file)[PATH].items = [NUMBER.encode()]


def sorted_by_a_missing_column(file: ParquetFile) -> None:
    order = Struct({1: 2, 2: False, 3: True}, {1: I32, 2: 1, 3: 1})
    group(file).put(SORTING, LIST, List(STRUCT, [order]))


def one_order_too_many(file: ParquetFile) -> None:
    file.footer[COLUMN_ORDERS].items.append(file.footer[COLUMN_ORDERS].items[0])


def index_of_another_column(file: ParquetFile) -> None:
    number(file).put(COLUMN_INDEX, I64, text(file)[COLUMN_INDEX])


def same_pages(file: ParquetFile) -> None:
    for field in (DATA_PAGE, COMPRESSED, UNCOMPRESSED, NUM_VALUES):
        text_column(file).put(field, I64, number_column(file)[field])
    text_column(file).drop(DICTIONARY_PAGE)


def unclaimed_bytes(file: ParquetFile) -> None:
    file.body += b"left behind"


def no_magic(file: ParquetFile) -> None:
    file.body = b"PARE" + file.body[4:]


def field_id(file: ParquetFile) -> None:
    file.schema[1].put(FIELD_ID, I32, 1)


BY = 40
SEEN_BY_THE_VALIDATOR: dict[str, tuple[Change, str]] = {
    "data page": (add(number_column, DATA_PAGE, BY), "row group 1, number: its pages"),
    "data page of a dictionary": (add(text_column, DATA_PAGE, BY), "its first data page is at"),
    "dictionary": (add(text_column, DICTIONARY_PAGE, BY), "row group 1, text: its "),
    "size": (add(number_column, COMPRESSED, -BY), "row group 1, number: its pages"),
    "larger size": (add(text_column, COMPRESSED, BY), "row group 1, text: its pages"),
    "uncompressed size": (add(number_column, UNCOMPRESSED, BY), "uncompressed bytes, not"),
    "values": (add(number_column, NUM_VALUES, 1), "values, not"),
    "bloom filter": (add(number_column, BLOOM, BY), "number: its bloom filter"),
    "bloom filter's length": (add(number_column, BLOOM_LENGTH, -4), "number: its bloom filter"),
    "offset index": (add(number, OFFSET_INDEX, 7), "number: its offset index"),
    "offset index's length": (add(number, OFFSET_INDEX_LENGTH, -1), "number: its offset index"),
    "column index": (add(number, COLUMN_INDEX, 3), "number: its column index"),
    "column index's length": (add(number, COLUMN_INDEX + 1, 1), "number: its column index"),
    "column index of another": (index_of_another_column, "is in the column index of"),
    "page location": (page(1, 1, BY), "its offset index says"),
    "page location's size": (page(1, 2, 1), "its offset index says"),
    "page location's row": (page(1, 3, -1), "its pages begin with rows"),
    "file offset": (add(number, FILE_OFFSET, 1 << 30), "its file offset is outside of the file"),
    "row group's offset": (add(group, GROUP_OFFSET, BY), "row group 1: it begins at"),
    "row group's size": (add(group, TOTAL_BYTE_SIZE, BY), "its size is not that of its columns"),
    "row group's compressed size": (
        add(group, GROUP_COMPRESSED, BY),
        "its compressed size is not that of its columns",
    ),
    "row group's rows": (add(group, 3, 1), "the rows of its row groups do not add up"),
    "rows": (add(lambda file: file.footer, NUM_ROWS, 1), "the rows of its row groups do not add"),
    "column left": (another_column, "row group 1: its columns"),
    "old path": (another_path, "row group 1: its columns"),
    "sorted by a missing column": (
        sorted_by_a_missing_column,
        "it is sorted by a column that it lacks",
    ),
    "one order too many": (
        one_order_too_many,
        "its footer does not have one order for each column",
    ),
    "pages of two columns": (same_pages, "row group 1, text is in row group 1, number"),
    "unclaimed bytes": (unclaimed_bytes, "11 bytes between the offset index of row group"),
    "first magic number": (no_magic, "it does not begin with the magic number"),
    "field id": (field_id, "its schema has field ids"),
}


@pytest.mark.parametrize(
    ("change", "problem"), SEEN_BY_THE_VALIDATOR.values(), ids=SEEN_BY_THE_VALIDATOR
)
def test_validator_finds_the_defect(file: ParquetFile, change: Change, problem: str) -> None:
    change(file)
    found = list(problems(ParquetFile.of(file.bytes()), whole=True))
    assert any(problem in each for each in found), found


# A reader finds defects only in the parts that it uses.

QUERIES = {
    "all": "true",
    "statistics": "number = 3",
    "page index": "number BETWEEN 290 AND 295",
    "bloom filter": "number IN (71, 251)",
}


def by_spark(spark: SparkSession, path: Path, condition: str) -> list[int] | None:
    rows = (
        spark.read.schema("number LONG, text STRING")
        .option("parquet.page.verify-checksum.enabled", "true")
        .parquet(str(path))
        .where(condition)
    )
    try:
        return sorted(row.number for row in rows.collect())
    except (PySparkException, Py4JJavaError):
        return None


def zeroed(place: Callable[[ParquetFile], int], length: int, value: bytes = b"\0") -> Change:
    def change(file: ParquetFile) -> None:
        at = place(file)
        file.body = file.body[:at] + value * length + file.body[at + length :]

    return change


def each_group(change: Callable[[Struct], None]) -> Change:
    def change_all(file: ParquetFile) -> None:
        for row_group in file.row_groups:
            change(row_group[COLUMNS].items[0])

    return change_all


def old_statistics(chunk: Struct) -> None:
    """Writes the statistics of a column with larger values."""
    statistics = chunk[METADATA][12]
    for field in (5, 6):
        statistics.put(field, 8, struct.pack("<q", 1 << 40))


def empty_filter(file: ParquetFile) -> None:
    for row_group in file.row_groups:
        column = row_group[COLUMNS].items[0][METADATA]
        header, end = decoded(file.body, column[BLOOM])
        file.body = file.body[:end] + bytes(header[1]) + file.body[end + header[1] :]


def old_minima(file: ParquetFile) -> None:
    """Writes a column index of larger values."""
    for row_group in file.row_groups:
        chunk = row_group[COLUMNS].items[0]
        index, _ = decoded(file.body, chunk[COLUMN_INDEX])
        for field in (2, 3):
            index[field].items = [struct.pack("<q", 1 << 40)] * len(index[field].items)
        chunk.put(COLUMN_INDEX, I64, len(file.body))
        chunk.put(COLUMN_INDEX + 1, I32, len(encoded(index)))
        file.body += encoded(index)


def each_page_in_the_place_of_another(file: ParquetFile) -> None:
    for row_group in file.row_groups:
        chunk = row_group[COLUMNS].items[0]
        index, _ = decoded(file.body, chunk[OFFSET_INDEX])
        places = index[1].items
        offsets = [location[1] for location in places]
        for location, after in zip(places, offsets[1:] + offsets[:1], strict=True):
            location.put(1, I64, after)
        chunk.put(OFFSET_INDEX, I64, len(file.body))
        chunk.put(OFFSET_INDEX_LENGTH, I32, len(encoded(index)))
        file.body += encoded(index)


SEEN_BY_SPARK: dict[str, tuple[Change, str]] = {
    "data page": (add(number_column, DATA_PAGE, BY), "all"),
    "dictionary": (add(text_column, DICTIONARY_PAGE, BY), "all"),
    "a changed byte": (zeroed(lambda f: number_column(f)[DATA_PAGE] + 60, 1, b"\xee"), "all"),
    "statistics": (each_group(old_statistics), "statistics"),
    "column index": (old_minima, "page index"),
    "page locations": (each_page_in_the_place_of_another, "page index"),
    "bloom filter": (empty_filter, "bloom filter"),
}


@pytest.fixture(params=["true", "false"], ids=["vectorized", "parquet-mr"])
def reader(request: pytest.FixtureRequest, conf: Any) -> Iterator[str]:
    conf("spark.sql.parquet.enableVectorizedReader", request.param)
    return request.param


def test_spark_reads_a_copy(
    file: ParquetFile, spark: SparkSession, reader: str, tmp_path: Path
) -> None:
    (tmp_path / "file.parquet").write_bytes(file.bytes())
    found = {name: by_spark(spark, tmp_path, query) for name, query in QUERIES.items()}
    assert found == {
        "all": list(range(ROWS)),
        "statistics": [3],
        "page index": list(range(290, 296)),
        "bloom filter": [71, 251],
    }


@pytest.mark.parametrize(("change", "query"), SEEN_BY_SPARK.values(), ids=SEEN_BY_SPARK)
def test_spark_finds_the_defect(
    file: ParquetFile,
    spark: SparkSession,
    reader: str,
    tmp_path: Path,
    change: Change,
    query: str,
) -> None:
    (tmp_path / "file.parquet").write_bytes(file.bytes())
    right = by_spark(spark, tmp_path, QUERIES[query])
    change(file)
    (tmp_path / "file.parquet").unlink()
    (tmp_path / "broken.parquet").write_bytes(file.bytes())
    assert by_spark(spark, tmp_path, QUERIES[query]) != right


def test_pyarrow_finds_a_changed_byte(file: ParquetFile) -> None:
    def read() -> pa.Table:
        return pq.ParquetFile(pa.BufferReader(file.bytes()), page_checksum_verification=True).read()

    assert read().num_rows == ROWS
    SEEN_BY_SPARK["a changed byte"][0](file)
    with pytest.raises(OSError, match="CRC checksum verification failed"):
        read()
