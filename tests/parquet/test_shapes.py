# SPDX-License-Identifier: Apache-2.0
"""Tests that a file of unusual shape is copied only if every part of the file is known."""

from __future__ import annotations

import json
import shutil
import struct
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from tests.parquet.columns import Array, Column, Columns, Map, arrow_schema, every, plan
from tests.parquet.columns import Struct as StructType
from tests.parquet.kept import SPARKS_SCHEMA, differences
from tests.parquet.renamer import Outcome, Renamer
from tests.support.compact_thrift import (
    BINARY,
    I32,
    I64,
    LIST,
    STRUCT,
    TRUE,
    List,
    Struct,
    decoded,
    encoded,
)
from tests.support.parquet_file import (
    BLOOM,
    BLOOM_LENGTH,
    CODEC,
    COLUMN_INDEX,
    COLUMN_KEY_VALUES,
    COLUMN_ORDERS,
    COLUMNS,
    COMPRESSED,
    CREATED_BY,
    DATA_PAGE,
    DICTIONARY_PAGE,
    FILE_PATH,
    KEY_VALUES,
    METADATA,
    NAME,
    NUM_CHILDREN,
    OFFSET_INDEX,
    OFFSET_INDEX_LENGTH,
    PATH,
    REPEATED,
    SCHEMA,
    SORTING,
    STATISTICS,
    ParquetFile,
    problems,
    start,
)

pytestmark = pytest.mark.every_variant  # each takes well under a second

Rows = list[dict[str, Any]]
Change = Callable[[ParquetFile], object]
Part = Callable[[ParquetFile], Struct]

A = Column(1, "col-a", "a", pa.int64())
B = Column(2, "col-b", "b", pa.string())
S = Column(
    3, "col-s", "s", StructType((Column(4, "col-x", "x", pa.int32()), Column(5, "y", "y", B.type)))
)
ARRAY = Column(6, "col-l", "l", Array(S.type))
MAP = Column(7, "col-m", "m", Map(pa.string(), S.type))
ALL = (A, B, S, ARRAY, MAP)
WITHOUT_B = (A, S, ARRAY, MAP)

ROWS = [
    {
        "col-a": number,
        "col-b": f"dropped {number}",
        "col-s": {"col-x": number, "y": str(number)} if number % 3 else None,
        "col-l": [{"col-x": number, "y": "l"}] * (number % 3),
        "col-m": [(f"k{number}", {"col-x": number, "y": "m"})],
    }
    for number in range(60)
]
TABLE = pa.Table.from_pylist(ROWS, schema=arrow_schema(ALL))
BY_IDS = TABLE.cast(arrow_schema(ALL, ids=True))


