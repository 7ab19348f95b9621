# SPDX-License-Identifier: Apache-2.0
"""Compares a copy with its source, under the new names and without the dropped columns.

The comparison includes parts of a footer that it does not know. Names must differ at every level,
so that a name identifies a column.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator
from typing import Any

from tests.support.compact_thrift import List, Struct, decoded
from tests.support.parquet_file import (
    BLOOM,
    COLUMN_INDEX,
    COLUMN_INDEX_LENGTH,
    COLUMN_KEY_VALUES,
    COLUMN_ORDERS,
    COLUMNS,
    COMPRESSED,
    DATA_PAGE,
    DICTIONARY_PAGE,
    FIELD_ID,
    FILE_OFFSET,
    GROUP_COMPRESSED,
    GROUP_OFFSET,
    INDEX_PAGE,
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
    TOTAL_BYTE_SIZE,
    ParquetFile,
    start,
)

SPARKS_SCHEMA = "org.apache.spark.sql.parquet.row.metadata"

# These may change, and most of them are compared by code of their own.
OF_FILE = {SCHEMA, ROW_GROUPS, KEY_VALUES, COLUMN_ORDERS}
OF_ELEMENT = {NAME, NUM_CHILDREN, FIELD_ID}
OF_GROUP = {COLUMNS}
OF_CHUNK = {METADATA}
OF_COLUMN = {PATH, COLUMN_KEY_VALUES}
# These change if a column was dropped. The validator checks offsets and sums.
MOVED_OF_GROUP = {TOTAL_BYTE_SIZE, GROUP_OFFSET, GROUP_COMPRESSED, SORTING}
MOVED_OF_CHUNK = {FILE_OFFSET, OFFSET_INDEX, OFFSET_INDEX_LENGTH, COLUMN_INDEX}
MOVED_OF_COLUMN = {DATA_PAGE, INDEX_PAGE, DICTIONARY_PAGE, BLOOM}

NewPath = Callable[[tuple[str, ...]], tuple[str, ...] | None]


def differences(
    source: ParquetFile, copy: ParquetFile, *, new_names: dict[str, str], dropped: set[str]
) -> Iterator[str]:
    """Yields the differences of a copy, each as a line.

    Args:
        source: The file that was copied.
        copy: The copy.
        new_names: The new names of kept columns, by their names in the source.
        dropped: The names of dropped columns in the source.
    """

    def new_path(path: tuple[str, ...]) -> tuple[str, ...] | None:
        return tuple(new_names.get(n, n) for n in path) if dropped.isdisjoint(path) else None

    def kept_items(of_leaves: List) -> list[Any]:
        pairs = zip(source.leaves(), of_leaves.items, strict=True)
        return [item for path, item in pairs if new_path(path) is not None]

    if not dropped and copy.body != source.body:
        yield "the file: its bytes before the footer differ"
    yield from _other(source.footer, copy.footer, OF_FILE, "the file")
    yield from _schema(source, copy, new_path)
    orders = [file.footer.get(COLUMN_ORDERS) for file in (source, copy)]
    if None not in orders and kept_items(orders[0]) != orders[1].items:
        yield "the file: its column orders differ"
    if _entries(copy) != _renamed_entries(source, new_names, dropped):
        yield f"the file: its entries are {_entries(copy)}"
    for number, (old, new) in enumerate(zip(source.row_groups, copy.row_groups, strict=True)):
        where = f"row group {number}"
        of_group = OF_GROUP | (MOVED_OF_GROUP if dropped else set())
        yield from _other(old, new, of_group, where, may_be_missing=of_group & {SORTING})
        for before, after in zip(kept_items(old[COLUMNS]), new[COLUMNS].items, strict=True):
            name = ".".join(part.decode() for part in before[METADATA][PATH].items)
            yield from _chunk(source, copy, before, after, f"{where}, {name}", moved=bool(dropped))


def _other(
    old: Struct, new: Struct, apart: set[int], where: str, *, may_be_missing: Collection[int] = ()
) -> Iterator[str]:
    if old.types.keys() - may_be_missing != new.types.keys() - may_be_missing:
        yield f"{where}: it has the fields {sorted(new.types)}, not {sorted(old.types)}"
    for field in sorted((old.types.keys() & new.types.keys()) - apart):
        if old[field] != new[field]:
            yield f"{where}: its field {field} is {new[field]}, not {old[field]}"


def _schema(source: ParquetFile, copy: ParquetFile, new_path: NewPath) -> Iterator[str]:
    expected = [(new_path(path), element) for path, element in source.elements()]
    old = [(path, element) for path, element in expected if path is not None]
    new = list(copy.elements())
    if [path for path, _ in old] != [path for path, _ in new]:
        yield f"the schema: it has {[path for path, _ in new]}"
        return
    for (path, before), (_, after) in zip(old, new, strict=True):
        where = f"the schema, {'.'.join(path)}"
        yield from _other(before, after, OF_ELEMENT, where, may_be_missing={FIELD_ID})


def _entries(file: ParquetFile) -> dict[str, Any]:
    return {
        key: json.loads(text) if text and key == SPARKS_SCHEMA else text
        for key, text in file.key_values.items()
    }


def _renamed_entries(
    source: ParquetFile, new_names: dict[str, str], dropped: set[str]
) -> dict[str, Any]:
    """Returns Spark's entries with new names. A copy omits all other entries."""

    def renamed(kind: Any) -> Any:
        if not isinstance(kind, dict):
            return kind
        kind = {key: renamed(value) for key, value in kind.items()}
        if "fields" in kind:
            kind["fields"] = [
                {**field, "name": new_names[field["name"]], "type": renamed(field["type"])}
                for field in kind["fields"]
                if field["name"] not in dropped
            ]
        return kind

    sparks = {key: value for key, value in _entries(source).items() if "apache.spark." in key}
    return {key: renamed(value) for key, value in sparks.items()}


