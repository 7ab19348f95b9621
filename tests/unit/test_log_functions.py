# SPDX-License-Identifier: Apache-2.0
"""Tests the table functions that read a log, called as the JVM calls them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from spark_ext.process.questions import ask
from tests.unit.tables import struct, table, wire

PROTOCOL = {
    "minReaderVersion": 3,
    "minWriterVersion": 7,
    "readerFeatures": ["columnMapping"],
    "writerFeatures": ["columnMappingUsageTracking", "columnMapping"],
}
INFO = {"operation": "CREATE TABLE", "userId": "7", "userName": "anna", "timestamp": 1}


def metadata(columns: Any, flag: str) -> dict[str, Any]:
    found = table(columns, "name", flag)
    action = {"schemaString": json.dumps(found.schema), "configuration": dict(found.configuration)}
    return {"metaData": action}


FIRST = metadata({"a b": "1 x", "s": {"column": "2 s", "struct": {"c": "3 c"}}}, "false")
SECOND = metadata({"a b": "1 x", "s": {"column": "2 s", "struct": {"d": "3 c"}}}, "true")
LOG: dict[str, Any] = {
    "lastVersion": 5,
    "firstCommit": 0,
    "lastCheckpointTarget": None,
    "truncatedCommits": [],
    "commits": [
        {
            "version": 0,
            "time": 100,
            "actions": [{"commitInfo": INFO}, {"protocol": PROTOCOL}, FIRST],
        },
        {
            "version": 4,
            "time": 400,
            "actions": [{"commitInfo": {"inCommitTimestamp": 399}}, SECOND],
        },
    ],
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


def columns_of(schema: str) -> list[str]:
    """Returns the names of columns in DDL. Names in structs have a colon."""
    return [
        word.split("`")[1] for word in schema.replace("STRUCT<", "").split(", ") if ":" not in word
    ]


def test_column_mapping_has_a_row_for_each_column() -> None:
    metadata = table(
        {
            "a b": "1 a",
            "l": {"column": "2 l", "array": {"x`y": "3 col-1"}},
            "d": {"column": "4 d", "type": "decimal(10,2)"},
            "i": {"type": "integer"},
        },
        "name",
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
    newest = table({"a b": "1 x", "s": {"column": "2 s", "struct": {"d": "3 c"}}}, "name", "true")

    found = answer("column_mapping", metadata=wire(newest))

    assert found["rows"] == [
        {"path": "`a b`", "name": "a b", "physicalName": "x", "id": 1, "type": "bigint",
         "addedVersion": 0, "renamedVersion": None, "nameInFilesOf": None},
        {"path": "s", "name": "s", "physicalName": "s", "id": 2, "type": "struct<d:bigint>",
         "addedVersion": 0, "renamedVersion": None, "nameInFilesOf": None},
        {"path": "s.d", "name": "d", "physicalName": "c", "id": 3, "type": "bigint",
         "addedVersion": 0, "renamedVersion": 4, "nameInFilesOf": None},
    ]  # fmt: skip
    assert columns_of(found["schema"]) == list(found["rows"][0])


def test_row_has_the_column_whose_physical_name_equals_its_name() -> None:
    inner = {"y": "2 x", "x": "3 col-1"}
    words = {"s t": {"column": "1 s", "struct": inner}, "S": "4 col-2", "b": "5 b"}

    mapped = answer("column_mapping", metadata=wire(table(words, "name", "true")))["rows"]
    removed = answer("column_mapping", metadata=wire(table(words, "none", "true")))["rows"]

    assert {row["path"]: row["nameInFilesOf"] for row in mapped} == {
        "`s t`": None,
        "`s t`.y": None,
        "`s t`.x": "`s t`.y",
        "S": "`s t`",
        "b": None,
    }
    assert {row["nameInFilesOf"] for row in removed} == {None}


def test_column_has_no_version_when_the_log_lacks_it() -> None:
    (row,) = answer("column_mapping", metadata=wire(table({"new": ""})))["rows"]

    assert (row["addedVersion"], row["renamedVersion"]) == (None, None)


def test_history_has_a_row_for_each_event() -> None:
    found = answer("column_mapping_history")

    created = {"version": 0, "timestamp": 100, "operation": "CREATE TABLE", "userName": "anna"}
    no_name = {"operation": None, "userName": None}
    assert found["rows"] == [
        {**created, "change": "add", "id": 1, "oldName": None, "newName": "`a b`"},
        {**created, "change": "add", "id": 2, "oldName": None, "newName": "s"},
        {**created, "change": "add", "id": 3, "oldName": None, "newName": "s.c"},
        {"version": 4, "timestamp": 399, **no_name,
         "change": "rename", "id": 3, "oldName": "s.c", "newName": "s.d"},
    ]  # fmt: skip
    assert columns_of(found["schema"]) == list(found["rows"][0])


def test_events_before_the_log_have_no_version_and_no_operation() -> None:
    later = {**LOG, "firstCommit": 2, "commits": LOG["commits"][1:], "summaries": [CHECKPOINT]}

    first, *_, last = answer("column_mapping_history", log=later)["rows"]

    assert (last["version"], last["newName"]) == (4, "s.d")
    assert first == {
        "version": None, "timestamp": None, "operation": None, "userName": None,
        "change": "add", "id": 1, "oldName": None, "newName": "`a b`",
    }  # fmt: skip


def test_time_may_exceed_the_range_of_datetime() -> None:
    late = 2**62
    last = {**LOG["commits"][1], "actions": [{"commitInfo": {"inCommitTimestamp": late}}, SECOND]}
    later = {**LOG, "commits": [LOG["commits"][0], last]}

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
    assert found["schema"].endswith("`newName`: STRING>>, `historyFrom` BIGINT")


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
    "commits": [
        {**LOG["commits"][0]},
        {**LOG["commits"][1], "actions": [metadata({"a b": "1 x"}, "true")]},
    ],
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


@pytest.mark.parametrize("asked", [None, {"column": "s", "checked": None}])
def test_erasure_starts_at_the_last_drop(asked: Any) -> None:
    assert start_of_erasure(OF_FOLDER, asked) == {
        "since": 4,
        "checked": None,
        "version": 4,
        "time": 400,
    }


def test_erasure_continues_a_certificate() -> None:
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

    assert start_of_erasure(OF_FOLDER, {"column": "s", "checked": checked}) == {
        "since": 5,
        "checked": 4,
        "version": 4,
        "time": 450,
    }


def test_erasure_does_not_start_without_a_state() -> None:
    refused = start_of_erasure({**OF_FOLDER, "commits": []}, None)

    assert refused["error"]["parameters"]["path"] == "log"
