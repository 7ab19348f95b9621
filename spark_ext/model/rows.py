# SPDX-License-Identifier: Apache-2.0
"""Converts dataclasses to rows: columns as DDL, values as JSON; and Spark's rows to dataclasses.

A column has the name of its field in camel case, as Delta's own columns.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime, timezone
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar, get_args, get_origin, get_type_hints

from spark_ext.errors import MalformedMessageError

if TYPE_CHECKING:
    from _typeshed import DataclassInstance
    from pyspark.sql import Row

_T = TypeVar("_T")
_SQL_TYPES = {
    "str": "STRING",
    "int": "BIGINT",
    "float": "DOUBLE",
    "bool": "BOOLEAN",
    "datetime": "TIMESTAMP",
}


def as_row(value: DataclassInstance) -> dict[str, Any]:
    """Returns a dataclass as an object of its columns; inner dataclasses remain."""
    return _writer(type(value))(value)


def in_utc(time: datetime) -> str:
    """Returns a time as text in UTC; a time without a zone is in the time zone of this process."""
    return time.astimezone(timezone.utc).isoformat(timespec="seconds")


def plain(value: Any, of_time: Callable[[datetime], Any] = in_utc) -> Any:
    """Returns a value of objects and lists only, with dataclasses as objects of their columns.

    Example:
        >>> from spark_ext.model.metadata import FileCount
        >>> plain({"files": (FileCount(1, 10),), "at": datetime(2026, 1, 1, tzinfo=timezone.utc)})
        {'files': [{'numFiles': 1, 'sizeInBytes': 10}], 'at': '2026-01-01T00:00:00+00:00'}
    """
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        value = as_row(value)
    if isinstance(value, Mapping):
        return {key: plain(inner, of_time) for key, inner in value.items()}
    if isinstance(value, (tuple, list)):
        return [plain(inner, of_time) for inner in value]
    return of_time(value) if isinstance(value, datetime) else value


def json_lines(objects: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """Yields a line of JSON for each object, with dataclasses as objects of their columns."""
    return (f"{json.dumps(each, default=as_row)}\n" for each in objects)


@cache
def ddl(row: type) -> str:
    """Returns the columns of a dataclass as DDL."""
    return ", ".join(f"`{column}` {_sql_type(hint)}" for column, hint in _hints(row))


def of_row(made: type[_T], row: Row) -> _T:
    """Returns the dataclass of one of Spark's rows; raises if a jar lacks a column."""
    try:
        return _read(made, row)
    except ValueError as lacking:  # a Row raises it for a missing column
        raise MalformedMessageError(path="answer", problem=f"has no column {lacking}") from lacking


def in_camel_case(name: str) -> str:
    """Returns the name of a field outside of Python.

    Example:
        >>> in_camel_case("size_in_bytes")
        'sizeInBytes'
    """
    first, *others = name.split("_")
    return first + "".join(map(str.capitalize, others))


@cache
def _writer(row: type) -> Callable[[Any], dict[str, Any]]:
    # Generated code reads one attribute for each column: tables have thousands of rows.
    names = [field.name for field in dataclasses.fields(row)]
    items = ", ".join(f"{in_camel_case(name)!r}: row.{name}" for name in names)
    writer: Callable[[Any], dict[str, Any]] = eval(f"lambda row: {{{items}}}")
    return writer


def _hints(row: type) -> list[tuple[str, Any]]:
    # Called late, because it evaluates the annotations of a class, which are texts.
    hints = get_type_hints(row)
    names = [field.name for field in dataclasses.fields(row)]
    parts = {name: get_args(hints[name]) for name in names}
    return [
        (in_camel_case(name), of[0] if type(None) in of else hints[name])  # `X | None` is X
        for name, of in parts.items()
    ]


def _sql_type(hint: Any) -> str:
    if get_origin(hint) is tuple:
        return f"ARRAY<{_sql_type(get_args(hint)[0])}>"
    if isinstance(hint, type) and dataclasses.is_dataclass(hint):
        inner = (f"`{column}`: {_sql_type(of)}" for column, of in _hints(hint))
        return f"STRUCT<{', '.join(inner)}>"
    return _SQL_TYPES[hint.__name__]


def _read(made: Callable[..., _T], row: Row) -> _T:
    return made(*(read(row[column]) for column, read in _readers(made)))


@cache
def _readers(made: Any) -> tuple[tuple[str, Callable[[Any], Any]], ...]:
    return tuple((column, _reader(hint)) for column, hint in _hints(made))


def _reader(hint: Any) -> Callable[[Any], Any]:
    if get_origin(hint) is tuple:
        inner = _reader(get_args(hint)[0])
        return lambda values: None if values is None else tuple(map(inner, values))
    if isinstance(hint, type) and dataclasses.is_dataclass(hint):
        return lambda row: None if row is None else _read(hint, row)
    return lambda value: value
