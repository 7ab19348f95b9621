# SPDX-License-Identifier: Apache-2.0
"""Compares `spark_ext.column_mapping` with Delta on changes of metadata and on fields."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spark_ext import column_mapping as ours
from spark_ext.errors import SparkExtError
from spark_ext.model.column_mapping import mode_of
from spark_ext.model.keys import COLUMN_MAPPING_MODE, HAS_DROPPED_OR_RENAMED
from spark_ext.model.metadata import TableMetadata
from spark_ext.model.schema import Field, Schema, walk
from tests.differential.delta_functions import DeltaFunctions, DeltaRefusal, Metadata
from tests.differential.fixed_schemas import COMPARISON, on_schemas
from tests.unit import strategies
from tests.unit.tables import struct, table, without

UUID_NAME = re.compile(r"col-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
NESTED_IDS = {"delta.enableIcebergCompatV2": "true"}
Outcome = tuple[Any, ...] | str


def outcome(function: Callable[[], TableMetadata | Metadata]) -> Outcome:
    """Returns the columns and properties of a result, or the condition of an error."""
    try:
        result = function()
    except (SparkExtError, DeltaRefusal) as refusal:
        return str(refusal.condition)
    named = {path: comparable(field) for path, field in walk(result.schema)}
    return named, dict(result.configuration)


def comparable(field: Field) -> dict[str, Any]:
    """Returns the metadata of a field with a fixed text for a generated physical name."""
    name = ours.get_physical_name(field)
    if not UUID_NAME.fullmatch(name):
        return dict(field["metadata"])
    text = {key: rename(value, name) for key, value in field["metadata"].items()}
    return text


def rename(value: Any, generated: str) -> Any:
    if isinstance(value, Mapping):
        return {key.replace(generated, "col-<uuid>"): inner for key, inner in value.items()}
    return "col-<uuid>" if value == generated else value


def both(
    delta: DeltaFunctions,
    old: TableMetadata,
    new: TableMetadata,
    *,
    creating: bool = False,
    overwrites: bool = False,
) -> tuple[Outcome, Outcome]:
    mine = outcome(
        lambda: ours.verify_and_update_metadata_change(
            old=old, new=new, is_creating_new_table=creating, is_overwrite_schema=overwrites
        )
    )
    theirs = outcome(
        lambda: delta.verify_and_update_metadata_change(
            Metadata(old.schema, old.configuration),
            Metadata(new.schema, new.configuration),
            creating=creating,
            overwrites=overwrites,
        )
    )
    return mine, theirs


@settings(COMPARISON, max_examples=150)
@given(data=st.data())
def test_change_has_the_outcome_of_delta(delta: DeltaFunctions, data: st.DataObject) -> None:
    change = data.draw(strategies.changes(requested=False))
    old, new = (
        without(metadata, HAS_DROPPED_OR_RENAMED)
        for metadata in (change.old, change.commit.proposed)
    )
    # Delta fails with an assertion if one commit changes the mode and overwrites the schema.
    remaps = mode_of(old.configuration) != mode_of(new.configuration)
    creating = data.draw(st.booleans())
    overwrites = not creating and not remaps and data.draw(st.booleans())

    mine, theirs = both(delta, old, new, creating=creating, overwrites=overwrites)

    assert mine == theirs


@on_schemas
def test_new_table_gets_the_ids_of_delta(delta: DeltaFunctions, schema: Schema) -> None:
    for properties in ({}, NESTED_IDS):
        new = TableMetadata(schema, {COLUMN_MAPPING_MODE: "name", **properties})

        mine, theirs = both(delta, TableMetadata(), new, creating=True)

        assert mine == theirs


@on_schemas
def test_enabling_column_mapping_keeps_the_names_as_delta_does(
    delta: DeltaFunctions, schema: Schema
) -> None:
    old = TableMetadata(schema, {})

    mine, theirs = both(delta, old, old.with_property(COLUMN_MAPPING_MODE, "name"))

    assert mine == theirs


@COMPARISON
@given(data=st.data())
def test_overwritten_schema_reuses_ids_as_delta_does(
    delta: DeltaFunctions, data: st.DataObject
) -> None:
    plain = data.draw(strategies.schemas(min_size=1) | strategies.deep_schemas())
    old = TableMetadata(delta.mapped(plain, NESTED_IDS), {COLUMN_MAPPING_MODE: "name"})
    written = ours.drop_column_mapping_metadata(data.draw(strategies.evolved(old.schema)))

    mine, theirs = both(delta, old, old.with_schema(written), overwrites=True)

    assert mine == theirs


@pytest.mark.parametrize(
    ("old", "new", "condition"),
    [
        (
            table({"a": "1 a"}, "name"),
            table({"a": "1 a"}, "id"),
            "DELTA_UNSUPPORTED_COLUMN_MAPPING_MODE_CHANGE",
        ),
        (
            table({"a": ""}),
            table({"a": "", "b": ""}, "name"),
            "DELTA_UNSUPPORTED_COLUMN_MAPPING_SCHEMA_CHANGE",
        ),
        (
            table({"a": "1 a"}, "none"),
            table({"a": "1 a"}, "name"),
            "DELTA_ENABLING_COLUMN_MAPPING_DISALLOWED_WHEN_COLUMN_MAPPING_METADATA_ALREADY_EXISTS",
        ),
    ],
)
def test_change_is_refused_with_the_condition_of_delta(
    delta: DeltaFunctions, old: TableMetadata, new: TableMetadata, condition: str
) -> None:
    assert both(delta, old, new) == (condition, condition)


@pytest.mark.parametrize("old", ["none", "name", "id"])
@pytest.mark.parametrize("new", ["none", "name", "id"])
def test_mode_change_is_allowed_as_by_delta(delta: DeltaFunctions, old: str, new: str) -> None:
    allowed = ours.allow_mapping_mode_change(old, new)

    assert allowed == delta.allow_mapping_mode_change(old, new)


def test_supported_modes_are_those_of_delta(delta: DeltaFunctions) -> None:
    assert set(ours.supported_modes) == delta.supported_modes()


@on_schemas
def test_schema_is_renamed_as_by_delta(delta: DeltaFunctions, schema: Schema) -> None:
    for form in (schema, delta.mapped(schema, NESTED_IDS)):
        assert ours.rename_columns(form) == delta.rename_columns(form)


@pytest.mark.parametrize("mode", ours.supported_modes)
@on_schemas
def test_metadata_of_a_field_is_that_of_delta(
    delta: DeltaFunctions, mode: str, schema: Schema
) -> None:
    for _, field in walk(delta.mapped(schema, NESTED_IDS))[:10]:
        mine = ours.get_column_mapping_metadata(field, mode)

        assert mine == delta.column_mapping_metadata(field, mode)


@pytest.mark.parametrize("mode", ["name", "id"])
@pytest.mark.parametrize("metadata", [{}, {"delta.columnMapping.id": 1}])
def test_field_without_mapping_is_refused_as_by_delta(
    delta: DeltaFunctions, mode: str, metadata: Mapping[str, Any]
) -> None:
    field = struct({"a": {"metadata": metadata}})["fields"][0]

    with pytest.raises(SparkExtError) as mine:
        ours.get_column_mapping_metadata(field, mode)
    with pytest.raises(DeltaRefusal) as theirs:
        delta.column_mapping_metadata(field, mode)

    assert mine.value.condition == f"USAGE_TRACKING_{theirs.value.condition}"
