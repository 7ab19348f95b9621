# SPDX-License-Identifier: Apache-2.0
"""Compares `spark_ext.model.changes` with Delta's own functions. The oracle is Delta.

Delta identifies a column by its physical path, and we by its id and its physical path. If a column
keeps its path and loses its id, we call it dropped and Delta does not. Between two
mapped schemas, nothing else differs.
"""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from spark_ext.model.changes import ColumnChanges, column_changes, dropped_paths
from spark_ext.model.column_mapping import column_id, has_column_id, is_mapped, physical_name
from spark_ext.model.keys import COLUMN_ID
from spark_ext.model.metadata import TableMetadata
from spark_ext.model.schema import Path, Schema, map_fields, walk
from tests.differential.delta_functions import DeltaFunctions, Metadata
from tests.differential.fixed_schemas import COMPARISON, EMPTY, FIXED, on_schemas
from tests.unit import strategies
from tests.unit.tables import struct

CHANGES = strategies.changes(modes=("name", "id")).filter(lambda change: is_mapped(change.old))


def assert_same_changes(delta: DeltaFunctions, old: Schema, new: Schema) -> None:
    """Compares all functions of Delta on two schemas in which no column lost its id."""
    ours = column_changes(old, new)

    assert set(ours.dropped) == delta.collect_dropped_columns(old, new)
    assert set(ours.renamed) == delta.collect_renamed_columns(old, new)
    # Added columns are the dropped columns of the reverse change; Delta has no function for them.
    assert set(ours.added) == delta.collect_dropped_columns(new, old)
    assert bool(ours.dropped) == delta.is_drop_column_operation(old, new)
    assert bool(ours.renamed) == delta.is_rename_column_operation(old, new)
    assert len(set(ours.dropped)) == len(ours.dropped)
    assert len(set(ours.renamed)) == len(ours.renamed)


class TestMappedTables:
    @COMPARISON
    @given(change=CHANGES)
    def test_drops_and_renames_are_those_of_delta_when_paths_keep_their_ids(
        self, delta: DeltaFunctions, change: strategies.Change
    ) -> None:
        assume(not with_another_id(change.old.schema, change.new.schema))

        assert_same_changes(delta, change.old.schema, change.new.schema)

    @COMPARISON
    @given(change=CHANGES, data=st.data())
    def test_columns_that_lost_their_id_are_dropped_for_us_only(
        self, delta: DeltaFunctions, change: strategies.Change, data: st.DataObject
    ) -> None:
        old, new = change.old.schema, data.draw(strategies.reidentified(change.new.schema))
        lost = with_another_id(old, new)

        ours = column_changes(old, new)

        assert set(ours.dropped) == delta.collect_dropped_columns(old, new) | lost
        assert set(ours.renamed) == {
            (before, after)
            for before, after in delta.collect_renamed_columns(old, new)
            if before not in lost
        }

    @COMPARISON
    @given(schema=strategies.deep_schemas(), data=st.data(), overwrites=st.booleans())
    def test_drops_and_renames_are_those_of_delta_when_delta_assigned_ids_and_names(
        self, delta: DeltaFunctions, schema: Schema, data: st.DataObject, overwrites: bool
    ) -> None:
        properties = {"delta.columnMapping.mode": "name", "delta.enableIcebergCompatV2": "true"}
        nothing = Metadata(EMPTY, {})
        old = delta.assign_column_id_and_physical_name(nothing, Metadata(schema, properties))
        proposed = data.draw(strategies.evolved(old.schema))
        if overwrites:
            proposed = delta.drop_column_mapping_metadata(proposed)
        new = delta.assign_column_id_and_physical_name(
            old, Metadata(proposed, old.configuration), overwrites=overwrites
        )

        assert_same_changes(delta, old.schema, new.schema)

    @on_schemas
    def test_schema_has_no_changes_to_itself(self, delta: DeltaFunctions, schema: Schema) -> None:
        mapped = delta.mapped(schema)

        # A copy of the object in another order of columns, so that no comparison is skipped.
        again = {**mapped, "fields": list(reversed(delta.mapped(mapped)["fields"]))}

        assert column_changes(mapped, again) == ColumnChanges()
        assert_same_changes(delta, mapped, again)

    @on_schemas
    def test_all_columns_are_dropped_for_the_empty_schema(
        self, delta: DeltaFunctions, schema: Schema
    ) -> None:
        mapped = delta.mapped(schema)

        assert_same_changes(delta, mapped, EMPTY)
        assert_same_changes(delta, EMPTY, mapped)

    @pytest.mark.parametrize("schema", FIXED[1:])
    def test_every_column_of_a_schema_can_be_renamed(
        self, delta: DeltaFunctions, schema: Schema
    ) -> None:
        mapped = delta.mapped(schema)
        renamed = map_fields(mapped, lambda _, field: {**field, "name": field["name"] + "`.x"})

        assert len(column_changes(mapped, renamed).renamed) == len(walk(mapped))
        assert_same_changes(delta, mapped, renamed)


