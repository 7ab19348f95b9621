# SPDX-License-Identifier: Apache-2.0
"""Reads `_delta_log` and Parquet footers from the files; shares no code with spark_ext."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
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
FieldPath = tuple[str, ...]
FooterField = tuple[FieldPath, pyarrow.Field, bool]
"""A path, a field of a footer, and whether the field is a leaf."""


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
        return dict(_fields(json.loads(self.metadata["schemaString"])))

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
        footers = self._footers(kind)
        return sorted({".".join(path) for each in footers for path, _, leaf in walk(each) if leaf})

    @property
    def row_tracking_columns(self) -> set[str]:
        """Returns the names of materialized row ids and row commit versions."""
        prefix = "delta.rowTracking.materialized"
        return {name for key, name in self.configuration.items() if key.startswith(prefix)}

    def parquet_field_ids(self) -> dict[str, int]:
        """Returns the field ids at every level in the footers of the newest commit's data files."""
        found = chain.from_iterable(map(walk, self._footers("add")))
        ids = {".".join(path): field_id(field) for path, field, _ in found}
        return {path: id for path, id in ids.items() if id is not None}

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


def _fields(kind: Any, path: FieldPath = ()) -> Iterator[tuple[str, Field]]:
    """Yields the columns of a type at every level by their dotted paths, parents first."""
    if not isinstance(kind, dict):
        return
    for field in kind.get("fields", ()):
        own, metadata = (*path, field["name"]), field["metadata"]
        id, name = (metadata.get(f"delta.columnMapping.{key}") for key in ("id", "physicalName"))
        yield ".".join(own), Field(id, name, field["type"], metadata)
        yield from _fields(field["type"], own)
    for part, key in (("element", "elementType"), ("key", "keyType"), ("value", "valueType")):
        yield from _fields(kind.get(key), (*path, part))


def walk(fields: Iterable[pyarrow.Field], parent: FieldPath = ()) -> Iterator[FooterField]:
    """Yields every field of a footer at every level with its path, parents first."""
    for field in fields:
        yield from _walk(field, (*parent, field.name))


def _walk(field: pyarrow.Field, path: FieldPath) -> Iterator[FooterField]:
    kind = getattr(field.type, "storage_type", field.type)
    is_struct, is_map = pyarrow.types.is_struct(kind), pyarrow.types.is_map(kind)
    is_list = pyarrow.types.is_list(kind) or pyarrow.types.is_large_list(kind)
    yield path, field, not (is_struct or is_map or is_list)
    if is_struct:
        yield from walk(kind.fields, path)
    elif is_map:
        yield from _walk(kind.key_field, (*path, "key"))
        yield from _walk(kind.item_field, (*path, "value"))
    elif is_list:
        yield from _walk(kind.value_field, (*path, "element"))


def field_id(field: pyarrow.Field) -> int | None:
    text = (field.metadata or {}).get(b"PARQUET:field_id")
    return None if text is None else int(text)


def checkpointed(file: Path) -> list[dict[str, Any]]:
    """Returns the actions of a checkpoint and its sidecars, each with the keys that have a value.

    A key is None only in JSON.
    """
    if file.suffix == ".json":
        actions = [json.loads(line) for line in file.read_text().splitlines()]
    else:
        rows = pyarrow.parquet.read_table(file).to_pylist(maps_as_pydicts="strict")
        actions = [
            {kind: {key: value for key, value in body.items() if value is not None}}
            for row in rows
            for kind, body in row.items()
            if body is not None
        ]
    sidecars = [unquote(each["sidecar"]["path"]) for each in actions if each.get("sidecar")]
    inner = (checkpointed(file.parent / "_sidecars" / name) for name in sidecars)
    return [*actions, *chain.from_iterable(inner)]
