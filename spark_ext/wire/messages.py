# SPDX-License-Identifier: Apache-2.0
"""The JSON in which questions and answers travel between the two halves.

Shape:
    A request is one JSON object, and so is its answer. `M` is `{"schema": .., "configuration":
    {..}}`, `P` a protocol::

        {"minReaderVersion": 1, "minWriterVersion": 7,
         "readerFeatures": null, "writerFeatures": ["appendOnly"]}

    A schema is a StructType's JSON object; null for none; `"=old"` or `"=proposed"` where it is the
    same text as that one. Among its `fields` a number stands for a column that `old` has at that
    place, since wide schemas are megabytes. A configuration is an object of the properties that
    start with `delta.`, or `"=old"` or `"=proposed"` likewise.

    `next_metadata`, the metadata to commit::

        {"old": M, "proposed": M, "assigned": M,
         "commit": {"protocol": P, "creatingTable": false, "enabledByDefault": false,
                    "featureDefault": false, "flagDefault": false}}

        {"configuration": {"delta.columnMapping.hasDroppedOrRenamed": "true"}, "schema": null}

    `old` is the table before the transaction, `proposed` what the command asked for, `assigned`
    what Delta made of it. The answer has the properties that `assigned` has not, or has otherwise;
    its `schema` is null where it stays as `assigned` had it, and its numbers are places in
    `assigned`. `protocol` is the transaction's, `enabledByDefault` the session's
    `spark.sparkext.usageTracking.enabledByDefault`, false where no table is created or replaced;
    `featureDefault` and `flagDefault` tell whether the session's defaults for new tables name the
    feature and the flag.

    `removal`, whether column mapping may be removed by metadata alone, and if not, what becomes of
    the columns in the files (`spark_ext/leave/copy_plan.py`; null where mapping is off)::

        {"table": M, "protocol": P}

        {"free": true, "plan": null}

    A table function, which answers with a relation; `column_mapping` and `column_mapping_exit`::

        {"table": M, "log": L}
        {"table": M, "protocol": P, "name": "db.t", "files": F, "removal": null, "exact": null}

        {"schema": "path STRING, id BIGINT", "rows": [{"path": "a", "id": 1}]}

    `F` is `{"numFiles": 4, "sizeInBytes": 4096}`; `removal` is `"copy"`, `"rewrite"` or null;
    `exact` is null or `{"kept": F, "copied": F, "rewritten": F}`.

    `L`, and what the functions are told that read the log alone: `spark_ext.wire.logs`.

    A refusal is answered as data, since py4j hands the JVM only the text of an error::

        {"error": {"condition": "..", "sqlState": "..", "parameters": {..}, "message": ".."}}
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any

from spark_ext.errors import MalformedMessageError, SparkExtError
from spark_ext.model.metadata import (
    CommitContext,
    CopiedFiles,
    FileCount,
    MetadataChange,
    Protocol,
    TableFacts,
    TableMetadata,
)
from spark_ext.model.schema import EMPTY_SCHEMA, Field, Schema
from spark_ext.wire.rows import as_row, as_rows, ddl
from spark_ext.wire.shapes import request_of, shaped, strings


def parse_metadata_change(text: str) -> MetadataChange:
    """The change that `next_metadata` is asked about.

    Raises:
        MalformedMessageError: USAGE_TRACKING_MALFORMED_MESSAGE, where the text has another shape;
            so do all of these.
    """
    request = request_of(text, _METADATA_CHANGE)
    old = _metadata(request["old"], "old", {})
    proposed = _metadata(request["proposed"], "proposed", {"=old": old})
    earlier = {"=old": old, "=proposed": proposed}
    assigned = _metadata(request["assigned"], "assigned", earlier)
    return MetadataChange(old, assigned, _commit(request["commit"], proposed))


def parse_removal(text: str) -> tuple[TableMetadata, Protocol]:
    """The table that `removal` is asked about."""
    request = request_of(text, _REMOVAL)
    return table_metadata(request["table"]), _protocol(request["protocol"], "protocol")


def parse_table_facts(text: str) -> TableFacts:
    """The table that `column_mapping_exit` is called with."""
    request = request_of(text, _TABLE_FACTS)
    return TableFacts(
        metadata=table_metadata(request["table"]),
        protocol=_protocol(request["protocol"], "protocol"),
        name=request["name"],
        files=_files(request["files"], "files"),
        removal=request["removal"],
        exact=_exact(request["exact"]),
    )


def table_metadata(value: Any) -> TableMetadata:
    """The `M` of a request that has no other."""
    return _metadata(value, "table", {})


def render_metadata(result: TableMetadata, assigned: TableMetadata) -> str:
    """The answer where `assigned` became `result`."""
    before = assigned.configuration
    changed = {key: to for key, to in result.configuration.items() if before.get(key) != to}
    same = result.schema is assigned.schema
    schema = None if same else _by_place(result.schema, assigned.schema)
    return _text({"configuration": changed, "schema": schema})


def render_removal(*, free: bool, plan: Mapping[str, Any] | None) -> str:
    """The answer whether column mapping may be removed by metadata alone, and how else."""
    return _text({"free": free, "plan": plan})


def render_relation(row: type, rows: Iterable[Any]) -> str:
    """The answer of a table function, whose rows are dataclasses of one type."""
    return _text({"schema": ddl(row), "rows": as_rows(row, rows)})


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
    return _text({"error": fields})


def _text(message: Mapping[str, Any]) -> str:
    return json.dumps(message, separators=(",", ":"), default=as_row)


_METADATA_CHANGE = {"old": (dict,), "proposed": (dict,), "assigned": (dict,), "commit": (dict,)}
_REMOVAL = {"table": (dict,), "protocol": (dict,)}
_TABLE_FACTS = {
    **_REMOVAL,
    "name": (str,),
    "files": (dict,),
    "removal": (str, type(None)),
    "exact": (dict, type(None)),
}
_FILES = {"numFiles": (int,), "sizeInBytes": (int,)}
_EXACT = {"kept": (dict,), "copied": (dict,), "rewritten": (dict,)}
_METADATA = {
    "schema": (dict, str, type(None)),
    "configuration": (dict, str),
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


def _exact(value: Any) -> CopiedFiles | None:
    if value is None:
        return None
    files = shaped(value, "exact", _EXACT)
    return CopiedFiles(**{way: _files(files[way], f"exact.{way}") for way in _EXACT})


def _files(value: Any, path: str) -> FileCount:
    files = shaped(value, path, _FILES)
    return FileCount(files["numFiles"], files["sizeInBytes"])


def _metadata(value: Any, path: str, earlier: Mapping[str, TableMetadata]) -> TableMetadata:
    fields = shaped(value, path, _METADATA)
    return TableMetadata(
        schema=_schema(fields["schema"], f"{path}.schema", earlier),
        configuration=_configuration(fields["configuration"], f"{path}.configuration", earlier),
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
        raise MalformedMessageError(path=path, problem="is no struct with fields")
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


def _commit(value: Any, proposed: TableMetadata) -> CommitContext:
    fields = shaped(value, "commit", _COMMIT)
    return CommitContext(
        proposed=proposed,
        protocol=_protocol(fields["protocol"], "commit.protocol"),
        creating_table=fields["creatingTable"],
        enabled_by_default=fields["enabledByDefault"],
        feature_default=fields["featureDefault"],
        flag_default=fields["flagDefault"],
    )


def _protocol(value: Any, path: str) -> Protocol:
    fields = shaped(value, path, _PROTOCOL)
    return Protocol(
        min_reader_version=fields["minReaderVersion"],
        min_writer_version=fields["minWriterVersion"],
        reader_features=_features(fields["readerFeatures"], f"{path}.readerFeatures"),
        writer_features=_features(fields["writerFeatures"], f"{path}.writerFeatures"),
    )


def _features(features: Any, path: str) -> frozenset[str] | None:
    return None if features is None else frozenset(strings(features, path))
