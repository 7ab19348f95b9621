# SPDX-License-Identifier: Apache-2.0
"""Files of unusual shapes: copied where all of it is known, else left to be written row by row."""

from __future__ import annotations

import json
import shutil
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from tests.parquet.columns import Array, Column, Columns, Map, arrow_schema, plan
from tests.parquet.columns import Struct as StructType
from tests.parquet.renamer import Outcome, Renamer
from tests.support.compact_thrift import BINARY, I32, I64, LIST, STRUCT, TRUE, List, Struct
from tests.support.parquet_file import (
    BLOOM,
    BLOOM_LENGTH,
    COLUMN_INDEX,
    COLUMN_KEY_VALUES,
    COLUMN_ORDERS,
    COLUMNS,
    COMPRESSED,
    CREATED_BY,
    DATA_PAGE,
    DICTIONARY_PAGE,
    FIELD_ID,
    FILE_PATH,
    KEY_VALUES,
    METADATA,
    NAME,
    NUM_CHILDREN,
    OFFSET_INDEX,
    OFFSET_INDEX_LENGTH,
    PATH,
    ROW_GROUPS,
    SCHEMA,
    SORTING,
    TYPE,
    ParquetFile,
    problems,
    start,
)

pytestmark = pytest.mark.every_variant  # each takes well under a second

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


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """Of two row groups with indexes and filters."""
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


@pytest.fixture
def copy(renamer: Renamer, tmp_path: Path) -> Copy:
    """Copies a file in which nothing is wrong afterwards."""

    def copied(source: Path, columns: Columns = WITHOUT_B, **options: Any) -> ParquetFile:
        target = tmp_path / "copy.parquet"
        outcome = renamer.copy(source, target, plan(columns, **options))
        assert outcome == Outcome("COPIED", target.stat().st_size, None)
        assert renamer.look(source, plan(columns, **options)).way == "COPIED"
        assert [file.name for file in tmp_path.iterdir() if file != source] == ["copy.parquet"]
        copy = ParquetFile.of(target)
        assert list(problems(copy)) == []
        return copy

    return copied


Refused = Callable[..., str]


@pytest.fixture
def refused(renamer: Renamer, tmp_path: Path) -> Refused:
    """The reason why a file has to be rewritten; nothing was written of it."""

    def reason(source: Path, columns: Columns = WITHOUT_B, **options: Any) -> str:
        target = tmp_path / "copies" / "copy.parquet"
        outcome = renamer.copy(source, target, plan(columns, **options))
        assert (outcome.way, outcome.length) == ("TO_REWRITE", source.stat().st_size)
        assert not target.exists()
        assert outcome.reason is not None
        return outcome.reason

    return reason


def changed(source: Path, change: Callable[[ParquetFile], None]) -> Path:
    file = ParquetFile.of(source)
    change(file)
    source.write_bytes(file.bytes())
    return source


def rows_of(file: ParquetFile) -> list[dict[str, Any]]:
    return pq.read_table(pa.BufferReader(file.bytes())).to_pylist()


def renamed(rows: list[dict[str, Any]] = ROWS, *, with_b: bool = False) -> list[dict[str, Any]]:
    """What readers get of the rows afterwards."""

    def s(value: dict[str, Any] | None) -> dict[str, Any] | None:
        return None if value is None else {"x": value["col-x"], "y": value["y"]}

    return [
        {
            "a": row["col-a"],
            **({"b": row["col-b"]} if with_b else {}),
            "s": s(row["col-s"]),
            "l": [s(element) for element in row["col-l"]],
            "m": [(key, s(value)) for key, value in row["col-m"]],
        }
        for row in rows
    ]


FULL = renamed(with_b=True)

# What is copied


def test_a_copy_has_the_rows_under_their_new_names(source: Path, copy: Copy) -> None:
    assert rows_of(copy(source)) == renamed()


