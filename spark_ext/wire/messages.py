# SPDX-License-Identifier: Apache-2.0
"""The JSON of questions and answers between the JVM and Python.

Shape:
    A request is one JSON object, and so is its answer. Dataclasses define the keys of a request
    (`spark_ext.wire.shapes`), except for a table's metadata, which has only two keys::

        {"schema": .., "configuration": {..}}

    A schema is a StructType's JSON object; null for none; `"=old"` or `"=proposed"` if the text is
    the same there. Among its `fields`, a number is the place of an equal column in `old`,
    because wide schemas have megabytes. A configuration is an object of the properties that start
    with `delta.` and of `sparkext.columnMapping.aligning`, or `"=old"` or `"=proposed"` too.

    The answer to `next_metadata` is the metadata to commit: the properties that differ from
    `assigned`, and the schema, null if it equals that of `assigned`. Numbers in the schema are
    places in `assigned`. A warning is for the session's log; null for none::

        {"configuration": {"delta.columnMapping.hasDroppedOrRenamed": "true"}, "schema": null,
         "warning": null}

    The answer to another question is the result of its function in
    `spark_ext/process/questions.py`, and the answer to a table function is a relation::

        {"schema": "`path` STRING, `id` BIGINT", "rows": [{"path": "a", "id": 1}]}

    An error is an answer too, because py4j passes only the text of an error to the JVM::

        {"error": {"condition": "..", "sqlState": "..", "parameters": {..}, "message": ".."}}
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any, TypeVar

from spark_ext.errors import MalformedMessageError, SparkExtError
from spark_ext.model.metadata import (
    CommitContext,
    MetadataChange,
    TableFacts,
    TableMetadata,
)
from spark_ext.model.rows import as_row, ddl
from spark_ext.model.schema import EMPTY_SCHEMA, Field, Schema
from spark_ext.wire.shapes import Shape, strings

_T = TypeVar("_T")


def parse_metadata_change(text: str) -> MetadataChange:
    """Reads the request of `next_metadata`.

    Raises:
        MalformedMessageError: USAGE_TRACKING_MALFORMED_MESSAGE, if the text has another shape.
    """
    return METADATA_CHANGE.parse(text)


def parse_table_facts(text: str) -> TableFacts:
    """Reads the request of `column_mapping_removal`. Raises as `parse_metadata_change`."""
    return TABLE_FACTS.parse(text)


def table_metadata(value: Any, path: str) -> TableMetadata:
    """Reads a table's metadata in a request that has no earlier metadata."""
    return _metadata(value, path, {})


def render_metadata(
    result: TableMetadata, assigned: TableMetadata, *, warning: str | None = None
) -> str:
    """Returns the answer to `next_metadata`: the difference between `assigned` and `result`."""
    before = assigned.configuration
    changed = {key: to for key, to in result.configuration.items() if before.get(key) != to}
    same = result.schema is assigned.schema
    schema = None if same else _by_place(result.schema, assigned.schema)
    return _text({"configuration": changed, "schema": schema, "warning": warning})


def answered_by(function: Callable[..., Mapping[str, Any]]) -> Callable[[str], str]:
    """Returns a handler that reads a function's parameters from a request and writes its result."""
    shape = shape_of(function)
    return lambda request: _text(shape.parse(request))


def shape_of(function: Callable[..., _T]) -> Shape[_T]:
    """Returns the shape of the request that has a function's parameters."""
    return Shape(function, parts=_PARTS)


def render_relation(row: type, rows: Iterable[Any]) -> str:
    """Returns the answer of a table function; its rows are dataclasses of one type."""
    return _text({"schema": ddl(row), "rows": list(rows)})


def render(answer: Any) -> str:
    """Returns a dataclass as an answer."""
    return _text(as_row(answer))


def _by_place(schema: Schema, known: Schema) -> Schema:
    """Returns a schema with a number for each column that is the same object in `known`."""
    places = {id(field): place for place, field in enumerate(known["fields"])}
    return {**schema, "fields": [places.get(id(field), field) for field in schema["fields"]]}


def render_error(error: SparkExtError) -> str:
    """Returns the answer that reports an error."""
    fields = {
        "condition": error.condition,
        "sqlState": error.sql_state,
        "parameters": error.params,
        "message": str(error),
    }
    return _text({"error": fields})


def _text(message: Mapping[str, Any]) -> str:
    return json.dumps(message, separators=(",", ":"), default=as_row)


def _metadata_change(
    old: dict[str, Any], proposed: dict[str, Any], assigned: dict[str, Any], commit: dict[str, Any]
) -> MetadataChange:
    before = _metadata(old, "old", {})
    asked = _metadata(proposed, "proposed", {"=old": before})
    known = {"=old": before, "=proposed": asked}
    context = COMMIT_CONTEXT.read(commit, "commit", proposed=asked)
    return MetadataChange(before, _metadata(assigned, "assigned", known), context)


def _metadata(value: Any, path: str, earlier: Mapping[str, TableMetadata]) -> TableMetadata:
    return TABLE_METADATA.read(value, path, at=path, earlier=earlier)


def _table_metadata(
    schema: dict[str, Any] | str | None,
    configuration: dict[str, Any] | str,
    at: str,
    earlier: Mapping[str, TableMetadata],
) -> TableMetadata:
    return TableMetadata(
        schema=_schema(schema, f"{at}.schema", earlier),
        configuration=_configuration(configuration, f"{at}.configuration", earlier),
    )


def _configuration(
    value: Any, path: str, earlier: Mapping[str, TableMetadata]
) -> Mapping[str, str]:
    if isinstance(value, str):
        return _earlier(value, path, earlier).configuration
    strings(value.values(), path)
    return MappingProxyType(value)


def _schema(value: Any, path: str, earlier: Mapping[str, TableMetadata]) -> Schema:
    if value is None:
        return EMPTY_SCHEMA
    if isinstance(value, str):
        return _earlier(value, path, earlier).schema
    if value.get("type") != "struct" or not isinstance(value.get("fields"), list):
        raise MalformedMessageError(path=path, problem="is not a struct with fields")
    known = earlier["=old"].schema["fields"] if earlier else []
    schema: Schema = {**value, "fields": [_column(f, known, path) for f in value["fields"]]}
    return schema


def _earlier(name: str, path: str, earlier: Mapping[str, TableMetadata]) -> TableMetadata:
    if name not in earlier:
        raise MalformedMessageError(path=path, problem=f"names no earlier one: {name!r}")
    return earlier[name]


def _column(value: Any, known: list[Field], path: str) -> Field:
    if type(value) is int:
        if not 0 <= value < len(known):
            raise MalformedMessageError(path=f"{path}.fields", problem=f"names no column: {value}")
        return known[value]
    if (
        not isinstance(value, dict)
        or not isinstance(value.get("name"), str)
        or not isinstance(value.get("type"), (str, dict))
    ):
        raise MalformedMessageError(path=f"{path}.fields", problem="has one without name or type")
    field: Field = value
    return field


_PARTS = {TableMetadata: table_metadata}
METADATA_CHANGE = Shape(_metadata_change)
TABLE_FACTS = shape_of(TableFacts)
TABLE_METADATA = Shape(_table_metadata, given=("at", "earlier"))
COMMIT_CONTEXT = Shape(CommitContext, given=("proposed",))
