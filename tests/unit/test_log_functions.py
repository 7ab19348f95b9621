# SPDX-License-Identifier: Apache-2.0
"""Tests the table functions that read a log, called as the JVM calls them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from spark_ext.model.rows import ddl
from spark_ext.process.questions import ask
from spark_ext.process.table_functions import FUNCTIONS
from tests.unit.case_files import table_of
from tests.unit.tables import struct, table, wire

PROTOCOL = {
    "minReaderVersion": 3,
    "minWriterVersion": 7,
    "readerFeatures": ["columnMapping"],
    "writerFeatures": ["columnMappingUsageTracking", "columnMapping"],
}
INFO = {"operation": "CREATE TABLE", "userId": "7", "userName": "anna", "timestamp": 1}


def metadata(text: str) -> dict[str, Any]:
    found = table_of(text)
    action = {"schemaString": json.dumps(found.schema), "configuration": dict(found.configuration)}
    return {"metaData": action}


def commit(version: int, *actions: Any) -> dict[str, Any]:
    return {"version": version, "time": 100 + 75 * version, "actions": list(actions)}


RENAMED = "name true {a b: 1 x, s: {column: 2 s, struct: {d: 3 c}}}"
FIRST = metadata("name false {a b: 1 x, s: {column: 2 s, struct: {c: 3 c}}}")
SECOND = metadata(RENAMED)
CREATED = commit(0, {"commitInfo": INFO}, {"protocol": PROTOCOL}, FIRST)
LOG: dict[str, Any] = {
    "lastVersion": 5,
    "firstCommit": 0,
    "lastCheckpointTarget": None,
    "truncatedCommits": [],
    "commits": [CREATED, commit(4, {"commitInfo": {"inCommitTimestamp": 399}}, SECOND)],
    "summaries": [],
    "files": None,
}
CHECKPOINT = {
    "file": "00000000000000000000.checkpoint.parquet",
    "version": 2,
    "firstVersion": None,
    "actions": [{"protocol": PROTOCOL}, FIRST],
}


QUESTION: dict[str, Any] = {"name": "t", "metadata": None, "log": LOG, "folder": None}


def answer(function: str, **parts: Any) -> Any:
    return json.loads(ask(function, json.dumps({**QUESTION, **parts})))


def schema_of(function: str) -> str:
    return ddl(FUNCTIONS[function]()[0])


def columns_of(function: str) -> list[str]:
    """Returns the names of a function's columns. Names in structs have a colon in DDL."""
    schema = schema_of(function)
    return [
        word.split("`")[1] for word in schema.replace("STRUCT<", "").split(", ") if ":" not in word
    ]


def test_column_mapping_has_a_row_for_each_column() -> None:
    metadata = table_of(
        "name {a b: 1 a, l: {column: 2 l, array: {x`y: 3 col-1}},"
        ' d: {column: 4 d, type: "decimal(10,2)"}, i: {type: integer}}'
    )

    rows = answer("column_mapping", metadata=wire(metadata))["rows"]

    assert [tuple(row.values())[:5] for row in rows] == [
        ("`a b`", "a b", "a", 1, "bigint"),
        ("l", "l", "l", 2, "array<struct<x`y:bigint>>"),
        ("l.element.`x``y`", "x`y", "col-1", 3, "bigint"),
        ("d", "d", "d", 4, "decimal(10,2)"),
        ("i", "i", None, None, "int"),
    ]


def test_columns_have_the_versions_of_their_names() -> None:
    found = answer("column_mapping", metadata=wire(table_of(RENAMED)))

    versions = [(row["path"], row["addedVersion"], row["renamedVersion"]) for row in found["rows"]]
    assert versions == [("`a b`", 0, None), ("s", 0, None), ("s.d", 0, 4)]
    assert columns_of("column_mapping") == list(found["rows"][0])