def relaid(file: ParquetFile) -> None:
    """Lays the columns of each row group down from the last to the first, the last group first."""
    body = file.body[:4]
    for group in reversed(file.row_groups):
        group.drop(5)
        for chunk in reversed(group[COLUMNS].items):
            column = chunk[METADATA]
            by = len(body) - start(column)
            body += file.body[start(column) :][: column[COMPRESSED]]
            for field in (DATA_PAGE, DICTIONARY_PAGE):
                if field in column:
                    column.put(field, I64, column[field] + by)
            for field in (OFFSET_INDEX, OFFSET_INDEX_LENGTH, COLUMN_INDEX, COLUMN_INDEX + 1):
                chunk.drop(field)
            column.drop(BLOOM)
            column.drop(BLOOM_LENGTH)
    file.body = body


def test_columns_may_lie_in_any_order(source: Path, copy: Copy) -> None:
    file = copy(changed(source, relaid))
    assert rows_of(file) == renamed()


def test_row_groups_may_stand_in_any_order(source: Path, copy: Copy) -> None:
    def reverse(file: ParquetFile) -> None:
        file.row_groups.reverse()

    assert rows_of(copy(changed(source, reverse))) == renamed(ROWS[35:] + ROWS[:35])


def test_a_filter_without_a_length_is_copied(source: Path, copy: Copy) -> None:
    def no_lengths(file: ParquetFile) -> None:
        for column in file.columns:
            column.drop(BLOOM_LENGTH)

    before = ParquetFile.of(source)
    after = copy(changed(source, no_lengths))
    assert bloom_filters(after) == bloom_filters(before)[::2]  # without col-b's


def bloom_filters(file: ParquetFile) -> list[bytes]:
    return [file.body[column[BLOOM] :][:47] for column in file.columns if BLOOM in column]


def test_a_dictionary_at_0_is_none(source: Path, copy: Copy) -> None:
    def at_zero(file: ParquetFile) -> None:
        for column in file.columns:
            if DICTIONARY_PAGE not in column:
                column.put(DICTIONARY_PAGE, I64, 0)

    copied = copy(changed(source, at_zero))
    assert rows_of(copied) == renamed()
    assert {column[DICTIONARY_PAGE] for column in copied.columns} == {0}


@pytest.mark.parametrize("columns", [(A,), (S,), (B,)], ids=["a", "s", "b"])
def test_a_file_may_be_of_one_column(source: Path, copy: Copy, columns: Columns) -> None:
    assert rows_of(copy(source, columns)) == [
        {column.new_name: row[column.new_name] for column in columns} for row in FULL
    ]


def test_a_file_may_have_no_rows(source: Path, copy: Copy) -> None:
    pq.write_table(TABLE.slice(0, 0), source)
    # A dictionary without a page of data, which pyarrow puts at 0.
    assert {column[DATA_PAGE] for column in ParquetFile.of(source).columns} == {0}
    file = copy(source)
    assert {column[DATA_PAGE] for column in file.columns} == {0}
    assert rows_of(file) == []


def test_a_file_may_have_no_row_group(source: Path, copy: Copy) -> None:
    polars.DataFrame(TABLE.select(["col-a", "col-b"]).slice(0, 0)).write_parquet(source)
    assert ParquetFile.of(source).row_groups == []
    assert rows_of(copy(source, (A,))) == []


def test_field_ids_find_columns_whatever_their_names(source: Path, copy: Copy) -> None:
    ids = arrow_schema(ALL, ids=True)
    others = pa.schema([field.with_name(f"other {field.name}") for field in ids])
    pq.write_table(TABLE.rename_columns(others.names).cast(others), source)
    assert FIELD_ID in ParquetFile.of(source).schema[1]
    assert rows_of(copy(source, by_id=True)) == renamed()


def test_names_mean_nothing_where_ids_count(source: Path, copy: Copy) -> None:
    swapped = (Column(2, "col-a", "b", pa.string()), Column(1, "col-b", "a", pa.int64()))
    pq.write_table(TABLE.cast(arrow_schema(ALL, ids=True)), source)
    assert rows_of(copy(source, swapped, by_id=True)) == [
        {"a": row["col-a"], "b": row["col-b"]} for row in ROWS
    ]


def test_columns_that_no_schema_names_are_kept(source: Path, copy: Copy) -> None:
    pq.write_table(TABLE.append_column("_row-id-1", [range(60)]), source)
    rows = rows_of(copy(source, kept=["_row-id-1"]))
    assert [row.pop("_row-id-1") for row in rows] == list(range(60))
    assert rows == renamed()


