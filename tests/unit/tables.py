# SPDX-License-Identifier: Apache-2.0
"""Makes tables from a short notation, for case files and tests.

A table is `{"columns": {..}, "mode": "name", "flag": "false", "properties": {..}}`. A column is the
text `"<id> <physical name>"`, the empty text if the column is unmapped, or an object: `{"column":
"2 s", "struct": {..}}`. The object has `array` or `map` if the elements or values are structs. An
object may have a `type` and further `metadata`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from spark_ext.model.column_mapping import find_max_column_id, has_physical_name
from spark_ext.model.keys import (
    COLUMN_ID,
    COLUMN_MAPPING_MODE,
    FEATURE_NAME,
    HAS_DROPPED_OR_RENAMED,
    MAX_COLUMN_ID,
    PHYSICAL_NAME,
)
from spark_ext.model.metadata import CommitContext, Protocol, TableMetadata

MAPPING_KEYS = (COLUMN_ID, PHYSICAL_NAME)
TRACKED = ("columnMapping", FEATURE_NAME)


def table(
    columns: Mapping[str, Any] | None = None,
    mode: str | None = None,
    flag: str | None = None,
    properties: Mapping[str, str] | None = None,
) -> TableMetadata:
    schema = struct(columns or {})
    configuration = dict(properties or {})
    if mode is not None:
        configuration[COLUMN_MAPPING_MODE] = mode
    if flag is not None:
        configuration[HAS_DROPPED_OR_RENAMED] = flag
    highest = find_max_column_id(schema)
    if highest:
        configuration.setdefault(MAX_COLUMN_ID, str(highest))
    return TableMetadata(schema, configuration)


def without(metadata: TableMetadata, key: str) -> TableMetadata:
    """Returns the table without one property."""
    kept = {name: value for name, value in metadata.configuration.items() if name != key}
    return replace(metadata, configuration=kept)


def wire(metadata: TableMetadata) -> dict[str, Any]:
    """Returns a table as a request contains it (`spark_ext.process.messages`)."""
    return {
        "schema": metadata.schema,
        "configuration": dict(metadata.configuration),
    }


def wire_protocol(
    reader: int = 2,
    writer: int = 7,
    reader_features: Iterable[str] | None = None,
    writer_features: Iterable[str] | None = TRACKED,
) -> dict[str, Any]:
    """Returns a protocol as a request contains it."""
    return {
        "minReaderVersion": reader,
        "minWriterVersion": writer,
        "readerFeatures": reader_features,
        "writerFeatures": writer_features,
    }


def wire_facts(metadata: TableMetadata, protocol: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the facts of a table of four files as the JVM sends them."""
    return {
        "table": wire(metadata),
        "protocol": protocol,
        "name": "db.t",
        "files": {"numFiles": 4, "sizeInBytes": 4096},
        "removal": None,
        "copies": FEATURE_NAME in (protocol["writerFeatures"] or ()),
        "exact": None,
    }


def struct(columns: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "struct", "fields": [_field(name, words) for name, words in columns.items()]}


def _field(name: str, words: Any) -> dict[str, Any]:
    details: Mapping[str, Any] = {"column": words} if isinstance(words, str) else words
    metadata = dict(details.get("metadata", {}))
    if details.get("column"):
        number, physical = details["column"].split(" ", 1)
        metadata |= {COLUMN_ID: int(number), PHYSICAL_NAME: physical}
    return {"name": name, "type": _type(details), "nullable": True, "metadata": metadata}


def _type(details: Mapping[str, Any]) -> Any:
    if "struct" in details:
        return struct(details["struct"])
    if "array" in details:
        return {"type": "array", "elementType": struct(details["array"]), "containsNull": True}
    if "map" in details:
        value = struct(details["map"])
        return {"type": "map", "keyType": "string", "valueType": value, "valueContainsNull": True}
    return details.get("type", "long")


def columns(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Returns a schema in the notation, in which each object has `column`."""
    return {field["name"]: _words(field) for field in schema["fields"]}


def _words(field: Mapping[str, Any]) -> Any:
    mapped = f"{field['metadata'][COLUMN_ID]} " if COLUMN_ID in field["metadata"] else ""
    mapped += field["metadata"][PHYSICAL_NAME] if has_physical_name(field) else ""
    details: dict[str, Any] = {"column": mapped}
    rest = {key: field["metadata"][key] for key in field["metadata"] if key not in MAPPING_KEYS}
    if rest:
        details["metadata"] = rest
    data_type = field["type"]
    if data_type == "long":
        return details if rest else mapped
    if isinstance(data_type, str):
        return details | {"type": data_type}
    inner = {"struct": "fields", "array": "elementType", "map": "valueType"}[data_type["type"]]
    child = data_type if inner == "fields" else data_type[inner]
    return details | {data_type["type"]: columns(child)}


def protocol(features: tuple[str, ...] | list[str] = TRACKED) -> Protocol:
    return Protocol(2, 7, None, frozenset(features))


def commit(
    proposed: TableMetadata, features: tuple[str, ...] | list[str] = TRACKED, **facts: Any
) -> CommitContext:
    return CommitContext(proposed=proposed, protocol=protocol(features), **facts)
