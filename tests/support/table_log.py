# SPDX-License-Identifier: Apache-2.0
"""Reads `_delta_log` and Parquet footers from the files; shares no code with spark_ext."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeGuard
from urllib.parse import unquote

import pyarrow.parquet

FLAG = "delta.columnMapping.hasDroppedOrRenamed"
FEATURE = "columnMappingUsageTracking"
USER_METADATA = "spark.databricks.delta.commitInfo.userMetadata"
LIKE = "CREATE TABLE LIKE"
"""The `userMetadata` that tests set for CREATE TABLE LIKE, which commits as CREATE TABLE does."""
UUID_NAME = re.compile(r"col-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
UUID = "col-<uuid>"


@dataclass(frozen=True)
class Field:
    """Contains a column at any level, as the schema in the log describes it."""

    id: int | None
    physical_name: str | None
    type: Any
    metadata: dict[str, Any]


class TableLog:
    """Reads the commits of a table up to the newest version, or with `at` up to an older one."""

    def __init__(self, path: Path, version: int | None = None) -> None:
        self.path = path
        # A checkpoint may be a JSON file too, with more than the version in its name.
        files = sorted((path / "_delta_log").glob("[0-9]" * 20 + ".json"))
        last = int(files[-1].stem) if files else -1
        self.version = last if version is None else version
        self.commits = [
            [json.loads(line) for line in file.read_text().splitlines()]
            for file in files
            if int(file.stem) <= self.version
        ]

    def at(self, version: int) -> TableLog:
        return TableLog(self.path, version)

    def actions(self, kind: str) -> list[dict[str, Any]]:
        """Returns the actions of one kind in the newest commit."""
        return [action[kind] for action in self.commits[-1] if kind in action]

    def _newest(self, kind: str) -> dict[str, Any]:
        for commit in reversed(self.commits):
            for action in commit:
                if kind in action:
                    return action[kind]
        raise AssertionError(f"no {kind} in {self.path}")

    @property
    def metadata(self) -> dict[str, Any]:
        return self._newest("metaData")

    @property
    def protocol(self) -> dict[str, Any]:
        return self._newest("protocol")

    @property
    def configuration(self) -> dict[str, str]:
        return self.metadata["configuration"]

    @property
    def flag(self) -> str | None:
        return self.configuration.get(FLAG)

    @property
    def max_column_id(self) -> int:
        return int(self.configuration["delta.columnMapping.maxColumnId"])

    @property
    def writer_features(self) -> set[str]:
        return set(self.protocol.get("writerFeatures", []))

    @property
    def is_tracked(self) -> bool:
        return FEATURE in self.writer_features

    @property
    def is_mapped(self) -> bool:
        return self.configuration.get("delta.columnMapping.mode", "none") != "none"

    @property
    def operation(self) -> str:
        return self.actions("commitInfo")[0]["operation"]

    @property
    def live_files(self) -> dict[str, int]:
        """Returns the size of each live data file by path, and asserts that actions fit."""
        live: dict[str, int] = {}
        for commit in self.commits:
            for action in commit:
                if "remove" in action:
                    del live[action["remove"]["path"]]
            for action in commit:
                if "add" in action:
                    assert action["add"]["path"] not in live
                    live[action["add"]["path"]] = action["add"]["size"]
        return live

    @property
    def fields(self) -> dict[str, Field]:
        """Returns every column at every level by its dotted logical path."""
        schema = json.loads(self.metadata["schemaString"])
        found: dict[str, Field] = {}
        _collect(schema, (), found)
        return found

    @property
    def physical_names(self) -> dict[str, str | None]:
        return {path: field.physical_name for path, field in self.fields.items()}

    @property
    def ids(self) -> dict[str, Any]:
        """Returns the id of every column, or None."""
        return {path: field.id for path, field in self.fields.items()}

    @property
    def columns(self) -> dict[str, tuple[int | None, str | None]]:
        """Returns the id and the physical name of every column, with `UUID` for a UUID."""
        return {
            path: (field.id, field.physical_name and UUID_NAME.sub(UUID, field.physical_name))
            for path, field in self.fields.items()
        }

    def written_columns(self, kind: str = "add") -> list[str]:
        """Returns `parquet_columns` without columns of row tracking, with `UUID` for a UUID."""
        columns = set(self.parquet_columns(kind)) - self.row_tracking_columns
        return sorted(UUID_NAME.sub(UUID, column) for column in columns)

    def parquet_columns(self, kind: str = "add") -> list[str]:
        """Returns the leaf paths in the footers of the newest commit's files (`add` or `cdc`)."""
        return sorted({leaf for schema in self._footers(kind) for leaf in _leaves(schema)})

    @property
    def row_tracking_columns(self) -> set[str]:
        """Returns the names of materialized row ids and row commit versions."""
        prefix = "delta.rowTracking.materialized"
        return {name for key, name in self.configuration.items() if key.startswith(prefix)}

    def parquet_field_ids(self) -> dict[str, int]:
        """Returns the field ids at every level in the footers of the newest commit's data files."""
        ids: dict[str, int] = {}
        for schema in self._footers("add"):
            ids |= _field_ids(schema)
        return ids

    def _footers(self, kind: str) -> list[pyarrow.Schema]:
        paths = [self.path / unquote(action["path"]) for action in self.actions(kind)]
        return [pyarrow.parquet.read_schema(path) for path in paths]

    def append_properties(self, changes: dict[str, str | None], *others: dict[str, Any]) -> None:
        """Commits changes of properties as another engine would. None removes a property."""
        changed = {**self.configuration, **changes}
        kept = {key: value for key, value in changed.items() if value is not None}
        self.append_foreign({"metaData": {**self.metadata, "configuration": kept}}, *others)

    def rename_operation(self, new: str, version: int | None = None) -> None:
        """Gives the newest or another commit another operation. Empty text removes its info."""
        file = self.path / "_delta_log" / f"{self.version if version is None else version:020}.json"
        commit = [json.loads(line) for line in file.read_text().splitlines()]
        (info,) = (action["commitInfo"] for action in commit if "commitInfo" in action)
        info["operation"] = new
        kept = commit if new else [action for action in commit if "commitInfo" not in action]
        file.write_text("".join(f"{json.dumps(action)}\n" for action in kept))
        file.with_name(f".{file.name}.crc").unlink(missing_ok=True)

    def append_foreign(self, *actions: dict[str, Any]) -> None:
        """Writes the next commit as another engine would, or the first commit of a new table."""
        file = self.path / "_delta_log" / f"{self.version + 1:020}.json"
        file.parent.mkdir(parents=True, exist_ok=True)
        commit = [{"commitInfo": {"timestamp": 0, "operation": "FOREIGN"}}, *actions]
        # A stream that runs must not read a part of the commit.
        written = file.with_name(f".{file.name}.tmp")
        written.write_text("".join(f"{json.dumps(action)}\n" for action in commit))
        written.replace(file)