@pytest.mark.parametrize(
    ("before", "after"),
    [([0], [0]), ([0, 2, 1, 3], [0, 1]), ([2, 0], [1, 0]), ([1, 0], None)],
    ids=str,
)
def test_an_order_counts_as_far_as_its_columns_stay(
    source: Path, copy: Copy, before: list[int], after: list[int] | None
) -> None:
    def sort(file: ParquetFile) -> None:
        for group in file.row_groups:
            orders = [Struct({1: n, 2: False, 3: True}, {1: I32, 2: TRUE, 3: TRUE}) for n in before]
            group.put(SORTING, LIST, List(STRUCT, orders))

    for group in copy(changed(source, sort)).row_groups:
        orders = [order[1] for order in group[SORTING].items] if SORTING in group else None
        assert orders == after


def test_a_column_may_have_the_name_of_one_that_was_dropped(source: Path, copy: Copy) -> None:
    pq.write_table(TABLE.select(["col-a", "col-b"]).rename_columns(["b", "col-b"]), source)
    assert rows_of(copy(source, (B,))) == [{"b": row["col-b"]} for row in ROWS]


def test_a_variant_is_copied_whole(
    spark: SparkSession, tmp_path: Path, source: Path, copy: Copy
) -> None:
    """It is a group in the file, with names that are Parquet's."""
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


# Entries


def entries(**values: str | None) -> Callable[[ParquetFile], None]:
    def put(file: ParquetFile) -> None:
        found = []
        for key, value in values.items():
            entry = Struct()
            entry.put(1, BINARY, key.replace("__", ".").encode())
            if value is not None:
                entry.put(2, BINARY, value.encode())
            found.append(entry)
        file.footer.put(KEY_VALUES, LIST, List(STRUCT, found))

    return put


ROW_METADATA = "org__apache__spark__sql__parquet__row__metadata"


def test_sparks_schema_gets_the_new_names(source: Path, copy: Copy) -> None:
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
    schema = {"type": "struct", "fields": numbered}
    file = copy(changed(source, entries(**{ROW_METADATA: json.dumps(schema)})))
    (text,) = file.key_values.values()
    assert text is not None
    assert "col-" not in text
    assert "delta." not in text
    got = json.loads(text)["fields"]
    assert [each["name"] for each in got] == ["a", "s", "l", "m"]
    assert got[0]["metadata"] == {"comment": "of 0"}
    inner = [got[1]["type"], got[2]["type"]["elementType"], got[3]["type"]["valueType"]]
    assert [[each["name"] for each in kind["fields"]] for kind in inner] == [["x", "y"]] * 3


@pytest.mark.parametrize(
    "schema",
    [None, "", "no JSON", "[]", "{}", '"long"', '{"type":"struct","fields":[1]}', '{"fields":[]}'],
)
def test_a_schema_that_is_none_goes(source: Path, copy: Copy, schema: str | None) -> None:
    assert copy(changed(source, entries(**{ROW_METADATA: schema}))).key_values == {}


def test_what_spark_says_of_values_stays_and_all_else_goes(source: Path, copy: Copy) -> None:
    of_values = {
        "org__apache__spark__version": "2.4.0",
        "org__apache__spark__legacyDateTime": "",
        "org__apache__spark__legacyINT96": "",
        "org__apache__spark__timeZone": "Asia/Tokyo",
    }
    others = {
        "org__apache__spark__sql__parquet__row__attributes": "col-b",
        "ARROW:schema": "col-b",
        "pandas": "col-b",
        "iceberg__schema": "col-b",
        "no value": None,
    }
    file = copy(changed(source, entries(**of_values, **others)))
    assert file.key_values == {key.replace("__", "."): text for key, text in of_values.items()}


def test_entries_of_a_column_go(source: Path, copy: Copy) -> None:
    def put(file: ParquetFile) -> None:
        for column in file.columns:
            entry = Struct({1: b"from", 2: b"col-b"}, {1: BINARY, 2: BINARY})
            column.put(COLUMN_KEY_VALUES, LIST, List(STRUCT, [entry]))

    copied = copy(changed(source, put))
    assert b"col-b" not in copied.bytes()
    assert not any(COLUMN_KEY_VALUES in column for column in copied.columns)


