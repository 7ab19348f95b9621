# SPDX-License-Identifier: Apache-2.0
"""Compares our check of ids and physical names with Delta's check.

Four of Delta's errors have no condition. `delta_functions` gives them the names of our conditions
without the prefix.
"""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from spark_ext.column_mapping import check_column_id_and_physical_name_assignments
from spark_ext.errors import SparkExtError
from spark_ext.model.keys import COLUMN_MAPPING_MODE
from spark_ext.model.metadata import TableMetadata
from spark_ext.model.schema import Schema
from tests.differential.delta_functions import DeltaFunctions, DeltaRefusal, Metadata
from tests.differential.fixed_schemas import COMPARISON, FIXED, on_schemas
from tests.unit import strategies
from tests.unit.tables import struct, table

WIDE_OR_DEEP = st.sampled_from([s for s in FIXED if s["fields"]]) | strategies.deep_schemas()
MAPPED_TABLES = strategies.tables(modes=("name", "id"))


def our_answer(metadata: TableMetadata) -> str | None:
    """Returns the condition of the error; None if the table passes."""
    try:
        check_column_id_and_physical_name_assignments(metadata)
    except SparkExtError as refusal:
        return refusal.condition.removeprefix("USAGE_TRACKING_")
    return None


def deltas_answer(delta: DeltaFunctions, metadata: TableMetadata) -> str | None:
    table = Metadata(metadata.schema, metadata.configuration)
    try:
        delta.check_column_id_and_physical_name_assignments(table)
    except DeltaRefusal as refusal:
        return str(refusal.condition)
    return None


def mapped_by(delta: DeltaFunctions, schema: Schema) -> TableMetadata:
    """Returns a new table with nested ids."""
    before = Metadata(struct({}), {})
    wanted = {COLUMN_MAPPING_MODE: "name", "delta.enableIcebergCompatV2": "true"}
    assigned = delta.assign_column_id_and_physical_name(before, Metadata(schema, wanted))
    return TableMetadata(assigned.schema, assigned.configuration)


@COMPARISON
@given(metadata=MAPPED_TABLES.flatmap(strategies.faulty))
def test_faulty_table_gets_the_same_answer(delta: DeltaFunctions, metadata: TableMetadata) -> None:
    assert our_answer(metadata) == deltas_answer(delta, metadata)


@COMPARISON
@given(metadata=MAPPED_TABLES.flatmap(strategies.faulty).flatmap(strategies.faulty))
def test_table_with_two_faults_is_refused_by_both_or_neither(
    delta: DeltaFunctions, metadata: TableMetadata
) -> None:
    assert (our_answer(metadata) is None) == (deltas_answer(delta, metadata) is None)


@COMPARISON
@given(data=st.data(), schema=WIDE_OR_DEEP)
def test_fault_in_a_wide_or_deep_table_gets_the_same_answer(
    delta: DeltaFunctions, data: st.DataObject, schema: Schema
) -> None:
    metadata = data.draw(strategies.faulty(mapped_by(delta, schema)))

    assert our_answer(metadata) == deltas_answer(delta, metadata)


@on_schemas
def test_assignment_of_delta_passes_both(delta: DeltaFunctions, schema: Schema) -> None:
    metadata = mapped_by(delta, schema)

    assert deltas_answer(delta, metadata) is None
    assert our_answer(metadata) is None


class TestDifferences:
    """Contains the differences between the two, with the reason."""

    def test_two_faults_are_reported_in_different_order(self, delta: DeltaFunctions) -> None:
        # Delta first looks for missing ids in the whole schema. Our check walks the schema once.
        metadata = table({"a": "1 a", "b": "1 b", "c": ""}, "name")

        assert deltas_answer(delta, metadata) == "MISSING_COLUMN_ID"
        assert our_answer(metadata) == "DUPLICATED_COLUMN_ID"

    def test_names_that_differ_in_case_are_two_columns_for_us_only(
        self, delta: DeltaFunctions
    ) -> None:
        # Delta looks columns up by lower-case names and finds the second twin twice. Delta refuses
        # a table with twins earlier: DELTA_DUPLICATE_COLUMNS_FOUND.
        metadata = table({"a": "1 p", "A": "2 q"}, "name")

        assert deltas_answer(delta, metadata) == "DUPLICATED_COLUMN_ID"
        assert our_answer(metadata) is None

    def test_name_with_backticks_is_not_a_path_for_us(self, delta: DeltaFunctions) -> None:
        # Delta does not escape backticks within names, so two different paths look equal. No table
        # has both: their logical names are refused in the same way, COLUMN_ALREADY_EXISTS.
        metadata = table(
            {"`a": {"column": "1 `a", "struct": {"b`": "2 b`"}}, "a.b": "3 a.b"}, "name"
        )

        assert deltas_answer(delta, metadata) == "DUPLICATED_PHYSICAL_NAME"
        assert our_answer(metadata) is None