def local(table: Path, path: str) -> Path:
    """Returns the local path of a file of the log, which may be outside of the table's folder."""
    return table / re.sub(r"^[a-z]+:((?=/[^/])|//(?=/))", "", unquote(path))


def is_uuid_name(name: str | None) -> TypeGuard[str]:
    return name is not None and UUID_NAME.fullmatch(name) is not None


def _collect(data_type: Any, prefix: tuple[str, ...], found: dict[str, Field]) -> None:
    if not isinstance(data_type, dict):
        return
    if data_type["type"] == "struct":
        for field in data_type["fields"]:
            path = (*prefix, field["name"])
            metadata = field["metadata"]
            found[".".join(path)] = Field(
                metadata.get("delta.columnMapping.id"),
                metadata.get("delta.columnMapping.physicalName"),
                field["type"],
                metadata,
            )
            _collect(field["type"], path, found)
    elif data_type["type"] == "array":
        _collect(data_type["elementType"], (*prefix, "element"), found)
    elif data_type["type"] == "map":
        _collect(data_type["keyType"], (*prefix, "key"), found)
        _collect(data_type["valueType"], (*prefix, "value"), found)


def _leaves(schema: pyarrow.Schema) -> list[str]:
    return [path for path, field in _walk(schema) if not _children(field.type)]


def _field_ids(schema: pyarrow.Schema) -> dict[str, int]:
    return {
        path: int(field.metadata[b"PARQUET:field_id"])
        for path, field in _walk(schema)
        if b"PARQUET:field_id" in (field.metadata or {})
    }


def _walk(schema: pyarrow.Schema) -> Iterator[tuple[str, pyarrow.Field]]:
    """Yields every field of a footer at every level, with its dotted path."""
    level = [(field.name, field) for field in schema]
    while level:
        yield from level
        level = [
            (f"{path}.{name}", child)
            for path, field in level
            for name, child in _children(field.type)
        ]


def _children(data_type: pyarrow.DataType) -> list[tuple[str, pyarrow.Field]]:
    if pyarrow.types.is_struct(data_type):
        return [(field.name, field) for field in data_type.fields]
    if pyarrow.types.is_list(data_type):
        return [("element", data_type.value_field)]
    if pyarrow.types.is_map(data_type):
        return [("key", data_type.key_field), ("value", data_type.item_field)]
    return []
