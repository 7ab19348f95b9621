# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest

from spark_ext.model.changes import ColumnChanges, column_changes, dropped_paths
from spark_ext.model.schema import Schema
from tests.unit.tables import struct

OLD = struct({"a": "1 a", "s": {"column": "2 s", "struct": {"x": "3 x", "y": "4 y"}}})
# The column `a` is dropped, and another one is added.
ANOTHER = ColumnChanges(added=(("a",),), dropped=(("a",),))


# Each claim, with two schemas and the changes between them.
CASES: dict[str, tuple[Schema, Schema, ColumnChanges]] = {
    "added column is found at every level": (
        OLD,
        struct(
            {
                "a": "1 a",
                "s": {"column": "2 s", "struct": {"x": "3 x", "y": "4 y", "z": "5 z"}},
                "l": {"column": "6 l", "array": {"e": "7 e"}},
            }
        ),
        ColumnChanges(added=(("s", "z"), ("l",), ("l", "element", "e"))),
    ),
    "dropped struct drops its fields": (
        OLD,
        struct({"a": "1 a"}),
        ColumnChanges(dropped=(("s",), ("s", "x"), ("s", "y"))),
    ),
    "renamed struct does not rename its fields": (
        OLD,
        struct({"a": "1 a", "t": {"column": "2 s", "struct": {"x": "3 x", "y": "4 y"}}}),
        ColumnChanges(renamed=((("s",), ("t",)),)),
    ),
    "change of letter case is a rename": (
        struct({"a": "1 a"}),
        struct({"A": "1 a"}),
        ColumnChanges(renamed=((("a",), ("A",)),)),
    ),
    "new id under the same name": (struct({"a": "1 a"}), struct({"a": "2 col-2"}), ANOTHER),
    "another physical name under the same id": (
        struct({"a": "1 a"}),
        struct({"a": "1 col-9"}),
        ANOTHER,
    ),
    "column without id": (struct({"a": ""}), struct({"a": {"type": "string"}}), ANOTHER),
    "column moved out of its struct is a drop and an addition": (
        OLD,
        struct({"a": "1 a", "s": {"column": "2 s", "struct": {"x": "3 x"}}, "y": "4 y"}),
        ColumnChanges(added=(("y",),), dropped=(("s", "y"),)),
    ),
    "swapped names are two renames": (
        struct({"a": "1 a", "b": "2 b"}),
        struct({"a": "2 b", "b": "1 a"}),
        ColumnChanges(renamed=((("a",), ("b",)), (("b",), ("a",)))),
    ),
}


class TestColumnChanges:
    @pytest.mark.parametrize(("old", "new", "changes"), CASES.values(), ids=CASES)
    def test_changes_are_found(self, old: Schema, new: Schema, changes: ColumnChanges) -> None:
        assert column_changes(old, new) == changes


class TestDroppedPaths:
    def test_paths_compare_in_exact_letter_case(self) -> None:
        assert dropped_paths(struct({"a": "", "b": ""}), struct({"A": "", "b": ""})) == (("a",),)

    def test_dropped_path_may_be_nested(self) -> None:
        new = struct({"a": "", "s": {"struct": {"y": ""}}})

        assert dropped_paths(OLD, new) == (("s", "x"),)

    def test_path_of_every_level_is_dropped_from_the_empty_schema(self) -> None:
        assert dropped_paths(OLD, struct({})) == (("a",), ("s",), ("s", "x"), ("s", "y"))
        assert dropped_paths(struct({}), OLD) == ()
