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
from tests.unit.strategies import deep_schemas, tables
from tests.unit.tables import table, wire, wire_protocol

ROW_ID = "delta.rowTracking.materializedRowIdColumnName"
ROW_COMMIT_VERSION = "delta.rowTracking.materializedRowCommitVersionColumnName"


def column(number: int, name: str, new_name: str, kind: Any = None) -> dict[str, Any]:
    return {"id": number, "name": name, "newName": new_name, "type": kind}


def test_columns_have_their_names_at_every_level() -> None:
    metadata = table(
        {
            "a": "1 col-1",
            "s": {
                "column": "2 col-2",
                "struct": {"x": "3 col-3", "y": {"column": "4 y", "struct": {"z": "5 col-5"}}},
            },
            "l": {"column": "6 col-6", "array": {"x": "7 col-7"}},
            "m": {"column": "8 col-8", "map": {"x": "9 col-9"}},
        },
        "name",
    )

    assert copy_plan(metadata) == {
        "byId": False,
        "keepsIds": False,
        "kept": [],
        "ignored": ["__is_cdc", "_change_type"],
        "columns": [
            column(1, "col-1", "a"),
            column(
                2,
                "col-2",
                "s",
                {
                    "struct": [
                        column(3, "col-3", "x"),
                        column(4, "y", "y", {"struct": [column(5, "col-5", "z")]}),
                    ]
                },
            ),
            column(6, "col-6", "l", {"array": {"struct": [column(7, "col-7", "x")]}}),
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
    assert of_the_answer(metadata)["columns"] == [column(1, name, new_name)]


def test_letter_case_of_names_is_kept() -> None:
    metadata = table({"A": "1 a", "Ä": "2 ä"}, "name")

    assert copy_plan(metadata)["columns"] == [column(1, "a", "A"), column(2, "ä", "Ä")]


def test_name_of_a_column_may_be_the_physical_name_of_another_column() -> None:
    """Column `b` was renamed from `a` before the present column `a` was added."""
    metadata = table({"a": "3 col-3", "b": "2 a"}, "name")

    assert copy_plan(metadata)["columns"] == [column(3, "col-3", "a"), column(2, "a", "b")]


@pytest.mark.parametrize(("mode", "by_id"), [("name", False), ("id", True), ("ID", True)])
def test_files_are_read_by_field_id_in_mode_id(mode: str, by_id: bool) -> None:
    plan = copy_plan(table({"a": "1 col-1"}, mode))

    assert plan["byId"] is by_id
    assert plan["columns"] == [column(1, "col-1", "a")]


@pytest.mark.parametrize(
    ("properties", "kept"),
    [
        ({ROW_ID: "_row-id-1"}, ["_row-id-1"]),
        ({ROW_COMMIT_VERSION: "_row-version-2"}, ["_row-version-2"]),
        ({ROW_COMMIT_VERSION: "_v", ROW_ID: "_r"}, ["_r", "_v"]),
        ({"delta.enableRowTracking": "true"}, []),
    ],
    ids=str,
)
def test_plan_keeps_columns_of_row_tracking(properties: dict[str, str], kept: list[str]) -> None:
    assert copy_plan(table({"a": "1 col-1"}, "name", properties=properties))["kept"] == kept


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


TWINS = {"a": "1 col-1", "s": {"column": "2 col-2", "struct": {"x": "3 col-3", "y": "4 col-3"}}}
TWIN_IDS = {"a": "1 col-1", "s": {"column": "2 col-2", "struct": {"x": "3 col-3", "y": "3 col-4"}}}


@pytest.mark.parametrize(
    ("columns", "mode", "condition"),
    [
        (TWINS, "name", "USAGE_TRACKING_DUPLICATED_PHYSICAL_NAME"),
        (TWINS, "id", "USAGE_TRACKING_DUPLICATED_PHYSICAL_NAME"),
        ({"a": "1 col-1", "b": "2 COL-1"}, "name", "USAGE_TRACKING_DUPLICATED_PHYSICAL_NAME"),
        (TWIN_IDS, "id", "USAGE_TRACKING_DUPLICATED_COLUMN_ID"),
        ({"a": "1 col-1", "b": "2 col-1"}, "name", "USAGE_TRACKING_DUPLICATED_PHYSICAL_NAME"),
        ({"a": "1 col-1", "b": "1 col-2"}, "ID", "USAGE_TRACKING_DUPLICATED_COLUMN_ID"),
    ],
    ids=str,
)
def test_columns_with_the_same_place_in_files_are_refused(
    columns: Any, mode: str, condition: str
) -> None:
    assert refused(table(columns, mode))["condition"] == condition


@pytest.mark.parametrize(
    ("columns", "mode"),
    [
        (TWIN_IDS, "name"),
        # The columns are in different structs.
        ({"a": "1 col-1", "s": {"column": "2 col-2", "struct": {"x": "3 col-1"}}}, "name"),
        ({"a": "1 col-1", "s": {"column": "2 col-2", "struct": {"x": "1 col-3"}}}, "id"),
    ],
    ids=str,
)
def test_columns_with_different_places_in_files_are_planned(columns: Any, mode: str) -> None:
    assert_planned(table(columns, mode))


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


@given(tables(("name", "id")))
def test_plan_has_every_column_once(metadata: TableMetadata) -> None:
    assert_planned(metadata)


@given(deep_schemas())
def test_plan_has_columns_of_any_depth(schema: Any) -> None:
    numbers = iter(range(1, 10_000))

    def mapped(path: tuple[str, ...], field: Any) -> dict[str, Any]:
        number = next(numbers)
        return {**field, "metadata": {COLUMN_ID: number, PHYSICAL_NAME: f"col-{number}"}}

    assert_planned(table(mode="name").with_schema(map_fields(schema, mapped)))


def of_the_answer(metadata: TableMetadata) -> Any:
    """Returns the plan that the JVM receives."""
    return answer(metadata)["plan"]


def refused(metadata: TableMetadata) -> Any:
    """Returns the error that the JVM receives."""
    return answer(metadata)["error"]


def answer(metadata: TableMetadata) -> Any:
    """Returns the answer for the JVM. With a true flag, the removal is not metadata only."""
    tracked = metadata.with_property("delta.columnMapping.hasDroppedOrRenamed", "true")
    request = {"table": wire(tracked), "protocol": wire_protocol(), "copies": True}
    return json.loads(ask("removal", json.dumps(request)))


@given(tables(("name", "id")))
def test_answer_contains_the_plan(metadata: TableMetadata) -> None:
    assert of_the_answer(metadata) == copy_plan(metadata)


@pytest.mark.parametrize(("enabled", "kept"), [("true", ["_rid"]), ("false", [])])
def test_purge_keeps_physical_names_and_columns_of_enabled_row_tracking(
    enabled: str, kept: list[str]
) -> None:
    properties = {ROW_ID: "_rid", "delta.enableRowTracking": enabled}

    plan = purge_plan(table({"fare": "1 col-3f2a"}, "name", "true", properties))

    assert plan["columns"] == [column(1, "col-3f2a", "col-3f2a")]
    assert (plan["kept"], plan["keepsIds"]) == (kept, True)
