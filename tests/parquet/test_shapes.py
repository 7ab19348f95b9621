# SPDX-License-Identifier: Apache-2.0
"""Tests that a file of unusual shape is copied only if every part of the file is known."""

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

from tests.parquet.columns import Array, Column, Columns, Map, arrow_schema, every, plan
from tests.parquet.columns import Struct as StructType
from tests.parquet.kept import differences
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
    FIELD_ID,
    FILE_PATH,
    KEY_VALUES,
    METADATA,
    NAME,
    NUM_CHILDREN,
    OFFSET_INDEX,
    OFFSET_INDEX_LENGTH,
    PATH,
    REPEATED,
    ROW_GROUPS,
    SCHEMA,
    SORTING,
    STATISTICS,
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


Refused = Callable[..., str]


@pytest.fixture
def refused(renamer: Renamer, tmp_path: Path) -> Refused:
    """Returns the reason why a file must be rewritten, and checks that no copy was written."""

    def reason(source: Path, columns: Columns = WITHOUT_B, **options: Any) -> str:
        target = tmp_path / "copies" / "copy.parquet"
        outcome = renamer.copy(source, target, plan(columns, **options))
        assert (outcome.way, outcome.length) == ("TO_REWRITE", source.stat().st_size)
        assert renamer.look(source, plan(columns, **options)) == outcome
        assert not target.exists()
        assert outcome.reason is not None
        return outcome.reason

    return reason


def changed(source: Path, change: Callable[[ParquetFile], object]) -> Path:
    file = ParquetFile.of(source)
    change(file)
    source.write_bytes(file.bytes())
    return source


def rows_of(file: ParquetFile) -> list[dict[str, Any]]:
    return pq.read_table(pa.BufferReader(file.bytes())).to_pylist()


def renamed(rows: list[dict[str, Any]] = ROWS, *, with_b: bool = False) -> list[dict[str, Any]]:
    """Returns the rows that readers must return for the copy."""

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

# Copied files


def test_copy_has_the_rows_with_new_names(source: Path, copy: Copy) -> None:
    assert rows_of(copy(source)) == renamed()


def relaid(file: ParquetFile) -> None:
    """Writes the chunks of a file in reverse order."""
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


def test_column_chunks_in_any_order_are_copied(source: Path, copy: Copy) -> None:
    file = copy(changed(source, relaid))
    assert rows_of(file) == renamed()
    # Spark computes the middle of a row group from the first column.
    for group in file.row_groups:
        starts = [start(chunk[METADATA]) for chunk in group[COLUMNS].items]
        assert starts == sorted(starts)


def test_row_groups_in_any_order_are_copied(source: Path, copy: Copy) -> None:
    def reverse(file: ParquetFile) -> None:
        file.row_groups.reverse()

    assert rows_of(copy(changed(source, reverse))) == renamed(ROWS[35:] + ROWS[:35])


def test_bloom_filter_without_a_length_is_copied(source: Path, copy: Copy) -> None:
    def no_lengths(file: ParquetFile) -> None:
        for column in file.columns:
            column.drop(BLOOM_LENGTH)

    before = ParquetFile.of(source)
    after = copy(changed(source, no_lengths))
    assert bloom_filters(after) == bloom_filters(before)[::2]  # col-b is dropped


def bloom_filters(file: ParquetFile) -> list[bytes]:
    return [file.body[column[BLOOM] :][:47] for column in file.columns if BLOOM in column]


def test_dictionary_offset_of_0_means_no_dictionary(source: Path, copy: Copy) -> None:
    def at_zero(file: ParquetFile) -> None:
        for column in file.columns:
            if DICTIONARY_PAGE not in column:
                column.put(DICTIONARY_PAGE, I64, 0)

    copied = copy(changed(source, at_zero))
    assert rows_of(copied) == renamed()
    assert {column[DICTIONARY_PAGE] for column in copied.columns} == {0}


@pytest.mark.parametrize("columns", [(A,), (S,), (B,)], ids=["a", "s", "b"])
def test_all_columns_except_one_may_be_dropped(source: Path, copy: Copy, columns: Columns) -> None:
    assert rows_of(copy(source, columns)) == [
        {column.new_name: row[column.new_name] for column in columns} for row in FULL
    ]


