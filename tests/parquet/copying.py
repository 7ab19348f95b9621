# SPDX-License-Identifier: Apache-2.0
"""Compares a copy with its source, by the bytes and by the rows of readers.

The columns of a plan are those of the file, found by the rules of Parquet's LogicalTypes.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime, timezone
from itertools import count
from pathlib import Path
from typing import Any

import chdb
import duckdb
import polars
import pyarrow as pa
import pyarrow.parquet as pq

from tests.parquet.columns import (
    Array,
    Column,
    Columns,
    Map,
    Rows,
    Struct,
    Type,
    every,
    plan,
    renamed,
    without,
)
from tests.parquet.kept import differences
from tests.parquet.renamer import Renamer
from tests.support import compact_thrift
from tests.support.parquet_file import (
    FIELD_ID,
    NAME,
    NUM_CHILDREN,
    REPEATED,
    REPETITION,
    ParquetFile,
    problems,
)

CONVERTED, LOGICAL = 6, 10
CONVERTED_LIST, CONVERTED_MAPS, LOGICAL_LIST, LOGICAL_MAP, VARIANT = 3, (1, 2), 3, 2, 16
Element = compact_thrift.Struct


def columns_of(file: ParquetFile, *, new: str) -> Columns:
    """Returns the columns of a file. The new names have a prefix instead of the first two bytes."""
    elements = iter(file.schema)
    ids = count(1)

    def column(element: Element, kind: Type) -> Column:
        name = element[NAME].decode()
        return Column(next(ids), name, f"{new}{name[2:]}" if new else name, kind)

    def children(element: Element) -> list[tuple[Element, Type]]:
        return [field() for _ in range(element[NUM_CHILDREN])]

    def field() -> tuple[Element, Type]:
        element = next(elements)
        is_bare = element.get(REPETITION) == REPEATED
        kind = one(element)
        return element, Array(kind) if is_bare else kind

    def one(element: Element) -> Type:
        if NUM_CHILDREN not in element:
            return pa.null()
        logical = element.get(LOGICAL, Element())
        if element.get(CONVERTED) == CONVERTED_LIST or LOGICAL_LIST in logical:
            return Array(of_list(element, next(elements)))
        if element.get(CONVERTED) in CONVERTED_MAPS or LOGICAL_MAP in logical:
            key, value = children(next(elements))
            return Map(key[1], value[1])
        found = children(element)
        if VARIANT in logical:
            return pa.null()
        return Struct(tuple(column(*each) for each in found))

    def of_list(element: Element, repeated: Element) -> Type:
        is_alone = repeated.get(NUM_CHILDREN) == 1
        if is_alone and repeated[NAME] not in (b"array", element[NAME] + b"_tuple"):
            return field()[1]
        return one(repeated)

    return tuple(column(*each) for each in children(next(elements)))


def last_fields(kind: Type) -> Iterator[int]:
    """Yields the ids of the last fields of structs that have several fields."""
    if isinstance(kind, Struct):
        if len(kind.columns) > 1:
            yield kind.columns[-1].id
        for each in kind.columns:
            yield from last_fields(each.type)
    elif isinstance(kind, Array):
        yield from last_fields(kind.element)
    elif isinstance(kind, Map):
        yield from last_fields(kind.value)


def operations(columns: Columns) -> dict[str, set[int]]:
    """Returns the ids of the columns that each operation drops."""
    nested = {number for column in columns for number in last_fields(column.type)}
    found = {
        "rename": set[int](),
        "drop first": {columns[0].id},
        "drop middle": {columns[3].id},
        "drop last": {columns[-1].id},
        "drop nested": nested,
        "purge": {columns[1].id, *nested},
    }
    return {name: dropped for name, dropped in found.items() if dropped or name == "rename"}


def by_pyarrow(file: Path) -> Rows:
    return pq.ParquetFile(file, page_checksum_verification=True).read().to_pylist()


def by_polars(file: Path) -> Rows:
    return polars.read_parquet(file).to_dicts()


def by_duckdb(file: Path) -> Rows:
    return duckdb.connect().sql(f"FROM read_parquet('{file}')").to_arrow_table().to_pylist()


def by_clickhouse(file: Path) -> Rows:
    rows = f"SELECT * FROM file('{file}', Parquet) SETTINGS max_threads = 1"
    return chdb.query(rows, "ArrowTable").to_pylist()


Reader = Callable[[Path], Rows]
READERS: tuple[Reader, ...] = (by_pyarrow, by_polars, by_duckdb, by_clickhouse)


def read(file: Path) -> dict[Reader, Rows]:
    """Returns the rows of a file by the first three readers that can read it."""
    found: dict[Reader, Rows] = {}
    for reader in READERS:
        if len(found) < 3:
            try:
                found[reader] = reader(file)
            except Exception as unable:  # each has errors of its own
                print(f"{reader.__name__} cannot read {file.name}: {str(unable)[:200]}")
    assert len(found) > 1, file
    return found


def copied(renamer: Renamer, source: Path, folder: Path) -> tuple[str | None, list[str]]:
    """Copies a file by each operation.

    Returns:
        Why the file is rewritten: one reason if all operations agree, else each reason after its
        operations; None if each operation copies. Then the lines that say what is wrong in copies.
    """
    try:
        parsed = ParquetFile.of(source)
    except AssertionError:  # the footer is encrypted, or signed by a key
        return renamer.look(source, plan((Column(1, "p_row", "row", pa.int64()),))).reason, []
    rows = read(source)
    found: list[str] = []
    reasons: dict[str, str | None] = {}
    for name, dropped in operations(columns_of(parsed, new="")).items():
        columns = columns_of(parsed, new="" if name == "purge" else "new ")
        kept = without(columns, lambda column: column.id in dropped)  # noqa: B023
        target = folder / name / source.name
        outcome = renamer.copy(source, target, plan(kept, keeps_ids=name == "purge"))
        reasons[name] = outcome.reason
        if outcome.way == "COPIED":
            lines = [*footer_wrong(parsed, ParquetFile.of(target), columns, kept)]
            for reader, before in rows.items():
                lines += values_wrong(reader, target, before, kept)
            found += [f"{source.name}, {name}: {line}" for line in lines]
    if len(set(reasons.values())) == 1:
        return reasons.popitem()[1], found
    ways = {
        reason: [name for name in reasons if reasons[name] == reason] for reason in reasons.values()
    }
    return "; ".join(f"{' and '.join(ways[each])}: {each}" for each in ways if each), found


def values_wrong(reader: Reader, copy: Path, before: Rows, kept: Columns) -> Iterator[str]:
    try:
        after = renamed(reader(copy), kept, new=True)
    except Exception as unable:  # of the reader, or rows of another type
        yield f"{reader.__name__} cannot read it: {unable!r}"[:300]
        return
    if in_utc(after) != in_utc(renamed(before, kept, new=False)):
        yield f"{reader.__name__} returns other values"


def in_utc(value: Any) -> str:
    """Returns rows as text, with times without their zone.

    An INT96 has no zone. pyarrow names one in an entry of the footer, which a copy omits.
    """

    def plain(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: plain(each) for key, each in value.items()}
        if isinstance(value, (list, tuple)):
            return [plain(each) for each in value]
        if isinstance(value, datetime) and value.tzinfo:
            return str(value.astimezone(timezone.utc).replace(tzinfo=None))
        return str(value) if isinstance(value, datetime) else value

    return repr(plain(value))


def footer_wrong(
    source: ParquetFile, copy: ParquetFile, columns: Columns, kept: Columns
) -> Iterator[str]:
    """Yields what is wrong with the bytes and the footer of a copy."""
    ids = {column.id for column in every(kept)}
    dropped = {column.name for column in every(columns) if column.id not in ids}
    new_names = {column.name: column.new_name for column in every(kept)}
    yield from differences(source, copy, new_names=new_names, dropped=dropped)
    is_purge = all(old == new for old, new in new_names.items())
    before = {problem.partition(": ")[2] for problem in problems(source)}
    for problem in problems(copy, whole=bool(dropped)):
        # Some writers write sums, indexes or offsets that are wrong, and the copy keeps them. For
        # example, Trino 411 names a dictionary as the first data page.
        if problem.partition(": ")[2] not in before and not (is_purge and "field ids" in problem):
            yield problem
    footer = copy.bytes()[len(copy.body) :]
    for name in sorted(dropped if is_purge else dropped | new_names.keys()):
        if name.encode() in footer:
            yield f"its footer contains the name {name}"
    if is_purge and [each.get(FIELD_ID) for _, each in copy.elements()] != [
        each.get(FIELD_ID) for path, each in source.elements() if dropped.isdisjoint(path)
    ]:
        yield "its field ids differ"
