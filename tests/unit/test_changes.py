# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from hypothesis import given

from spark_ext.model.changes import ColumnChanges, column_changes, dropped_paths
from spark_ext.model.metadata import TableMetadata
from spark_ext.model.schema import Schema, walk
from tests.unit import strategies
from tests.unit.tables import struct

OLD = struct({"a": "1 a", "s": {"column": "2 s", "struct": {"x": "3 x", "y": "4 y"}}})


class TestColumnChanges:
    def test_added_column_is_found_at_every_level(self) -> None:
        new = struct(
            {
                "a": "1 a",
                "s": {"column": "2 s", "struct": {"x": "3 x", "y": "4 y", "z": "5 z"}},
                "l": {"column": "6 l", "array": {"e": "7 e"}},
            }
        )

        assert column_changes(OLD, new) == ColumnChanges(
            added=(("s", "z"), ("l",), ("l", "element", "e"))
        )

    def test_dropped_struct_drops_its_fields(self) -> None:
        changes = column_changes(OLD, struct({"a": "1 a"}))

        assert changes == ColumnChanges(dropped=(("s",), ("s", "x"), ("s", "y")))

    def test_renamed_struct_does_not_rename_its_fields(self) -> None:
        new = struct({"a": "1 a", "t": {"column": "2 s", "struct": {"x": "3 x", "y": "4 y"}}})

        assert column_changes(OLD, new) == ColumnChanges(renamed=((("s",), ("t",)),))

    def test_change_of_letter_case_is_a_rename(self) -> None:
        changes = column_changes(struct({"a": "1 a"}), struct({"A": "1 a"}))

        assert changes.renamed == ((("a",), ("A",)),)

    def test_new_id_under_the_same_name_is_a_drop_and_an_addition(self) -> None:
        changes = column_changes(struct({"a": "1 a"}), struct({"a": "2 col-2"}))

        assert changes == ColumnChanges(added=(("a",),), dropped=(("a",),))

    def test_another_physical_name_under_the_same_id_is_a_drop_and_an_addition(self) -> None:
        changes = column_changes(struct({"a": "1 a"}), struct({"a": "1 col-9"}))

        assert changes == ColumnChanges(added=(("a",),), dropped=(("a",),))

    def test_column_moved_out_of_its_struct_is_a_drop_and_an_addition(self) -> None:
        new = struct({"a": "1 a", "s": {"column": "2 s", "struct": {"x": "3 x"}}, "y": "4 y"})

        assert column_changes(OLD, new) == ColumnChanges(added=(("y",),), dropped=(("s", "y"),))

    def test_column_without_id_is_a_drop_and_an_addition(self) -> None:
        changes = column_changes(struct({"a": ""}), struct({"a": {"type": "string"}}))

        assert changes == ColumnChanges(added=(("a",),), dropped=(("a",),))

    def test_swapped_names_are_two_renames(self) -> None:
        changes = column_changes(struct({"a": "1 a", "b": "2 b"}), struct({"a": "2 b", "b": "1 a"}))

        assert changes == ColumnChanges(renamed=((("a",), ("b",)), (("b",), ("a",))))

    @given(strategies.tables(modes=("name",)))
    def test_schema_does_not_differ_from_itself(self, table: TableMetadata) -> None:
        copy = {**table.schema}

        assert column_changes(table.schema, copy) == ColumnChanges()

    @given(strategies.changes())
    def test_reversed_changes_mirror_the_changes(self, change: strategies.Change) -> None:
        forth = column_changes(change.old.schema, change.new.schema)
        back = column_changes(change.new.schema, change.old.schema)

        if change.old.schema is not change.new.schema:
            assert set(forth.added) == set(back.dropped)
            assert {(new, old) for old, new in forth.renamed} == set(back.renamed)


class TestDroppedPaths:
    def test_paths_compare_in_exact_letter_case(self) -> None:
        assert dropped_paths(struct({"a": "", "b": ""}), struct({"A": "", "b": ""})) == (("a",),)

    def test_dropped_path_may_be_nested(self) -> None:
        new = struct({"a": "", "s": {"struct": {"y": ""}}})

        assert dropped_paths(OLD, new) == (("s", "x"),)

    def test_added_path_is_not_a_dropped_path(self) -> None:
        assert dropped_paths(struct({"a": ""}), struct({"a": "", "b": ""})) == ()

    @given(strategies.schemas())
    def test_nothing_is_dropped_from_the_empty_schema(self, schema: Schema) -> None:
        assert dropped_paths(struct({}), schema) == ()
        assert len(dropped_paths(schema, struct({}))) == len(list(walk(schema)))
