# SPDX-License-Identifier: Apache-2.0
"""Reads `_delta_log` and Parquet footers from the files; shares no code with spark_ext."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pyarrow.parquet

FLAG = "delta.columnMapping.hasDroppedOrRenamed"
FEATURE = "columnMappingUsageTracking"
UUID_NAME = re.compile(r"col-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


@dataclass(frozen=True)
class Field:
    """One column at any level, as the schema in the log has it."""

    id: int | None
    physical_name: str | None
    type: Any
    metadata: dict[str, Any]


class TableLog:
    """The commits of a table, newest state by default, an older one with `at(version)`."""

    def __init__(self, path: Path, version: int | None = None) -> None:
        self.path = path
        files = sorted((path / "_delta_log").glob("*.json"))
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
        """The actions of one kind in the newest commit."""
        return [action[kind] for action in self.commits[-1] if kind in action]

    def _newest(self, kind: str) -> dict[str, Any]:
        for commit in reversed(self.commits):
            for action in commit:
                if kind in action:
                    return action[kind]
        raise AssertionError(f"no {kind} in {self.path}")

    @property
    def configuration(self) -> dict[str, str]:
        return self._newest("metaData")["configuration"]

    @property
    def flag(self) -> str | None:
        return self.configuration.get(FLAG)

    @property
    def max_column_id(self) -> int:
        return int(self.configuration["delta.columnMapping.maxColumnId"])

    @property
    def writer_features(self) -> set[str]:
        return set(self._newest("protocol").get("writerFeatures", []))

    @property
    def is_tracked(self) -> bool:
        return FEATURE in self.writer_features

    @property
    def operation(self) -> str:
        return self.actions("commitInfo")[0]["operation"]

    @property
    def fields(self) -> dict[str, Field]:
        """Every column at every level by its dotted logical path."""
        schema = json.loads(self._newest("metaData")["schemaString"])
        found: dict[str, Field] = {}
        _collect(schema, (), found)
        return found

    @property
    def physical_names(self) -> dict[str, str | None]:
        return {path: field.physical_name for path, field in self.fields.items()}

    @property
    def ids(self) -> dict[str, int | None]:
        return {path: field.id for path, field in self.fields.items()}

    def parquet_columns(self) -> list[str]:
        """The leaf paths in the footers of the files that the newest commit added."""
        columns: list[str] = []
        for add in self.actions("add"):
            schema = pyarrow.parquet.read_schema(self.path / unquote(add["path"]))
            columns += _leaves(schema)
        return sorted(set(columns))


def is_uuid_name(name: str | None) -> bool:
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


def _leaves(schema: pyarrow.Schema, prefix: str = "") -> list[str]:
    leaves: list[str] = []
    for field in schema:
        path = f"{prefix}{field.name}"
        if pyarrow.types.is_struct(field.type):
            leaves += _leaves(field.type.fields, f"{path}.")
        else:
            leaves.append(path)
    return leaves
