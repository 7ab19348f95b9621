# SPDX-License-Identifier: Apache-2.0
"""The golden tables of docs/golden, and what a table on the disk is in the words of their JSON.

Reads files only, shares nothing with spark_ext.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pyarrow.parquet

from tests.support.table_log import UUID, UUID_NAME, TableLog

Json = dict[str, Any]

GOLDEN = Path(__file__).parents[2] / "docs" / "golden"
STATES = {file.stem: json.loads(file.read_text()) for file in sorted(GOLDEN.glob("*.json"))}
# Placeholder for the folder in logs of clones, which contain paths of another table's files.
HOME = "/golden/"
PROPERTIES = ("mode", "hasDroppedOrRenamed", "maxColumnId")


def placed(folder: Path, tables: Path = GOLDEN) -> Path:
    """Copies the tables into a folder that is to be, where their logs find their files."""
    shutil.copytree(tables, folder)
    rewrite_paths(folder, HOME, f"{folder}/")
    return folder


def rewrite_paths(folder: Path, old: str, new: str) -> None:
    for commit in folder.glob("*/_delta_log/*.json"):
        commit.write_text(commit.read_text().replace(old, new))


def seen(path: Path) -> Json:
    """Returns the newest version and its rows in the form of `reads` and `then`."""
    log = TableLog(path)
    protocol = {key: log.protocol[key] for key in ("minReaderVersion", "minWriterVersion")}
    mapping = {name: log.configuration.get(f"delta.columnMapping.{name}") for name in PROPERTIES}
    return {
        "protocol": {**protocol, "writerFeatures": sorted(log.writer_features)},
        "properties": {**mapping, "mode": mapping["mode"] or "none"},
        "columns": [
            {
                "name": name,
                "type": field.type if isinstance(field.type, str) else field.type["type"],
                "id": field.id,
                "physicalName": field.physical_name and masked(field.physical_name),
            }
            for name, field in log.fields.items()
        ],
        "rows": rows_in_files(log),
    }


def masked(text: str) -> str:
    """The text with `UUID` for each name that is made of one."""
    return UUID_NAME.sub(UUID, text)


def rows_in_files(log: TableLog) -> list[Json]:
    """The rows by the columns' names, without nulls, in the order of their `id`."""
    schema = json.loads(log.metadata["schemaString"])
    added = [action["add"] for commit in log.commits for action in commit if "add" in action]
    partitions = {add["path"]: add["partitionValues"] for add in added}
    found = [
        _by_logical_names(schema, {**row, **partitions[file]})
        for file in log.live_files
        for row in _file(log, file).to_pylist()
    ]
    return sorted(found, key=lambda row: row["id"])


def _file(log: TableLog, file: str) -> pyarrow.Table:
    """A file of the table, in which columns have their physical names."""
    read = pyarrow.parquet.ParquetFile(local(log.path, file)).read()
    if log.configuration.get("delta.columnMapping.mode") != "id":
        return read
    names = {str(field.id): field.physical_name for field in log.fields.values()}
    ids = [field.metadata[b"PARQUET:field_id"].decode() for field in read.schema]
    return read.rename_columns([names.get(id, id) for id in ids])


def local(table: Path, file: str) -> Path:
    """Returns the local path of a file of the log, whose path is relative or a URL."""
    return table / unquote(urlsplit(file).path)


def _by_logical_names(struct: Json, row: Json) -> Json:
    found = {}
    for field in struct["fields"]:
        value = row.get(field["metadata"].get("delta.columnMapping.physicalName", field["name"]))
        if value is not None:
            found[field["name"]] = _value(field["type"], value)
    return found


def _value(data_type: Any, value: Any) -> Any:
    if not isinstance(data_type, dict):
        return value
    if data_type["type"] == "array":
        return [_value(data_type["elementType"], each) for each in value]
    if data_type["type"] == "map":
        return {key: _value(data_type["valueType"], each) for key, each in value}
    return _by_logical_names(data_type, value)


def without_nulls(value: Any) -> Any:
    """A value as the JSON has it: without what is null in it, and null where nothing else is."""
    if isinstance(value, dict):
        found = {name: without_nulls(child) for name, child in value.items()}
        return {name: child for name, child in found.items() if child is not None} or None
    if isinstance(value, list):
        return [without_nulls(child) for child in value] or None
    return value