def test_file_without_rows_is_copied(source: Path, copy: Copy) -> None:
    pq.write_table(TABLE.slice(0, 0), source)
    # A dictionary without data pages, for which pyarrow writes the offset 0.
    assert {column[DATA_PAGE] for column in ParquetFile.of(source).columns} == {0}
    file = copy(source)
    assert {column[DATA_PAGE] for column in file.columns} == {0}
    assert rows_of(file) == []


def test_column_chunk_without_pages_overlaps_no_other(source: Path, copy: Copy) -> None:
    empty = TABLE.select(["col-b", "col-a", "col-s"]).slice(0, 0)
    pq.write_table(empty, source, use_dictionary=["col-b"])
    assert rows_of(copy(source, (A, B))) == []


def test_file_without_row_groups_is_copied(source: Path, copy: Copy) -> None:
    polars.DataFrame(TABLE.select(["col-a", "col-b"]).slice(0, 0)).write_parquet(source)
    assert ParquetFile.of(source).row_groups == []
    assert rows_of(copy(source, (A,))) == []


def test_field_ids_identify_columns_with_other_names(source: Path, copy: Copy) -> None:
    ids = arrow_schema(ALL, ids=True)
    others = pa.schema([field.with_name(f"other {field.name}") for field in ids])
    pq.write_table(TABLE.rename_columns(others.names).cast(others), source)
    assert FIELD_ID in ParquetFile.of(source).schema[1]
    assert rows_of(copy(source, by_id=True)) == renamed()


def test_names_are_ignored_in_mode_id(source: Path, copy: Copy) -> None:
    swapped = (Column(2, "col-a", "b", pa.string()), Column(1, "col-b", "a", pa.int64()))
    pq.write_table(TABLE.cast(arrow_schema(ALL, ids=True)), source)
    assert rows_of(copy(source, swapped, by_id=True)) == [
        {"a": row["col-a"], "b": row["col-b"]} for row in ROWS
    ]


CHANGE_TYPE = pa.field("_change_type", pa.string())


def with_change_type(field: pa.Field = CHANGE_TYPE) -> pa.Table:
    """Returns the table of a data file that an UPDATE with a change feed writes in mode `id`."""
    nothing = pa.nulls(len(ROWS), pa.string())
    return TABLE.cast(arrow_schema(ALL, ids=True)).append_column(field, nothing)


def test_column_of_the_change_feed_needs_no_field_id(source: Path, copy: Copy) -> None:
    pq.write_table(with_change_type(), source)
    file = copy(source, by_id=True, ignored=["_change_type"])
    assert rows_of(file) == renamed()
    assert b"_change_type" not in file.bytes()


def test_column_of_the_table_needs_a_field_id_in_mode_id(
    source: Path, copy: Copy, refused: Refused
) -> None:
    without_id = "its column `_change_type` has no field id"
    pq.write_table(with_change_type(), source)
    assert refused(source, by_id=True) == without_id
    tables_own = (*WITHOUT_B, Column(9, "_Change_Type", "own", pa.string()))
    assert refused(source, tables_own, by_id=True, ignored=["_change_type"]) == without_id
    pq.write_table(with_change_type(with_id("_change_type", pa.string(), 9)), source)
    file = copy(source, tables_own, by_id=True, ignored=["_change_type"])
    assert [row.pop("own") for row in rows_of(file)] == [None] * len(ROWS)
    inside = pa.struct([with_id("col-x", pa.int32(), 4), pa.field("_change_type", pa.string())])
    pq.write_table(pa.table([[None]], schema=pa.schema([with_id("col-s", inside, 3)])), source)
    assert refused(source, (S,), by_id=True, ignored=["_change_type"]) == without_id


def with_id(name: str, kind: pa.DataType, number: int) -> pa.Field:
    return pa.field(name, kind, metadata={b"PARQUET:field_id": str(number).encode()})


def test_columns_in_the_list_of_kept_columns_are_copied(source: Path, copy: Copy) -> None:
    pq.write_table(TABLE.append_column("_row-id-1", [range(60)]), source)
    rows = rows_of(copy(source, kept=["_row-id-1"]))
    assert [row.pop("_row-id-1") for row in rows] == list(range(60))
    assert rows == renamed()


