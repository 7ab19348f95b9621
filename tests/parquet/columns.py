# SPDX-License-Identifier: Apache-2.0
"""Columns of any type with values, plans that rename and drop columns, and the expected rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from random import Random
from typing import Any, TypeAlias

import pyarrow as pa

Rows = list[dict[str, Any]]


@dataclass(frozen=True)
class Column:
    id: int
    name: str
    new_name: str
    type: Type


@dataclass(frozen=True)
class Struct:
    columns: tuple[Column, ...]


@dataclass(frozen=True)
class Array:
    element: Type


@dataclass(frozen=True)
class Map:
    key: Type
    value: Type


Type: TypeAlias = pa.DataType | Struct | Array | Map
Columns = tuple[Column, ...]

# Atomic types of Spark, except types that Delta or pyarrow does not support, like intervals.
LEAVES = [
    pa.string(),
    pa.int64(),
    pa.bool_(),
    pa.int8(),
    pa.int16(),
    pa.int32(),
    pa.float32(),
    pa.float64(),
    pa.binary(),
    pa.date32(),
    pa.timestamp("us", "UTC"),
    pa.timestamp("us"),
    pa.decimal128(9, 2),
    pa.decimal128(18, 4),
    pa.decimal128(38, 10),
]

# These columns are in each table for queries. Neither is dropped or null.
ROW = Column(1, "col-row", "row", pa.int64())
KEY = Column(2, "col-key", "key", pa.string())


def row_key(row: int) -> str:
    return f"key {row * 7919 % 100_000:05}"


def marker(column: int) -> str:
    """Returns the prefix of every string in a column. No other column contains the prefix."""
    return f"<{column * 7_654_321}>"


def random_columns(random: Random) -> Columns:
    """Returns columns of every type, and some types in structs, arrays and maps."""
    ids = iter(range(3, 1000))

    def column(kind: Type) -> Column:
        number = next(ids)
        name = f"col-{random.getrandbits(64):016x}"
        return Column(number, name, random.choice(["c", "Ä.", "lång "]).strip() + str(number), kind)

    def struct(*types: Type) -> Struct:
        return Struct(tuple(column(kind) for kind in types))

    def leaf() -> pa.DataType:
        return random.choice(LEAVES)

    nested = [
        struct(leaf(), pa.string(), leaf()),
        struct(pa.string(), struct(leaf(), pa.string(), Array(struct(pa.int32(), pa.string())))),
        Array(leaf()),
        Array(struct(pa.string(), leaf())),
        Array(Array(struct(leaf(), pa.string()))),
        Map(pa.string(), leaf()),
        Map(pa.int32(), struct(pa.string(), leaf(), Map(pa.string(), struct(leaf(), leaf())))),
    ]
    types = [*LEAVES, *nested]
    random.shuffle(types)
    return (ROW, KEY, *(column(kind) for kind in types))


def inside(kind: Type) -> Iterator[Column]:
    """Yields the columns of a type at every level."""
    if isinstance(kind, Struct):
        yield from every(kind.columns)
    elif isinstance(kind, Array):
        yield from inside(kind.element)
    elif isinstance(kind, Map):
        yield from inside(kind.key)
        yield from inside(kind.value)


def every(columns: Iterable[Column]) -> Iterator[Column]:
    for column in columns:
        yield column
        yield from inside(column.type)


def without(columns: Sequence[Column], dropped: Callable[[Column], bool]) -> Columns:
    """Returns the columns without the dropped ones, at every level.

    If all fields of a struct are dropped, its first field is kept.
    """

    def pruned(kind: Type) -> Type:
        if isinstance(kind, Struct):
            return Struct(without(kind.columns, dropped) or prune(kind.columns[:1]))
        if isinstance(kind, Array):
            return Array(pruned(kind.element))
        if isinstance(kind, Map):
            return Map(pruned(kind.key), pruned(kind.value))
        return kind

    def prune(some: Iterable[Column]) -> Columns:
        return tuple(
            Column(column.id, column.name, column.new_name, pruned(column.type)) for column in some
        )

    return prune(column for column in columns if column in (ROW, KEY) or not dropped(column))


def plan(
    columns: Columns,
    *,
    by_id: bool = False,
    keeps_ids: bool = False,
    kept: Sequence[str] = (),
    ignored: Sequence[str] = (),
) -> dict[str, Any]:
    """Returns a plan in the form of `spark_ext/removal/copy_plan.py`."""

    def entry(kind: Type) -> dict[str, Any] | None:
        if isinstance(kind, Struct):
            return {"struct": entries(kind.columns)}
        if isinstance(kind, Array):
            return {"array": entry(kind.element)}
        if isinstance(kind, Map):
            return {"map": [entry(kind.key), entry(kind.value)]}
        return None

    def entries(some: Columns) -> list[dict[str, Any]]:
        return [
            {
                "id": column.id,
                "name": column.name,
                "newName": column.new_name,
                "type": entry(column.type),
            }
            for column in some
        ]

    return {
        "byId": by_id,
        "keepsIds": keeps_ids,
        "kept": list(kept),
        "ignored": list(ignored),
        "columns": entries(columns),
    }


def arrow_schema(columns: Columns, *, new: bool = False, ids: bool = False) -> pa.Schema:
    def arrow(kind: Type) -> pa.DataType:
        if isinstance(kind, Struct):
            return pa.struct([field(column) for column in kind.columns])
        if isinstance(kind, Array):
            return pa.list_(arrow(kind.element))
        if isinstance(kind, Map):
            return pa.map_(arrow(kind.key), arrow(kind.value))
        return kind

    def field(column: Column) -> pa.Field:
        metadata = {b"PARQUET:field_id": str(column.id).encode()} if ids else None
        name = column.new_name if new else column.name
        return pa.field(name, arrow(column.type), metadata=metadata)

    return pa.schema([field(column) for column in columns])


def random_table(columns: Columns, rows: int, random: Random, *, ids: bool = False) -> pa.Table:
    def row(number: int) -> dict[str, Any]:
        values = {column.name: value(column.type, column.id) for column in columns}
        return {**values, ROW.name: number, KEY.name: row_key(number)}

    def value(kind: Type, column: int) -> Any:
        if random.random() < 0.15:
            return None
        if isinstance(kind, Struct):
            return {inner.name: value(inner.type, inner.id) for inner in kind.columns}
        if isinstance(kind, Array):
            return [value(kind.element, column) for _ in range(random.randrange(4))]
        if isinstance(kind, Map):
            keys = {leaf(kind.key, column) for _ in range(random.randrange(4))}
            return [(key, value(kind.value, column)) for key in sorted(keys)]
        return leaf(kind, column)

    def leaf(kind: pa.DataType, column: int) -> Any:
        # Writers encode few values in a dictionary, and many values without one.
        number = random.randrange(40 if column % 2 else 10**6)
        if pa.types.is_string(kind):
            return f"{marker(column)}{number}"
        if pa.types.is_binary(kind):
            return f"{marker(column)}{number}".encode()
        if pa.types.is_boolean(kind):
            return number % 2 == 0
        if pa.types.is_integer(kind):
            return number % 2 ** (kind.bit_width - 1)
        if pa.types.is_floating(kind):
            return number / 8
        if pa.types.is_decimal(kind):
            return Decimal(number).scaleb(-kind.scale)
        if pa.types.is_date(kind):
            return date(1970, 1, 1) + timedelta(days=number % 20_000)
        zone = timezone.utc if kind.tz else None
        return datetime(1970, 1, 1, tzinfo=zone) + timedelta(seconds=number, microseconds=number)

    return pa.Table.from_pylist(
        [row(number) for number in range(rows)], schema=arrow_schema(columns, ids=ids)
    )


def _entries(value: Any) -> list[tuple[Any, Any]]:
    """Returns the entries of a map of Spark, pyarrow or polars."""
    if isinstance(value, dict):
        return list(value.items())
    return [tuple(each.values()) if isinstance(each, dict) else each for each in value]


def values(rows: Rows, columns: Columns, *, new: bool) -> Rows:
    """Returns the rows of columns with their new names, ordered by ROW."""
    return sorted(renamed(rows, columns, new=new), key=lambda row: row[ROW.new_name])


def renamed(rows: Rows, columns: Columns, *, new: bool) -> Rows:
    """Returns the rows of columns with their new names.

    Args:
        rows: The rows, which may have other columns as well if `new` is false.
        columns: The columns.
        new: Whether the rows already have the new names.
    """

    def name(column: Column) -> str:
        return column.new_name if new else column.name

    def renamed_value(value: Any, kind: Type) -> Any:
        if value is None:
            return None
        if isinstance(kind, Struct):
            assert not new or set(value) == {column.new_name for column in kind.columns}
            return {
                column.new_name: renamed_value(value[name(column)], column.type)
                for column in kind.columns
            }
        if isinstance(kind, Array):
            return [renamed_value(element, kind.element) for element in value]
        if isinstance(kind, Map):
            return sorted(
                (
                    (renamed_value(key, kind.key), renamed_value(each, kind.value))
                    for key, each in _entries(value)
                ),
                key=lambda entry: str(entry[0]),
            )
        return value

    return [
        {column.new_name: renamed_value(row[name(column)], column.type) for column in columns}
        for row in rows
    ]
