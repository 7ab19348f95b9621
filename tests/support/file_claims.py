# SPDX-License-Identifier: Apache-2.0
"""Checks the files of a table, their statistics and their partition values against its schema.

Each function returns claims: the name of a finding, and what was found.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from datetime import date, datetime
from decimal import Decimal
from functools import lru_cache
from pathlib import Path
from typing import Any

import pyarrow.parquet

from tests.support import vectors
from tests.support.table_files import COLUMN_ID, FIELD_ID, Action, rows, stored_name
from tests.support.table_log import local

Claim = tuple[str, str]

INTEGERS = ("int8", "int16", "int32", "int64")
TYPES = {
    "byte": (*INTEGERS[:2], "int32"),  # a file may be older than a widening of its column
    "short": INTEGERS[:3],
    "integer": INTEGERS[:3],
    "long": INTEGERS,
    "float": ("float",),
    "double": ("float", "double", *INTEGERS),
    "boolean": ("bool",),
    "string": ("string", "large_string"),
    "binary": ("binary", "large_binary"),
    "date": ("date32[day]",),
}
OF_WRITERS = {"__is_cdc", "_change_type"}
"""Columns of the change feed in data files."""
LARGEST = 1_000_000
MOST_FILES = 50
"""Bytes and files of a table up to which values are compared."""

_FOOTERS: dict[tuple[str, int, int], pyarrow.parquet.FileMetaData | None] = {}


def footer(file: Path) -> pyarrow.parquet.FileMetaData | None:
    """Returns the footer of a file; None if the file is missing or unreadable."""
    if not file.is_file():
        return None
    stat = file.stat()
    key = (file.name, stat.st_size, stat.st_mtime_ns)  # equal in a copy of the table
    if key not in _FOOTERS:
        if len(_FOOTERS) > 1000:
            _FOOTERS.clear()
        try:
            _FOOTERS[key] = pyarrow.parquet.read_metadata(file)
        except (pyarrow.ArrowException, OSError):
            _FOOTERS[key] = None
    return _FOOTERS[key]


@lru_cache(maxsize=64)
def _schema(text: str) -> Any:
    return json.loads(text)


def _fields(struct: Any) -> dict[str, Any]:
    return {stored_name(field): field for field in struct["fields"]}


def of_adds(
    table: Path, metadata: Action, adds: list[Action], new: list[Action]
) -> Iterator[Claim]:
    """Yields claims about the files that a commit adds; `new` contains those that it wrote."""
    schema = _schema(metadata["schemaString"])
    stored = {field["name"]: stored_name(field) for field in schema["fields"]}
    partitions = {stored.get(name, name) for name in metadata["partitionColumns"]}
    paths = Counter((add["path"], str(add.get("deletionVector"))) for add in adds)
    yield from (("path_twice", path) for (path, _), times in paths.items() if times > 1)
    for add in adds:
        if add["partitionValues"].keys() != partitions:
            yield "partition_values", f"{add['path']}: {add['partitionValues']} for {partitions}"
    for add in new:
        stats = json.loads(add.get("stats") or "{}")
        for kind in ("minValues", "maxValues", "nullCount"):
            for path in _unknown_names(stats.get(kind, {}), schema):
                yield "statistics_names", f"{kind} of {add['path']} has {path}"
        found = footer(local(table, add["path"]))
        if found is not None:
            for text in _wrong_statistics(stats, found):
                yield "statistics_values", f"{add['path']}: {text}"


def _unknown_names(values: Mapping[str, Any], struct: Any) -> Iterator[str]:
    fields = _fields(struct)
    for name, value in values.items():
        if name not in fields:
            yield name
        elif isinstance(value, dict) and isinstance(fields[name]["type"], dict):
            yield from (f"{name}.{each}" for each in _unknown_names(value, fields[name]["type"]))


def _wrong_statistics(stats: Action, found: pyarrow.parquet.FileMetaData) -> Iterator[str]:
    """Compares statistics in the log with those in the footer, for top-level columns."""
    if stats.get("numRecords", found.num_rows) != found.num_rows:
        yield f"numRecords is {stats['numRecords']}, not {found.num_rows}"
    groups = [found.row_group(number) for number in range(found.num_row_groups)]
    for number in range(found.num_columns):
        chunks = [group.column(number) for group in groups]
        every = [chunk.statistics for chunk in chunks]
        if (
            not every
            or any(each is None for each in every)
            or found.schema.column(number).max_repetition_level
        ):
            continue
        name = chunks[0].path_in_schema
        nulls = sum(each.null_count for each in every if each.has_null_count)
        seen = {"nullCount": nulls if all(each.has_null_count for each in every) else None}
        if all(each.has_min_max and isinstance(each.min, int) for each in every):
            seen["minValues"] = min(each.min for each in every)
            seen["maxValues"] = max(each.max for each in every)
        for kind, value in seen.items():
            stated = stats.get(kind, {}).get(name)
            if isinstance(stated, int) and value is not None and stated != value:
                yield f"{kind} of {name} is {stated}, not {value}"


def of_files(table: Path, metadata: Action, actions: Iterable[Action]) -> Iterator[Claim]:
    """Yields claims about the columns in the footers of files."""
    properties = metadata["configuration"]
    mode = properties.get("delta.columnMapping.mode", "none").lower()
    rows = {
        value for key, value in properties.items() if key.startswith("delta.rowTracking.material")
    }
    schema = _schema(metadata["schemaString"])
    for action in actions:
        found = footer(local(table, action["path"]))
        if found is not None:
            columns = [
                column
                for column in found.schema.to_arrow_schema()
                if column.name not in rows | OF_WRITERS
            ]
            for check, text in _of_columns(columns, schema, mode):
                yield check, f"{action['path']}: {text}"


def _of_columns(columns: Iterable[pyarrow.Field], struct: Any, mode: str) -> Iterator[Claim]:
    fields = _fields(struct)
    by_id = {str(field["metadata"].get(COLUMN_ID)): field for field in struct["fields"]}
    for column in columns:
        id = (column.metadata or {}).get(FIELD_ID, b"").decode()
        field = by_id.get(id) if mode == "id" else fields.get(column.name)
        if field is None:
            yield "file_columns", f"{column.name} (field id {id or 'none'}) is not in the schema"
            continue
        expected = str(field["metadata"][COLUMN_ID]) if COLUMN_ID in field["metadata"] else ""
        if id not in ("", expected):
            yield "field_ids", f"{column.name} has the field id {id}, not {expected or 'none'}"
        yield from _of_type(column.type, field["type"], mode, column.name)


def _of_type(found: pyarrow.DataType, kind: Any, mode: str, name: str) -> Iterator[Claim]:
    if isinstance(kind, str):
        if str(found) not in TYPES.get(kind, (str(found),)):
            yield "file_types", f"{name} is {found}, not {kind}"
    elif pyarrow.types.is_struct(found) and kind["type"] == "struct":
        inner = _of_columns(found.fields, kind, mode)
        yield from ((check, f"in {name}: {text}") for check, text in inner)
    elif pyarrow.types.is_list(found) and kind["type"] == "array":
        yield from _of_type(found.value_type, kind["elementType"], mode, name)
    elif pyarrow.types.is_map(found) and kind["type"] == "map":
        yield from _of_type(found.key_type, kind["keyType"], mode, name)
        yield from _of_type(found.item_type, kind["valueType"], mode, name)
    elif kind["type"] in ("struct", "array", "map"):
        yield "file_types", f"{name} is {found}, not {kind['type']}"


Version = tuple[Action, Iterable[Action]]
"""The `metaData` of a version, and the `add` of each live file."""


def of_values(table: Path, old: Version, new: Version) -> Iterator[Claim]:
    """Yields a claim if the rows of two versions differ. Large tables are not compared."""
    counts = []
    for metadata, adds in (old, new):
        adds = list(adds)
        files = [local(table, add["path"]) for add in adds]
        if sum(add["size"] for add in adds) > LARGEST or len(adds) > MOST_FILES:
            return
        broken = (vectors.problem(table, add.get("deletionVector")) for add in adds)
        # VACUUM may have deleted a file.
        if any(footer(file) is None for file in files) or any(broken):
            return
        counts.append(Counter(map(_plain, rows(table, metadata, adds))))
    if counts[0] != counts[1]:
        yield (
            "values_changed",
            f"{list((counts[0] - counts[1]).items())[:3]} became"
            f" {list((counts[1] - counts[0]).items())[:3]}",
        )


def _plain(value: Any) -> Any:
    """Returns a hashable value, alike for all types to which a column can be widened."""
    if isinstance(value, dict):
        pairs = ((name, _plain(each)) for name, each in value.items() if each is not None)
        return tuple(sorted(pairs, key=lambda pair: repr(pair[0])))
    if isinstance(value, list):
        return tuple(map(_plain, value))
    if isinstance(value, datetime):
        return value.replace(tzinfo=None)
    if isinstance(value, date):
        return datetime(value.year, value.month, value.day)
    if isinstance(value, float | Decimal) and value != value:
        return "NaN"
    return value
