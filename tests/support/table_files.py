# SPDX-License-Identifier: Apache-2.0
"""Reads the live files of a table by json and pyarrow; shares no code with spark_ext."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow.parquet

from tests.support.table_log import TableLog, local
from tests.support.vectors import deleted_rows

Action = dict[str, Any]
Row = dict[str, Any]

PHYSICAL_NAME = "delta.columnMapping.physicalName"
COLUMN_ID = "delta.columnMapping.id"
FIELD_ID = b"PARQUET:field_id"
WHOLE_NUMBERS = ("byte", "short", "integer", "long")


def live(log: TableLog) -> dict[str, Action]:
    """Returns the newest `add` of each live file."""
    found: dict[str, Action] = {}
    for commit in log.commits:
        apply(found, commit)
    return found


def apply(live: dict[str, Action], commit: Iterable[Action]) -> None:
    """Applies the actions of a commit. A path that is removed and added remains."""
    for action in commit:
        if "remove" in action:
            live.pop(action["remove"]["path"].removeprefix("./"), None)
    live |= {action["add"]["path"]: action["add"] for action in commit if "add" in action}


def rows_in_files(log: TableLog) -> list[Row]:
    """Returns the rows in order by logical names, without nulls and without deleted rows."""
    return in_order(rows(log.path, log.metadata, live(log).values()))


def rows(table: Path, metadata: Mapping[str, Any], adds: Iterable[Action]) -> Iterator[Row]:
    """Yields the rows of some files by logical names, without nulls and without deleted rows."""
    schema = json.loads(metadata["schemaString"])
    is_by_id = metadata["configuration"].get("delta.columnMapping.mode", "").lower() == "id"
    kinds = {stored_name(field): field["type"] for field in schema["fields"]}
    for add in adds:
        vector = add.get("deletionVector")
        deleted = deleted_rows(table, vector) if vector else set()
        values = {
            name: int(value) if value and kinds.get(name) in WHOLE_NUMBERS else value
            for name, value in add["partitionValues"].items()
        }
        for number, row in enumerate(_read(local(table, add["path"]), schema, is_by_id=is_by_id)):
            if number not in deleted:
                yield _by_logical_names(schema, row | values)


def _read(file: Path, schema: Any, *, is_by_id: bool) -> list[Row]:
    # `read_table` would read `column=value` in the path as a column, so this uses a ParquetFile.
    with pyarrow.parquet.ParquetFile(file, coerce_int96_timestamp_unit="us") as source:
        found = source.read()
    if is_by_id:
        names = {
            str(field["metadata"][COLUMN_ID]): stored_name(field) for field in schema["fields"]
        }
        ids = [(field.metadata or {}).get(FIELD_ID, b"").decode() for field in found.schema]
        found = found.rename_columns([names.get(id, f"id {id}") for id in ids])
    return found.to_pylist()


def stored_name(field: Mapping[str, Any]) -> str:
    """Returns the name of a column in files."""
    return field["metadata"].get(PHYSICAL_NAME, field["name"])


def _by_logical_names(struct: Any, row: Row) -> Row:
    found = {}
    for field in struct["fields"]:
        value = row.get(stored_name(field))
        if value is not None:
            found[field["name"]] = _value(field["type"], value)
    return found


def _value(kind: Any, value: Any) -> Any:
    if not isinstance(kind, dict) or value is None:
        return value
    if kind["type"] == "array":
        return [_value(kind["elementType"], each) for each in value]
    if kind["type"] == "map":
        return {
            _hashable(_value(kind["keyType"], key)): _value(kind["valueType"], each)
            for key, each in value
        }
    return _by_logical_names(kind, value) if kind["type"] == "struct" else value


def _hashable(key: Any) -> Any:
    return repr(key) if isinstance(key, (dict, list)) else key


def rows_in_table(rows: Iterable[Any]) -> list[Row]:
    """Returns collected rows in the form of `rows_in_files`, for tables without nested columns."""
    named = (row.asDict() for row in rows)
    return in_order({key: row[key] for key in row if row[key] is not None} for row in named)


def in_order(rows: Iterable[Row]) -> list[Row]:
    return sorted(rows, key=lambda row: repr(sorted(row.items(), key=repr)))
