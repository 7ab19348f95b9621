# SPDX-License-Identifier: Apache-2.0
"""Contains the schemas that every comparison uses besides generated schemas."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st

from spark_ext.model.schema import Schema
from tests.unit import strategies

# The seed makes the schemas equal in every selection of tests.
COMPARISON = settings(derandomize=True, deadline=None, database=None, max_examples=60)


def _field(name: str, data_type: Any = "long", **metadata: Any) -> dict[str, Any]:
    return {"name": name, "type": data_type, "nullable": True, "metadata": metadata}


def _struct(*fields: dict[str, Any]) -> dict[str, Any]:
    return {"type": "struct", "fields": list(fields)}


def _array(element: Any) -> dict[str, Any]:
    return {"type": "array", "elementType": element, "containsNull": True}


def _map(key: Any, value: Any) -> dict[str, Any]:
    return {"type": "map", "keyType": key, "valueType": value, "valueContainsNull": True}


# A user-defined type in Python. The fields of its struct are not columns of the table.
_VECTOR = {
    "type": "udt",
    "pyClass": "vectors.VectorUDT",
    "serializedClass": "",
    "sqlType": _struct(_field("size", "integer"), _field("values", _array("double"))),
}
_X = _struct(_field("x"))

EMPTY = _struct()
WIDE = _struct(*(_field(f"column {i}", ("long", "string")[i % 2]) for i in range(1000)))
DEEP = _X
for level in range(12):
    DEEP = _struct(_field(f"l{level}", (DEEP, _array(DEEP), _map(DEEP, DEEP))[level % 3]))
FIXED = (
    EMPTY,
    WIDE,
    DEEP,
    # Every invalid character, alone and within a name, at two levels.
    _struct(
        *(_field(character) for character in strategies.INVALID_CHARACTERS),
        *(_field(f"a{character}b", _X) for character in strategies.INVALID_CHARACTERS),
        _field("s", _struct(*(_field(f"{c}x") for c in strategies.INVALID_CHARACTERS))),
    ),
    # Names with dots and backticks, which a path as text would have to quote.
    _struct(_field("a", _struct(_field("b"))), _field("a.b"), _field("`a`.b"), _field("``", _X)),
    # Names of path segments, and the same leaf name in several structs.
    _struct(
        _field("element", _array(_struct(_field("element", _array(_X))))),
        _field("key", _map(_X, _struct(_field("key"), _field("x")))),
        _field("value", _map(_array(_X), _map("long", _X))),
    ),
    # Names in different structs that differ in letter case only.
    _struct(_field("x"), _field("S", _struct(_field("X"), _field("ß", _struct(_field("x")))))),
    # Letters outside of ASCII: with case, with two letters in lower case, and beyond the BMP.
    _struct(
        _field("É"), _field("İ"), _field("ΑΣ", _struct(_field("ΣΑΣ"))), _field("日"), _field("𐐀")
    ),
    _struct(
        *(
            _field(data_type, data_type, comment="why", n=1, list=[1, 2], inner={"a": None})
            for data_type in ("variant", "void", "timestamp_ntz", "time(6)", "char(3)", "binary")
        ),
        _field("vector", _VECTOR),
    ),
)


def on_schemas(test: Callable[..., None]) -> Callable[..., None]:
    """Runs a test on the fixed schemas and on generated schemas, all without mapping."""
    for schema in FIXED:
        test = example(schema=schema)(test)
    generated: st.SearchStrategy[Schema] = strategies.schemas() | strategies.deep_schemas()
    return COMPARISON(given(schema=generated)(test))