@pytest.mark.parametrize(
    ("before", "after"),
    [([0], [0]), ([0, 2, 1, 3], [0, 1]), ([2, 0], [1, 0]), ([1, 0], None)],
    ids=str,
)
def test_sort_order_ends_before_the_first_dropped_column(
    source: Path, copy: Copy, before: list[int], after: list[int] | None
) -> None:
    def sort(file: ParquetFile) -> None:
        for group in file.row_groups:
            orders = [Struct({1: n, 2: False, 3: True}, {1: I32, 2: TRUE, 3: TRUE}) for n in before]
            group.put(SORTING, LIST, List(STRUCT, orders))

    for group in copy(changed(source, sort)).row_groups:
        orders = [order[1] for order in group[SORTING].items] if SORTING in group else None
        assert orders == after


def test_column_may_get_the_name_of_a_dropped_column(source: Path, copy: Copy) -> None:
    pq.write_table(TABLE.select(["col-a", "col-b"]).rename_columns(["b", "col-b"]), source)
    assert rows_of(copy(source, (B,))) == [{"b": row["col-b"]} for row in ROWS]


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


# Key-value metadata


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
def test_invalid_spark_schema_is_dropped(source: Path, copy: Copy, schema: str | None) -> None:
    assert copy(changed(source, entries(**{ROW_METADATA: schema}))).key_values == {}


def test_only_spark_keys_on_values_are_kept(source: Path, copy: Copy) -> None:
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


def test_key_value_metadata_of_a_column_is_dropped(source: Path, copy: Copy) -> None:
    def put(file: ParquetFile) -> None:
        for column in file.columns:
            entry = Struct({1: b"from", 2: b"col-b"}, {1: BINARY, 2: BINARY})
            column.put(COLUMN_KEY_VALUES, LIST, List(STRUCT, [entry]))

    copied = copy(changed(source, put))
    assert b"col-b" not in copied.bytes()
    assert not any(COLUMN_KEY_VALUES in column for column in copied.columns)


def test_unknown_key_of_spark_is_refused(source: Path, refused: Refused) -> None:
    changed(source, entries(org__apache__spark__legacyNew=""))
    assert refused(source) == "its footer has the unknown key `org.apache.spark.legacyNew`"


# Kept files


def test_file_without_changes_is_kept(source: Path, renamer: Renamer, tmp_path: Path) -> None:
    clean = (Column(1, "a", "a", pa.int64()), Column(2, "later", "later", pa.string()))
    pq.write_table(TABLE.select(["col-a"]).rename_columns(["a"]), source)
    kept = Outcome("KEPT", source.stat().st_size, None)
    assert renamer.look(source, plan(clean)) == kept
    assert renamer.copy(source, tmp_path / "new" / "copy.parquet", plan(clean)) == kept
    assert list(tmp_path.iterdir()) == [source]


def test_file_with_a_dropped_column_and_equal_names_is_copied(source: Path, copy: Copy) -> None:
    pq.write_table(TABLE.select(["col-a", "col-b"]).rename_columns(["a", "b"]), source)
    assert rows_of(copy(source, (Column(1, "a", "a", pa.int64()),))) == [
        {"a": row["col-a"]} for row in ROWS
    ]


def test_file_with_other_ids_and_equal_names_is_copied(source: Path, copy: Copy) -> None:
    swapped = (Column(2, "-", "col-a", pa.string()), Column(1, "-", "col-b", pa.int64()))
    pq.write_table(TABLE.cast(arrow_schema(ALL, ids=True)), source)
    assert list(rows_of(copy(source, swapped, by_id=True))[1].values()) == [1, "dropped 1"]


# Refused files


def test_ambiguous_or_wholly_dropped_columns_are_refused(source: Path, refused: Refused) -> None:
    later = Column(9, "col-later", "later", pa.int64())
    nothing_left = Column(3, "col-s", "s", StructType((later,)))
    assert refused(source, (nothing_left,)) == "every field of `col-s` was dropped"
    in_array = Column(6, "col-l", "l", Array(nothing_left.type))
    assert refused(source, (A, in_array)) == "every field of `element` was dropped"
    assert refused(source, (later,)) == "every field of `schema` was dropped"
    capitals = Column(1, "COL-A", "a", pa.int64())
    assert refused(source, (capitals, B)) == "its column `col-a` differs in letter case"
    pq.write_table(TABLE.select([0, 0, 1]), source)
    assert refused(source) == "it has the column `col-a` twice"


def names(old: bytes, new: bytes) -> Callable[[ParquetFile], None]:
    """Renames elements in the schema and in all paths."""

    def change(file: ParquetFile) -> None:
        for element in file.schema:
            if element[NAME] == old:
                element.put(NAME, BINARY, new)
        for column in file.columns:
            column[PATH].items = [new if name == old else name for name in column[PATH].items]

    return change


