# SPDX-License-Identifier: Apache-2.0
"""Tests that the comparison of a copy with its source finds what the copy lacks."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.parquet.columns import Column, plan
from tests.parquet.copied_file import DROPPED, STAYING
from tests.parquet.kept import SPARKS_SCHEMA, differences
from tests.parquet.renamer import Renamer
from tests.support.compact_thrift import BINARY, I32, I64, Struct, decoded, encoded
from tests.support.parquet_file import (
    BLOOM,
    CODEC,
    COLUMN_INDEX,
    COLUMN_ORDERS,
    COLUMNS,
    COMPRESSED,
    CREATED_BY,
    KEY_VALUES,
    METADATA,
    NUM_VALUES,
    OFFSET_INDEX,
    OFFSET_INDEX_LENGTH,
    STATISTICS,
    ParquetFile,
    start,
)

pytestmark = pytest.mark.every_variant  # each takes well under a second

Change = Callable[[ParquetFile], None]
VERSION, ENCODINGS, ENCODING_STATISTICS, SIZE_STATISTICS, ORDINAL = 1, 2, 13, 16, 7
LOGICAL_TYPE, MAXIMUM, NULLS = 10, 5, 3


def found(source: ParquetFile, copy: ParquetFile) -> list[str]:
    names = {column.name: column.new_name for column in STAYING}
    copy = ParquetFile.of(copy.bytes())
    return list(differences(source, copy, new_names=names, dropped={DROPPED}))


@pytest.fixture
def source(copied: tuple[ParquetFile, ParquetFile]) -> ParquetFile:
    return copied[0]


@pytest.fixture
def copy(copied: tuple[ParquetFile, ParquetFile]) -> ParquetFile:
    """Returns a copy that the test may break."""
    return ParquetFile.of(copied[1].bytes())


def test_copy_equals_its_source_except_for_the_plan(source: ParquetFile, copy: ParquetFile) -> None:
    assert found(source, copy) == []


def text(file: ParquetFile) -> Struct:
    """Returns the second column of the second row group."""
    return file.row_groups[1][COLUMNS].items[1]


def column(file: ParquetFile) -> Struct:
    return text(file)[METADATA]


def number(file: ParquetFile) -> Struct:
    """Returns the first column, which has a bloom filter, because it has no dictionary."""
    return file.row_groups[1][COLUMNS].items[0][METADATA]


def footer(file: ParquetFile) -> Struct:
    return file.footer


def drop(where: Callable[[ParquetFile], Struct], field: int) -> Change:
    def change(file: ParquetFile) -> None:
        assert field in where(file)
        where(file).drop(field)

    return change


def put(where: Callable[[ParquetFile], Struct], field: int, kind: int, value: object) -> Change:
    def change(file: ParquetFile) -> None:
        assert where(file)[field] != value
        where(file).put(field, kind, value)

    return change


def statistics(file: ParquetFile) -> Struct:
    return column(file)[STATISTICS]


def fewer(where: Callable[[ParquetFile], Struct], field: int) -> Change:
    """Removes the last item of a list."""

    def change(file: ParquetFile) -> None:
        where(file)[field].items.pop()

    return change


def another_field(file: ParquetFile) -> None:
    """Inverts whether a field of Spark's schema is nullable."""
    (entry,) = (e for e in file.footer[KEY_VALUES].items if e[1].decode() == SPARKS_SCHEMA)
    schema = json.loads(entry[2])
    schema["fields"][0]["nullable"] = not schema["fields"][0]["nullable"]
    entry.put(2, BINARY, json.dumps(schema).encode())


def overwritten(place: Callable[[ParquetFile], int]) -> Change:
    def change(file: ParquetFile) -> None:
        at = place(file)
        file.body = file.body[:at] + bytes([file.body[at] ^ 1]) + file.body[at + 1 :]

    return change


def later_rows(file: ParquetFile) -> None:
    """Writes an offset index whose pages begin one row later."""
    index, _ = decoded(file.body, text(file)[OFFSET_INDEX])
    for page in index[1].items:
        page.put(3, I64, page[3] + 1)
    text(file).put(OFFSET_INDEX, I64, len(file.body))
    text(file).put(OFFSET_INDEX_LENGTH, I32, len(encoded(index)))
    file.body += encoded(index)