def test_row_has_the_column_whose_physical_name_equals_its_name() -> None:
    for mode, found in (("name", ["`s t`.y", "`s t`"]), ("none", [None, None])):
        columns = "{s t: {column: 1 s, struct: {y: 2 x, x: 3 col-1}}, S: 4 col-2, b: 5 b}"
        rows = answer("column_mapping", metadata=wire(table_of(f"{mode} true {columns}")))["rows"]
        names = {row["path"]: row["nameInFilesOf"] for row in rows}
        assert [names.pop("`s t`.x"), names.pop("S")] == found
        assert set(names.values()) == {None}


def test_column_has_no_version_when_the_log_lacks_it() -> None:
    (row,) = answer("column_mapping", metadata=wire(table({"new": ""})))["rows"]

    assert (row["addedVersion"], row["renamedVersion"]) == (None, None)


def test_history_has_a_row_for_each_event() -> None:
    found = answer("column_mapping_history")

    created = {"version": 0, "timestamp": 100, "operation": "CREATE TABLE", "userName": "anna"}
    last = {"version": 4, "timestamp": 399, "operation": None, "userName": None}
    assert found["rows"] == [
        {**created, "change": "add", "id": 1, "oldName": None, "newName": "`a b`"},
        {**created, "change": "add", "id": 2, "oldName": None, "newName": "s"},
        {**created, "change": "add", "id": 3, "oldName": None, "newName": "s.c"},
        {**last, "change": "rename", "id": 3, "oldName": "s.c", "newName": "s.d"},
    ]
    assert columns_of("column_mapping_history") == list(found["rows"][0])

    # Events before the log have no version and no operation.
    later = {**LOG, "firstCommit": 2, "commits": LOG["commits"][1:], "summaries": [CHECKPOINT]}
    first, *_, newest = answer("column_mapping_history", log=later)["rows"]
    assert newest == found["rows"][-1]
    assert first == {**found["rows"][0], **dict.fromkeys(created)}


def test_time_may_exceed_the_range_of_datetime() -> None:
    late = 2**62
    last = commit(4, {"commitInfo": {"inCommitTimestamp": late}}, SECOND)
    later = {**LOG, "commits": [CREATED, last]}

    (row,) = answer("column_mapping_status", log=later)["rows"]

    assert (row["trueSince"]["timestamp"], row["droppedOrRenamed"][0]["timestamp"]) == (late, late)


def test_status_is_one_row() -> None:
    found = answer("column_mapping_status")

    (row,) = found["rows"]
    (renamed,) = row.pop("droppedOrRenamed")
    assert (renamed["version"], renamed["oldName"], renamed["newName"]) == (4, "s.c", "s.d")
    assert row == {
        "mode": "name",
        "tracked": True,
        "hasDroppedOrRenamed": True,
        "minReaderVersion": 3,
        "minWriterVersion": 7,
        "readerFeatures": ["columnMapping"],
        "writerFeatures": ["columnMapping", "columnMappingUsageTracking"],
        "trueSince": {"version": 4, "timestamp": 399, "operation": None, "userName": None},
        "historyFrom": 0,
    }
    assert schema_of("column_mapping_status").endswith("`newName`: STRING>>, `historyFrom` BIGINT")


def test_status_has_no_features_and_no_flag_without_them() -> None:
    old = {"minReaderVersion": 1, "minWriterVersion": 2}
    plain = {"metaData": {"schemaString": json.dumps(struct({"a": ""}))}}
    commits = [{"version": 0, "time": None, "actions": [{"protocol": old}, plain]}]

    (row,) = answer("column_mapping_status", log={**LOG, "commits": commits})["rows"]

    assert (row["mode"], row["tracked"], row["hasDroppedOrRenamed"]) == ("none", False, None)
    assert (row["readerFeatures"], row["writerFeatures"]) == (None, None)
    assert (row["trueSince"], row["droppedOrRenamed"]) == (None, [])


