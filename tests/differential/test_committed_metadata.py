# SPDX-License-Identifier: Apache-2.0
"""Compares the rules with Delta on histories whose ids and names Delta assigned.

The metadata that the rules commit passes the check that Delta makes before every commit. If the
rules keep the flag false, Delta finds no drop and no rename. `fake_delta`, which unit tests of the
rules use, assigns the ids and names that Delta assigns.
"""

from __future__ import annotations

import re
from dataclasses import replace

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from spark_ext.model.column_mapping import (
    is_mapped,
    mode_of,
    physical_name,
)
from spark_ext.model.keys import (
    COLUMN_ID,
    COLUMN_MAPPING_MODE,
    FEATURE_PROPERTY,
    HAS_DROPPED_OR_RENAMED,
)
from spark_ext.model.metadata import TableMetadata
from spark_ext.model.schema import Path, Schema, walk
from spark_ext.rules import next_metadata
from tests.differential.delta_functions import DeltaFunctions, DeltaRefusal, Metadata
from tests.differential.fixed_schemas import COMPARISON, on_schemas
from tests.unit import strategies
from tests.unit.tables import TRACKED, commit, without

UUID_NAME = re.compile(r"col-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
NESTED_IDS = {"delta.enableIcebergCompatV2": "true"}


class TestCommits:
    @settings(COMPARISON, max_examples=50)
    @given(data=st.data())
    def test_every_commit_passes_the_check_of_delta(
        self, delta: DeltaFunctions, data: st.DataObject
    ) -> None:
        modes = data.draw(st.sampled_from([strategies.MODES, ("name",)]))
        now = data.draw(strategies.tables(modes) | st.just(TableMetadata()))
        commits = 0
        for _ in range(data.draw(st.integers(2, 6))):
            change = data.draw(strategies.changes(TRACKED, old=now, modes=modes))
            try:
                change = replace(change, new=assigned(delta, change))
            except DeltaRefusal:
                continue  # Delta made no commit
            before, now = now, committed(change)
            commits += 1

            check(delta, now)
            if flag(now) == "false":
                assert not is_changed_for(delta, before, now)
        assume(commits)  # a history without commits proves nothing

    @on_schemas
    def test_new_table_gets_logical_names_that_delta_accepts(
        self, delta: DeltaFunctions, schema: Schema
    ) -> None:
        now = created(delta, schema)

        assert delta.physical_paths(now.schema) == {path: path for path, _ in walk(schema)}
        check(delta, now)


class TestFakeDelta:
    @settings(COMPARISON, max_examples=120)
    @given(change=strategies.changes())
    def test_ids_and_names_are_those_of_delta(
        self, delta: DeltaFunctions, change: strategies.Change
    ) -> None:
        try:
            theirs = assigned(delta, change)
        except DeltaRefusal:
            assume(False)

        assert comparable(change.new) == comparable(theirs)


def assigned(delta: DeltaFunctions, change: strategies.Change) -> TableMetadata:
    """Returns the proposed metadata with the ids and names of Delta."""
    old, proposed, context = change.old, change.commit.proposed, change.commit
    modes = mode_of(old.configuration), mode_of(proposed.configuration)
    changes_mode = modes[0] != modes[1] and not context.creating_table
    if changes_mode and not delta.allow_mapping_mode_change(*modes):
        raise DeltaRefusal("DELTA_UNSUPPORTED_COLUMN_MAPPING_MODE_CHANGE", {}, "")
    if not is_mapped(proposed):
        return change.new
    result = delta.assign_column_id_and_physical_name(
        as_metadata(old),
        as_metadata(proposed),
        changes_mode=changes_mode,
        overwrites=change.overwrites and modes[0] == modes[1],
    )
    return TableMetadata(result.schema, result.configuration)


def created(delta: DeltaFunctions, schema: Schema) -> TableMetadata:
    """Returns the committed metadata of a new tracked table in mode name."""
    wanted = {COLUMN_MAPPING_MODE: "name", FEATURE_PROPERTY: "supported", **NESTED_IDS}
    proposed = TableMetadata(schema, wanted)
    result = delta.assign_column_id_and_physical_name(
        as_metadata(TableMetadata()), as_metadata(proposed)
    )
    new = TableMetadata(result.schema, result.configuration)
    how = commit(proposed, creating_table=True)
    return committed(strategies.Change(TableMetadata(), new, how))


def committed(change: strategies.Change) -> TableMetadata:
    result = next_metadata(old=change.old, new=change.new, commit=change.commit)
    return without(result, FEATURE_PROPERTY)


def check(delta: DeltaFunctions, metadata: TableMetadata) -> None:
    if is_mapped(metadata):
        delta.check_column_id_and_physical_name_assignments(as_metadata(metadata))


def is_changed_for(delta: DeltaFunctions, old: TableMetadata, new: TableMetadata) -> bool:
    both_mapped = is_mapped(old) and is_mapped(new)
    schemas = old.schema, new.schema
    return delta.is_drop_column_operation(
        *schemas, both_mapped=both_mapped
    ) or delta.is_rename_column_operation(*schemas, both_mapped=both_mapped)


def flag(metadata: TableMetadata) -> str | None:
    return metadata.configuration.get(HAS_DROPPED_OR_RENAMED)


def as_metadata(metadata: TableMetadata) -> Metadata:
    return Metadata(metadata.schema, metadata.configuration)


def comparable(
    metadata: TableMetadata,
) -> tuple[dict[Path, tuple[int | None, str]], dict[str, str]]:
    """Returns ids and names by path; a generated name is empty."""
    columns = {}
    for path, field in walk(metadata.schema):
        number = field["metadata"].get(COLUMN_ID)
        name = physical_name(field)
        made_up = UUID_NAME.fullmatch(name) or name == f"col-{number}"
        columns[path] = number, "" if made_up else name
    return columns, dict(metadata.configuration)