UNLIKE_TABLE = "its column `{}` is not structured like the table's column"
OTHER_TYPE = "readers would find another type in its list `col-l`, if it were copied"


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        (b"array", "every field of `array` was dropped"),
        (b"col-l_tuple", "every field of `col-l_tuple` was dropped"),
        (b"l_tuple", OTHER_TYPE),
    ],
)
def test_list_with_a_name_of_two_levels_is_not_read_with_three(
    source: Path, refused: Refused, name: bytes, reason: str
) -> None:
    pq.write_table(TABLE, source)
    assert refused(changed(source, names(b"list", name))) == reason


def two_levels(name: bytes) -> Callable[[ParquetFile], None]:
    """Returns a change to lists without null elements as older writers wrote them."""

    def change(file: ParquetFile) -> None:
        names(b"list", name)(file)
        at = next(n for n, each in enumerate(file.schema) if each[NAME] == b"element")
        group = file.schema.pop(at - 1)
        file.schema[at - 1].put(NAME, BINARY, group[NAME])
        file.schema[at - 1].put(3, I32, REPEATED)
        for column in file.columns:
            column[PATH].items = [part for part in column[PATH].items if part != b"element"]

    return change


def required(element: pa.DataType) -> pa.Table:
    """Returns lists of two elements that are not null."""
    kind = pa.list_(pa.field("element", element, nullable=False))
    values = [{"col-x": 1, "y": "one"}, {"col-x": 2, "y": "two"}]
    rows = values if pa.types.is_struct(element) else [value["y"] for value in values]
    return pa.table({"col-a": [7], "col-l": pa.array([rows], kind), "col-b": ["dropped"]})


STRUCT_TYPE = pa.struct({"col-x": pa.int32(), "y": pa.string()})
STRUCTS = [{"x": 1, "y": "one"}, {"x": 2, "y": "two"}]


@pytest.mark.parametrize("name", [b"array", b"bag", b"col-l_tuple"])
@pytest.mark.parametrize("element", [pa.string(), STRUCT_TYPE], ids=["texts", "structs"])
def test_list_of_two_levels_is_copied(
    source: Path, copy: Copy, refused: Refused, name: bytes, element: pa.DataType
) -> None:
    pq.write_table(required(element), source, store_schema=False)
    changed(source, two_levels(name))
    table = Array(S.type if element == STRUCT_TYPE else element)
    columns = (A, Column(6, "col-l", "l", table))
    expected = STRUCTS if element == STRUCT_TYPE else ["one", "two"]
    assert rows_of(copy(source, columns)) == [{"a": 7, "l": expected}]
    if element == STRUCT_TYPE:
        # A group of one field is an element by its name only, and not to every reader.
        fewer = (A, Column(6, "col-l", "l", Array(StructType((Column(5, "y", "y", B.type),)))))
        assert refused(source, fewer) == OTHER_TYPE


@pytest.mark.parametrize("element", [pa.string(), STRUCT_TYPE], ids=["texts", "structs"])
def test_repeated_field_without_a_list_is_copied(
    source: Path, copy: Copy, element: pa.DataType
) -> None:
    """Protocol buffers have such fields."""

    def bare(file: ParquetFile) -> None:
        """Makes the repeated field a column. Its list is required, so that the levels are equal."""
        two_levels(b"bag")(file)
        at = next(n for n, each in enumerate(file.schema) if each[NAME] == b"col-l")
        file.schema.pop(at)
        file.schema[at].put(NAME, BINARY, b"col-l")
        for column in file.columns:
            column[PATH].items = [part for part in column[PATH].items if part != b"bag"]

    table = required(element)
    field = table.schema.field("col-l").with_nullable(False)
    table = table.set_column(1, field, table["col-l"])
    pq.write_table(table, source, store_schema=False)
    kind = Array(S.type if element == STRUCT_TYPE else element)
    file = copy(changed(source, bare), (A, Column(6, "col-l", "l", kind)))
    expected = STRUCTS if element == STRUCT_TYPE else ["one", "two"]
    assert rows_of(file) == [{"a": 7, "l": expected}]


