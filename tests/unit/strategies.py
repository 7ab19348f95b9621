# SPDX-License-Identifier: Apache-2.0
"""Hypothesis strategies for column names, schemas, tables, and commits on tables.

If a rule distinguishes a new kind of schema or commit, add the kind here first.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from hypothesis import strategies as st

from spark_ext.model.column_mapping import (
    column_id,
    drop_column_mapping_metadata,
    find_max_column_id,
    max_column_id,
)
from spark_ext.model.keys import (
    COLUMN_ID,
    COLUMN_MAPPING_MODE,
    FEATURE_PROPERTY,
    HAS_DROPPED_OR_RENAMED,
    MAX_COLUMN_ID,
    PHYSICAL_NAME,
)
from spark_ext.model.metadata import CommitContext, TableMetadata
from spark_ext.model.schema import Field, Path, Schema, map_fields, walk
from tests.unit import fake_delta
from tests.unit.tables import TRACKED, commit, without

# Names that differ in letter case only, Delta's special characters, segments of paths, letters
# outside ASCII.
NAMES = (
    "a",
    "A",
    "b",
    "B",
    "x y",
    "p.q",
    "`",
    "col-1",
    "element",
    "key",
    "ß",
    "É",
    "é",
    "日",
    ",;{}",
)
# Only mapped tables may have these characters in names. Source: Delta 4.4.0, SchemaUtils.scala,
# `findInvalidColumnNames`.
INVALID_CHARACTERS = " ,;{}()\n\t="
FLAGS = ("false", "False", "true", "yes", None)
MODES = ("none", "name", "id")


@cache
def names() -> st.SearchStrategy[str]:
    odd = st.text(alphabet=INVALID_CHARACTERS + "`", min_size=1, max_size=3)
    return st.sampled_from(NAMES) | odd | st.text(min_size=1, max_size=4)


@cache
def data_types() -> st.SearchStrategy[Any]:
    return st.recursive(
        st.sampled_from(["long", "string", "decimal(10,2)"]),
        lambda inner: st.one_of(
            structs(inner),
            inner.map(lambda t: {"type": "array", "elementType": t, "containsNull": True}),
            st.tuples(inner, inner).map(_map_type),
        ),
        max_leaves=4,
    )


def _map_type(types: tuple[Any, Any]) -> dict[str, Any]:
    key, value = types
    return {"type": "map", "keyType": key, "valueType": value, "valueContainsNull": True}


def fields(types: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries(
        {
            "name": names(),
            "type": types,
            "nullable": st.booleans(),
            "metadata": st.sampled_from([{}, {"comment": "why"}]),
        }
    )


@cache
def structs(types: st.SearchStrategy[Any], *, min_size: int = 1) -> st.SearchStrategy[Schema]:
    """Returns structs whose names differ in more than letter case, as Delta requires."""
    listed = st.lists(
        fields(types), min_size=min_size, max_size=3, unique_by=lambda field: field["name"].lower()
    )
    return listed.map(lambda chosen: {"type": "struct", "fields": chosen})


@cache
def schemas(*, min_size: int = 0) -> st.SearchStrategy[Schema]:
    """Returns schemas without column mapping."""
    return structs(data_types(), min_size=min_size)


@cache
def deep_schemas() -> st.SearchStrategy[Schema]:
    """Returns schemas with up to ten more levels of structs, arrays and maps than `schemas`."""
    return structs(_towers() | data_types())


@st.composite
def _towers(draw: st.DrawFn) -> Any:
    data_type = draw(structs(data_types()))
    for level in draw(st.lists(st.sampled_from("sakv"), min_size=2, max_size=9)):
        if level == "s":
            data_type = draw(structs(st.just(data_type)))
        elif level == "a":
            data_type = {"type": "array", "elementType": data_type, "containsNull": True}
        else:
            pair = (data_type, "long") if level == "k" else ("long", data_type)
            data_type = _map_type(pair)
    return data_type


@st.composite
def recased(draw: st.DrawFn, schema: Schema) -> Schema:
    """Draws the same columns in other letter case, as users may write them."""

    def written(path: Path, field: Field) -> Field:
        cases: list[Callable[[str], str]] = [str, str.lower, str.upper, str.swapcase]
        change = draw(st.sampled_from(cases))
        return {**field, "name": change(field["name"])}

    return map_fields(schema, written)


@st.composite
def tables(draw: st.DrawFn, modes: tuple[str, ...] = MODES) -> TableMetadata:
    """Draws existing tables. A mapped table has UUIDs or logical names, as its history decides."""
    mode = draw(st.sampled_from(modes))
    flag = draw(st.sampled_from(FLAGS))
    table = TableMetadata(draw(schemas(min_size=1)), {COLUMN_MAPPING_MODE: mode})
    before = table.with_property(COLUMN_MAPPING_MODE, "none")
    old = draw(st.sampled_from([TableMetadata(), before]))
    assigned = fake_delta.assigned(old, table, creating_table=old is not before)
    return assigned if flag is None else assigned.with_property(HAS_DROPPED_OR_RENAMED, flag)


@st.composite
def reidentified(draw: st.DrawFn, schema: Schema) -> Schema:
    """Draws a schema of the same names in which some columns have a new id or no id."""
    highest = find_max_column_id(schema)

    def changed(path: Path, field: Field) -> Field:
        new_id = draw(st.sampled_from(["same", "same", "new", "none"]))
        if new_id == "same":
            return field
        metadata = {key: field["metadata"][key] for key in field["metadata"] if key != COLUMN_ID}
        metadata |= {COLUMN_ID: column_id(field) + highest} if new_id == "new" else {}
        return {**field, "metadata": metadata}

    return map_fields(schema, changed)


FAULTS = ("no id", "no name", "same id", "same name", "no max", "low max")


@st.composite
def faulty(draw: st.DrawFn, table: TableMetadata) -> TableMetadata:
    """Draws a mapped table with one more fault, or none if the drawn value is the old value."""
    paths = [path for path, _ in walk(table.schema)]
    victim, other = draw(st.sampled_from(paths)), draw(st.sampled_from(paths))
    fault = draw(st.sampled_from(FAULTS))
    if fault == "no max":
        return without(table, MAX_COLUMN_ID)
    if fault == "low max":
        lower = st.integers(0, max_column_id(table))
        return table.with_property(MAX_COLUMN_ID, str(draw(lower)))
    key = COLUMN_ID if fault.endswith("id") else PHYSICAL_NAME
    value = dict(walk(table.schema))[other]["metadata"].get(key)

    def spoilt(path: Path, field: Field) -> Field:
        if path != victim:
            return field
        metadata = {name: field["metadata"][name] for name in field["metadata"] if name != key}
        metadata |= {key: value} if fault.startswith("same") and value is not None else {}
        return {**field, "metadata": metadata}

    return table.with_schema(map_fields(table.schema, spoilt))


@dataclass(frozen=True)
class Change:
    """Contains the arguments of the rules, and whether the command overwrites the schema."""

    old: TableMetadata
    new: TableMetadata
    commit: CommitContext
    overwrites: bool = False


@st.composite
def changes(
    draw: st.DrawFn,
    features: tuple[str, ...] = TRACKED,
    *,
    requested: bool | None = None,
    old: TableMetadata | None = None,
    modes: tuple[str, ...] = MODES,
) -> Change:
    """Draws commits that keep, drop, rename, reorder and add columns at every level, in any mode.

    Args:
        draw: The function that Hypothesis passes.
        features: The writer features of the transaction's protocol.
        requested: Whether the commit adds the tracking feature. None draws either.
        old: The table. None draws any table.
        modes: The modes to which a commit may change, and the modes before if `old` is None.
    """
    if old is None:
        old = draw(tables(modes) | st.just(TableMetadata()))
    creating = not old.schema["fields"] or draw(st.booleans())
    overwriting = draw(st.booleans())
    configuration = dict(old.configuration)
    if draw(st.booleans()):
        configuration[COLUMN_MAPPING_MODE] = draw(st.sampled_from(modes))
    if draw(st.booleans()):
        flag = draw(st.sampled_from(FLAGS))
        configuration.pop(HAS_DROPPED_OR_RENAMED, None)
        configuration |= {} if flag is None else {HAS_DROPPED_OR_RENAMED: flag}
    if draw(st.booleans()) if requested is None else requested:
        configuration[FEATURE_PROPERTY] = "supported"
    schema = draw(evolved(old.schema))
    remaps = old.configuration.get(COLUMN_MAPPING_MODE) != configuration.get(COLUMN_MAPPING_MODE)
    if overwriting or remaps:
        schema = drop_column_mapping_metadata(schema)
    proposed = TableMetadata(schema, configuration)
    new = fake_delta.assigned(
        old, proposed, creating_table=creating, overwriting_schema=overwriting and not remaps
    )
    copying = draw(st.booleans())
    context = commit(proposed, features, creating_table=creating, copies_untracked=copying)
    return Change(old, new, context, overwrites=overwriting)


@st.composite
def evolved(draw: st.DrawFn, data_type: Any) -> Any:
    """Draws a data type after an ALTER or a merge."""
    if isinstance(data_type, str):
        return data_type
    if data_type["type"] != "struct":
        inner = {key: draw(evolved(value)) for key, value in data_type.items() if _is_nested(value)}
        return {**data_type, **inner}
    kept = [field for field in data_type["fields"] if draw(st.integers(0, 5))]
    changed = [draw(_evolved_field(field)) for field in draw(st.permutations(kept))]
    added = draw(structs(data_types(), min_size=0))["fields"]
    unique: dict[str, Any] = {}
    for field in [*changed, *added]:
        unique.setdefault(field["name"].lower(), field)
    return {**data_type, "fields": list(unique.values())}


@st.composite
def _evolved_field(draw: st.DrawFn, field: Mapping[str, Any]) -> dict[str, Any]:
    name = field["name"] if draw(st.integers(0, 5)) else draw(names())
    return {**field, "name": name, "type": draw(evolved(field["type"]))}


def _is_nested(value: Any) -> bool:
    return isinstance(value, Mapping)
