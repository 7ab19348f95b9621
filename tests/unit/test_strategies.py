# SPDX-License-Identifier: Apache-2.0
"""Tests that the strategies make tables and commits that Delta would accept."""

from __future__ import annotations

from collections import Counter
from typing import Any

from hypothesis import given

from spark_ext.model.column_mapping import (
    check_column_id_and_physical_name_assignments,
    is_mapped,
    schema_has_column_mapping_metadata,
)
from spark_ext.model.metadata import TableMetadata
from spark_ext.model.schema import Schema, walk
from tests.unit import strategies


@given(strategies.schemas())
def test_schemas_have_no_mapping(schema: Schema) -> None:
    assert not schema_has_column_mapping_metadata(schema)


@given(strategies.schemas())
def test_siblings_differ_in_more_than_letter_case(schema: Schema) -> None:
    assert not _twins(schema)


@given(strategies.tables(modes=("name", "id")))
def test_mapped_tables_have_ids_and_names_at_every_level(table: TableMetadata) -> None:
    check_column_id_and_physical_name_assignments(table)


@given(strategies.tables(modes=("none",)))
def test_unmapped_tables_have_no_mapping(table: TableMetadata) -> None:
    assert not schema_has_column_mapping_metadata(table.schema)


@given(strategies.changes())
def test_mapped_commits_have_ids_and_names_at_every_level(change: strategies.Change) -> None:
    assert not _twins(change.new.schema)
    if is_mapped(change.new):
        check_column_id_and_physical_name_assignments(change.new)


def _twins(schema: Schema) -> list[Any]:
    folded = Counter(tuple(name.lower() for name in path) for path, _ in walk(schema))
    return [path for path, count in folded.items() if count > 1]