def test_lists_and_maps_with_names_of_hive_and_impala_are_copied(source: Path, copy: Copy) -> None:
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
def test_nested_column_with_another_repetition_is_refused(
    source: Path, refused: Refused, name: bytes, value: int, column: str
) -> None:
    assert refused(changed(source, repetition(name, value))) == UNLIKE_TABLE.format(column)


def unknown(get: Callable[[ParquetFile], Struct]) -> Callable[[ParquetFile], None]:
    return lambda file: get(file).put(99, I32, 1)


# As Thrift writes the number, and as Photon writes it by the bytes in BinaryProtocolExtensions.md.
EXTENSION, PHOTONS_EXTENSION = 32767, -16384
SECRET = b"what a writer says in a form of its own: col-b, 4711"


def extend(get: Callable[[ParquetFile], Struct]) -> Callable[[ParquetFile], None]:
    return lambda file: get(file).put(EXTENSION, BINARY, SECRET)


def index_with_extensions(file: ParquetFile) -> None:
    """Adds an extension to an offset index and to its first page, at the end of the body."""
    index, _ = decoded(file.body, chunk(file)[OFFSET_INDEX])
    for each in (index, index[1].items[0]):
        each.put(EXTENSION, BINARY, SECRET)
    written = encoded(index)
    chunk(file).put(OFFSET_INDEX, I64, len(file.body))
    chunk(file).put(OFFSET_INDEX_LENGTH, I32, len(written))
    file.body += written


def everywhere(file: ParquetFile) -> None:
    for change in list(EXTENSIONS.values())[:-1]:
        change(file)


EXTENSIONS: dict[str, Callable[[ParquetFile], None]] = {
    "footer": extend(lambda file: file.footer),
    "Photon's footer": lambda file: file.footer.put(PHOTONS_EXTENSION, BINARY, SECRET),
    "root": extend(lambda file: file.schema[0]),
    "schema": extend(lambda file: file.schema[1]),
    "row group": extend(lambda file: file.row_groups[1]),
    "chunk": extend(lambda file: file.chunks[2]),
    "column": extend(lambda file: file.columns[2]),
    "column that goes": extend(lambda file: file.columns[1]),
    "statistics": extend(lambda file: file.columns[0][STATISTICS]),
    "encodings": extend(lambda file: file.columns[0][13].items[0]),
    "offset index": index_with_extensions,
    "order": extend(lambda file: file.footer[COLUMN_ORDERS].items[0]),
    "everywhere": everywhere,
}


@pytest.mark.parametrize("change", EXTENSIONS.values(), ids=EXTENSIONS)
def test_footer_of_a_copy_has_no_binary_extensions(
    source: Path, copy: Copy, change: Callable[[ParquetFile], None]
) -> None:
    without = ParquetFile.of(source)
    expected = {columns: copy(source, columns).footer for columns in (ALL, WITHOUT_B)}
    changed(source, change)
    assert SECRET in source.read_bytes()
    for columns, rows in ((ALL, FULL), (WITHOUT_B, renamed())):
        copied = copy(source, columns)
        assert rows_of(copied) == rows
        assert SECRET not in copied.bytes()[len(copied.body) :]
        if change is not EXTENSIONS["offset index"] and change is not everywhere:
            assert copied.footer == expected[columns]
    assert SECRET not in copied.bytes()
    assert without.footer != ParquetFile.of(source).footer


KEPT: dict[str, Callable[[ParquetFile], object]] = {
    "binary extension": EXTENSIONS["footer"],
    "unknown field": lambda file: file.schema[1].put(99, I32, 1),
    "unknown key of Spark": entries(org__apache__spark__legacyNew=""),
    "bytes behind the footer": lambda file: setattr(file, "bytes", lambda: signed(file)),
}


@pytest.mark.parametrize("change", KEPT.values(), ids=KEPT)
def test_file_without_changes_is_kept_when_its_footer_has_unknown_parts(
    source: Path, renamer: Renamer, tmp_path: Path, change: Callable[[ParquetFile], object]
) -> None:
    pq.write_table(TABLE.select(["col-a"]).rename_columns(["a"]), source)
    changed(source, change)
    clean = plan((Column(1, "a", "a", pa.int64()),))
    kept = Outcome("KEPT", source.stat().st_size, None)
    assert renamer.look(source, clean) == kept
    assert renamer.copy(source, tmp_path / "copy.parquet", clean) == kept