def _chunk(
    source: ParquetFile, copy: ParquetFile, before: Struct, after: Struct, name: str, *, moved: bool
) -> Iterator[str]:
    old, new = before[METADATA], after[METADATA]
    yield from _other(before, after, OF_CHUNK | (MOVED_OF_CHUNK if moved else set()), name)
    of_column = OF_COLUMN | (MOVED_OF_COLUMN if moved else set())
    yield from _other(old, new, of_column, name, may_be_missing={COLUMN_KEY_VALUES})
    if _bytes(source, start(old), old[COMPRESSED]) != _bytes(copy, start(new), new[COMPRESSED]):
        yield f"{name}: its bytes differ"
    if BLOOM in old and BLOOM in new and _bloom(source, old) != _bloom(copy, new):
        yield f"{name}: its bloom filter differs"
    if COLUMN_INDEX in before and COLUMN_INDEX in after:
        indexes = [
            _bytes(file, chunk[COLUMN_INDEX], chunk[COLUMN_INDEX_LENGTH])
            for file, chunk in ((source, before), (copy, after))
        ]
        if indexes[0] != indexes[1]:
            yield f"{name}: its column index differs"
    if OFFSET_INDEX in before and OFFSET_INDEX in after:
        old_pages, new_pages = _pages(source, before), _pages(copy, after)
        yield from _other(old_pages, new_pages, set(), f"{name}, offset index")


def _bytes(file: ParquetFile, begin: int, length: int) -> bytes:
    return file.body[begin : begin + length]


def _bloom(file: ParquetFile, column: Struct) -> bytes:
    header, end = decoded(file.body, column[BLOOM])
    return file.body[column[BLOOM] : end + header[1]]


def _pages(file: ParquetFile, chunk: Struct) -> Struct:
    """Returns an offset index with offsets relative to the column chunk."""
    index, _ = decoded(file.body, chunk[OFFSET_INDEX])
    for page in index[1].items:
        page.put(1, page.types[1], page[1] - start(chunk[METADATA]))
    return index
