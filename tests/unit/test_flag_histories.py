# SPDX-License-Identifier: Apache-2.0
"""Runs random histories, in which no new column may read the data of an old column.

The machine runs statements as Delta does, and knows only the names in the files of the table. Every
column has a token in its metadata that never changes. A file contains, under each physical path,
the token of the column that was written there. A column that finds the token of another column
under its own physical path would read the data of that column.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from spark_ext.model.column_mapping import (
    is_mapped,
    physical_name,
    schema_has_column_mapping_metadata,
)
from spark_ext.model.keys import (
    COLUMN_MAPPING_MODE,
    FEATURE_NAME,
    FEATURE_PROPERTY,
    HAS_DROPPED_OR_RENAMED,
    MAX_COLUMN_ID,
)
from spark_ext.model.metadata import TableMetadata
from spark_ext.model.schema import Path, logical_name, walk
from spark_ext.rules import next_metadata
from tests.unit import fake_delta
from tests.unit.tables import commit, without

NAMES = st.sampled_from(["a", "A", "b"])
TYPES = st.sampled_from(["long", "string"])
File = frozenset[tuple[Path, int]]


@dataclass(frozen=True)
class Version:
    metadata: TableMetadata = field(default_factory=TableMetadata)
    features: frozenset[str] = frozenset()
    files: frozenset[File] = frozenset()

    @property
    def is_tracked(self) -> bool:
        return FEATURE_NAME in self.features

    @property
    def flag(self) -> str | None:
        return self.metadata.configuration.get(HAS_DROPPED_OR_RENAMED)

    @property
    def top(self) -> list[Any]:
        fields: list[Any] = self.metadata.schema["fields"]
        return fields


class TableHistory(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.versions: list[Version] = []
        self.tokens = 0

    @property
    def now(self) -> Version:
        return self.versions[-1]

    # Statements.

    @initialize(mapped=st.booleans(), tracked=st.booleans())
    def create(self, mapped: bool, tracked: bool) -> None:
        self.versions = [Version()]
        inner = {"type": "struct", "fields": [self.column("a")]}
        schema = {"type": "struct", "fields": [self.column("a"), self.column("s", inner)]}
        configuration = {COLUMN_MAPPING_MODE: "name" if mapped else "none"}
        configuration |= {FEATURE_PROPERTY: "supported"} if tracked else {}
        self.commit(TableMetadata(schema, configuration), creating_table=True)
        del self.versions[0]

    @rule(name=NAMES, nested=st.booleans(), data_type=TYPES)
    def add_column(self, name: str, nested: bool, data_type: str) -> None:
        self.alter(lambda fields: [*fields, self.column(name, data_type)], nested=nested)

    @precondition(lambda self: is_mapped(self.now.metadata))
    @rule(index=st.integers(0, 5), name=NAMES, nested=st.booleans())
    def rename_column(self, index: int, name: str, nested: bool) -> None:
        def rename(fields: list[Any]) -> list[Any]:
            at = index % len(fields)
            return [{**f, "name": name} if i == at else f for i, f in enumerate(fields)]

        self.alter(rename, nested=nested)

    @precondition(lambda self: is_mapped(self.now.metadata))
    @rule(index=st.integers(0, 5), nested=st.booleans())
    def drop_column(self, index: int, nested: bool) -> None:
        def drop(fields: list[Any]) -> list[Any]:
            return [f for i, f in enumerate(fields) if i != index % len(fields)] or fields

        self.alter(drop, nested=nested)

    @precondition(lambda self: not is_mapped(self.now.metadata))
    @rule()
    def enable_mapping(self) -> None:
        # Delta refuses schemas that have kept their mapping metadata.
        if not schema_has_column_mapping_metadata(self.now.metadata.schema):
            self.commit(self.now.metadata.with_property(COLUMN_MAPPING_MODE, "name"))

    @precondition(lambda self: is_mapped(self.now.metadata))
    @rule()
    def disable_mapping(self) -> None:
        metadata = self.now.metadata
        same = all(physical_name(f) == f["name"] for _, f in walk(metadata.schema))
        proposed = metadata.with_schema(fake_delta.drop_column_mapping_metadata(metadata.schema))
        proposed = without(proposed, MAX_COLUMN_ID)
        proposed = proposed.with_property(COLUMN_MAPPING_MODE, "none")
        is_free = self.now.is_tracked and self.now.flag == "false" and same
        self.commit(proposed, files=self.now.files if is_free else self.rewritten())

    @rule(names=st.lists(NAMES, min_size=1, max_size=3, unique_by=str.lower), data_type=TYPES)
    def overwrite_schema(self, names: list[str], data_type: str) -> None:
        schema = {"type": "struct", "fields": [self.column(name, data_type) for name in names]}
        self.commit(
            self.now.metadata.with_schema(schema), overwriting_schema=True, files=frozenset()
        )

    @rule(
        names=st.lists(NAMES, min_size=1, max_size=3, unique_by=str.lower),
        mode=st.sampled_from(["none", "name"]),
        requested=st.booleans(),
    )
    def replace_table(self, names: list[str], mode: str, requested: bool) -> None:
        schema = {"type": "struct", "fields": [self.column(name) for name in names]}
        configuration = {COLUMN_MAPPING_MODE: mode}
        configuration |= {FEATURE_PROPERTY: "supported"} if requested else {}
        same_mode = is_mapped(self.now.metadata) == (mode == "name")
        self.commit(
            TableMetadata(schema, configuration),
            creating_table=True,
            overwriting_schema=same_mode,
            files=frozenset(),
        )

    @precondition(lambda self: not self.now.is_tracked)
    @rule()
    def add_feature(self) -> None:
        self.commit(self.now.metadata.with_property(FEATURE_PROPERTY, "supported"))

    @precondition(lambda self: self.now.is_tracked)
    @rule()
    def drop_feature(self) -> None:
        features = self.now.features - {FEATURE_NAME}
        self.versions[-1] = replace(self.now, features=features)
        self.commit(without(self.now.metadata, HAS_DROPPED_OR_RENAMED))

    @rule(back=st.integers(0, 20))
    def restore(self, back: int) -> None:
        then = self.versions[back % len(self.versions)]
        if self.is_allowed_mode_change(then):
            self.commit(then.metadata, files=then.files, source=then)

    @rule(back=st.integers(0, 20))
    def clone_over(self, back: int) -> None:
        then = self.versions[back % len(self.versions)]
        # Delta refuses a CLONE that changes the mode.
        if is_mapped(then.metadata) == is_mapped(self.now.metadata):
            self.commit(then.metadata, creating_table=True, files=then.files, source=then)

    @rule(without_us=st.booleans(), requested=st.booleans())
    def clone_to_new_table(self, without_us: bool, requested: bool) -> None:
        source = self.now
        self.versions = [Version()]
        if without_us:
            # That session does not know the feature and drops it, but copies the property.
            features = source.features - {FEATURE_NAME}
            self.versions = [replace(source, features=features)]
            return
        proposed = source.metadata
        if requested:
            proposed = proposed.with_property(FEATURE_PROPERTY, "supported")
        self.commit(proposed, creating_table=True, files=source.files, source=source)
        del self.versions[0]

    # Invariants.

    @invariant()
    def test_column_never_reads_values_of_another(self) -> None:
        for file in self.now.files:
            written = dict(file)
            for path, token in self.file():
                assert written.get(path, token) == token, (path, self.now)

    @invariant()
    def test_tracked_table_has_flag(self) -> None:
        assert not self.now.is_tracked or self.now.flag in ("true", "false")

    @invariant()
    def test_flag_never_changes_from_true_to_false(self) -> None:
        for before, after in zip(self.versions, self.versions[1:], strict=False):
            if before.is_tracked and after.is_tracked and before.flag == "true":
                assert after.flag == "true"

    # What Delta does for each statement.

    def commit(
        self,
        proposed: TableMetadata,
        *,
        creating_table: bool = False,
        overwriting_schema: bool = False,
        files: frozenset[File] | None = None,
        source: Version | None = None,
    ) -> None:
        old = self.now
        new = fake_delta.assigned(
            old.metadata,
            proposed,
            creating_table=creating_table,
            overwriting_schema=overwriting_schema,
        )
        context = commit(proposed, tuple(old.features), creating_table=creating_table)
        result = next_metadata(old=old.metadata, new=new, commit=context)
        features = old.features | (source.features if source else frozenset())
        features |= {FEATURE_NAME} if FEATURE_PROPERTY in result.configuration else frozenset()
        features |= {"columnMapping"} if is_mapped(result) else frozenset()
        metadata = without(result, FEATURE_PROPERTY)
        self.versions.append(Version(metadata, features, old.files if files is None else files))
        # A write follows each commit, because a column that no file contains cannot come back.
        self.versions[-1] = replace(self.now, files=self.now.files | {self.file()})

    def alter(self, change: Callable[[list[Any]], list[Any]], *, nested: bool) -> None:
        schema = self.now.metadata.schema
        parents = [f for f in self.now.top if isinstance(f["type"], Mapping)]
        if nested and parents:
            inner = change(parents[0]["type"]["fields"])
            changed = {**parents[0], "type": {"type": "struct", "fields": inner}}
            siblings = [changed if f is parents[0] else f for f in self.now.top]
        else:
            inner = siblings = change(self.now.top)
        if len({f["name"].lower() for f in inner}) == len(inner):
            self.commit(self.now.metadata.with_schema({**schema, "fields": siblings}))

    def column(self, name: str, data_type: Any = "long") -> dict[str, Any]:
        self.tokens += 1
        metadata = {"token": self.tokens}
        return {"name": name, "type": data_type, "nullable": True, "metadata": metadata}

    def file(self) -> File:
        """Returns what a write puts into a file: tokens by the names that Parquet compares."""
        name = physical_name if is_mapped(self.now.metadata) else logical_name
        columns = walk(self.now.metadata.schema, name=name)
        return frozenset((_folded(path), field["metadata"]["token"]) for path, field in columns)

    def rewritten(self) -> frozenset[File]:
        schema = self.now.metadata.schema
        return frozenset(
            {frozenset((_folded(path), field["metadata"]["token"]) for path, field in walk(schema))}
        )

    def is_allowed_mode_change(self, then: Version) -> bool:
        leftover = schema_has_column_mapping_metadata(self.now.metadata.schema)
        enables = is_mapped(then.metadata) and not is_mapped(self.now.metadata)
        return not (enables and leftover)


def _folded(path: Path) -> Path:
    return tuple(name.lower() for name in path)


TestTableHistory = TableHistory.TestCase
TestTableHistory.settings = settings(max_examples=200, stateful_step_count=25)
