# SPDX-License-Identifier: Apache-2.0
"""Copies a file of any writer in each way, and compares the copies with the file.

The columns of a plan are those of the file, found by the rules of Parquet's LogicalTypes.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
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
)
from tests.parquet.kept import differences
from tests.parquet.renamer import Renamer
from tests.support import compact_thrift
from tests.support.parquet_file import FIELD_ID, NAME, NUM_CHILDREN, ParquetFile, problems

REPETITION, CONVERTED, LOGICAL, REPEATED = 3, 6, 10, 2
CONVERTED_LIST, CONVERTED_MAPS, LOGICAL_LIST, LOGICAL_MAP, VARIANT = 3, (1, 2), 3, 2, 16
Element = compact_thrift.Struct
Operation = Callable[[Columns], Columns | None]


def columns_of(file: ParquetFile) -> Columns:
    """Returns the columns of a file, with new names that occur nowhere in it."""
    elements = iter(file.schema)
    ids = count(1)

    def column(element: Element, kind: Type) -> Column:
        name = element[NAME].decode()
        return Column(next(ids), name, f"new {name[2:]}", kind)

    def children(element: Element) -> list[tuple[Element, Type]]:
        return [field() for _ in range(element[NUM_CHILDREN])]

    def field() -> tuple[Element, Type]:
        element = next(elements)
        bare = element.get(REPETITION) == REPEATED
        kind = one(element)
        return element, Array(kind) if bare else kind

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
        alone = repeated.get(NUM_CHILDREN) == 1
        names = (b"array", element[NAME] + b"_tuple")
        if alone and repeated[NAME] not in names:
            return field()[1]
        return one(repeated)

    return tuple(column(*each) for each in children(next(elements)))


def without(number: int) -> Operation:
    """Drops a column, given by its number among the columns of the table."""
    return lambda columns: tuple(each for each in columns if each != columns[number])


def without_nested(columns: Columns) -> Columns | None:
    """Drops the last field of the structs that have several fields; None without such a struct."""
    struct = False

    def fewer(kind: Type) -> Type:
        nonlocal struct
        if isinstance(kind, Struct):
            struct = struct or len(kind.columns) > 1
            kept = kind.columns[:-1] or kind.columns
            return Struct(tuple(replace(each, type=fewer(each.type)) for each in kept))
        if isinstance(kind, Array):
            return Array(fewer(kind.element))
        if isinstance(kind, Map):
            return Map(kind.key, fewer(kind.value))
        return kind

    found = tuple(replace(each, type=fewer(each.type)) for each in columns)
    return found if struct else None


def purged(columns: Columns) -> Columns | None:
    """Drops a column at each level. The others keep their names."""

    def same(kind: Type) -> Type:
        if isinstance(kind, Struct):
            return Struct(with_names(kind.columns))
        if isinstance(kind, Array):
            return Array(same(kind.element))
        if isinstance(kind, Map):
            return Map(same(kind.key), same(kind.value))
        return kind

    def with_names(some: Columns) -> Columns:
        return tuple(replace(each, new_name=each.name, type=same(each.type)) for each in some)

    return with_names(without(1)(without_nested(columns) or columns) or ())


MIDDLE = 3
OPERATIONS: dict[str, Operation] = {
    "rename": lambda columns: columns,
    "drop first": without(0),
    "drop middle": without(MIDDLE),
    "drop last": without(-1),
    "drop nested": without_nested,
    "purge": purged,
}


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
ENOUGH = 3
READ_BY_TWO = {"geometry", "variant and half"}  # only pyarrow and DuckDB know these types


def read(file: Path) -> dict[Reader, Rows]:
    """Returns the rows of a file by the first three readers that can read it."""
    found: dict[Reader, Rows] = {}
    for reader in READERS:
        if len(found) < ENOUGH:
            try:
                found[reader] = reader(file)
            except Exception as unable:  # each has errors of its own
                print(f"{reader.__name__} cannot read {file.name}: {str(unable)[:200]}")
    return found


def wrongs(renamer: Renamer, source: Path, folder: Path) -> tuple[str | None, list[str]]:
    """Copies a file by each operation.

    Returns:
        Why the file is rewritten: one reason if all operations agree, else each reason after its
        operations; None if each operation copies. Then the lines that say what is wrong in copies.
    """
    parsed = ParquetFile.of(source) if renamer_reads(source) else None
    if parsed is None:
        return renamer.look(source, plan(ENCRYPTED)).reason, []
    columns = columns_of(parsed)
    rows = read(source)
    found = []
    if len(rows) != (2 if source.stem in READ_BY_TWO else ENOUGH):
        found.append(f"{source.name}: {len(rows)} readers read it")
    reasons: dict[str, str | None] = {}
    for name, operation in OPERATIONS.items():
        staying = operation(columns)
        if staying is None:
            continue
        target = folder / name / source.name
        outcome = renamer.copy(source, target, plan(staying, keeps_ids=name == "purge"))
        reasons[name] = outcome.reason
        if outcome.way == "COPIED":
            where = f"{source.name}, {name}"
            changed = compared(parsed, ParquetFile.of(target), columns, staying)
            found += [f"{where}: {line}" for line in changed]
            for reader, before in rows.items():
                found += [
                    f"{where}: {reader.__name__} {wrong}"
                    for wrong in values_wrong(reader, target, before, staying)
                ]
    if len(set(reasons.values())) == 1:
        return reasons.popitem()[1], found
    ways = {
        reason: [name for name in reasons if reasons[name] == reason] for reason in reasons.values()
    }
    return "; ".join(f"{' and '.join(ways[each])}: {each}" for each in ways if each), found


def values_wrong(reader: Reader, copy: Path, before: Rows, staying: Columns) -> Iterator[str]:
    try:
        after = renamed(reader(copy), staying, new=True)
    except Exception as unable:  # of the reader, or rows of another type
        yield f"cannot read it: {unable!r}"[:300]
        return
    if in_utc(after) != in_utc(renamed(before, staying, new=False)):
        yield "returns other values"


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


def compared(
    source: ParquetFile, copy: ParquetFile, columns: Columns, staying: Columns
) -> Iterator[str]:
    """Returns what is wrong with the bytes and the footer of a copy."""
    ids = {column.id for column in every(staying)}
    dropped = {column.name for column in every(columns) if column.id not in ids}
    new_names = {column.name: column.new_name for column in every(staying)}
    yield from differences(source, copy, new_names=new_names, dropped=dropped)
    purge = all(old == new for old, new in new_names.items())
    before = {problem.partition(": ")[2] for problem in problems(source)}
    for problem in problems(copy, whole=bool(dropped)):
        # Some writers write sums, indexes or offsets that are wrong, and the copy keeps them. For
        # example, Trino 411 names a dictionary as the first data page.
        if problem.partition(": ")[2] not in before and not (purge and "field ids" in problem):
            yield problem
    footer = copy.bytes()[len(copy.body) :]
    for name in sorted(dropped if purge else dropped | new_names.keys()):
        if name.encode() in footer:
            yield f"its footer contains the name {name}"
    if purge and [each.get(FIELD_ID) for _, each in copy.elements()] != [
        each.get(FIELD_ID) for path, each in source.elements() if dropped.isdisjoint(path)
    ]:
        yield "its field ids differ"


ENCRYPTED = (Column(1, "p_row", "row", pa.int64()),)


def renamer_reads(source: Path) -> bool:
    """Returns whether the footer is plain, and not signed by a key."""
    data = source.read_bytes()
    try:
        ParquetFile.of(data)
    except AssertionError:
        return False
    return True
