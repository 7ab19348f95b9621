# SPDX-License-Identifier: Apache-2.0
"""The JSON of questions and answers between the JVM and Python.

Shape:
    A request is one JSON object, and so is its answer. A dataclass or a function names the keys of
    a request, in camel case; the jar has a record with the same names, and a test compares the two.
    A field that the enclosing object has too is no key: the inner object has the same value. A
    table's metadata has only two keys::

        {"schema": .., "configuration": {..}}

    A schema is a StructType's JSON object; null for none; `"=old"` or `"=proposed"` if the text is
    the same there, because wide schemas have megabytes. A configuration is an object of the
    properties that start with `delta.` and of `sparkext.columnMapping.aligning`, or `"=old"` or
    `"=proposed"` too.

    The answer to `next_metadata` is the metadata to commit: the properties that differ from
    `assigned`, and the schema, null if it equals that of `assigned`. A warning is for the session's
    log; null for none::

        {"configuration": {"delta.columnMapping.hasDroppedOrRenamed": "true"}, "schema": null,
         "warning": null}

    The answer to another question is the result of its function in `questions.py`, and the answer
    to a table function has its rows::

        {"rows": [{"path": "a", "id": 1}]}

    An error is an answer too, because py4j passes only the text of an error to the JVM::

        {"error": {"condition": "..", "sqlState": "..", "parameters": {..}, "message": ".."}}
"""

from __future__ import annotations

import dataclasses
import json
import traceback
from collections.abc import Callable, Mapping
from functools import cache
from inspect import signature
from types import MappingProxyType, UnionType
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

from spark_ext.errors import MalformedMessageError, RuleFailedError, SparkExtError
from spark_ext.model.metadata import TableMetadata
from spark_ext.model.rows import as_row, in_camel_case
from spark_ext.model.schema import EMPTY_SCHEMA, Schema

_T = TypeVar("_T")
# Converts a JSON value to a value of ours, given its path and the fields of its object so far.
Reader = Callable[[Any, str, Mapping[str, Any]], Any]

_SCALARS = (str, int, bool, type(None))
_TRACEBACK_LINES = 12


def parse(make: Callable[..., _T], text: str) -> _T:
    """Returns the value that a request describes; raises MalformedMessageError."""
    try:
        value = json.loads(text)
    except ValueError as error:
        raise MalformedMessageError(path="$", problem=f"is not valid JSON: {error}") from error
    return _read(make, value, "$", {})


@cache
def keys_of(
    make: Callable[..., Any], *outer: str
) -> Mapping[str, tuple[str, tuple[type, ...], Reader | None]]:
    """Returns the field, the allowed types and the reader of each key, without `outer` fields."""
    hints = get_type_hints(make)
    names = tuple(signature(make).parameters)
    return {
        in_camel_case(name): (name, *_json(hints[name], names[:place]))
        for place, name in enumerate(names)
        if name not in outer
    }


def metadata_parts(
    schema: dict[str, Any] | str | None, configuration: dict[str, Any] | str
) -> tuple[Any, Any]:
    """Returns the parts of a table's metadata, whose keys are the parameters."""
    return schema, configuration


def changed_metadata(
    result: TableMetadata, assigned: TableMetadata, *, warning: str | None
) -> dict[str, Any]:
    """Returns the answer to `next_metadata`: the difference between `assigned` and `result`."""
    before = assigned.configuration
    changed = {key: to for key, to in result.configuration.items() if before.get(key) != to}
    schema = None if result.schema is assigned.schema else result.schema
    return {"configuration": changed, "schema": schema, "warning": warning}


def render_error(error: Exception) -> str:
    """Returns the answer that reports an error."""
    known = with_condition(error)
    facts = {"condition": known.condition, "sqlState": known.sql_state}
    return render({"error": {**facts, "parameters": known.params, "message": str(known)}})


def with_condition(error: Exception) -> SparkExtError:
    """Returns the error itself if it has a condition, else a RuleFailedError with its traceback."""
    if isinstance(error, SparkExtError):
        return error
    lines = "".join(traceback.format_exception(error)).splitlines()[-_TRACEBACK_LINES:]
    return RuleFailedError(error=repr(error), traceback="\n".join(lines))


