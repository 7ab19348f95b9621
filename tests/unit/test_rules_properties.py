# SPDX-License-Identifier: Apache-2.0
"""Tests properties of the rules that hold for every commit."""

from __future__ import annotations

import copy
from dataclasses import replace

from hypothesis import given

from spark_ext.column_mapping import check_column_id_and_physical_name_assignments
from spark_ext.model.column_mapping import (
    column_id,
    drop_column_mapping_metadata,
    has_column_id,
    is_mapped,
    physical_name,
)
from spark_ext.model.keys import HAS_DROPPED_OR_RENAMED, MAX_COLUMN_ID
from spark_ext.model.metadata import TableMetadata
from spark_ext.model.schema import Schema, walk
from spark_ext.rules import next_metadata
from tests.unit import strategies
from tests.unit.tables import TRACKED

TRACKED_CHANGES = strategies.changes(TRACKED)


def committed(change: strategies.Change) -> TableMetadata:
    return next_metadata(old=change.old, new=change.new, commit=change.commit)


@given(TRACKED_CHANGES)
def test_rules_are_idempotent(change: strategies.Change) -> None:
    once = committed(change)

    assert once == committed(replace(change, new=once))


@given(TRACKED_CHANGES)
def test_flag_of_an_existing_tracked_table_is_a_boolean(change: strategies.Change) -> None:
    configuration = committed(change).configuration

    existed = bool(change.old.schema["fields"])
    assert configuration.get(HAS_DROPPED_OR_RENAMED) in ("true", "false") or not existed


@given(TRACKED_CHANGES)
def test_flag_never_changes_from_true_to_false(change: strategies.Change) -> None:
    before = change.old.configuration.get(HAS_DROPPED_OR_RENAMED)

    if before == "true":
        assert committed(change).configuration[HAS_DROPPED_OR_RENAMED] == "true"


@given(TRACKED_CHANGES)
def test_no_column_is_missing_when_the_flag_is_false(change: strategies.Change) -> None:
    result = committed(change)

    if is_mapped(change.old) and is_mapped(result) and _flag(result) == "false":
        after = {column_id(field): field for _, field in walk(result.schema)}
        for _, field in walk(change.old.schema):
            same = after[column_id(field)]
            assert (field["name"], physical_name(field)) == (same["name"], physical_name(same))


@given(TRACKED_CHANGES)
def test_existing_column_keeps_its_id_and_physical_name(change: strategies.Change) -> None:
    before = {column_id(f): f for _, f in walk(change.old.schema) if has_column_id(f)}

    result = committed(change)

    for (_, given_field), (_, field) in zip(
        walk(change.new.schema), walk(result.schema), strict=True
    ):
        if has_column_id(field):
            assert column_id(given_field) == column_id(field)
            if column_id(field) in before:
                assert physical_name(given_field) == physical_name(field)


@given(TRACKED_CHANGES)
def test_physical_paths_and_ids_are_unique_after_the_rules(change: strategies.Change) -> None:
    result = committed(change)

    if is_mapped(result):
        check_column_id_and_physical_name_assignments(result)


@given(TRACKED_CHANGES)
def test_only_column_mapping_metadata_changes(change: strategies.Change) -> None:
    result = committed(change)

    assert _bare(change.new.schema) == _bare(result.schema)


@given(TRACKED_CHANGES)
def test_max_column_id_never_decreases(change: strategies.Change) -> None:
    result = committed(change)

    if is_mapped(change.old) and is_mapped(result):
        assert int(change.old.configuration[MAX_COLUMN_ID]) <= int(
            result.configuration[MAX_COLUMN_ID]
        )


@given(strategies.changes(("columnMapping",), requested=False))
def test_existing_table_without_the_feature_is_unchanged(change: strategies.Change) -> None:
    if not change.old.schema["fields"]:
        return
    result = committed(change)

    # An existing flag may only become true.
    assert result is change.new or (_flag(change.new) is not None and _flag(result) == "true")
    assert result.schema is change.new.schema
    kept = {HAS_DROPPED_OR_RENAMED: _flag(change.new)} if result is not change.new else {}
    assert {**result.configuration, **kept} == change.new.configuration


@given(TRACKED_CHANGES)
def test_inputs_are_not_mutated(change: strategies.Change) -> None:
    before = copy.deepcopy(
        [
            (m.schema, dict(m.configuration))
            for m in (change.old, change.new, change.commit.proposed)
        ]
    )

    committed(change)

    assert before == [
        (m.schema, dict(m.configuration)) for m in (change.old, change.new, change.commit.proposed)
    ]


@given(TRACKED_CHANGES)
def test_unchanged_schema_is_the_same_object(change: strategies.Change) -> None:
    result = committed(change)

    assert (result.schema is change.new.schema) == (result.schema == change.new.schema)


def _flag(metadata: TableMetadata) -> str | None:
    return metadata.configuration.get(HAS_DROPPED_OR_RENAMED)


def _bare(schema: Schema) -> Schema:
    return drop_column_mapping_metadata(schema)