class TestUnmappedTables:
    @COMPARISON
    @given(old=strategies.schemas() | strategies.deep_schemas(), data=st.data())
    def test_dropped_paths_without_mapping_are_those_of_delta(
        self, delta: DeltaFunctions, old: Schema, data: st.DataObject
    ) -> None:
        new = data.draw(strategies.evolved(old))

        dropped = dropped_paths(old, new)

        assert set(dropped) == delta.collect_dropped_columns(old, new)
        assert set(dropped_paths(new, old)) == delta.collect_dropped_columns(new, old)
        assert len(set(dropped)) == len(dropped)

    @COMPARISON
    @given(table=strategies.tables(modes=("name",)), data=st.data())
    def test_dropped_paths_of_a_mapped_table_ignore_the_mapping(
        self, delta: DeltaFunctions, table: TableMetadata, data: st.DataObject
    ) -> None:
        old = table.schema
        new = delta.drop_column_mapping_metadata(data.draw(strategies.evolved(old)))

        bare = delta.drop_column_mapping_metadata(old)

        assert set(dropped_paths(old, new)) == delta.collect_dropped_columns(bare, new)

    @pytest.mark.parametrize("old", FIXED)
    @pytest.mark.parametrize("new", [EMPTY, *FIXED[3:6]])
    def test_dropped_paths_of_fixed_schemas_are_those_of_delta(
        self, delta: DeltaFunctions, old: Schema, new: Schema
    ) -> None:
        assert set(dropped_paths(old, new)) == delta.collect_dropped_columns(old, new)


# Intended differences between the two: the schemas, what Delta calls dropped and renamed, and what
# we call dropped. Delta compares no mapped schema with an unmapped one, because streams can follow.
NO_ID = {"metadata": {"delta.columnMapping.physicalName": "a"}}
DIFFERENCES: dict[str, tuple[Schema, Schema, set[Path], set[tuple[Path, Path]], set[Path]]] = {
    # If the flag is false, a new column may have the path of a dropped one. Older files contain the
    # column with the other id.
    "another id": (struct({"a": "1 a"}), struct({"a": "2 a"}), set(), set(), {("a",)}),
    "another id and name": (
        struct({"a": "1 p"}),
        struct({"b": "2 p"}),
        set(),
        {(("a",), ("b",))},
        {("a",)},
    ),
    # Another writer omitted the id. A column that cannot be compared may be another column.
    "lost id": (struct({"a": "1 a"}), struct({"a": NO_ID}), set(), set(), {("a",)}),
}


@pytest.mark.parametrize(
    ("old", "new", "dropped", "renamed", "dropped_for_us"), DIFFERENCES.values(), ids=DIFFERENCES
)
def test_column_without_its_id_is_a_drop_for_us(
    delta: DeltaFunctions,
    old: Schema,
    new: Schema,
    dropped: set[Path],
    renamed: set[tuple[Path, Path]],
    dropped_for_us: set[Path],
) -> None:
    assert delta.collect_dropped_columns(old, new) == dropped
    assert delta.collect_renamed_columns(old, new) == renamed
    assert set(column_changes(old, new).dropped) == dropped_for_us
    assert column_changes(old, new).renamed == ()


@pytest.mark.parametrize(
    ("new", "lost"), [(struct({"a": ""}), {("b",)}), (struct({"A": "", "b": ""}), {("a",)})]
)
def test_column_lost_by_a_removal_is_a_drop_for_us(
    delta: DeltaFunctions, new: Schema, lost: set[Path]
) -> None:
    # The files written under mapping may contain the column.
    old = struct({"a": "1 a", "b": "2 b"})

    assert not delta.is_drop_column_operation(old, new, both_mapped=False)
    assert not delta.is_rename_column_operation(old, new, both_mapped=False)
    assert set(dropped_paths(old, new)) == lost


def with_another_id(old: Schema, new: Schema) -> set[Path]:
    """Returns the logical paths of columns whose physical path now has another id or none."""
    after = {
        path: field["metadata"].get(COLUMN_ID) for path, field in walk(new, name=physical_name)
    }
    columns = zip(walk(old), walk(old, name=physical_name), strict=True)
    return {
        logical
        for (logical, field), (physical, _) in columns
        if physical in after and not (has_column_id(field) and after[physical] == column_id(field))
    }
