# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest

from spark_ext.model.schema import (
    EMPTY_SCHEMA,
    Field,
    NamePattern,
    Path,
    map_fields,
    type_name,
    walk,
)
from tests.unit.tables import struct

NESTED = struct({"s": {"struct": {"x": ""}}, "l": {"array": {"y": ""}}, "m": {"map": {"z": ""}}})


class TestWalk:
    def test_paths_contain_structs_arrays_and_maps(self) -> None:
        assert [path for path, _ in walk(NESTED)] == [
            ("s",),
            ("s", "x"),
            ("l",),
            ("l", "element", "y"),
            ("m",),
            ("m", "value", "z"),
        ]

    def test_map_keys_and_nested_collections_are_walked(self) -> None:
        inner = {"type": "array", "elementType": struct({"x": ""}), "containsNull": True}
        outer = {"type": "map", "keyType": struct({"k": ""}), "valueType": inner}

        schema = struct({"m": {"type": outer}})

        assert [path for path, _ in walk(schema)][1:] == [
            ("m", "key", "k"),
            ("m", "value", "element", "x"),
        ]

    def test_user_defined_types_are_leaves(self) -> None:
        udt = {"type": "udt", "class": "org.example.Point", "sqlType": struct({"x": ""})}

        assert [path for path, _ in walk(struct({"p": {"type": udt}}))] == [("p",)]
        assert type_name(udt) == "udt"

    def test_empty_schema_has_no_fields(self) -> None:
        assert list(walk(EMPTY_SCHEMA)) == []

    def test_fields_are_the_same_when_paths_use_other_names(self) -> None:
        renamed = [field for _, field in walk(NESTED, name=lambda field: "n")]

        assert [field for _, field in walk(NESTED)] == renamed


class TestMapFields:
    def test_only_changed_branches_are_rebuilt(self) -> None:
        result = map_fields(
            NESTED, lambda path, field: {**field, "name": "q"} if path[-1] == "y" else field
        )

        assert [path for path, _ in walk(result)][3] == ("l", "element", "q")
        assert result["fields"][0] is NESTED["fields"][0]
        assert [path for path, _ in walk(NESTED)][3] == ("l", "element", "y")

    def test_function_gets_the_paths_of_the_old_schema(self) -> None:
        seen = []

        def rename(path: Path, field: Field) -> Field:
            seen.append(path)
            return {**field, "name": "q"}

        map_fields(NESTED, rename)

        assert [path for path, _ in walk(NESTED)] == seen

    def test_no_change_returns_the_same_object(self) -> None:
        assert map_fields(NESTED, lambda _, field: field) is NESTED


@pytest.mark.parametrize(
    ("text", "path", "matches"),
    [
        ("t.a", ("a",), True),
        ("DB.T.s.x", ("s", "element", "x"), True),
        ("db.*.a", ("a",), True),
        ("t.x", ("s", "x"), False),  # only a whole path follows the table's name
        ("u.a", ("a",), False),
        ("c.db.t.a", ("a",), False),
    ],
)
def test_name_of_a_column_may_follow_the_name_of_the_table(
    text: str, path: Path, matches: bool
) -> None:
    assert NamePattern(text, ("db", "t")).matches(path) == matches
