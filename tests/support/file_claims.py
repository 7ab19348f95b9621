# SPDX-License-Identifier: Apache-2.0
"""Checks the files of a table, their statistics and their partition values against its schema.

Each function `of_..` yields claims: the name of a finding, and what was found.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import date, datetime
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow.parquet

from tests.support import vectors
from tests.support.statistics_claims import (
    STATISTICS,
    Version,
    fields_of,
    parsed,
    unknown_names,
    wrong_statistics,
)
from tests.support.table_files import COLUMN_ID, FIELD_ID, Action, rows, stored_name
from tests.support.table_log import local

Claim = tuple[str, str]

INTEGERS = ("int8", "int16", "int32", "int64")
# The Arrow types of a column in files. Files that are older than a widening have narrower types.
TYPES = {
    "byte": (*INTEGERS[:2], "int32"),
    "short": INTEGERS[:3],
    "integer": INTEGERS[:3],
    "long": INTEGERS,
    "float": ("float",),
    "double": ("float", "double", *INTEGERS),
    "boolean": ("bool",),
    "string": ("string", "large_string"),
    "binary": ("binary", "large_binary"),
    "date": ("date32[day]",),
    "void": (),
}
DECIMAL = re.compile(r"decimal\((\d+),(-?\d+)\)")
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


def of_adds(
    table: Path, metadata: Action, adds: list[Action], new: list[Action]
) -> Iterator[Claim]:
    """Yields claims about the files that a commit adds; `new` contains those that it wrote."""
    schema = parsed(metadata["schemaString"])
    stored = {field["name"]: stored_name(field) for field in schema["fields"]}
    partitions = {stored.get(name, name) for name in metadata["partitionColumns"]}
    paths = Counter((add["path"], str(add.get("deletionVector"))) for add in adds)
    yield from (("path_twice", path) for (path, _), times in paths.items() if times > 1)
    for add in adds:
        if add["partitionValues"].keys() != partitions:
            yield "partition_values", f"{add['path']}: {add['partitionValues']} for {partitions}"
    for add in new:
        stats = json.loads(add.get("stats") or "{}")
        for kind in STATISTICS:
            for path in unknown_names(stats.get(kind, {}), schema):
                yield "statistics_names", f"{kind} of {add['path']} has {path}"
        found = footer(local(table, add["path"]))
        if found is not None:
            for text in wrong_statistics(stats, found):
                yield "statistics_values", f"{add['path']}: {text}"


def of_clustering(metadata: Action, columns: Iterable[list[str]]) -> Iterator[Claim]:
    """Yields a claim for each clustering column that the schema lacks."""
    for path in columns:
        kind: Any = parsed(metadata["schemaString"])
        for name in path:
            field = fields_of(kind).get(name) if isinstance(kind, dict) else None
            kind = field and field["type"]
        if kind is None:
            yield "clustering_columns", f"{path} is no physical path"


def of_files(
    table: Path, metadata: Action, actions: Iterable[Action], *, need_ids: bool = False
) -> Iterator[Claim]:
    """Yields claims about the columns in the footers of files."""
    properties = metadata["configuration"]
    mode = properties.get("delta.columnMapping.mode", "none").lower()
    rows = {
        value for key, value in properties.items() if key.startswith("delta.rowTracking.material")
    }
    schema = parsed(metadata["schemaString"])
    for action in actions:
        found = footer(local(table, action["path"]))
        if found is not None:
            columns = [
                column
                for column in found.schema.to_arrow_schema()
                if column.name not in rows | OF_WRITERS
            ]
            for check, text in _of_columns(columns, schema, mode, need_ids=need_ids):
                yield check, f"{action['path']}: {text}"


def _of_columns(
    columns: Iterable[pyarrow.Field], struct: Any, mode: str, *, need_ids: bool
) -> Iterator[Claim]:
    fields = fields_of(struct)
    by_id = {str(field["metadata"].get(COLUMN_ID)): field for field in struct["fields"]}
    for column in columns:
        id = (column.metadata or {}).get(FIELD_ID, b"").decode()
        field = by_id.get(id) if mode == "id" else fields.get(column.name)
        if field is None:
            yield "file_columns", f"{column.name} (field id {id or 'none'}) is not in the schema"
            continue
        expected = str(field["metadata"][COLUMN_ID]) if COLUMN_ID in field["metadata"] else ""
        if id != expected and (id or need_ids):
            yield (
                "field_ids",
                f"{column.name} has the field id {id or 'none'}, not {expected or 'none'}",
            )
        inner = _of_type(column.type, field["type"], mode, need_ids=need_ids)
        yield from ((check, f"{column.name}: {text}") for check, text in inner)


def _of_type(found: pyarrow.DataType, kind: Any, mode: str, *, need_ids: bool) -> Iterator[Claim]:
    of_type = partial(_of_type, mode=mode, need_ids=need_ids)
    if isinstance(kind, str):
        if not _is_of_type(found, kind):
            yield "file_types", f"it is {found}, not {kind}"
    elif pyarrow.types.is_struct(found) and kind["type"] == "struct":
        yield from _of_columns(found.fields, kind, mode, need_ids=need_ids)
    elif pyarrow.types.is_list(found) and kind["type"] == "array":
        yield from of_type(found.value_type, kind["elementType"])
    elif pyarrow.types.is_map(found) and kind["type"] == "map":
        yield from of_type(found.key_type, kind["keyType"])
        yield from of_type(found.item_type, kind["valueType"])
    elif kind["type"] in ("struct", "array", "map"):
        yield "file_types", f"it is {found}, not {kind['type']}"


def _is_of_type(found: pyarrow.DataType, kind: str) -> bool:
    """Returns whether a file may have the type `found` for a column of primitive type `kind`."""
    if decimal := DECIMAL.fullmatch(kind):
        precision, scale = map(int, decimal.groups())
        return str(found) in INTEGERS or (
            pyarrow.types.is_decimal(found)
            and found.scale <= scale
            and found.precision - found.scale <= precision - scale
        )
    if kind == "variant":
        return pyarrow.types.is_struct(found) or hasattr(found, "storage_type")
    if kind.startswith("timestamp"):
        is_widened = kind == "timestamp_ntz" and str(found) in TYPES["date"]
        return is_widened or pyarrow.types.is_timestamp(found)
    return str(found) in TYPES.get(kind, (str(found),))


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