def new_names(value: Any) -> Any:
    """Returns rows with the new names."""
    if isinstance(value, dict):
        return {key.removeprefix("col-"): new_names(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(map(new_names, value))
    return value


FULL: Rows = new_names(ROWS)
RENAMED: Rows = [{key: row[key] for key in row if key != "b"} for row in FULL]


def of(*names: str) -> Rows:
    """Returns the rows of some columns."""
    return [{name: row[name] for name in names} for row in FULL]


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """Writes a file of two row groups with page indexes and bloom filters."""
    file = tmp_path / "source.parquet"
    pq.write_table(
        TABLE,
        file,
        row_group_size=35,
        write_page_index=True,
        store_schema=False,
        bloom_filter_options={"col-a": {"ndv": 50}, "col-b": {"ndv": 50}},
        use_dictionary=["col-b"],
    )
    return file


Copy = Callable[..., ParquetFile]
Reason = Callable[..., str]


@pytest.fixture
def copy(renamer: Renamer, tmp_path: Path) -> Copy:
    """Copies a file, and validates the copy."""

    def copied(source: Path, columns: Columns = WITHOUT_B, **options: Any) -> ParquetFile:
        target = tmp_path / "copy.parquet"
        target.unlink(missing_ok=True)
        outcome = renamer.copy(source, target, plan(columns, **options))
        assert outcome == Outcome("COPIED", target.stat().st_size, None)
        assert renamer.look(source, plan(columns, **options)).way == "COPIED"
        assert [file.name for file in tmp_path.iterdir() if file != source] == ["copy.parquet"]
        copy = ParquetFile.of(target)
        assert list(problems(copy)) == []
        return copy

    return copied


@pytest.fixture
def reason(renamer: Renamer, tmp_path: Path) -> Reason:
    """Returns the reason why a file must be rewritten, and checks that no copy was written."""

    def refused(source: Path, columns: Columns = WITHOUT_B, **options: Any) -> str:
        target = tmp_path / "copies" / "copy.parquet"
        outcome = renamer.copy(source, target, plan(columns, **options))
        assert (outcome.way, outcome.length) == ("TO_REWRITE", source.stat().st_size)
        assert renamer.look(source, plan(columns, **options)) == outcome
        assert not target.exists()
        assert outcome.reason is not None
        return outcome.reason

    return refused


def changed(source: Path, *changes: Change) -> Path:
    file = ParquetFile.of(source)
    for change in changes:
        change(file)
    source.write_bytes(file.bytes())
    return source


def rows_of(file: ParquetFile) -> Rows:
    return pq.read_table(pa.BufferReader(file.bytes())).to_pylist()


# Parts of a file, and changes of them


def footer(file: ParquetFile) -> Struct:
    return file.footer


def element(number: int) -> Part:
    return lambda file: file.schema[number]


def group(file: ParquetFile) -> Struct:
    return file.row_groups[1]


def chunk(file: ParquetFile) -> Struct:
    return file.chunks[0]


def first(file: ParquetFile) -> Struct:
    return file.columns[0]


def statistics(file: ParquetFile) -> Struct:
    return first(file)[STATISTICS]


def encoding(file: ParquetFile) -> Struct:
    """Returns the statistics of an encoding."""
    return first(file)[13].items[0]


def order(file: ParquetFile) -> Struct:
    return file.footer[COLUMN_ORDERS].items[0]


# Each part that may have an unknown field, and its name in parquet.thrift.
PARTS: dict[str, tuple[Part, str]] = {
    "footer": (footer, "FileMetaData"),
    "root": (element(0), "SchemaElement"),
    "schema": (element(1), "SchemaElement"),
    "row group": (group, "RowGroup"),
    "chunk": (chunk, "ColumnChunk"),
    "column": (lambda file: file.columns[2], "ColumnMetaData"),
    "dropped column": (lambda file: file.columns[1], "ColumnMetaData"),
    "statistics": (statistics, "Statistics"),
    "encodings": (encoding, "PageEncodingStats"),
}


def put(part: Part, field: int, kind: int, value: Any) -> Change:
    return lambda file: part(file).put(field, kind, value)


def drop(part: Part, field: int) -> Change:
    return lambda file: part(file).drop(field)


def all_of(*changes: Change) -> Change:
    def change(file: ParquetFile) -> None:
        for each in changes:
            each(file)

    return change


UNCHANGED = all_of()


def union(*members: int) -> Struct:
    """Returns a union with members that have no fields; a correct one has one member."""
    return Struct({each: Struct() for each in members}, dict.fromkeys(members, STRUCT))


def logical_type(*members: int) -> Change:
    return put(element(2), 10, STRUCT, union(*members))


def column_order(value: Struct) -> Change:
    return lambda file: file.footer[COLUMN_ORDERS].items.__setitem__(0, value)


def names(old: bytes, new: bytes) -> Change:
    """Renames elements in the schema and in all paths."""

    def change(file: ParquetFile) -> None:
        for each in file.schema:
            if each[NAME] == old:
                each.put(NAME, BINARY, new)
        for column in file.columns:
            column[PATH].items = [new if name == old else name for name in column[PATH].items]

    return change


def two_levels(name: bytes) -> Change:
    """Returns a change to lists without null elements as older writers wrote them."""

    def change(file: ParquetFile) -> None:
        names(b"list", name)(file)
        at = next(n for n, each in enumerate(file.schema) if each[NAME] == b"element")
        outer = file.schema.pop(at - 1)
        file.schema[at - 1].put(NAME, BINARY, outer[NAME])
        file.schema[at - 1].put(3, I32, REPEATED)
        for column in file.columns:
            column[PATH].items = [part for part in column[PATH].items if part != b"element"]

    return change


def bare(file: ParquetFile) -> None:
    """Makes the repeated field a column. Its list is required, so that the levels are equal."""
    two_levels(b"bag")(file)
    at = next(n for n, each in enumerate(file.schema) if each[NAME] == b"col-l")
    file.schema.pop(at)
    file.schema[at].put(NAME, BINARY, b"col-l")
    for column in file.columns:
        column[PATH].items = [part for part in column[PATH].items if part != b"bag"]


def repetition(name: bytes, value: int) -> Change:
    def change(file: ParquetFile) -> None:
        for each in file.schema:
            if each[NAME] == name:
                each.put(3, I32, value)

    return change


def written_by(writer: str | None) -> Change:
    return (
        drop(footer, CREATED_BY)
        if writer is None
        else put(footer, CREATED_BY, BINARY, writer.encode())
    )


def entries(**values: str | None) -> Change:
    """Puts key-value metadata. A key has `__` instead of a dot."""

    def put_all(file: ParquetFile) -> None:
        found = []
        for key, value in values.items():
            entry = Struct()
            entry.put(1, BINARY, key.replace("__", ".").encode())
            if value is not None:
                entry.put(2, BINARY, value.encode())
            found.append(entry)
        file.footer.put(KEY_VALUES, LIST, List(STRUCT, found))

    return put_all


def relaid(file: ParquetFile) -> None:
    """Writes the chunks of a file in reverse order."""
    body = file.body[:4]
    for each in reversed(file.row_groups):
        each.drop(5)
        for part in reversed(each[COLUMNS].items):
            column = part[METADATA]
            by = len(body) - start(column)
            body += file.body[start(column) :][: column[COMPRESSED]]
            for field in (DATA_PAGE, DICTIONARY_PAGE):
                if field in column:
                    column.put(field, I64, column[field] + by)
            for field in (OFFSET_INDEX, OFFSET_INDEX_LENGTH, COLUMN_INDEX, COLUMN_INDEX + 1):
                part.drop(field)
            column.drop(BLOOM)
            column.drop(BLOOM_LENGTH)
    file.body = body


def no_dictionaries_at_0(file: ParquetFile) -> None:
    for column in file.columns:
        if DICTIONARY_PAGE not in column:
            column.put(DICTIONARY_PAGE, I64, 0)


def signed(file: ParquetFile) -> None:
    """Appends 28 bytes to the footer."""
    data = file.bytes()
    length = struct.unpack("<i", data[-8:-4])[0]
    data = data[:-8] + b"-" * 28 + struct.pack("<i", length + 28) + data[-4:]
    file.bytes = lambda: data  # type: ignore[method-assign]


# Copied files

STRUCT_TYPE = pa.struct({"col-x": pa.int32(), "y": pa.string()})


def list_of(kind: pa.DataType, *, nullable: bool = True) -> pa.Table:
    """Returns a list of two elements that are not null."""
    values = [{"col-x": 1, "y": "one"}, {"col-x": 2, "y": "two"}]
    rows = values if pa.types.is_struct(kind) else [value["y"] for value in values]
    of_list = pa.list_(pa.field("element", kind, nullable=False))
    field = pa.field("col-l", of_list, nullable=nullable)
    schema = pa.schema([pa.field("col-a", pa.int64()), field, pa.field("col-b", pa.string())])
    return pa.table([[7], [rows], ["dropped"]], schema=schema)


def with_list(kind: pa.DataType) -> Columns:
    return A, Column(6, "col-l", "l", Array(S.type if kind == STRUCT_TYPE else kind))


LISTS: dict[str, tuple[pa.DataType, list[Any]]] = {
    "texts": (pa.string(), ["one", "two"]),
    "structs": (STRUCT_TYPE, [{"x": 1, "y": "one"}, {"x": 2, "y": "two"}]),
}
OTHERS = pa.schema([field.with_name(f"other {field.name}") for field in BY_IDS.schema])
SWAPPED_IDS = (Column(2, "col-a", "b", pa.string()), Column(1, "col-b", "a", pa.int64()))


@dataclass(frozen=True)
class Case:
    """Describes a file, a plan, and the rows of the copy.

    Args:
        table: The rows of the file; None for `source`.
        change: A change of the file.
        by_id: Whether the plan finds columns by their ids.
    """

    rows: Rows
    columns: Columns = WITHOUT_B
    table: pa.Table | None = None
    change: Change = UNCHANGED
    by_id: bool = False


COPIED = {
    "renamed": Case(FULL, ALL),
    "without b": Case(RENAMED),
    "only a": Case(of("a"), (A,)),
    "only s": Case(of("s"), (S,)),
    "only b": Case(of("b"), (B,)),
    "row groups in reverse": Case(
        RENAMED[35:] + RENAMED[:35], change=lambda file: file.row_groups.reverse()
    ),
    "no rows": Case([], table=TABLE.slice(0, 0)),
    "ids and other names": Case(
        RENAMED, table=BY_IDS.rename_columns(OTHERS.names).cast(OTHERS), by_id=True
    ),
    "ids and names of others": Case(of("b", "a"), SWAPPED_IDS, BY_IDS, by_id=True),
    "the name of a dropped column": Case(
        of("b"), (B,), TABLE.select(["col-a", "col-b"]).rename_columns(["b", "col-b"])
    ),
    "equal names, and a dropped column": Case(
        of("a"),
        (Column(1, "a", "a", pa.int64()),),
        TABLE.select(["col-a", "col-b"]).rename_columns(["a", "b"]),
    ),
    "names of Hive and Impala": Case(
        RENAMED,
        change=all_of(
            names(b"list", b"bag"),
            names(b"element", b"array_element"),
            names(b"key_value", b"map"),
        ),
    ),
    **{
        f"{name} of two levels in {group}": Case(
            [{"a": 7, "l": rows}], with_list(kind), list_of(kind), two_levels(group.encode())
        )
        for name, (kind, rows) in LISTS.items()
        for group in ("array", "bag", "col-l_tuple")
    },
    # Protocol buffers have such fields.
    **{
        f"repeated {name} without a list": Case(
            [{"a": 7, "l": rows}], with_list(kind), list_of(kind, nullable=False), bare
        )
        for name, (kind, rows) in LISTS.items()
    },
}


@pytest.mark.parametrize("case", COPIED.values(), ids=COPIED)
def test_file_is_copied(source: Path, copy: Copy, case: Case) -> None:
    if case.table is not None:
        pq.write_table(case.table, source, store_schema=False)
    before = {each[NAME] for each in ParquetFile.of(changed(source, case.change)).schema}

    after = copy(source, case.columns, by_id=case.by_id)

    assert rows_of(after) == case.rows
    groups = {b"bag", b"array_element", b"map", b"array"}  # a copy keeps the names of groups
    assert {each[NAME] for each in after.schema} & groups == before & groups


def test_column_chunks_in_any_order_are_copied(source: Path, copy: Copy) -> None:
    file = copy(changed(source, relaid))
    assert rows_of(file) == RENAMED
    # Spark computes the middle of a row group from the first column.
    for each in file.row_groups:
        starts = [start(chunk[METADATA]) for chunk in each[COLUMNS].items]
        assert starts == sorted(starts)


def test_bloom_filter_without_a_length_is_copied(source: Path, copy: Copy) -> None:
    def filters(file: ParquetFile) -> list[bytes]:
        return [file.body[column[BLOOM] :][:47] for column in file.columns if BLOOM in column]

    def no_lengths(file: ParquetFile) -> None:
        for column in file.columns:
            column.drop(BLOOM_LENGTH)

    before = ParquetFile.of(source)
    assert filters(copy(changed(source, no_lengths))) == filters(before)[::2]  # col-b is dropped


def test_offset_0_means_no_page(source: Path, copy: Copy) -> None:
    copied = copy(changed(source, no_dictionaries_at_0))
    assert rows_of(copied) == RENAMED
    assert {column[DICTIONARY_PAGE] for column in copied.columns} == {0}
    # A dictionary without data pages, for which pyarrow writes the offset 0.
    pq.write_table(TABLE.slice(0, 0), source)
    assert {column[DATA_PAGE] for column in ParquetFile.of(source).columns} == {0}
    assert {column[DATA_PAGE] for column in copy(source).columns} == {0}
    # A chunk without pages overlaps no other.
    empty = TABLE.select(["col-b", "col-a", "col-s"]).slice(0, 0)
    pq.write_table(empty, source, use_dictionary=["col-b"])
    assert rows_of(copy(source, (A, B))) == []


def test_file_without_row_groups_is_copied(source: Path, copy: Copy) -> None:
    polars.DataFrame(TABLE.select(["col-a", "col-b"]).slice(0, 0)).write_parquet(source)
    assert ParquetFile.of(source).row_groups == []
    assert rows_of(copy(source, (A,))) == []


def with_id(name: str, kind: pa.DataType, number: int) -> pa.Field:
    return pa.field(name, kind, metadata={b"PARQUET:field_id": str(number).encode()})


def with_change_type(field: pa.Field) -> pa.Table:
    """Returns the table of a data file that an UPDATE with a change feed writes in mode `id`."""
    return BY_IDS.append_column(field, pa.nulls(len(ROWS), pa.string()))


def test_column_of_the_change_feed_alone_needs_no_field_id(
    source: Path, copy: Copy, reason: Reason
) -> None:
    without_id = "its column `_change_type` has no field id"
    change_type = {"by_id": True, "ignored": ["_change_type"]}
    pq.write_table(with_change_type(pa.field("_change_type", pa.string())), source)
    file = copy(source, **change_type)
    assert rows_of(file) == RENAMED
    assert b"_change_type" not in file.bytes()
    assert reason(source, by_id=True) == without_id
    tables_own = (*WITHOUT_B, Column(9, "_Change_Type", "own", pa.string()))
    assert reason(source, tables_own, **change_type) == without_id
    pq.write_table(with_change_type(with_id("_change_type", pa.string(), 9)), source)
    file = copy(source, tables_own, **change_type)
    assert [row.pop("own") for row in rows_of(file)] == [None] * len(ROWS)
    inside = pa.struct([with_id("col-x", pa.int32(), 4), pa.field("_change_type", pa.string())])
    pq.write_table(pa.table([[None]], schema=pa.schema([with_id("col-s", inside, 3)])), source)
    assert reason(source, (S,), **change_type) == without_id


def test_columns_in_the_list_of_kept_columns_are_copied(source: Path, copy: Copy) -> None:
    pq.write_table(TABLE.append_column("_row-id-1", [range(60)]), source)
    rows = rows_of(copy(source, kept=["_row-id-1"]))
    assert [row.pop("_row-id-1") for row in rows] == list(range(60))
    assert rows == RENAMED


@pytest.mark.parametrize(
    ("before", "after"),
    [([0], [0]), ([0, 2, 1, 3], [0, 1]), ([2, 0], [1, 0]), ([1, 0], None)],
    ids=str,
)
def test_sort_order_ends_before_the_first_dropped_column(
    source: Path, copy: Copy, before: list[int], after: list[int] | None
) -> None:
    def sort(file: ParquetFile) -> None:
        for each in file.row_groups:
            orders = [Struct({1: n, 2: False, 3: True}, {1: I32, 2: TRUE, 3: TRUE}) for n in before]
            each.put(SORTING, LIST, List(STRUCT, orders))

    for each in copy(changed(source, sort)).row_groups:
        orders = [found[1] for found in each[SORTING].items] if SORTING in each else None
        assert orders == after


def test_variant_is_copied(spark: SparkSession, tmp_path: Path, source: Path, copy: Copy) -> None:
    """A variant is a group in the file, with Parquet's names."""
    documents = ['{"x": 1, "y": ["z"]}', "null", "3.5"]
    frame = spark.createDataFrame([(text,) for text in documents], "text STRING").coalesce(1)
    variant = frame.selectExpr("parse_json(text) AS `col-v`", "text AS `col-b`")
    variant.write.parquet(str(tmp_path / "parts"))
    next((tmp_path / "parts").glob("*.parquet")).rename(source)
    shutil.rmtree(tmp_path / "parts")
    file = copy(source, (Column(1, "col-v", "v", pa.null()),))
    assert {path[0] for path in file.leaves()} == {"v"}
    rows = spark.read.schema("v VARIANT").parquet(str(tmp_path / "copy.parquet"))
    texts = [row.text for row in rows.selectExpr("to_json(v) AS text").collect()]
    assert [json.loads(text) for text in texts] == [json.loads(text) for text in documents]


def test_footer_in_another_form_of_thrift_is_copied(source: Path, copy: Copy) -> None:
    """Polars writes the id of a field in full although its distance from the last is 15."""
    file = ParquetFile.of(source)
    short, long = bytes([15 << 4 | STRUCT, 0, 0]), bytes([STRUCT, 30, 0, 0])
    logical_type(15)(file)
    expected = file.bytes()
    assert expected.count(short) == 1
    length = struct.pack("<i", len(expected) - 8 - len(file.body) + 1)
    source.write_bytes(expected[:-8].replace(short, long) + length + expected[-4:])
    assert copy(source, ALL).footer[SCHEMA].items[2][10] == file.schema[2][10]


# Binary extensions: as Thrift writes the number, and as Photon does (BinaryProtocolExtensions.md).
EXTENSION, PHOTONS_EXTENSION = 32767, -16384
SECRET = b"what a writer says in a form of its own: col-b, 4711"


def at_the_end(change: Callable[[Struct], None]) -> Change:
    """Writes a changed offset index at the end of the body."""

    def write(file: ParquetFile) -> None:
        index, _ = decoded(file.body, chunk(file)[OFFSET_INDEX])
        change(index)
        chunk(file).put(OFFSET_INDEX, I64, len(file.body))
        chunk(file).put(OFFSET_INDEX_LENGTH, I32, len(encoded(index)))
        file.body += encoded(index)

    return write


def extended(index: Struct) -> None:
    for each in (index, index[1].items[0]):
        each.put(EXTENSION, BINARY, SECRET)


EXTENSIONS: dict[str, Change] = {
    **{name: put(part, EXTENSION, BINARY, SECRET) for name, (part, _) in PARTS.items()},
    "order": put(order, EXTENSION, BINARY, SECRET),
    "Photon's footer": put(footer, PHOTONS_EXTENSION, BINARY, SECRET),
    "offset index": at_the_end(extended),
}
EXTENSIONS["everywhere"] = all_of(*EXTENSIONS.values())


@pytest.mark.parametrize("name", EXTENSIONS)
def test_footer_of_a_copy_has_no_binary_extensions(source: Path, copy: Copy, name: str) -> None:
    expected = {columns: copy(source, columns).footer for columns in (ALL, WITHOUT_B)}
    changed(source, EXTENSIONS[name])
    assert SECRET in source.read_bytes()
    for columns, rows in ((ALL, FULL), (WITHOUT_B, RENAMED)):
        copied = copy(source, columns)
        assert rows_of(copied) == rows
        assert SECRET not in copied.bytes()[len(copied.body) :]
        if name not in ("offset index", "everywhere"):
            assert copied.footer == expected[columns]
    assert SECRET not in copied.bytes()


# Parts that Spark 4.0 or 4.2 does not know. All but the last are in the format of Parquet 1.18.1.
PUBLISHED: dict[str, Change] = {
    "count of NaNs": put(statistics, 9, I64, 0),
    "geospatial statistics": put(first, 17, STRUCT, Struct({2: List(I32, [1])}, {2: LIST})),
    "order of floats": column_order(union(2)),
    "variant": logical_type(16),
    "geometry": logical_type(17),
    "geography": logical_type(18),
    "writer that is no text": put(footer, CREATED_BY, BINARY, b"\xf0\x9f\x98"),
}


@pytest.mark.parametrize("change", PUBLISHED.values(), ids=PUBLISHED)
def test_copy_keeps_parts_that_spark_does_not_know(
    source: Path, copy: Copy, change: Change
) -> None:
    change(before := ParquetFile.of(source))
    changed(source, change)
    new = {column.name: column.new_name for column in every(ALL)}
    for columns, dropped in ((ALL, set()), (WITHOUT_B, {B.name})):
        after = copy(source, columns)
        assert list(differences(before, after, new_names=new, dropped=dropped)) == []


# Values of `created_by` for which the sizes of column chunks are right.
@pytest.mark.parametrize(
    "writer",
    [
        "parquet-mr compatible Photon version 0.2 (build 16.4)",
        "parquet-mr-trino version 0.215 (build n/a)",
        "parquet-mr version 1.2.9 (build 8a2f0d6)",
        "parquet-mr version 1.2.10",
        "parquet-mr version 1.5.0-cdh5.7.1 (build ${buildNumber})",
        "parquet-mr version 1.6.0rc3 (build d4d5a07ec9bd262ca1e93c309f1d7d4a74ebda4c)",
        "parquet-mr version 1.10.99.7.1.1.0-565 (build 1ec5b8f)",
        "parquet-mr version 1.11.1-amzn-athena-1 (build e4c8769d72fd0e21068423a0ee114afeaa85df42)",
        "parquet-mr version 2.0.0",
        "parquet-cpp version 1.0.0",
        "delta-rs version 0.19.1",
        "DuckDB",
        "impala version 1.2-INTERNAL (build 93d0b2d)",
        "",
        "version 1.2.8",
        "another parquet-mr version 1.2.8",
        "?\n(build",
        None,
    ],
)
def test_writer_with_right_sizes_of_chunks_is_accepted(
    source: Path, copy: Copy, writer: str | None
) -> None:
    copied = copy(changed(source, written_by(writer))).footer
    assert copied.get(CREATED_BY) == (writer if writer is None else writer.encode())


@pytest.mark.parametrize(
    "writer",
    [
        "parquet-mr version 1.2.8 (build 7a0ba4b)",
        "parquet-mr version 1.0.0-t10 (build 0e1f6bf)",
        "parquet-mr version 1.2.9-SNAPSHOT",
        "parquet-mr version 1 (build x)",
        "parquet-mr version (build x)",
        "parquet-mr version",
        "parquet-mr (build 32c46643845ea8a705c35d4ec8fc654cc8ff816d)",
        "parquet-mr 1.6.0rc4",
        "parquet-mr",
    ],
)
def test_old_parquet_mr_with_wrong_sizes_of_chunks_is_refused_when_a_column_was_dropped(
    source: Path, copy: Copy, reason: Reason, writer: str
) -> None:
    changed(source, written_by(writer))
    assert reason(source) == f"`{writer}` omitted page headers from the sizes of column chunks"
    assert copy(source, ALL).footer[CREATED_BY] == writer.encode()


# Key-value metadata


def test_spark_schema_gets_the_new_names(source: Path, copy: Copy) -> None:
    def field(name: str, kind: Any, number: int) -> dict[str, Any]:
        metadata = {
            "delta.columnMapping.id": number,
            "delta.columnMapping.physicalName": name,
            "parquet.field.id": number,
            "comment": f"of {number}",
        }
        return {"name": name, "type": kind, "nullable": True, "metadata": metadata}

    s = {"type": "struct", "fields": [field("col-x", "integer", 4), field("y", "string", 5)]}
    array = {"type": "array", "elementType": s, "containsNull": True}
    a_map = {"type": "map", "keyType": "string", "valueType": s, "valueContainsNull": True}
    fields = [("col-a", "long"), ("col-b", "string"), ("col-s", s), ("col-l", array)]
    numbered = [field(name, kind, n) for n, (name, kind) in enumerate([*fields, ("col-m", a_map)])]
    schema = json.dumps({"type": "struct", "fields": numbered})
    file = copy(changed(source, entries(**{SPARKS_SCHEMA: schema})))
    (text,) = file.key_values.values()
    assert text is not None
    assert "col-" not in text
    assert "delta." not in text
    got = json.loads(text)["fields"]
    assert [each["name"] for each in got] == ["a", "s", "l", "m"]
    assert got[0]["metadata"] == {"comment": "of 0"}
    inner = [got[1]["type"], got[2]["type"]["elementType"], got[3]["type"]["valueType"]]
    assert [[each["name"] for each in kind["fields"]] for kind in inner] == [["x", "y"]] * 3


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


@pytest.mark.parametrize(
    "schema",
    [None, "", "no JSON", "[]", "{}", '"long"', '{"type":"struct","fields":[1]}', '{"fields":[]}'],
)
def test_invalid_spark_schema_is_dropped(source: Path, copy: Copy, schema: str | None) -> None:
    assert copy(changed(source, entries(**{SPARKS_SCHEMA: schema}))).key_values == {}


def test_only_spark_keys_on_values_are_kept(source: Path, copy: Copy) -> None:
    of_values = {
        "org__apache__spark__version": "2.4.0",
        "org__apache__spark__legacyDateTime": "",
        "org__apache__spark__legacyINT96": "",
        "org__apache__spark__timeZone": "Asia/Tokyo",
    }
    others = dict.fromkeys(("ARROW:schema", "pandas", "iceberg__schema"), "col-b")

    def of_column(file: ParquetFile) -> None:
        entry = Struct({1: b"from", 2: b"col-b"}, {1: BINARY, 2: BINARY})
        for column in file.columns:
            column.put(COLUMN_KEY_VALUES, LIST, List(STRUCT, [entry]))

    changed(source, of_column, entries(**of_values, **others, **{"no value": None}))
    file = copy(source)
    assert file.key_values == {key.replace("__", "."): text for key, text in of_values.items()}
    assert b"col-b" not in file.bytes()
    assert not any(COLUMN_KEY_VALUES in column for column in file.columns)


# Kept files

UNKNOWN_KEY = entries(org__apache__spark__legacyNew="")
KEPT: dict[str, Change] = {
    "nothing unknown": UNCHANGED,
    "binary extension": EXTENSIONS["footer"],
    "unknown field": put(element(1), 99, I32, 1),
    "unknown key of Spark": UNKNOWN_KEY,
    "bytes behind the footer": signed,
}


@pytest.mark.parametrize("change", KEPT.values(), ids=KEPT)
def test_file_without_changes_is_kept(
    source: Path, renamer: Renamer, tmp_path: Path, change: Change
) -> None:
    pq.write_table(TABLE.select(["col-a"]).rename_columns(["a"]), source)
    changed(source, change)
    clean = plan((Column(1, "a", "a", pa.int64()), Column(2, "later", "later", pa.string())))
    kept = Outcome("KEPT", source.stat().st_size, None)
    assert renamer.look(source, clean) == kept
    assert renamer.copy(source, tmp_path / "new" / "copy.parquet", clean) == kept
    assert list(tmp_path.iterdir()) == [source]


# Refused files

EITHER = "its schema has an element with both a type and children, or neither"
OUTSIDE = "its footer points outside of the file"
OVERLAP = "its column chunks overlap"
OTHER_TYPE = "readers would find another type in its list `col-l`, if it were copied"


def unlike(column: str) -> str:
    return f"its column `{column}` is not structured like the table's column"


def no_columns(file: ParquetFile) -> None:
    file.schema.append(Struct({NAME: b"empty"}, {NAME: BINARY}))
    file.schema[0].put(NUM_CHILDREN, I32, file.schema[0][NUM_CHILDREN] + 1)


def into(target: int, field: int) -> Change:
    """Moves a part of the dropped column into a kept column."""

    def change(file: ParquetFile) -> None:
        holder = file.columns[target] if field in (DATA_PAGE, BLOOM) else file.chunks[target]
        holder.put(field, I64, start(file.columns[0]) + 20)
        holder.drop(DICTIONARY_PAGE)

    return change


def longer(file: ParquetFile) -> None:
    """Extends a kept column over the dropped column behind it."""
    first(file).put(COMPRESSED, I64, first(file)[COMPRESSED] + 10)


def garbage(get: Callable[[ParquetFile], int]) -> Change:
    def change(file: ParquetFile) -> None:
        place = get(file)
        file.body = file.body[:place] + b"\xff" * 5 + file.body[place + 5 :]

    return change


def page_elsewhere(file: ParquetFile) -> None:
    """Uses the second column's offset index for the first column."""
    chunks = file.chunks
    for field, kind in ((OFFSET_INDEX, I64), (OFFSET_INDEX_LENGTH, I32)):
        chunks[0].put(field, kind, chunks[1][field])
        chunks[1].drop(field)


# In any plan, if something has to change.
REFUSED: dict[str, tuple[Change, str]] = {
    **{
        f"unknown field of the {name}": (
            put(part, 99, I32, 1),
            f"its footer has the unknown field 99 of `{kind}`",
        )
        for name, (part, kind) in PARTS.items()
    },
    **{
        name: (change, f"its footer has the unknown {what}")
        for name, (change, what) in {
            "logical type": (logical_type(99), "field 99 of `LogicalType`"),
            "order": (column_order(union(99)), "field 99 of `ColumnOrder`"),
            "order of only an extension": (
                column_order(Struct({EXTENSION: b""}, {EXTENSION: BINARY})),
                "value of `ColumnOrder`",
            ),
            "number of another type": (put(statistics, 4, BINARY, b"?"), "field 4 of `Statistics`"),
            "beside an extension": (
                all_of(EXTENSIONS["footer"], put(first, 99, I32, 1)),
                "field 99 of `ColumnMetaData`",
            ),
            "an extension that is not a binary": (
                put(footer, EXTENSION, I32, 1),
                "field 32767 of `FileMetaData`",
            ),
            "type without a member": (logical_type(), "value of `LogicalType`"),
            "logical type of two members": (logical_type(1, 5), "field 5 of `LogicalType`"),
            # The published format has these three, and Parquet 1.18.1 does not.
            "order of INT96": (column_order(union(3)), "field 3 of `ColumnOrder`"),
            "file": (logical_type(19), "field 19 of `LogicalType`"),
            "ALP": (lambda file: first(file)[2].items.append(10), "value 10 of `Encoding`"),
            "encoding of tomorrow": (put(encoding, 2, I32, 99), "value 99 of `Encoding`"),
            "codec of tomorrow": (put(first, CODEC, I32, 99), "value 99 of `CompressionCodec`"),
            "repetition of tomorrow": (
                put(element(2), 3, I32, 99),
                "value 99 of `FieldRepetitionType`",
            ),
            "key of Spark": (UNKNOWN_KEY, "key `org.apache.spark.legacyNew`"),
        }.items()
    },
    "bytes behind the footer": (signed, "its footer has 28 bytes behind its end"),
    "file path": (put(chunk, FILE_PATH, BINARY, b"other"), "a column is in another file"),
    "no metadata": (drop(chunk, METADATA), "a column is encrypted"),
    "encrypted": (put(chunk, 9, BINARY, b"?"), "a column is encrypted"),
    "column less": (
        lambda file: group(file)[COLUMNS].items.pop(),
        "a row group does not have the columns of the schema",
    ),
    "order less": (
        lambda file: file.footer[COLUMN_ORDERS].items.pop(),
        "its footer does not have one order for each column",
    ),
    "other order": (
        lambda file: group(file)[COLUMNS].items.reverse(),
        "its column chunks are not in the order of the schema",
    ),
    "empty group": (no_columns, EITHER),
    "leaf of leaves": (put(element(1), NUM_CHILDREN, I32, 1), EITHER),
    "schema too long": (
        lambda file: file.schema.append(file.schema[1]),
        "its schema has more elements than it declares",
    ),
    "schema too short": (
        lambda file: file.schema.pop(),
        "its schema has fewer elements than it declares",
    ),
    **{
        f"repetition of {name.decode()}": (repetition(name, value), unlike(column))
        for name, value, column in (
            (b"element", 2, "col-l"),
            (b"list", 1, "col-l"),
            (b"value", 2, "col-m"),
            (b"key_value", 1, "col-m"),
            (b"col-s", 2, "col-s"),
        )
    },
    # A list with a name of two levels is not read with three.
    "group array": (names(b"list", b"array"), "every field of `array` was dropped"),
    "group of tuples": (
        names(b"list", b"col-l_tuple"),
        "every field of `col-l_tuple` was dropped",
    ),
    "group of new tuples": (names(b"list", b"l_tuple"), OTHER_TYPE),
    "name that is no text": (
        names(b"key", b"\xf0\x9f\x98"),
        "its schema has a name that is no text",
    ),
}


@pytest.mark.parametrize("columns", [ALL, WITHOUT_B], ids=["all", "without b"])
@pytest.mark.parametrize(("change", "expected"), REFUSED.values(), ids=REFUSED)
def test_file_with_unknown_or_inconsistent_parts_is_refused(
    source: Path, reason: Reason, change: Change, expected: str, columns: Columns
) -> None:
    assert reason(changed(source, change), columns) == expected


# If a column was dropped.
LAYOUTS: dict[str, tuple[Change, str]] = {
    "before the file": (put(first, DATA_PAGE, I64, 0), OUTSIDE),
    "behind the file": (put(first, DATA_PAGE, I64, 1 << 40), OUTSIDE),
    "size below 0": (put(first, COMPRESSED, I64, -1), OUTSIDE),
    "size over all": (put(first, COMPRESSED, I64, (1 << 63) - 1), OUTSIDE),
    "index page before the file": (put(first, 10, I64, 1), OUTSIDE),
    "filter outside": (put(first, BLOOM, I64, 1 << 40), OUTSIDE),
    "offset index outside": (put(chunk, OFFSET_INDEX, I64, 1 << 40), OUTSIDE),
    "column index outside": (put(chunk, COLUMN_INDEX, I64, -5), OUTSIDE),
    "column index below 0": (put(chunk, COLUMN_INDEX + 1, I32, -5), OUTSIDE),
    "column in column": (into(1, DATA_PAGE), OVERLAP),
    "longer column": (longer, OVERLAP),
    "filter in column": (into(1, BLOOM), OVERLAP),
    "column index in column": (into(1, COLUMN_INDEX), OVERLAP),
    "offset index in column": (into(1, OFFSET_INDEX), OVERLAP),
    "page of another column": (page_elsewhere, "a page is outside of its column chunk"),
    "broken offset index": (
        garbage(lambda file: chunk(file)[OFFSET_INDEX]),
        "an offset index cannot be read",
    ),
    "later offset index": (
        at_the_end(lambda index: index.put(6, I32, 1)),
        "an offset index has the unknown field 6 of `OffsetIndex`",
    ),
    "broken filter": (
        all_of(garbage(lambda file: first(file)[BLOOM]), drop(first, BLOOM_LENGTH)),
        "a bloom filter cannot be read",
    ),
}


@pytest.mark.parametrize(("change", "expected"), LAYOUTS.values(), ids=LAYOUTS)
def test_invalid_layout_is_refused_when_a_column_was_dropped(
    source: Path, reason: Reason, change: Change, expected: str
) -> None:
    assert reason(changed(source, change)) == expected


def test_ambiguous_or_wholly_dropped_columns_are_refused(source: Path, reason: Reason) -> None:
    later = Column(9, "col-later", "later", pa.int64())
    nothing_left = Column(3, "col-s", "s", StructType((later,)))
    assert reason(source, (nothing_left,)) == "every field of `col-s` was dropped"
    in_array = Column(6, "col-l", "l", Array(nothing_left.type))
    assert reason(source, (A, in_array)) == "every field of `element` was dropped"
    assert reason(source, (later,)) == "every field of `schema` was dropped"
    capitals = Column(1, "COL-A", "a", pa.int64())
    assert reason(source, (capitals, B)) == "its column `col-a` differs in letter case"
    pq.write_table(TABLE.select([0, 0, 1]), source)
    assert reason(source) == "it has the column `col-a` twice"
    # A group of one field is an element by its name only, and not to every reader.
    fewer = Column(6, "col-l", "l", Array(StructType((Column(5, "y", "y", B.type),))))
    for group_name in (b"array", b"bag", b"col-l_tuple"):
        pq.write_table(list_of(STRUCT_TYPE), source, store_schema=False)
        assert reason(changed(source, two_levels(group_name)), (A, fewer)) == OTHER_TYPE