def as_member(get: Callable[[ParquetFile], List], number: int) -> Callable[[ParquetFile], None]:
    """Replaces the first item of a list by a union with a member without fields."""
    member = Struct({number: Struct()}, {number: STRUCT})
    return lambda file: get(file).items.__setitem__(0, member)


def orders(file: ParquetFile) -> List:
    return file.footer[COLUMN_ORDERS]


def logical_type(number: int) -> Callable[[ParquetFile], None]:
    kind = Struct({number: Struct()}, {number: STRUCT})
    return lambda file: file.schema[2].put(10, STRUCT, kind)


UNKNOWN: dict[str, tuple[Callable[[ParquetFile], object], str]] = {
    "footer": (unknown(lambda file: file.footer), "field 99 of `FileMetaData`"),
    "schema": (unknown(lambda file: file.schema[1]), "field 99 of `SchemaElement`"),
    "row group": (unknown(lambda file: file.row_groups[1]), "field 99 of `RowGroup`"),
    "chunk": (unknown(lambda file: file.chunks[2]), "field 99 of `ColumnChunk`"),
    "column": (unknown(lambda file: file.columns[2]), "field 99 of `ColumnMetaData`"),
    "statistics": (unknown(lambda file: file.columns[0][STATISTICS]), "field 99 of `Statistics`"),
    "logical type": (logical_type(99), "field 99 of `LogicalType`"),
    "order": (as_member(orders, 99), "field 99 of `ColumnOrder`"),
    "number of another type": (
        lambda file: file.columns[0][STATISTICS].put(4, BINARY, b"?"),
        "field 4 of `Statistics`",
    ),
    "beside an extension": (
        lambda file: in_turn(file, EXTENSIONS["footer"], unknown(lambda file: file.columns[2])),
        "field 99 of `ColumnMetaData`",
    ),
    "order of only an extension": (
        lambda file: orders(file).items.__setitem__(
            0, Struct({EXTENSION: b""}, {EXTENSION: BINARY})
        ),
        "value of `ColumnOrder`",
    ),
    "type without a member": (
        lambda file: file.schema[2].put(10, STRUCT, Struct()),
        "value of `LogicalType`",
    ),
    "logical type of two members": (
        lambda file: file.schema[2].put(
            10, STRUCT, Struct({1: Struct(), 5: Struct()}, {1: STRUCT, 5: STRUCT})
        ),
        "field 5 of `LogicalType`",
    ),
    # The published format has these three, and Parquet 1.18.1 does not.
    "order of INT96": (as_member(orders, 3), "field 3 of `ColumnOrder`"),
    "file": (logical_type(19), "field 19 of `LogicalType`"),
    "ALP": (
        lambda file: file.columns[0][2].items.append(10),
        "value 10 of `Encoding`",
    ),
    "encoding of tomorrow": (
        lambda file: file.columns[0][13].items[0].put(2, I32, 99),
        "value 99 of `Encoding`",
    ),
    "codec of tomorrow": (
        lambda file: file.columns[0].put(CODEC, I32, 99),
        "value 99 of `CompressionCodec`",
    ),
    "repetition of tomorrow": (
        lambda file: file.schema[2].put(3, I32, 99),
        "value 99 of `FieldRepetitionType`",
    ),
    "an extension that is not a binary": (
        lambda file: file.footer.put(EXTENSION, I32, 1),
        "field 32767 of `FileMetaData`",
    ),
}


def in_turn(file: ParquetFile, *changes: Callable[[ParquetFile], object]) -> None:
    for change in changes:
        change(file)


def signed(file: ParquetFile) -> bytes:
    data = ParquetFile.bytes(file)
    length = struct.unpack("<i", data[-8:-4])[0]
    return data[:-8] + b"-" * 28 + struct.pack("<i", length + 28) + data[-4:]


@pytest.mark.parametrize(("change", "field"), UNKNOWN.values(), ids=UNKNOWN)
def test_footer_of_a_later_format_is_refused(
    source: Path, refused: Refused, change: Callable[[ParquetFile], None], field: str
) -> None:
    assert refused(changed(source, change), ALL) == f"its footer has the unknown {field}"


def test_bytes_behind_the_footer_are_refused(source: Path, refused: Refused) -> None:
    changed(source, lambda file: setattr(file, "bytes", lambda: signed(file)))
    assert refused(source, ALL) == "its footer has 28 bytes behind its end"