def test_an_entry_of_a_later_spark_is_refused(source: Path, refused: Refused) -> None:
    changed(source, entries(org__apache__spark__legacyNew=""))
    assert refused(source) == "its footer has `org.apache.spark.legacyNew`, which is not known"


# What is kept


def test_a_clean_file_is_kept(source: Path, renamer: Renamer, tmp_path: Path) -> None:
    clean = (Column(1, "a", "a", pa.int64()), Column(2, "later", "later", pa.string()))
    pq.write_table(TABLE.select(["col-a"]).rename_columns(["a"]), source)
    kept = Outcome("KEPT", source.stat().st_size, None)
    assert renamer.look(source, plan(clean)) == kept
    assert renamer.copy(source, tmp_path / "new" / "copy.parquet", plan(clean)) == kept
    assert list(tmp_path.iterdir()) == [source]


def test_a_file_of_other_ids_and_the_right_names_is_not_clean(source: Path, copy: Copy) -> None:
    swapped = (Column(2, "-", "col-a", pa.string()), Column(1, "-", "col-b", pa.int64()))
    pq.write_table(TABLE.cast(arrow_schema(ALL, ids=True)), source)
    assert list(rows_of(copy(source, swapped, by_id=True))[1].values()) == [1, "dropped 1"]


# What is refused


def test_columns_that_cannot_be_told_apart_are_refused(source: Path, refused: Refused) -> None:
    later = Column(9, "col-later", "later", pa.int64())
    nothing_left = Column(3, "col-s", "s", StructType((later,)))
    assert refused(source, (nothing_left,)) == "every field of `col-s` was dropped"
    in_array = Column(6, "col-l", "l", Array(nothing_left.type))
    assert refused(source, (A, in_array)) == "every field of `element` was dropped"
    assert refused(source, (later,)) == "every field of `schema` was dropped"
    capitals = Column(1, "COL-A", "a", pa.int64())
    assert refused(source, (capitals, B)) == "its column `col-a` differs in letter case"
    assert refused(source, by_id=True) == "its column `col-a` has no field id"
    pq.write_table(TABLE.select([0, 0, 1]), source)
    assert refused(source) == "it has the column `col-a` twice"


def names(old: bytes, new: bytes) -> Callable[[ParquetFile], None]:
    """Gives a group another name, in the schema and in all paths."""

    def change(file: ParquetFile) -> None:
        for element in file.schema:
            if element[NAME] == old:
                element.put(NAME, BINARY, new)
        for column in file.columns:
            column[PATH].items = [new if name == old else name for name in column[PATH].items]

    return change


@pytest.mark.parametrize("name", [b"array", b"col-l_tuple", b"l_tuple"])
def test_a_list_that_readers_take_for_one_of_two_levels_is_refused(
    source: Path, refused: Refused, name: bytes
) -> None:
    pq.write_table(TABLE, source)
    assert refused(changed(source, names(b"list", name))) == UNLIKE_SPARK.format("col-l")


UNLIKE_SPARK = "its column `{}` is not written as Spark does"


def test_lists_and_maps_may_be_named_as_hive_and_impala_do(source: Path, copy: Copy) -> None:
    changed(source, names(b"list", b"bag"))
    changed(source, names(b"element", b"array_element"))
    changed(source, names(b"key_value", b"map"))
    file = copy(source)
    assert rows_of(file) == renamed()
    assert {b"bag", b"array_element", b"map"} <= {element[NAME] for element in file.schema}


def repetition(name: bytes, value: int) -> Callable[[ParquetFile], None]:
    def change(file: ParquetFile) -> None:
        for element in file.schema:
            if element[NAME] == name:
                element.put(3, I32, value)

    return change


@pytest.mark.parametrize(
    ("name", "value", "column"),
    [
        (b"element", 2, "col-l"),
        (b"list", 1, "col-l"),
        (b"value", 2, "col-m"),
        (b"key_value", 1, "col-m"),
        (b"col-s", 2, "col-s"),
    ],
)
def test_what_repeats_where_sparks_does_not_is_refused(
    source: Path, refused: Refused, name: bytes, value: int, column: str
) -> None:
    assert refused(changed(source, repetition(name, value))) == UNLIKE_SPARK.format(column)


