# SPDX-License-Identifier: Apache-2.0
"""Runs random histories of one table without Spark, and compares each version with the model.

`fake_delta` and the rules make the metadata of each version. The machine also keeps the files: a
file contains, under each physical path, the key of the column that was written there. A column that
finds the key of another column under its own physical path would read the data of that column.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from spark_ext.model.column_mapping import is_mapped
from spark_ext.model.keys import (
    ALIGNING,
    COLUMN_MAPPING_MODE,
    FEATURE_NAME,
    FEATURE_PROPERTY,
    HAS_DROPPED_OR_RENAMED,
    MAX_COLUMN_ID,
)
from spark_ext.model.metadata import TableMetadata
from spark_ext.model.schema import Field, Path, map_fields
from spark_ext.rules import next_metadata
from tests.support import column_draws as draws
from tests.support.reference_model import Columns, State, edited
from tests.support.reference_model import walk as walk_columns
from tests.unit import fake_delta
from tests.unit.modelled_tables import File, compared, file_of, properties, schema_of
from tests.unit.tables import commit, without

MODES = st.sampled_from(["none", "name", "name", "id"])

data = st.data()


@dataclass(frozen=True)
class Version:
    """Contains a version of the table, and its model."""

    state: State
    metadata: TableMetadata
    features: frozenset[str]
    files: frozenset[File]


NO_TABLE = Version(State((), "none", is_tracked=False), TableMetadata(), frozenset(), frozenset())


class TableHistory(RuleBasedStateMachine):
    """Runs statements on a table and on its clones."""

    def __init__(self) -> None:
        super().__init__()
        self.versions = [NO_TABLE]
        self.tables = [self.versions]
        self.is_plain = False

    @property
    def now(self) -> Version:
        return self.versions[-1]

    @property
    def state(self) -> State:
        return self.now.state

    # Statements.

    @rule(data=data, is_plain=st.booleans())
    def continue_with(self, data: Any, is_plain: bool) -> None:
        """Chooses a table, and whether a session without spark-ext changes untracked tables."""
        self.versions = data.draw(st.sampled_from(self.tables))
        self.is_plain = is_plain

    @initialize(data=data, mode=MODES, is_tracked=st.booleans())
    def create(self, data: Any, mode: str, is_tracked: bool) -> None:
        first = State(draws.draw_columns(data, mode), mode, is_tracked)
        proposed = TableMetadata(schema_of(first.columns), properties(mode, is_tracked))
        self.commit(first.created(), proposed, creating_table=True)
        del self.versions[0]

    @precondition(lambda self: draws.has_place(self.state))
    @rule(data=data, first=st.booleans())
    def add_column(self, data: Any, first: bool) -> None:
        parent = data.draw(st.sampled_from(draws.places(self.state.columns)))
        taken = draws.siblings(self.state.columns, parent)
        new = draws.draw_column(data, self.state.mode, taken, level=draws.depth(parent))
        self.alter(parent, draws.with_new(new, first=first))

    @precondition(lambda self: self.state.is_mapped)
    @rule(data=data)
    def rename_column(self, data: Any) -> None:
        path = data.draw(st.sampled_from([path for path, _ in walk_columns(self.state.columns)]))
        taken = draws.siblings(self.state.columns, path[:-1])
        free = [path[-1].swapcase(), *draws.free_names(taken, self.state.mode)]
        name = data.draw(st.sampled_from([name for name in free if name != path[-1]]))
        self.alter(path[:-1], draws.renamed(path[-1], name))

    @precondition(lambda self: self.state.is_mapped and bool(draws.droppable(self.state.columns)))
    @rule(data=data)
    def drop_column(self, data: Any) -> None:
        path = data.draw(st.sampled_from(draws.droppable(self.state.columns)))
        self.alter(path[:-1], draws.without(path[-1]))

    @precondition(lambda self: bool(draws.movable(self.state.columns)))
    @rule(data=data)
    def move_column(self, data: Any) -> None:
        path = data.draw(st.sampled_from(draws.movable(self.state.columns)))
        self.alter(path[:-1], draws.moved_first(path[-1]))

    @rule(data=data, what=st.sampled_from(["comment", "type", "nullability"]))
    def change_column(self, data: Any, what: str) -> None:
        columns = self.state.columns
        path = data.draw(st.sampled_from([path for path, _ in walk_columns(columns)]))
        if what == "type":
            columns = edited(columns, path[:-1], draws.widened(path[-1]))

        def changed(at: Path, field: Field) -> Field:
            if at != path or what == "type":
                return field
            if what == "nullability":
                return {**field, "nullable": not field["nullable"]}
            return {**field, "metadata": {**field["metadata"], "comment": len(self.versions)}}

        proposed = self.now.metadata.with_schema(map_fields(schema_of(columns), changed))
        self.commit(self.state.altered(columns), proposed)

    @rule(data=data)
    def merge_schema(self, data: Any) -> None:
        _, columns = draws.draw_evolution(data, self.state)
        self.change(columns)

    @precondition(lambda self: not self.state.is_mapped)
    @rule()
    def enable_mapping(self) -> None:
        proposed = self.now.metadata.with_property(COLUMN_MAPPING_MODE, "name")
        self.commit(self.state.mapping_enabled(), proposed)

    @precondition(lambda self: self.state.is_mapped)
    @rule()
    def disable_mapping(self) -> None:
        if draws.has_unmappable_name(self.state.columns):
            return  # Delta refuses.
        state, new = self.state, self.state.mapping_disabled()
        proposed = without(self.now.metadata, MAX_COLUMN_ID).with_schema(schema_of(new.columns))
        proposed = proposed.with_property(COLUMN_MAPPING_MODE, "none")
        same = all(column.physical == column.name for _, column in walk_columns(state.columns))
        is_free = state.is_tracked and state.flag is False and same
        self.commit(new, proposed, files=None if is_free else frozenset({file_of(proposed)}))

    @rule(data=data)
    def overwrite_schema(self, data: Any) -> None:
        columns = draws.draw_successor(data, self.state.columns, self.state.mode)
        new = self.state.overwritten(columns, ())
        if new.visible_columns() == self.state.visible_columns():
            return  # Delta changes no metadata.
        proposed = self.now.metadata.with_schema(schema_of(columns))
        self.commit(new, proposed, overwriting_schema=True, files=frozenset())

    @rule(data=data, mode=MODES, track=st.booleans())
    def replace_table(self, data: Any, mode: str, track: bool) -> None:
        columns = draws.draw_successor(data, self.state.columns, mode)
        if mode == "none" and draws.has_unmappable_name(columns):
            return  # Delta refuses.
        self.commit(
            self.state.replaced(columns, (), mode=mode, track=track),
            TableMetadata(schema_of(columns), properties(mode, track)),
            creating_table=True,
            overwriting_schema=mode == self.state.mode,
            files=frozenset(),
        )

    @precondition(lambda self: not self.state.is_tracked)
    @rule(mapped_too=st.booleans())
    def enable_tracking(self, mapped_too: bool) -> None:
        new = self.state.tracking_enabled()
        proposed = self.now.metadata.with_property(FEATURE_PROPERTY, "supported")
        if mapped_too and not self.state.is_mapped:
            new = new.mapping_enabled()
            proposed = proposed.with_property(COLUMN_MAPPING_MODE, "name")
        self.commit(new, proposed)

    @precondition(lambda self: self.state.is_tracked and self.state.is_mapped and self.state.flag)
    @rule()
    def align_names(self) -> None:
        """Runs the statements of an alignment, and no other statement between them."""
        if draws.has_unmappable_name(self.state.columns):
            return  # The alignment is refused.
        aligned, before = self.state.aligned(), len(self.versions)
        self.commit(self.state, self.now.metadata.with_property(ALIGNING, self.state.mode))
        self.disable_mapping()
        self.drop_tracking()
        proposed = self.now.metadata.with_property(FEATURE_PROPERTY, "supported")
        self.commit(aligned, proposed.with_property(COLUMN_MAPPING_MODE, "name"))
        self.commit(aligned, without(self.now.metadata, ALIGNING))
        # RESTORE to a version within an alignment restores recorded ids, which the model lacks.
        del self.versions[before:-1]

    @precondition(lambda self: self.state.is_tracked)
    @rule()
    def drop_tracking(self) -> None:
        new = self.state.tracking_dropped()
        features = self.now.features - {FEATURE_NAME}
        self.commit(new, without(self.now.metadata, HAS_DROPPED_OR_RENAMED), features=features)

    @rule(data=data)
    def restore(self, data: Any) -> None:
        then = data.draw(st.sampled_from(self.versions))
        if self.state.can_change_to(then.state.mode):
            new = self.state.restored(then.state)
            self.commit(new, then.metadata, files=then.files, source=then)

    @rule(data=data)
    def clone_over(self, data: Any) -> None:
        then = data.draw(st.sampled_from([*self.versions, *(table[-1] for table in self.tables)]))
        if then.state.mode == self.state.mode:  # Otherwise Delta refuses.
            new = then.state.cloned_over(self.state)
            self.commit(new, then.metadata, creating_table=True, files=then.files, source=then)

    @rule(requested=st.booleans())
    def clone_to_new_table(self, requested: bool) -> None:
        source = self.now
        new, proposed = source.state, source.metadata
        if requested:
            new = source.state.cloned_without_us().tracking_enabled()
            proposed = proposed.with_property(FEATURE_PROPERTY, "supported")
        self.versions = [NO_TABLE]
        self.tables.append(self.versions)
        self.commit(new, proposed, creating_table=True, files=source.files, source=source)
        del self.versions[0]

    @rule()
    def clone_without_us(self) -> None:
        state = self.state.cloned_without_us()
        features = self.now.features - {FEATURE_NAME}
        self.versions = [replace(self.now, state=state, features=features)]
        self.tables.append(self.versions)
        self.is_plain = True

    # The invariant.

    @invariant()
    def test_column_never_reads_values_of_another(self) -> None:
        for file in self.now.files:
            written = dict(file)
            for path, key in file_of(self.now.metadata):
                assert written.get(path, key) == key, (path, self.now)

    # The commit of a statement, as Delta makes it.

    def alter(self, parent: Path, change: Callable[[Columns], Columns]) -> None:
        self.change(edited(self.state.columns, parent, change))

    def change(self, columns: Columns) -> None:
        new = self.state.altered(columns)
        if new.visible_columns() != self.state.visible_columns():
            self.commit(new, self.now.metadata.with_schema(schema_of(columns)))

    def commit(
        self,
        state: State,
        proposed: TableMetadata,
        *,
        files: frozenset[File] | None = None,
        features: frozenset[str] | None = None,
        source: Version = NO_TABLE,
        **how: bool,
    ) -> None:
        """Commits a statement by the rules, compares the result with the model, and writes."""
        old = self.now
        new = fake_delta.assigned(old.metadata, proposed, **how)
        features = old.features if features is None else features
        is_new = how.get("creating_table", False)
        copies = source is not NO_TABLE
        untracked = copies and FEATURE_NAME not in source.features
        context = commit(
            proposed, tuple(features), creating_table=is_new, copies_untracked=untracked
        )
        requests = how or copies or FEATURE_PROPERTY in proposed.configuration
        if self.is_plain and not old.state.is_tracked and not requests:
            state, result = state.without_us(old.state), new
        else:
            result = next_metadata(old=old.metadata, new=new, commit=context)
        features |= source.features
        features |= {FEATURE_NAME} if FEATURE_PROPERTY in result.configuration else frozenset()
        features |= {"columnMapping"} if is_mapped(result) else frozenset()
        metadata = without(result, FEATURE_PROPERTY)
        state = compared(metadata, features, state)
        if old.state.is_tracked and old.state.flag and state.is_tracked:
            assert state.flag
        # Each commit adds a file, because a later column can read only values that a file has.
        kept = old.files if files is None else files
        self.versions.append(Version(state, metadata, features, kept | {file_of(metadata)}))


TestTableHistory = TableHistory.TestCase
TestTableHistory.settings = settings(max_examples=200, stateful_step_count=25)
