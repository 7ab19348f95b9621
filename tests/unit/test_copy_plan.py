# SPDX-License-Identifier: Apache-2.0
"""Tests `copy_plan` and the answer that the JVM receives."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given

from spark_ext.model.column_mapping import column_id, physical_name
from spark_ext.model.keys import COLUMN_ID, PHYSICAL_NAME
from spark_ext.model.metadata import TableMetadata
from spark_ext.model.schema import map_fields, walk
from spark_ext.process.questions import ask
from spark_ext.removal.copy_plan import copy_plan, purge_plan
from tests.unit.case_files import table_of
from tests.unit.strategies import deep_schemas, tables
from tests.unit.tables import table, wire, wire_protocol

ROW_ID = "delta.rowTracking.materializedRowIdColumnName"
ROW_COMMIT_VERSION = "delta.rowTracking.materializedRowCommitVersionColumnName"


def column(number: int, name: str, new_name: str, kind: Any = None) -> dict[str, Any]:
    return {"id": number, "name": name, "newName": new_name, "type": kind}


def test_columns_have_their_names_at_every_level() -> None:
    metadata = table_of(
        "name {a: 1 col-1, l: {column: 6 col-6, array: {x: 7 col-7}},"
        " s: {column: 2 col-2, struct: {x: 3 col-3, y: {column: 4 y, struct: {z: 5 col-5}}}},"
        " m: {column: 8 col-8, map: {x: 9 col-9}}}"
    )
    inner = [
        column(3, "col-3", "x"),
        column(4, "y", "y", {"struct": [column(5, "col-5", "z")]}),
    ]

    assert copy_plan(metadata) == {
        "byId": False,
        "keepsIds": False,
        "kept": [],
        "ignored": ["__is_cdc", "_change_type"],
        "columns": [
            column(1, "col-1", "a"),
            column(6, "col-6", "l", {"array": {"struct": [column(7, "col-7", "x")]}}),
            column(2, "col-2", "s", {"struct": inner}),
            column(8, "col-8", "m", {"map": [None, {"struct": [column(9, "col-9", "x")]}]}),
        ],
    }


X = {
    "type": "struct",
    "fields": [{"name": "x", "type": "long", "metadata": {COLUMN_ID: 2, PHYSICAL_NAME: "col-2"}}],
}
PLAN_OF_X = {"struct": [column(2, "col-2", "x")]}


@pytest.mark.parametrize(
    ("data_type", "planned"),
    [
        ("decimal(10,2)", None),
        ("variant", None),
        # The inner fields of a user-defined type are not columns of the table.
        ({"type": "udt", "class": "Point", "sqlType": X}, None),
        ({"type": "array", "elementType": "string"}, {"array": None}),
        (
            {"type": "array", "elementType": {"type": "array", "elementType": X}},
            {"array": {"array": PLAN_OF_X}},
        ),
        ({"type": "map", "keyType": X, "valueType": "string"}, {"map": [PLAN_OF_X, None]}),
        (
            {"type": "map", "keyType": "string", "valueType": {"type": "array", "elementType": X}},
            {"map": [None, {"array": PLAN_OF_X}]},
        ),
    ],
    ids=str,
)
def test_plan_has_the_named_parts_of_a_type(data_type: Any, planned: Any) -> None:
    metadata = table({"c": {"column": "1 col-1", "type": data_type}}, "name")

    assert copy_plan(metadata)["columns"] == [column(1, "col-1", "c", planned)]


NAMES = ["p.q", "`", " ,;{}()\n\t=", "ß", "日", "", "element", "col-1", '"\\', "😀"]


@pytest.mark.parametrize(("name", "new_name"), [*zip(NAMES, reversed(NAMES), strict=True)])
def test_plan_keeps_names_exactly(name: str, new_name: str) -> None:
    metadata = table({new_name: f"1 {name}"}, "name")

    assert copy_plan(metadata)["columns"] == [column(1, name, new_name)]
    assert answer(metadata)["plan"]["columns"] == [column(1, name, new_name)]


def test_letter_case_is_kept_and_a_name_may_be_the_physical_name_of_another_column() -> None:
    # Column `b` was renamed from `c` before the present column `c` was added.
    plan = copy_plan(table_of("name {A: 1 a, Ä: 2 ä, c: 4 col-4, b: 3 c}"))

    assert [(each["name"], each["newName"]) for each in plan["columns"]] == [
        *(("a", "A"), ("ä", "Ä"), ("col-4", "c"), ("c", "b")),
    ]


@pytest.mark.parametrize(("mode", "by_id"), [("name", False), ("id", True), ("ID", True)])
def test_files_are_read_by_field_id_in_mode_id(mode: str, by_id: bool) -> None:
    plan = copy_plan(table_of(f"{{a: 1 col-1}} {{delta.columnMapping.mode: {mode}}}"))

    assert (plan["byId"], plan["columns"]) == (by_id, [column(1, "col-1", "a")])


def test_plan_keeps_columns_of_row_tracking() -> None:
    for properties, kept in (
        ({ROW_ID: "_r"}, ["_r"]),
        ({ROW_COMMIT_VERSION: "_v", ROW_ID: "_r"}, ["_r", "_v"]),
        ({"delta.enableRowTracking": "true"}, []),
    ):
        plan = copy_plan(table({"a": "1 col-1"}, "name", properties=properties))
        assert plan["kept"] == kept


@pytest.mark.parametrize(
    ("missing", "condition"),
    [
        (COLUMN_ID, "USAGE_TRACKING_MISSING_COLUMN_ID"),
        (PHYSICAL_NAME, "USAGE_TRACKING_MISSING_PHYSICAL_NAME"),
    ],
)
def test_incompletely_mapped_column_is_refused(missing: str, condition: str) -> None:
    """Delta refuses to read such a column too."""
    metadata = table({"s": {"column": "1 s", "struct": {"x": "2 col-2"}}}, "name")

    def forget(path: tuple[str, ...], field: Any) -> dict[str, Any]:
        kept = {key: value for key, value in field["metadata"].items() if key != missing}
        return {**field, "metadata": kept if path == ("s", "x") else field["metadata"]}

    error = refused(metadata.with_schema(map_fields(metadata.schema, forget)))

    assert error["condition"] == condition
    assert error["parameters"] == {"columnName": "s.x", "mode": "name"}


TWIN_IDS = "{a: 1 col-1, s: {column: 2 col-2, struct: {x: 3 col-3, y: 3 col-4}}}"


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("name {s: {column: 1 col-2, struct: {x: 2 col-3, y: 3 col-3}}}", "PHYSICAL_NAME"),
        ("id {s: {column: 1 col-2, struct: {x: 2 col-3, y: 3 col-3}}}", "PHYSICAL_NAME"),
        ("name {a: 1 col-1, b: 2 COL-1}", "PHYSICAL_NAME"),
        (f"id {TWIN_IDS}", "COLUMN_ID"),
        ("{a: 1 col-1, b: 1 col-2} {delta.columnMapping.mode: ID}", "COLUMN_ID"),
    ],
)
def test_columns_with_the_same_place_in_files_are_refused(text: str, what: str) -> None:
    assert refused(table_of(text))["condition"] == f"USAGE_TRACKING_DUPLICATED_{what}"


@pytest.mark.parametrize(
    "text",
    [
        f"name {TWIN_IDS}",
        # The columns are in different structs.
        "name {a: 1 col-1, s: {column: 2 col-2, struct: {x: 3 col-1}}}",
        "id {a: 1 col-1, s: {column: 2 col-2, struct: {x: 1 col-3}}}",
    ],
)
def test_columns_with_different_places_in_files_are_planned(text: str) -> None:
    assert_planned(table_of(text))


def planned(plan: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], int, str]]:
    """Yields the path, the id and the physical name of every column in a part of a plan."""
    for each in plan:
        here = (*path, each["newName"])
        yield here, each["id"], each["name"]
        yield from inside(each["type"], here)


def inside(kind: Any, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], int, str]]:
    if kind is None:
        return
    ((name, of),) = kind.items()
    if name == "struct":
        yield from planned(of, path)
    elif name == "array":
        yield from inside(of, (*path, "element"))
    else:
        key, value = of
        yield from inside(key, (*path, "key"))
        yield from inside(value, (*path, "value"))


def assert_planned(metadata: TableMetadata) -> None:
    before = json.dumps(wire(metadata))
    plan = copy_plan(metadata)

    assert list(planned(plan["columns"])) == [
        (path, column_id(field), physical_name(field)) for path, field in walk(metadata.schema)
    ]
    assert json.dumps(wire(metadata)) == before
    assert json.loads(json.dumps(plan)) == plan


@given(deep_schemas())
def test_plan_has_columns_of_any_depth(schema: Any) -> None:
    numbers = iter(range(1, 10_000))

    def mapped(path: tuple[str, ...], field: Any) -> dict[str, Any]:
        number = next(numbers)
        return {**field, "metadata": {COLUMN_ID: number, PHYSICAL_NAME: f"col-{number}"}}

    assert_planned(table(mode="name").with_schema(map_fields(schema, mapped)))


def refused(metadata: TableMetadata) -> Any:
    """Returns the error that the JVM receives."""
    return answer(metadata)["error"]


def answer(metadata: TableMetadata) -> Any:
    """Returns the answer for the JVM. With a true flag, the removal is not metadata only."""
    tracked = metadata.with_property("delta.columnMapping.hasDroppedOrRenamed", "true")
    request = {"table": wire(tracked), "protocol": wire_protocol(), "copies": True}
    return json.loads(ask("removal", json.dumps(request)))


@given(tables(("name", "id")))
def test_plan_of_the_answer_has_every_column_once(metadata: TableMetadata) -> None:
    assert_planned(metadata)
    assert answer(metadata)["plan"] == copy_plan(metadata)


@pytest.mark.parametrize(("enabled", "kept"), [("true", ["_rid"]), ("false", [])])
def test_purge_keeps_physical_names_and_columns_of_enabled_row_tracking(
    enabled: str, kept: list[str]
) -> None:
    properties = {ROW_ID: "_rid", "delta.enableRowTracking": enabled}

    plan = purge_plan(table({"fare": "1 col-3f2a"}, "name", "true", properties))

    assert plan["columns"] == [column(1, "col-3f2a", "col-3f2a")]
    assert (plan["kept"], plan["keepsIds"]) == (kept, True)