def unknown(get: Callable[[ParquetFile], Struct]) -> Callable[[ParquetFile], None]:
    return lambda file: get(file).put(99, I32, 1)


UNKNOWN = {
    "footer": unknown(lambda file: file.footer),
    "schema": unknown(lambda file: file.schema[1]),
    "row group": unknown(lambda file: file.row_groups[1]),
    "chunk": unknown(lambda file: file.chunks[2]),
    "column": unknown(lambda file: file.columns[2]),
    "statistics": unknown(lambda file: file.columns[0][12]),
    "logical type": lambda file: file.schema[2].put(
        10, STRUCT, Struct({99: Struct()}, {99: STRUCT})
    ),
    "order": lambda file: file.footer[COLUMN_ORDERS].items.__setitem__(
        0, Struct({99: Struct()}, {99: STRUCT})
    ),
    "encoding": lambda file: file.columns[0][2].items.append(99),
    # As long as the character that Java reads in its place.
    "text that is none": lambda file: file.footer.put(CREATED_BY, BINARY, b"\xf0\x9f\x98"),
    "a signature behind": lambda file: setattr(file, "bytes", lambda: signed(file)),
}


def signed(file: ParquetFile) -> bytes:
    data = ParquetFile.bytes(file)
    length = struct.unpack("<i", data[-8:-4])[0]
    return data[:-8] + b"-" * 28 + struct.pack("<i", length + 28) + data[-4:]


@pytest.mark.parametrize("change", UNKNOWN.values(), ids=UNKNOWN)
def test_a_footer_of_a_later_format_is_refused(
    source: Path, refused: Refused, change: Callable[[ParquetFile], None]
) -> None:
    assert refused(changed(source, change), ALL) == "its footer says what is not known"


def put(where: Callable[[ParquetFile], Struct], field: int, kind: int, value: Any) -> Any:
    return lambda file: where(file).put(field, kind, value)


def first(file: ParquetFile) -> Struct:
    return file.columns[0]


def chunk(file: ParquetFile) -> Struct:
    return file.chunks[0]


def no_columns(file: ParquetFile) -> None:
    group = Struct()
    group.put(NAME, BINARY, b"empty")
    file.schema.append(group)
    file.schema[0].put(NUM_CHILDREN, I32, file.schema[0][NUM_CHILDREN] + 1)


OTHERWISE = {
    "file path": (put(chunk, FILE_PATH, BINARY, b"other"), "a column is in another file"),
    "no metadata": (lambda file: chunk(file).drop(METADATA), "a column is encrypted"),
    "encrypted": (put(chunk, 9, BINARY, b"?"), "a column is encrypted"),
    "column less": (
        lambda file: file.row_groups[1][COLUMNS].items.pop(),
        "a row group has not the columns of the schema",
    ),
    "order less": (
        lambda file: file.footer[COLUMN_ORDERS].items.pop(),
        "it has not one order for each column",
    ),
    "other order": (
        lambda file: file.row_groups[1][COLUMNS].items.reverse(),
        "its columns are not in the order of the schema",
    ),
    "empty group": (no_columns, "its schema has a group without a column"),
    "leaf of leaves": (
        lambda file: file.schema[1].put(NUM_CHILDREN, I32, 1),
        "its schema has a group without a column",
    ),
    "schema too long": (
        lambda file: file.schema.append(file.schema[1]),
        "its schema has more elements than it says",
    ),
    "schema too short": (
        lambda file: file.schema.pop(),
        "its schema has fewer elements than it says",
    ),
}


@pytest.mark.parametrize(("change", "reason"), OTHERWISE.values(), ids=OTHERWISE)
@pytest.mark.parametrize("columns", [ALL, WITHOUT_B], ids=["all", "without b"])
def test_a_footer_that_is_not_as_it_should_be_is_refused(
    source: Path, refused: Refused, change: Any, reason: str, columns: Columns
) -> None:
    assert refused(changed(source, change), columns) == reason


OUTSIDE = "its footer points outside of the file"
OVERLAP = "its columns lie in each other"