# Parts that Spark 4.0 or 4.2 does not know. All but the last are in the format of Parquet 1.18.1.
PUBLISHED: dict[str, Callable[[ParquetFile], object]] = {
    "count of NaNs": lambda file: file.columns[0][STATISTICS].put(9, I64, 0),
    "geospatial statistics": lambda file: file.columns[0].put(
        17, STRUCT, Struct({2: List(I32, [1])}, {2: LIST})
    ),
    "order of floats": as_member(orders, 2),
    "variant": logical_type(16),
    "geometry": logical_type(17),
    "geography": logical_type(18),
    "writer that is no text": lambda file: file.footer.put(CREATED_BY, BINARY, b"\xf0\x9f\x98"),
}


@pytest.mark.parametrize("change", PUBLISHED.values(), ids=PUBLISHED)
def test_copy_keeps_parts_that_spark_does_not_know(
    source: Path, copy: Copy, change: Callable[[ParquetFile], object]
) -> None:
    change(before := ParquetFile.of(source))
    changed(source, change)
    new = {column.name: column.new_name for column in every(ALL)}
    for columns in (ALL, WITHOUT_B):
        dropped = {B.name} if columns == WITHOUT_B else set()
        after = copy(source, columns)
        assert list(differences(before, after, new_names=new, dropped=dropped)) == []


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


def test_name_that_is_no_text_is_refused(source: Path, refused: Refused) -> None:
    changed(source, names(b"key", b"\xf0\x9f\x98"))
    assert refused(source) == "its schema has a name that is no text"


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
        "a row group does not have the columns of the schema",
    ),
    "order less": (
        lambda file: file.footer[COLUMN_ORDERS].items.pop(),
        "its footer does not have one order for each column",
    ),
    "other order": (
        lambda file: file.row_groups[1][COLUMNS].items.reverse(),
        "its column chunks are not in the order of the schema",
    ),
    "empty group": (
        no_columns,
        "its schema has an element with both a type and children, or neither",
    ),
    "leaf of leaves": (
        lambda file: file.schema[1].put(NUM_CHILDREN, I32, 1),
        "its schema has an element with both a type and children, or neither",
    ),
    "schema too long": (
        lambda file: file.schema.append(file.schema[1]),
        "its schema has more elements than it declares",
    ),
    "schema too short": (
        lambda file: file.schema.pop(),
        "its schema has fewer elements than it declares",
    ),
}


@pytest.mark.parametrize(("change", "reason"), OTHERWISE.values(), ids=OTHERWISE)
@pytest.mark.parametrize("columns", [ALL, WITHOUT_B], ids=["all", "without b"])
def test_inconsistent_footer_is_refused(
    source: Path, refused: Refused, change: Any, reason: str, columns: Columns
) -> None:
    assert refused(changed(source, change), columns) == reason


OUTSIDE = "its footer points outside of the file"
OVERLAP = "its column chunks overlap"


def into(target: int, field: int) -> Callable[[ParquetFile], None]:
    """Moves a part of the dropped column into a kept column."""

    def change(file: ParquetFile) -> None:
        holder = file.columns[target] if field in (DATA_PAGE, BLOOM) else file.chunks[target]
        holder.put(field, I64, start(file.columns[0]) + 20)
        holder.drop(DICTIONARY_PAGE)

    return change


def longer(file: ParquetFile) -> None:
    """Extends a kept column over the dropped column behind it."""
    first(file).put(COMPRESSED, I64, first(file)[COMPRESSED] + 10)


def garbage(get: Callable[[ParquetFile], int]) -> Callable[[ParquetFile], None]:
    def change(file: ParquetFile) -> None:
        place = get(file)
        file.body = file.body[:place] + b"\xff" * 5 + file.body[place + 5 :]

    return change


def page_elsewhere(file: ParquetFile) -> None:
    """Uses the second column's offset index for the first column."""
    chunks = file.chunks
    chunks[0].put(OFFSET_INDEX, I64, chunks[1][OFFSET_INDEX])
    chunks[0].put(OFFSET_INDEX_LENGTH, I32, chunks[1][OFFSET_INDEX_LENGTH])
    chunks[1].drop(OFFSET_INDEX)
    chunks[1].drop(OFFSET_INDEX_LENGTH)


