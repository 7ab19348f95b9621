# SPDX-License-Identifier: Apache-2.0
"""The JSON in which questions and answers travel between the two halves.

Shape:
    A request is one JSON object, and so is its answer::

        {"old": M, "proposed": M, "new": M,
         "commit": {"protocol": {"minReaderVersion": 1, "minWriterVersion": 7,
                                 "readerFeatures": null, "writerFeatures": ["appendOnly"]},
                    "creatingTable": false, "enabledByDefault": false, "featureDefault": false,
                    "flagDefault": false}}

        {"configuration": {"delta.columnMapping.mode": "name"}, "schema": null}

    `M` is `{"schema": .., "configuration": {..}}`.
    `old` is the table before the transaction, `proposed` what the command asked for, `new` what
    Delta made of it. A schema is a StructType's JSON object; null for none; `"=old"` or
    `"=proposed"` where it is the same text as that one. Among its `fields` a number stands for a
    column that `old` has at that place, since wide schemas are megabytes. The answer's `schema` is
    null where the schema stays as `new` had it; its numbers are places in `new`. `protocol` is the
    transaction's, `enabledByDefault` the session's `spark.sparkext.usageTracking.enabledByDefault`,
    false where no table is created or replaced; `featureDefault` and `flagDefault` tell whether the
    session's defaults for new tables name the feature and the flag.

    A question whether column mapping may be removed by metadata alone, and its answer, which is
    yes where there are no reasons::

        {"table": M, "protocol": {..}}

        {"reasons": [{"reason": "PHYSICAL_NAME_DIFFERS", "column": ["a", "element", "b"]}]}

    A call of a table function, and its answer, a relation::

        {"table": M, "protocol": {..}, "name": "db.t", "numFiles": 4, "sizeInBytes": 4096}

        {"schema": "path STRING, id BIGINT", "rows": [{"path": "a", "id": 1}]}

    A refusal is answered as data, since py4j hands the JVM only the text of an error::

        {"error": {"condition": "..", "sqlState": "..", "parameters": {..}, "message": ".."}}
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from spark_ext.errors import MalformedMessageError, SparkExtError
from spark_ext.model.metadata import (
    CommitContext,
    MetadataRequest,
    Protocol,
    TableFacts,
    TableMetadata,
)
from spark_ext.model.schema import EMPTY_SCHEMA, Field, Schema


def parse_request(text: str) -> MetadataRequest:
    """The request in a JSON text.

    Raises:
        MalformedMessageError: USAGE_TRACKING_MALFORMED_MESSAGE, where the text has another shape.
    """
    request = _object(_json(text), "$", _REQUEST)
    old = _metadata(request["old"], "old", {})
    proposed = _metadata(request["proposed"], "proposed", {"=old": old.schema})
    earlier = {"=old": old.schema, "=proposed": proposed.schema}
    new = _metadata(request["new"], "new", earlier)
    return MetadataRequest(old, new, _commit(request["commit"], proposed))


def parse_removal_request(text: str) -> tuple[TableMetadata, Protocol]:
    """The table that a question about the removal of column mapping is about.

    Raises:
        MalformedMessageError: USAGE_TRACKING_MALFORMED_MESSAGE, where the text has another shape.
    """
    request = _object(_json(text), "$", _REMOVAL_REQUEST)
    return _metadata(request["table"], "table", {}), _protocol(request["protocol"], "protocol")


def parse_table_facts(text: str) -> TableFacts:
    """The table that a table function is called with.

    Raises:
        MalformedMessageError: USAGE_TRACKING_MALFORMED_MESSAGE, where the text has another shape.
    """
    request = _object(_json(text), "$", _TABLE_FACTS)
    return TableFacts(
        metadata=_metadata(request["table"], "table", {}),
        protocol=_protocol(request["protocol"], "protocol"),
        name=request["name"],
        num_files=request["numFiles"],
        size_in_bytes=request["sizeInBytes"],
    )


def render_answer(result: TableMetadata, new: TableMetadata) -> str:
    """The answer to a request whose `new` became `result`."""
    schema = None if result.schema is new.schema else _by_place(result.schema, new.schema)
    return json.dumps(
        {"configuration": dict(result.configuration), "schema": schema}, separators=(",", ":")
    )


def _by_place(schema: Schema, known: Schema) -> Schema:
    """A schema with a number in place of each column that is the same object in another."""
    places = {id(field): place for place, field in enumerate(known["fields"])}
    return {**schema, "fields": [places.get(id(field), field) for field in schema["fields"]]}


def render_error(error: SparkExtError) -> str:
    """The answer that refuses a request."""
    fields = {
        "condition": error.condition,
        "sqlState": error.sql_state,
        "parameters": error.params,
        "message": str(error),
    }
    return json.dumps({"error": fields}, separators=(",", ":"))


_REQUEST = {"old": (dict,), "proposed": (dict,), "new": (dict,), "commit": (dict,)}
_REMOVAL_REQUEST = {"table": (dict,), "protocol": (dict,)}
_TABLE_FACTS = {**_REMOVAL_REQUEST, "name": (str,), "numFiles": (int,), "sizeInBytes": (int,)}
_METADATA = {
    "schema": (dict, str, type(None)),
    "configuration": (dict,),
}
_COMMIT = {
    "protocol": (dict,),
    "creatingTable": (bool,),
    "enabledByDefault": (bool,),
    "featureDefault": (bool,),
    "flagDefault": (bool,),
}
_PROTOCOL = {
    "minReaderVersion": (int,),
    "minWriterVersion": (int,),
    "readerFeatures": (list, type(None)),
    "writerFeatures": (list, type(None)),
}


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise MalformedMessageError(path="$", problem=f"is no JSON: {error}") from error


def _object(value: Any, path: str, shape: Mapping[str, tuple[type, ...]]) -> dict[str, Any]:
    # An unknown key is refused: it may be a fact that would change a rule's decision.
    if not isinstance(value, dict) or value.keys() != shape.keys():
        raise MalformedMessageError(path=path, problem=f"is no object of {sorted(shape)}")
    for key, types in shape.items():
        if type(value[key]) not in types:
            expected = " or ".join(accepted.__name__ for accepted in types)
            raise MalformedMessageError(path=f"{path}.{key}", problem=f"is no {expected}")
    return value


def _metadata(value: Any, path: str, earlier: Mapping[str, Schema]) -> TableMetadata:
    fields = _object(value, path, _METADATA)
    configuration = fields["configuration"]
    _strings(configuration.values(), f"{path}.configuration")
    return TableMetadata(
        schema=_schema(fields["schema"], f"{path}.schema", earlier),
        configuration=MappingProxyType(configuration),
    )


def _schema(value: Any, path: str, earlier: Mapping[str, Schema]) -> Schema:
    if value is None:
        return EMPTY_SCHEMA
    if isinstance(value, str):
        if value not in earlier:
            raise MalformedMessageError(path=path, problem=f"names no earlier schema: {value!r}")
        return earlier[value]
    if value.get("type") != "struct" or not isinstance(value.get("fields"), list):
        raise MalformedMessageError(path=path, problem="is no struct with fields")
    known = earlier.get("=old", EMPTY_SCHEMA)["fields"]
    schema: Schema = {**value, "fields": [_column(f, known, path) for f in value["fields"]]}
    return schema


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


def _commit(value: Any, proposed: TableMetadata) -> CommitContext:
    fields = _object(value, "commit", _COMMIT)
    return CommitContext(
        proposed=proposed,
        protocol=_protocol(fields["protocol"], "commit.protocol"),
        creating_table=fields["creatingTable"],
        enabled_by_default=fields["enabledByDefault"],
        feature_default=fields["featureDefault"],
        flag_default=fields["flagDefault"],
    )


def _protocol(value: Any, path: str) -> Protocol:
    fields = _object(value, path, _PROTOCOL)
    return Protocol(
        min_reader_version=fields["minReaderVersion"],
        min_writer_version=fields["minWriterVersion"],
        reader_features=_features(fields["readerFeatures"], f"{path}.readerFeatures"),
        writer_features=_features(fields["writerFeatures"], f"{path}.writerFeatures"),
    )


def _features(features: Any, path: str) -> frozenset[str] | None:
    return None if features is None else frozenset(_strings(features, path))


def _strings(values: Any, path: str) -> tuple[str, ...]:
    strings = tuple(values)
    if not all(type(value) is str for value in strings):
        raise MalformedMessageError(path=path, problem="has a value that is no string")
    return strings
