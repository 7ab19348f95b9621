# SPDX-License-Identifier: Apache-2.0
"""Reads and validates Parquet files by their bytes.

It shares nothing with the code that writes footers, and has the field numbers of parquet.thrift.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate, pairwise
from pathlib import Path

from tests.support.compact_thrift import Struct, decoded, encoded

MAGIC = b"PAR1"

# FileMetaData
SCHEMA, NUM_ROWS, ROW_GROUPS, KEY_VALUES, CREATED_BY, COLUMN_ORDERS = 2, 3, 4, 5, 6, 7
# SchemaElement
TYPE, REPETITION, NAME, NUM_CHILDREN, FIELD_ID = 1, 3, 4, 5, 9
REPEATED = 2  # a FieldRepetitionType
# RowGroup
COLUMNS, TOTAL_BYTE_SIZE, GROUP_ROWS, SORTING, GROUP_OFFSET, GROUP_COMPRESSED = 1, 2, 3, 4, 5, 6
# ColumnChunk
FILE_PATH, FILE_OFFSET, METADATA = 1, 2, 3
OFFSET_INDEX, OFFSET_INDEX_LENGTH, COLUMN_INDEX, COLUMN_INDEX_LENGTH = 4, 5, 6, 7
# ColumnMetaData
PATH, CODEC, NUM_VALUES, UNCOMPRESSED, COMPRESSED, COLUMN_KEY_VALUES = 3, 4, 5, 6, 7, 8
DATA_PAGE, INDEX_PAGE, DICTIONARY_PAGE, STATISTICS, BLOOM, BLOOM_LENGTH = 9, 10, 11, 12, 14, 15
# PageHeader
PAGE_TYPE, PAGE_UNCOMPRESSED, PAGE_COMPRESSED, PAGE_V1, PAGE_V2 = 1, 2, 3, 5, 8
DATA_PAGE_V1, DICTIONARY, DATA_PAGE_V2 = 0, 2, 3


@dataclass
class ParquetFile:
    """Contains a file in memory. `bytes()` contains the changes of `footer`."""

    body: bytes
    footer: Struct

    @classmethod
    def of(cls, source: Path | bytes) -> ParquetFile:
        data = source.read_bytes() if isinstance(source, Path) else source
        assert data[-4:] == MAGIC, "does not end with the magic number"
        length = struct.unpack("<i", data[-8:-4])[0]
        start = len(data) - 8 - length
        assert start >= 4, "the footer is longer than the file"
        footer, end = decoded(data[:-8], start)
        assert end == len(data) - 8, "bytes follow the footer"
        return cls(data[:start], footer)

    def bytes(self) -> bytes:
        footer = encoded(self.footer)
        return self.body + footer + struct.pack("<i", len(footer)) + MAGIC

    @property
    def row_groups(self) -> list[Struct]:
        return self.footer[ROW_GROUPS].items

    @property
    def chunks(self) -> list[Struct]:
        return [chunk for group in self.row_groups for chunk in group[COLUMNS].items]

    @property
    def columns(self) -> list[Struct]:
        """Returns the metadata of each column chunk."""
        return [chunk[METADATA] for chunk in self.chunks]

    @property
    def schema(self) -> list[Struct]:
        return self.footer[SCHEMA].items

    @property
    def key_values(self) -> dict[str, str | None]:
        entries = self.footer[KEY_VALUES].items if KEY_VALUES in self.footer else []
        return {entry[1].decode(): entry[2].decode() if 2 in entry else None for entry in entries}

    def elements(self) -> Iterator[tuple[tuple[str, ...], Struct]]:
        """Yields every element of the schema below the root, with its path."""
        elements = iter(self.schema)

        def walk(parents: tuple[str, ...], count: int) -> Iterator[tuple[tuple[str, ...], Struct]]:
            for _ in range(count):
                element = next(elements)
                path = (*parents, element[NAME].decode())
                yield path, element
                yield from walk(path, element.get(NUM_CHILDREN, 0))

        yield from walk((), next(elements)[NUM_CHILDREN])
        assert not list(elements), "the schema has more elements than it declares"

    def leaves(self) -> dict[tuple[str, ...], bool]:
        """Returns the paths of the columns, and whether a row may have many values."""
        repeated = set()
        found = {}
        for path, element in self.elements():
            if element.get(REPETITION) == REPEATED or path[:-1] in repeated:
                repeated.add(path)
            if TYPE in element:
                found[path] = path in repeated
        return found


def start(column: Struct) -> int:
    places = [column[DATA_PAGE], column.get(DICTIONARY_PAGE), column.get(INDEX_PAGE)]
    return min((place for place in places if place), default=len(MAGIC))


def problems(file: ParquetFile, *, whole: bool = False) -> Iterator[str]:
    """Yields the problems of a file that we wrote, each as a line.

    Args:
        file: The file.
        whole: Whether unreferenced bytes are wrong.
    """
    if file.body[:4] != MAGIC:
        yield "it does not begin with the magic number"
    leaves = file.leaves()
    if any(FIELD_ID in element for element in file.schema):
        yield "its schema has field ids"
    if COLUMN_ORDERS in file.footer and len(file.footer[COLUMN_ORDERS].items) != len(leaves):
        yield "its footer does not have one order for each column"
    if file.footer[NUM_ROWS] != sum(group[GROUP_ROWS] for group in file.row_groups):
        yield "the rows of its row groups do not add up"
    ranges: list[tuple[int, int, str]] = [(0, 4, "the magic number")]
    for number, group in enumerate(file.row_groups):
        where = f"row group {number}"
        paths = [
            tuple(name.decode() for name in chunk[METADATA][PATH].items)
            for chunk in group[COLUMNS].items
        ]
        if paths != list(leaves):
            yield f"{where}: its columns {paths} are not the schema's {list(leaves)}"
            continue
        yield from _group_problems(group, where)
        for chunk, path in zip(group[COLUMNS].items, paths, strict=True):
            name = f"{where}, {'.'.join(path)}"
            rows = None if leaves[path] else group[GROUP_ROWS]
            yield from _chunk_problems(file, chunk, rows, name, ranges)
    ranges.sort()
    ranges = [*ranges, (len(file.body), len(file.body), "the footer")]
    for (_, end, one), (begin, _, other) in pairwise(ranges):
        if begin < end:
            yield f"{other} is in {one}"
        if begin > end and whole:
            yield f"{begin - end} bytes between {one} and {other} belong to neither"


def _group_problems(group: Struct, where: str) -> Iterator[str]:
    columns = [chunk[METADATA] for chunk in group[COLUMNS].items]
    if group[TOTAL_BYTE_SIZE] != sum(column[UNCOMPRESSED] for column in columns):
        yield f"{where}: its size is not that of its columns"
    compressed = sum(column[COMPRESSED] for column in columns)
    if group.get(GROUP_COMPRESSED, compressed) != compressed:
        yield f"{where}: its compressed size is not that of its columns"
    first = min(map(start, columns))
    if group.get(GROUP_OFFSET, first) != first:
        yield f"{where}: it begins at {first}, not {group[GROUP_OFFSET]}"
    if SORTING in group:
        orders = group[SORTING].items
        if not orders or any(order[1] >= len(columns) for order in orders):
            yield f"{where}: it is sorted by a column that it lacks"


def _chunk_problems(
    file: ParquetFile,
    chunk: Struct,
    rows: int | None,
    name: str,
    ranges: list[tuple[int, int, str]],
) -> Iterator[str]:
    column = chunk[METADATA]
    begin, length = start(column), column[COMPRESSED]
    ranges.append((begin, begin + length, name))
    if FILE_PATH in chunk:
        yield f"{name}: it is in another file"
    if chunk[FILE_OFFSET] > len(file.body):
        yield f"{name}: its file offset is outside of the file"
    try:
        pages = list(_pages(file, begin, begin + length))
    except (EOFError, IndexError, KeyError, ValueError) as broken:
        yield f"{name}: its pages cannot be read: {broken!r}"
        return
    data = [(place, page) for place, page in pages if page[PAGE_TYPE] != DICTIONARY]
    dictionaries = [place for place, page in pages if page[PAGE_TYPE] == DICTIONARY]
    if pages and pages[-1][0] + _size(file, *pages[-1]) != begin + length:
        yield f"{name}: its pages are not as long as it says"
    sizes = sum(_size(file, place, page, PAGE_UNCOMPRESSED) for place, page in pages)
    if sizes != column[UNCOMPRESSED]:
        yield f"{name}: its pages have {sizes} uncompressed bytes, not {column[UNCOMPRESSED]}"
    values = sum((page.get(PAGE_V1) or page[PAGE_V2])[1] for _, page in data)
    if rows not in (None, values):
        yield f"{name}: its pages have {values} values for {rows} rows"
    if values != column[NUM_VALUES]:
        yield f"{name}: its pages have {values} values, not {column[NUM_VALUES]}"
    if data and column[DATA_PAGE] != data[0][0]:
        first, said = data[0][0] - begin, column[DATA_PAGE] - begin
        yield f"{name}: its first data page is at its byte {first}, not {said}"
    if column.get(DICTIONARY_PAGE) and [column[DICTIONARY_PAGE]] != dictionaries:
        yield f"{name}: its dictionary is at {dictionaries}, not {column[DICTIONARY_PAGE]}"
    if OFFSET_INDEX in chunk:
        yield from _index_problems(file, chunk, data, rows, name, ranges)
    if BLOOM in column:
        yield from _bloom_problems(file, column, name, ranges)


def _pages(file: ParquetFile, place: int, end: int) -> Iterator[tuple[int, Struct]]:
    while place < end:
        page, _ = decoded(file.body, place)
        if page[PAGE_TYPE] not in (DATA_PAGE_V1, DICTIONARY, DATA_PAGE_V2):
            raise ValueError(f"a page of type {page[PAGE_TYPE]}")
        yield place, page
        place += _size(file, place, page)


def _size(file: ParquetFile, place: int, page: Struct, which: int = PAGE_COMPRESSED) -> int:
    return decoded(file.body, place)[1] - place + page[which]


def _index_problems(
    file: ParquetFile,
    chunk: Struct,
    data: list[tuple[int, Struct]],
    rows: int | None,
    name: str,
    ranges: list[tuple[int, int, str]],
) -> Iterator[str]:
    begin, length = chunk[OFFSET_INDEX], chunk[OFFSET_INDEX_LENGTH]
    ranges.append((begin, begin + length, f"the offset index of {name}"))
    try:
        index, end = decoded(file.body, begin)
        locations = [(page[1], page[2], page[3]) for page in index[1].items]
    except (EOFError, IndexError, KeyError, ValueError, AttributeError) as broken:
        yield f"{name}: its offset index cannot be read: {broken!r}"
        return
    if end != begin + length:
        yield f"{name}: its offset index is not as long as it says"
    expected = [(place, _size(file, place, page)) for place, page in data]
    if [location[:2] for location in locations] != expected:
        yield f"{name}: its offset index says {locations}, its pages are {expected}"
    firsts = [location[2] for location in locations]
    counts = [_rows(page, flat=rows is not None) for _, page in data]
    expected_firsts = list(accumulate(counts, initial=0))[:-1] if None not in counts else firsts
    if firsts != sorted(set(firsts)) or firsts[:1] not in ([], [0]) or firsts != expected_firsts:
        yield f"{name}: its pages begin with rows {firsts}, not {expected_firsts}"
    if COLUMN_INDEX not in chunk:
        return
    begin, length = chunk[COLUMN_INDEX], chunk[COLUMN_INDEX_LENGTH]
    ranges.append((begin, begin + length, f"the column index of {name}"))
    try:
        index, end = decoded(file.body, begin)
        lists = [index[number].items for number in (1, 2, 3)]
    except (EOFError, IndexError, KeyError, ValueError, AttributeError) as broken:
        yield f"{name}: its column index cannot be read: {broken!r}"
        return
    if end != begin + length:
        yield f"{name}: its column index is not as long as it says"
    if any(len(values) != len(data) for values in lists):
        yield f"{name}: its column index has not one entry for each page"


def _rows(page: Struct, *, flat: bool) -> int | None:
    """Returns the rows of a data page; None in version 1 if a row may have many values."""
    if PAGE_V2 in page:
        return page[PAGE_V2][3]
    return page[PAGE_V1][1] if flat else None


def _bloom_problems(
    file: ParquetFile, column: Struct, name: str, ranges: list[tuple[int, int, str]]
) -> Iterator[str]:
    try:
        header, end = decoded(file.body, column[BLOOM])
        length = end - column[BLOOM] + header[1]
        # A filter has one or more blocks of 32 bytes. Parquet has one algorithm and one hash.
        sound = header[1] >= 32 and header[1] % 32 == 0 and all(1 in header[i] for i in (2, 3, 4))
    except (EOFError, IndexError, KeyError, ValueError, TypeError) as broken:
        yield f"{name}: its bloom filter cannot be read: {broken!r}"
        return
    ranges.append((column[BLOOM], column[BLOOM] + length, f"the bloom filter of {name}"))
    if not sound or column.get(BLOOM_LENGTH, length) != length:
        yield f"{name}: its bloom filter is not where it says"