def render(answer: Any) -> str:
    """Returns an answer as JSON. Dataclasses become objects of their columns."""
    return json.dumps(answer, separators=(",", ":"), default=as_row)


def _read(make: Callable[..., _T], value: Any, path: str, given: dict[str, Any]) -> _T:
    # An unknown key is refused, because it may be a fact that changes a rule's decision.
    keys = keys_of(make, *given)
    if not isinstance(value, dict) or value.keys() != keys.keys():
        raise MalformedMessageError(path=path, problem=f"is not an object of {sorted(keys)}")
    for key, (name, types, read) in keys.items():
        part = value[key]
        if type(part) not in types:
            expected = " or ".join(accepted.__name__ for accepted in types)
            raise MalformedMessageError(path=f"{path}.{key}", problem=f"is not of type {expected}")
        if read is not None and part is not None:
            part = read(part, key if path == "$" else f"{path}.{key}", given)
        given[name] = part
    return make(**given)


def _json(hint: Any, outer: tuple[str, ...]) -> tuple[tuple[type, ...], Reader | None]:
    """Returns the JSON types of a field, and its reader; None if the JSON is the value."""
    if hint in _SCALARS:
        return (hint,), None
    if hint is TableMetadata:
        return (dict,), _metadata
    if isinstance(hint, type) and dataclasses.is_dataclass(hint):
        make: Callable[..., Any] = getattr(hint, "of_message", hint)
        same = [name for name in signature(make).parameters if name in outer]
        return (dict,), lambda value, path, fields: _read(
            make, value, path, {name: fields[name] for name in same}
        )
    kind, inner = get_origin(hint), get_args(hint)
    if kind in (Union, UnionType):
        parts = [_json(part, outer) for part in inner]
        types = tuple(of for types, _ in parts for of in types)
        return types, next((read for _, read in parts if read), None)
    if kind not in (tuple, frozenset):
        return (dict if issubclass(kind, Mapping) else list,), None
    if inner[0] is str:
        return (list,), lambda values, path, _: kind(_strings(values, path))
    _, one = _json(inner[0], outer)
    assert one is not None
    return (list,), lambda values, path, fields: kind([one(v, path, fields) for v in values])


def _strings(values: Any, path: str) -> list[str]:
    if type(values) is not list or not {*map(type, values)} <= {str}:
        raise MalformedMessageError(path=path, problem="has a value that is not a string")
    return values


def _metadata(value: Any, path: str, earlier: Mapping[str, Any]) -> TableMetadata:
    schema, configuration = _read(metadata_parts, value, path, {})
    return TableMetadata(
        schema=_schema(schema, f"{path}.schema", earlier),
        configuration=_configuration(configuration, f"{path}.configuration", earlier),
    )


def _configuration(value: Any, path: str, earlier: Mapping[str, Any]) -> Mapping[str, str]:
    if isinstance(value, str):
        return _earlier(value, path, earlier).configuration
    _strings([*value.values()], path)
    return MappingProxyType(value)


def _schema(value: Any, path: str, earlier: Mapping[str, Any]) -> Schema:
    if value is None:
        return EMPTY_SCHEMA
    if isinstance(value, str):
        return _earlier(value, path, earlier).schema
    if value.get("type") != "struct" or not isinstance(value.get("fields"), list):
        raise MalformedMessageError(path=path, problem="is not a struct with fields")
    for column in value["fields"]:
        _require_column(column, path)
    schema: Schema = value
    return schema


def _earlier(name: str, path: str, earlier: Mapping[str, Any]) -> TableMetadata:
    found = earlier.get(name[1:]) if name.startswith("=") else None
    if not isinstance(found, TableMetadata):
        raise MalformedMessageError(path=path, problem=f"names no earlier one: {name!r}")
    return found


def _require_column(value: Any, path: str) -> None:
    column = value if isinstance(value, dict) else {}
    if not isinstance(column.get("name"), str) or not isinstance(column.get("type"), (str, dict)):
        raise MalformedMessageError(
            path=f"{path}.fields", problem=f"has {value!r:.99}, which is no column"
        )