def later_index(file: ParquetFile) -> None:
    """Writes an offset index with an unknown field at the end of the body."""
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
    "page of another column": (page_elsewhere, "a page is outside of its column chunk"),
    "broken offset index": (
        garbage(lambda file: chunk(file)[OFFSET_INDEX]),
        "an offset index cannot be read",
    ),
    "later offset index": (later_index, "an offset index has the unknown field 6 of `OffsetIndex`"),
    "broken filter": (short_filter, "a bloom filter cannot be read"),
}


@pytest.mark.parametrize(("change", "reason"), LAYOUTS.values(), ids=LAYOUTS)
def test_invalid_layout_is_refused_when_a_column_was_dropped(
    source: Path, refused: Refused, change: Any, reason: str
) -> None:
    assert refused(changed(source, change)) == reason


# Values of `created_by` for which the sizes of column chunks are right.
KNOW_THEIR_SIZES = [
    "parquet-mr compatible Photon version 0.2 (build unknown)",
    "parquet-mr compatible Photon version 0.2 (build 16.4)",
    "parquet-mr-trino version 0.215 (build n/a)",
    "parquet-mr-trino version 480-e.5 (build n/a)",
    "parquet-mr version 1.2.9 (build 8a2f0d6)",
    "parquet-mr version 1.2.10",
    "parquet-mr version 1.5.0-cdh5.7.1 (build ${buildNumber})",
    "parquet-mr version 1.6.0rc3 (build d4d5a07ec9bd262ca1e93c309f1d7d4a74ebda4c)",
    "parquet-mr version 1.8.1 (build 4aba4dae7bb0d4edbcf7923ae1339f28fd3f7fcf)",
    "parquet-mr version 1.10.99.7.1.1.0-565 (build 1ec5b8f)",
    # Hudi writes it too
    "parquet-mr version 1.10.1 (build a89df8f9932b6ef6633d06069e50c9b7970bebd1)",
    "parquet-mr version 1.11.1-amzn-athena-1 (build e4c8769d72fd0e21068423a0ee114afeaa85df42)",
    "parquet-mr version 1.17.0 (build 7a5d8ff)",
    "parquet-mr version 2.0.0",
    "parquet-cpp version 1.0.0",
    "parquet-cpp-arrow version 20.0.0",
    "parquet-rs version 53.3.0",
    "delta-rs version 0.19.1",
    "DuckDB",
    "DuckDB version v1.1.3 (build 19864453f7)",
    "ClickHouse v24.3.2.23-lts",
    "Polars",
    "fastparquet-python version 2024.2.0 (build 0)",
    "impala version 1.2-INTERNAL (build 93d0b2d)",
    "impala version 4.0.0-SNAPSHOT (build 3b0e663bf7e00947b082a4153bb27a8ab34437f5)",
    "Parquet.Net version 4.23.4",
    "",
    "version 1.2.8",
    "another parquet-mr version 1.2.8",
    "?\n(build",
    None,
]


@pytest.mark.parametrize("writer", KNOW_THEIR_SIZES)
def test_writer_with_right_sizes_of_chunks_is_accepted(
    source: Path, copy: Copy, writer: str | None
) -> None:
    changed(source, written_by(writer))
    copied = copy(source).footer
    assert copied.get(CREATED_BY) == (writer if writer is None else writer.encode())


def written_by(writer: str | None) -> Callable[[ParquetFile], None]:
    def change(file: ParquetFile) -> None:
        file.footer.drop(CREATED_BY)
        if writer is not None:
            file.footer.put(CREATED_BY, BINARY, writer.encode())

    return change


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
def test_old_parquet_mr_with_wrong_sizes_of_chunks_is_refused(
    source: Path, copy: Copy, refused: Refused, writer: str
) -> None:
    changed(source, written_by(writer))
    assert refused(source) == f"`{writer}` omitted page headers from the sizes of column chunks"
    assert copy(source, ALL).footer[CREATED_BY] == writer.encode()


def test_source_has_everything_that_these_tests_change(source: Path) -> None:
    file = ParquetFile.of(source)
    assert [len(group[COLUMNS].items) for group in file.row_groups] == [9, 9]
    assert all(OFFSET_INDEX in chunk and COLUMN_INDEX in chunk for chunk in file.chunks)
    assert [BLOOM in column for column in file.columns[:3]] == [True, True, False]
    assert DICTIONARY_PAGE in file.columns[1]
    assert {SCHEMA, ROW_GROUPS, COLUMN_ORDERS} <= set(file.footer.fields)
    assert TYPE in file.schema[1]
    assert list(problems(file)) == []