OF_FOLDER: dict[str, Any] = {
    **LOG,
    "commits": [CREATED, commit(4, metadata("name true {a b: 1 x}"))],
    "files": [
        {
            "example": "f",
            "numFiles": 2,
            "sizeInBytes": 20,
            "kind": "removed",
            "source": None,
            "isHidden": False,
            "isOlder": True,
            "addedUnder": 0,
            "partitionColumns": [],
            "folders": [],
            "statistics": [],
            "columns": [{"path": ["s"], "fieldId": 2}, {"path": ["s", "c"], "fieldId": 3}],
            "problem": None,
            "vector": None,
            "vectorProblem": None,
        }
    ],
}
FOLDER: dict[str, Any] = {
    "location": "/t",
    "asked": {"column": "S", "checked": None},
    "now": 1_000,
    "deletedFileRetention": 10,
    "logRetention": 20,
    "cleansUpLog": True,
    "moment": {"version": 4, "time": 995},
    "otherTables": [],
    "logFiles": {"numFiles": 3, "sizeInBytes": 30},
    "olderLogFiles": {"numFiles": 0, "sizeInBytes": 0},
    "unknownLogFiles": [],
    "tombstones": 0,
    "olderTombstones": 0,
    "cleanableFrom": 400,
}


def test_dropped_columns_have_a_row_for_each_place() -> None:
    rows = answer("column_mapping_dropped", log=OF_FOLDER, folder=FOLDER)["rows"]
    (older,) = [row for row in rows if row["numFiles"]]
    assert older == {
        "place": "older files",
        "numFiles": 2,
        "sizeInBytes": 20,
        "numListed": 2,
        "paths": ["s"],
        "step": "VACUUM",
        "statement": "VACUUM t",
        "earliest": 1_006,
    }


@pytest.mark.parametrize(
    ("function", "parts"),
    [
        ("column_mapping_dropped", {"log": {**OF_FOLDER, "commits": []}, "folder": FOLDER}),
        ("column_mapping_dropped", {"folder": {**FOLDER, "logRetention": None}}),
        ("column_mapping_dropped", {"folder": None}),
        ("column_mapping", {"metadata": None}),
        ("column_mapping", {"metadata": {"schema": "=name", "configuration": {}}}),
        ("column_mapping", {"metadata": wire(table({"a": ""})), "log": {}}),
        ("column_mapping_history", {"log": None}),
        ("column_mapping_history", {"log": {**LOG, "commits": [{}]}}),
        ("column_mapping_history", {"log": {**LOG, "lastVersion": "5"}}),
        ("column_mapping_history", {"table": None}),
        ("column_mapping_status", {"log": {**LOG, "commits": []}}),
    ],
)
def test_request_of_another_shape_is_refused(function: str, parts: dict[str, Any]) -> None:
    refused = answer(function, **parts)

    assert refused["error"]["condition"] == "USAGE_TRACKING_MALFORMED_MESSAGE"


@pytest.mark.parametrize("function", ["column_mapping_history", "column_mapping_survey"])
@pytest.mark.parametrize("request_", ["", "{", "null", "[]"])
def test_request_without_an_object_is_refused(function: str, request_: str) -> None:
    refused = json.loads(ask(function, request_))

    assert refused["error"]["condition"] == "USAGE_TRACKING_MALFORMED_MESSAGE"


def start_of_erasure(log: Any, asked: Any) -> Any:
    return json.loads(ask("erasure_start", json.dumps({"name": "t", "log": log, "asked": asked})))


def test_erasure_starts_at_the_last_drop_or_continues_a_certificate() -> None:
    for asked in (None, {"column": "s", "checked": None}):
        start = {"since": 4, "checked": None, "version": 4, "time": 400}
        assert start_of_erasure(OF_FOLDER, asked) == start
    checked = {
        "tableId": None,
        "version": 4,
        "momentVersion": 4,
        "momentTime": 450,
        "had": True,
        "known": True,
        "live": [],
        "named": [{"path": "s", "physicalPath": "s", "id": 2}],
    }

    continued = {"since": 5, "checked": 4, "version": 4, "time": 450}
    assert start_of_erasure(OF_FOLDER, {"column": "s", "checked": checked}) == continued


def test_erasure_does_not_start_without_a_state() -> None:
    refused = start_of_erasure({**OF_FOLDER, "commits": []}, None)

    assert refused["error"]["parameters"]["path"] == "log"