NUMBER, TEXT = "row group 1, col-number", "row group 1, col-text"
SEEN: dict[str, tuple[Change, str]] = {
    "statistics": (drop(column, STATISTICS), f"{TEXT}: it has the fields"),
    "a maximum": (drop(statistics, MAXIMUM), f"{TEXT}: its field {STATISTICS} is"),
    "nulls": (put(statistics, NULLS, I64, 0), f"{TEXT}: its field {STATISTICS} is"),
    "encodings": (fewer(column, ENCODINGS), f"{TEXT}: its field {ENCODINGS} is"),
    "statistics of encodings": (drop(column, ENCODING_STATISTICS), f"{TEXT}: it has the fields"),
    "statistics of sizes": (drop(column, SIZE_STATISTICS), f"{TEXT}: it has the fields"),
    "codec": (put(column, CODEC, I32, 1), f"{TEXT}: its field {CODEC} is 1, not 0"),
    "values": (put(column, NUM_VALUES, I64, 1), f"{TEXT}: its field {NUM_VALUES} is 1"),
    "size": (put(column, COMPRESSED, I64, 1), f"{TEXT}: its field {COMPRESSED} is 1"),
    "bytes": (overwritten(lambda file: start(column(file)) + 30), f"{TEXT}: its bytes differ"),
    "bloom filter": (drop(number, BLOOM), f"{NUMBER}: it has the fields"),
    "bits of a bloom filter": (
        overwritten(lambda file: number(file)[BLOOM] + 40),
        f"{NUMBER}: its bloom filter differs",
    ),
    "column index": (drop(text, COLUMN_INDEX), f"{TEXT}: it has the fields"),
    "bytes of a column index": (
        overwritten(lambda file: text(file)[COLUMN_INDEX] + 9),
        f"{TEXT}: its column index differs",
    ),
    "rows of pages": (later_rows, f"{TEXT}, offset index: its field 1 is"),
    "row group's number": (
        drop(lambda file: file.row_groups[1], ORDINAL),
        "row group 1: it has the fields",
    ),
    "who wrote it": (put(footer, CREATED_BY, BINARY, b"we"), f"its field {CREATED_BY} is"),
    "version": (put(footer, VERSION, I32, 9), f"its field {VERSION} is 9"),
    "column orders": (drop(footer, COLUMN_ORDERS), "the file: it has the fields"),
    "an order": (fewer(footer, COLUMN_ORDERS), "its column orders differ"),
    "an entry": (fewer(footer, KEY_VALUES), "the file: its entries are"),
    "a field in an entry": (another_field, "the file: its entries are"),
    "a type's meaning": (
        drop(lambda file: file.schema[2], LOGICAL_TYPE),
        "the schema, text: it has the fields",
    ),
}


@pytest.mark.parametrize(("change", "difference"), SEEN.values(), ids=SEEN)
def test_comparison_finds_the_difference(
    source: ParquetFile, copy: ParquetFile, change: Change, difference: str
) -> None:
    change(copy)
    assert any(difference in each for each in found(source, copy)), found(source, copy)


def test_copy_has_no_metadata_of_another_file_of_its_task(renamer: Renamer, tmp_path: Path) -> None:
    columns = tuple(Column(n, f"col-{s}", s, pa.int64()) for n, s in enumerate("ab", start=1))
    of_task = renamer.renaming(plan(columns))
    for number, some in enumerate([columns[:1], columns, columns, columns[:1]]):
        fields = [{"name": c.name, "type": "long", "nullable": True, "metadata": {}} for c in some]
        says = {SPARKS_SCHEMA: json.dumps({"type": "struct", "fields": fields})}
        table = pa.table({c.name: pa.array([1], c.type) for c in some})
        file, target = tmp_path / f"{number}.parquet", tmp_path / f"copy-{number}.parquet"
        pq.write_table(table.replace_schema_metadata(says), file)
        assert renamer.copy(file, target, of_task).way == "COPIED"
        schema = json.loads(str(ParquetFile.of(target).key_values[SPARKS_SCHEMA]))
        assert [field["name"] for field in schema["fields"]] == [c.new_name for c in some]