def into(target: int, field: int) -> Callable[[ParquetFile], None]:
    """Lays a part of the column that goes into a column that stays."""

    def change(file: ParquetFile) -> None:
        holder = file.columns[target] if field in (DATA_PAGE, BLOOM) else file.chunks[target]
        holder.put(field, I64, start(file.columns[0]) + 20)
        holder.drop(DICTIONARY_PAGE)

    return change


def longer(file: ParquetFile) -> None:
    """A column that stays, over the one behind it that goes."""
    first(file).put(COMPRESSED, I64, first(file)[COMPRESSED] + 10)


def garbage(get: Callable[[ParquetFile], int]) -> Callable[[ParquetFile], None]:
    def change(file: ParquetFile) -> None:
        place = get(file)
        file.body = file.body[:place] + b"\xff" * 5 + file.body[place + 5 :]

    return change


def page_elsewhere(file: ParquetFile) -> None:
    """The second column's offset index in the place of the first's."""
    chunks = file.chunks
    chunks[0].put(OFFSET_INDEX, I64, chunks[1][OFFSET_INDEX])
    chunks[0].put(OFFSET_INDEX_LENGTH, I32, chunks[1][OFFSET_INDEX_LENGTH])
    chunks[1].drop(OFFSET_INDEX)
    chunks[1].drop(OFFSET_INDEX_LENGTH)


def later_index(file: ParquetFile) -> None:
    """An offset index with a field that nobody knows, at the end of the body."""
    place, length = chunk(file)[OFFSET_INDEX], chunk(file)[OFFSET_INDEX_LENGTH]
    index = file.body[place : place + length - 1] + b"\x55\x02\x00"  # a field of i32
    chunk(file).put(OFFSET_INDEX, I64, len(file.body))
    chunk(file).put(OFFSET_INDEX_LENGTH, I32, len(index))
    file.body += index


def short_filter(file: ParquetFile) -> None:
    garbage(lambda parsed: first(parsed)[BLOOM])(file)
    first(file).drop(BLOOM_LENGTH)


LAYOUTS = {
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
    "page of another column": (page_elsewhere, "a page is outside of its column"),
    "broken offset index": (
        garbage(lambda file: chunk(file)[OFFSET_INDEX]),
        "an offset index cannot be read",
    ),
    "later offset index": (later_index, "an offset index says what is not known"),
    "broken filter": (short_filter, "a bloom filter cannot be read"),
    "first parquet-mr": (
        lambda file: file.footer.put(CREATED_BY, BINARY, b"parquet-mr version 1.2.8 (build x)"),
        "`parquet-mr version 1.2.8 (build x)` did not know how long its columns are",
    ),
    "parquet-mr of no version": (
        lambda file: file.footer.put(CREATED_BY, BINARY, b"parquet-mr"),
        "`parquet-mr` did not know how long its columns are",
    ),
}


@pytest.mark.parametrize(("change", "reason"), LAYOUTS.values(), ids=LAYOUTS)
def test_a_file_that_is_not_in_order_is_refused_where_columns_go(
    source: Path, refused: Refused, change: Any, reason: str
) -> None:
    assert refused(changed(source, change)) == reason


@pytest.mark.parametrize("version", ["1.2.9", "1.2.10", "1.3.0", "1.10.1", "1.17.0", "2.0.0"])
def test_a_later_parquet_mr_knows_how_long_its_columns_are(
    source: Path, copy: Copy, version: str
) -> None:
    writer = f"parquet-mr version {version} (build x)".encode()
    changed(source, lambda file: file.footer.put(CREATED_BY, BINARY, writer))
    assert copy(source).footer[CREATED_BY] == writer


def test_the_shapes_here_have_what_they_change(source: Path) -> None:
    file = ParquetFile.of(source)
    assert [len(group[COLUMNS].items) for group in file.row_groups] == [9, 9]
    assert all(OFFSET_INDEX in chunk and COLUMN_INDEX in chunk for chunk in file.chunks)
    assert [BLOOM in column for column in file.columns[:3]] == [True, True, False]
    assert DICTIONARY_PAGE in file.columns[1]
    assert {SCHEMA, ROW_GROUPS, COLUMN_ORDERS} <= set(file.footer.fields)
    assert TYPE in file.schema[1]
    assert list(problems(file)) == []
