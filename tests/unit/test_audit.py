# SPDX-License-Identifier: Apache-2.0
"""Tests which tables have no finding, which have one, and how the result is shown."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import spark_ext
from spark_ext import AuditResult, Finding, auditing
from spark_ext.auditing import CHECKS, audit
from spark_ext.auditing.check import DAMAGE, MISLEADING, RISK
from spark_ext.log.actions import MISSING, FileGroup, ParquetColumn, Summary, TableLog
from spark_ext.model.keys import MAX_COLUMN_ID, NESTED_COLUMN_IDS
from spark_ext.model.metadata import Protocol, TableMetadata
from spark_ext.process.questions import ask
from spark_ext.tables.inspect import _sql_name
from tests.unit.audited_logs import Version, log_of
from tests.unit.tables import TRACKED, table, without

PAGE = Path(__file__).parents[2] / "docs" / "audit.md"
UUID = "col-5d2c6f1e-8c3f-4d55-9d8e-0c7e4a3b2f10"
UUID_2 = "col-00000000-8c3f-4d55-9d8e-0c7e4a3b2f10"


def name(columns: dict[str, Any], flag: str | None = "false", **properties: str) -> TableMetadata:
    return table(columns, "name", flag, properties)


def file(
    *columns: str, under: int | None = 0, ids: tuple[int, ...] = (), **facts: Any
) -> FileGroup:
    found = tuple(
        ParquetColumn(tuple(path.split(".")), ids[number] if ids else None)
        for number, path in enumerate(columns)
    )
    return FileGroup("f", 1, 9, added_under=under, columns=found, **facts)


def found(log: TableLog) -> list[tuple[str, int | None, str | None]]:
    return [(finding.check, finding.version, finding.column) for finding in audit(log)]


def checkpoint(log: TableLog, version: int) -> Summary:
    commit = log.commits[version]
    return Summary(f"{version}.checkpoint.parquet", version, None, commit.protocol, commit.metadata)


def since(log: TableLog, version: int, *summaries: Summary) -> TableLog:
    """Returns a log without the commits before a version."""
    later = log.commits[version:]
    return replace(log, commits=later, first_commit=version, summaries=summaries)


VARIANTS = {
    "column": "2 l",
    "type": {"type": "array", "elementType": "variant", "containsNull": True},
}
VARIANT_PARTS = (("metadata",), ("value",), ("typed_value",), ("typed_value", "x"))
ONE = {"a": "1 a"}
TWO = {"a": "1 a", "b": "2 b"}
UNTRACKED = {"features": ()}

HEALTHY: dict[str, list[Version]] = {
    "columns are added": [name(ONE), name(TWO)],
    "a column is dropped and added again": [
        name(TWO),
        name(ONE, "true", **{MAX_COLUMN_ID: "2"}),
        name({"a": "1 a", "b": f"3 {UUID}"}, "true"),
    ],
    "a rename": [name(TWO), name({"a": "1 a", "c": "2 b"}, "true")],
    "the flag in capitals": [name(TWO), name(TWO, "TRUE")],
    "a drop before tracking": [
        (name(TWO, None), UNTRACKED),
        (name(ONE, None, **{MAX_COLUMN_ID: "2"}), UNTRACKED),
        name(ONE, "true", **{MAX_COLUMN_ID: "2"}),
    ],
    "mapping is removed and enabled again": [
        name({"a": f"7 {UUID}"}, "true"),
        table({"a": ""}, "none", "true"),
        name(ONE, "true"),
    ],
    "mapping is removed and enabled again, with ids from 1": [
        name(TWO),
        name({"b": "2 b"}, "true"),
        table({"b": ""}, "none", "true"),
        name({"b": "1 b"}, "true"),
    ],
    "CLONE of another table with the same names": [
        name(ONE, "true"),
        (name({"a": "5 a"}, "true"), {"operation": "CLONE"}),
    ],
    "mapping is removed, the table is tracked again, and mapping enabled again": [
        (name({"a": f"7 {UUID}", "b": f"8 {UUID_2}"}, None), UNTRACKED),
        (table({"a": "", "b": ""}, "none", None), UNTRACKED),
        table({"a": "", "b": ""}, "none", "false"),
        name(TWO),
    ],
    "RESTORE of a dropped column": [
        name(TWO),
        name(ONE, "true", **{MAX_COLUMN_ID: "2"}),
        (name(TWO, "true"), {"operation": "RESTORE"}),
    ],
    "CLONE of another table that replaces the table": [
        name(TWO, "true"),
        (
            name({"x": "1 x", "y": f"9 {UUID}"}, "true"),
            {"operation": "CLONE"},
        ),
    ],
    "CLONE of an untracked table with lower ids": [
        (name({"a": f"7 {UUID}"}, None), UNTRACKED),
        (name({"x": f"1 {UUID_2}"}, None), {"features": (), "operation": "CLONE"}),
    ],
    "overwriteSchema without column mapping": [
        table({"a": "", "b": ""}, None, "false"),
        table({"b": ""}, None, "false"),
        table({"b": "", "a": ""}, None, "false"),
    ],
    "DROP FEATURE, and tracked again": [
        name(TWO),
        (name(TWO, None), UNTRACKED),
        name(TWO, "true"),
    ],
    "plain Delta": [(table({"a": ""}), UNTRACKED)],
    "REPLACE of a struct by one with more fields": [
        name({"s": {"column": "1 s", "struct": {"x": "2 x"}}}),
        name({"s": {"column": f"3 {UUID}", "struct": {"x": "2 x", "y": f"4 {UUID_2}"}}}, "true"),
    ],
    "no commitInfo": [
        (name(ONE, "true"), {"operation": None}),
        (name({"b": "2 b"}, "true"), {"operation": None}),
        (name(ONE, "true", **{MAX_COLUMN_ID: "2"}), {"operation": None}),
    ],
    "the flag is missing for a while": [name(ONE), name(ONE, None), name(ONE, "true")],
    "structs with fields of the same name": [
        name(
            {
                "s": {"column": "1 s", "struct": {"x": "2 x"}},
                "t": {"column": "3 t", "array": {"x": "4 x"}},
            }
        ),
    ],
}


@pytest.mark.parametrize("case", HEALTHY)
def test_healthy_histories_have_no_finding(case: str) -> None:
    assert found(log_of(*HEALTHY[case])) == []


HEALTHY_FILES: dict[str, tuple[list[Version], list[FileGroup]]] = {
    "a file from before a column": (
        [name(ONE), name(TWO)],
        [file("a", under=0), file("a", "b", under=1)],
    ),
    "letter case": ([name({"A": "1 A"})], [file("a", statistics=(("a",),))]),
    "a dropped column": (
        HEALTHY["a column is dropped and added again"][:2],
        [file("a", "b"), file("a", under=1)],
    ),
    "a dropped column of the source of a CLONE": (
        [(name(ONE, None), {"features": (), "operation": "CLONE"})],
        [file("a", "x"), file("a", UUID)],
    ),
    "a column that RESTORE restored": (
        HEALTHY["RESTORE of a dropped column"],
        [file("a", "b")],
    ),
    "a column from before mapping was removed and enabled again": (
        HEALTHY["mapping is removed and enabled again"],
        [file("a", under=1)],
    ),
    "files that the removal of column mapping kept": (
        [name(TWO, "true"), table({"a": "", "b": ""}, "none", "true")],
        [file("a", "b", under=0, ids=(1, 2))],
    ),
    "old field ids in mode name": ([name(ONE)], [file("a", ids=(77,))]),
    "mode id finds columns by id": (
        [table({"a": "1 a", "s": {"column": "2 s", "array": {"x": "3 x"}}}, "id", "false")],
        [
            FileGroup(
                "f",
                1,
                9,
                columns=(
                    ParquetColumn(("one",), 1),
                    ParquetColumn(("two",), 2),
                    ParquetColumn(("two", "element")),
                    ParquetColumn(("two", "element", "three"), 3),
                ),
                statistics=(("a",),),
            )
        ],
    ),
    "parts of variants in mode id": (
        [table({"v": {"column": "1 v", "type": "variant"}, "l": VARIANTS}, "id", "false")],
        [
            FileGroup(
                "f",
                1,
                9,
                columns=(
                    ParquetColumn(("v",), 1),
                    *(ParquetColumn(("v", *path)) for path in VARIANT_PARTS),
                    ParquetColumn(("l",), 2),
                    ParquetColumn(("l", "element")),
                    *(ParquetColumn(("l", "element", *path)) for path in VARIANT_PARTS),
                ),
            )
        ],
    ),
    "parts of a dropped variant in mode id": (
        [
            table({"a": "1 a", "v": {"column": "2 v", "type": "variant"}}, "id", "false"),
            table({"a": "1 a"}, "id", "true", {MAX_COLUMN_ID: "2"}),
        ],
        [
            FileGroup(
                "f",
                1,
                9,
                columns=(ParquetColumn(("v",), 2), ParquetColumn(("v", "metadata"))),
            )
        ],
    ),
    "a variant's parts": (
        [name({"v": {"column": "1 v", "type": "variant"}})],
        [file("v", "v.metadata", "v.value")],
    ),
    "elements, keys and values": (
        [
            name(
                {
                    "l": {"column": "1 l", "array": {"x": "2 x"}},
                    "m": {"column": "3 m", "map": {"x": "4 x"}},
                }
            )
        ],
        [file("l", "l.element", "l.element.x", "m", "m.key", "m.value", "m.value.x")],
    ),
    "columns that Delta adds to files": (
        [name(ONE, **{"delta.rowTracking.materializedRowIdColumnName": "_rid"})],
        [file("a", "_rid", "_change_type", "_row-commit-version-col-77")],
    ),
    "partitions of a mapped table": (
        [(name({"a": "1 a", "p": f"2 {UUID}"}, "true"), {"partitions": ("p",)})],
        [file("a", partition_columns=(UUID,), folders=())],
    ),
    "a folder with a physical name": (
        [(name({"a": "1 a", "p": f"2 {UUID}"}, "true"), {"partitions": ("p",)})],
        [file("a", partition_columns=(UUID,), folders=(UUID,))],
    ),
    "a folder with an earlier name": (
        [
            (table({"a": "", "p": ""}, "none", "true"), {"partitions": ("p",)}),
            (name({"a": "1 a", "q": "2 p"}, "true"), {"partitions": ("q",)}),
            (table({"a": "", "q": ""}, "none", "true"), {"partitions": ("q",)}),
        ],
        [file("a", partition_columns=("q",), folders=("p",))],
    ),
    "a file of another table": (
        [(table({"a": ""}), UNTRACKED)],
        [replace(file("a", folders=("x",)), example="s3://bucket/x=1/f")],
    ),
    "a folder with an odd name": (
        [(table({"a": "", "p b": ""}), {"partitions": ("p b",), "features": ()})],
        [file("a", partition_columns=("p b",), folders=("p%20b",))],
    ),
}


@pytest.mark.parametrize("case", HEALTHY_FILES)
def test_healthy_files_have_no_finding(case: str) -> None:
    versions, files = HEALTHY_FILES[case]

    assert found(log_of(*versions, files=tuple(files))) == []


BROKEN_FILES: dict[str, tuple[list[Version], FileGroup, tuple[str, int, str | None]]] = {
    "an unknown column without column mapping": (
        [table({"a": ""}, None, "true")],
        file("a", "x"),
        ("file_columns", 0, "x"),
    ),
    "a dropped column that remains in a file after column mapping was removed": (
        [name(TWO), name(ONE, "true", **{MAX_COLUMN_ID: "2"}), table({"a": ""}, "none", "true")],
        file("a", "b"),
        ("file_columns", 2, "b"),
    ),
    "an unknown column with statistics": (
        [table({"a": ""}, None, "true")],
        file("a", "x", statistics=(("x",),)),
        ("file_columns", 0, "x"),
    ),
    "an unknown column where the log has every version": (
        [name(ONE, "true")],
        file("a", "x"),
        ("file_columns", 0, "x"),
    ),
    "an unknown field of a known struct": (
        [name({"s": {"column": "1 s", "struct": {"x": "2 x"}}})],
        file("s", "s.x", "s.y", "s.y.z"),
        ("file_columns", 0, "s.y"),
    ),
    "no field ids in mode id": (
        [table(ONE, "id", "false")],
        file("a"),
        ("file_unreadable", 0, None),
    ),
    "an unknown field id in mode id": (
        [table(ONE, "id", "false")],
        file("a", ids=(5,)),
        ("file_columns", 0, "a"),
    ),
    "a column with the name of a map's key, without a field id, in mode id": (
        [table({"a": "1 a", "key": "2 key"}, "id", "false")],
        FileGroup("f", 1, 9, columns=(ParquetColumn(("a",), 1), ParquetColumn(("key",)))),
        ("file_columns", 0, "key"),
    ),
    "a field with the name of a map's value, without a field id, in mode id": (
        [table({"s": {"column": "1 s", "struct": {"value": "2 value"}}}, "id", "false")],
        FileGroup("f", 1, 9, columns=(ParquetColumn(("s",), 1), ParquetColumn(("s", "value")))),
        ("file_columns", 0, "s.value"),
    ),
    "an older column by its id": (
        [table(ONE, "id", "true"), table({"a": "1 a", "b": f"2 {UUID}"}, "id", "true")],
        file("a", "x", ids=(1, 2)),
        ("dropped_column_shown", 1, "b"),
    ),
    "a column that was dropped and added without column mapping": (
        HEALTHY["overwriteSchema without column mapping"],
        file("a", "b"),
        ("dropped_column_shown", 2, "a"),
    ),
    "a name that the removal of column mapping made visible": (
        [name({"x": "1 y"}, "true"), table({"x": ""}, "none", "true")],
        file("x"),
        ("dropped_column_shown", 1, "x"),
    ),
    "a file whose commit is deleted": (
        [name(ONE), name(TWO)],
        file("b", under=None),
        ("dropped_column_shown", 1, "b"),
    ),
    "partition values of a table without partitions": (
        [name(ONE)],
        file("a", partition_columns=("a",)),
        ("partition_values", 0, None),
    ),
}


@pytest.mark.parametrize("case", BROKEN_FILES)
def test_broken_files_have_one_finding(case: str) -> None:
    versions, group, expected = BROKEN_FILES[case]

    assert found(log_of(*versions, files=(group,))) == [expected]


RENAMED = {"c": "1 a", "b": "2 b"}
MISLED = {**RENAMED, "a": f"3 {UUID}"}

NAMES_OF_OTHERS: dict[str, tuple[list[Version], list[FileGroup], list[tuple[int, str]]]] = {
    "a rename and an ADD": (
        [name(TWO), name(RENAMED, "true"), name(MISLED, "true")],
        [],
        [(2, "a")],
    ),
    "a rename and an ADD, and another rename": (
        [name(MISLED, "true"), name({"d": "1 a", "b": "2 b", "a": f"3 {UUID}"}, "true")],
        [],
        [(0, "a")],
    ),
    "a swap": (
        [name(TWO), name({"c": "1 a", "a": "2 b"}, "true"), name({"b": "1 a", "a": "2 b"}, "true")],
        [],
        [(1, "a"), (2, "b")],
    ),
    "a misleading name that is interrupted": (
        [name(MISLED, "true"), name(RENAMED, "true"), name(MISLED, "true")],
        [],
        [(2, "a")],
    ),
    "a nested column": (
        [
            name({"s": {"column": "1 s", "struct": {"y": "2 x", "x": f"3 {UUID}"}}}, "true"),
            name({"l": {"column": "1 l", "array": {"y": "4 x", "X": f"5 {UUID}"}}}, "true"),
        ],
        [],
        [(1, "l.element.X")],
    ),
    "mode id": (
        [table({"c": "1 a", "a": f"2 {UUID}"}, "id", "true")],
        [],
        [(0, "a")],
    ),
    "a dropped column that files hold": (
        HEALTHY["a column is dropped and added again"],
        [file("a", "b"), file("a", UUID, under=2)],
        [(2, "b")],
    ),
    "a dropped column that no file holds": (
        HEALTHY["a column is dropped and added again"],
        [file("a", under=1), file("a", UUID, under=2)],
        [],
    ),
    "column mapping is removed": (
        [name(MISLED, "true"), table({"c": "", "b": "", "a": ""}, "none", "true")],
        [],
        [],
    ),
}


@pytest.mark.parametrize("case", NAMES_OF_OTHERS)
def test_misleading_names_are_risks_after_all_damage(case: str) -> None:
    versions, files, expected = NAMES_OF_OTHERS[case]

    findings = audit(log_of(*versions, files=tuple(files)))

    risks = [finding for finding in findings if finding.check == "misleading_name"]
    assert [(finding.version, finding.column) for finding in risks] == expected
    severities = [finding.severity for finding in findings]
    assert severities == [DAMAGE] * (len(findings) - len(risks)) + [RISK] * len(risks)


@pytest.mark.parametrize(
    ("features", "statement"), [((), "REORG TABLE"), (("catalogManaged",), "INSERT OVERWRITE")]
)
def test_remedies_name_statements_that_delta_allows(
    features: tuple[str, ...], statement: str
) -> None:
    versions, files, _ = NAMES_OF_OTHERS["a dropped column that files hold"]
    last = name({"a": "1 a", "b": f"3 {UUID}"}, "true")
    newest = (last, {"features": (*TRACKED, *features)})

    (finding,) = audit(log_of(*versions[:-1], newest, files=tuple(files)))

    assert [each for each in ("REORG TABLE", "INSERT OVERWRITE") if each in finding.remedy] == [
        statement
    ]


FILE = FileGroup("f", 1, 9)
CITY = {"town": "1 city"}
BARE = log_of(table({"a": ""}))
OLDER = log_of(table({"a": ""}, properties={"x": "1"}))
# For each check, logs with its problem, and the version and the column or the file of the findings.
PROBLEMS: list[tuple[str, TableLog, list[tuple[int | None, str | None]]]] = [
    ("log_without_start", TableLog("t", 7, first_commit=5), [(7, None)]),
    ("commit_truncated", replace(BARE, truncated_commits=("0.json",)), [(0, "0.json")]),
    ("log_without_commits", replace(OLDER, first_commit=None, summaries=()), []),
    (
        "log_without_commits",
        replace(OLDER, first_commit=None, commits=(), summaries=(checkpoint(OLDER, 0),)),
        [(0, None)],
    ),
    ("unreadable_schema", log_of(TableMetadata(None)), [(0, None)]),  # type: ignore[arg-type]
    ("unknown_mode", log_of(name(ONE), table(ONE, "nome", "false")), [(1, None)]),
    (
        "file_missing",
        log_of(
            table({"a": ""}),
            files=(
                replace(FILE, problem=MISSING),
                replace(FILE, vector="v.bin", vector_problem=MISSING),
            ),
        ),
        [(0, "f"), (0, "v.bin")],
    ),
    (
        "file_unreadable",
        log_of(
            table({"a": ""}),
            files=(
                replace(FILE, problem="no footer"),
                replace(FILE, vector="v.bin", vector_problem="checksum"),
            ),
        ),
        [(0, "f"), (0, "v.bin")],
    ),
    (
        "dropped_column_shown",
        log_of(table({"a": ""}), table({"a": "", "b": ""}), files=(file("a", "b"),)),
        [(1, "b")],
    ),
    ("file_columns", log_of(name(ONE), files=(file("b"),)), [(0, "b")]),
    (
        "partition_values",
        log_of(
            (name({"a": "1 col-a"}, "true"), {"partitions": ("a",)}),
            files=(replace(FILE, partition_columns=("a",)),),
        ),
        [(0, "f")],
    ),
    (
        "physical_name_used_again",
        log_of(
            name({"a": "1 col-1", "b": "2 col-2"}, "true"),
            name({"b": "2 col-2", "c": "3 COL-1"}, "true"),
        ),
        [(1, "c")],
    ),
    (
        "id_used_again",
        log_of(
            name({"a": "1 col-1", "b": "2 col-2"}, "true"),
            name({"b": "2 col-2", "c": "1 col-3"}, "true"),
        ),
        [(1, "c")],
    ),
    ("mapping_keys_remain", log_of(table(ONE, "none")), [(0, "a")]),
    ("column_without_mapping", log_of(name({"a": "1 a", "b": ""})), [(0, "b")]),
    ("protocol_too_low", log_of((name(ONE, None), {"versions": (1, 2)})), [(0, None)]),
    (
        "checkpoint_differs",
        replace(OLDER, summaries=(checkpoint(BARE, 0),)),
        [(0, "0.checkpoint.parquet")],
    ),
    ("flag_turned_back", log_of(name(ONE, "true"), name(ONE)), [(1, None)]),
    ("drop_without_flag", log_of(name(TWO), name({"b": "2 b"})), [(1, "a")]),
    ("drop_without_flag", log_of(name(TWO), name({"a": "1 a", "c": "2 b"})), [(1, "b")]),
    ("drop_without_flag", log_of(name(TWO), name({"a": "1 a", "c": "2 b"}, "true")), []),
    ("flag_started_false", log_of((name(ONE, None), UNTRACKED), name(ONE)), [(1, None)]),
    ("flag_started_false", log_of((table({"a": ""}), UNTRACKED), name(ONE)), []),
    ("uuid_missing", log_of(name(ONE, "true"), name(TWO, "true")), [(1, "b")]),
    (
        "max_column_id_too_small",
        log_of(name({"a": "5 a"}, **{MAX_COLUMN_ID: "4"})),
        [(0, None)],
    ),
    (
        "max_column_id_decreased",
        log_of(name(ONE, **{MAX_COLUMN_ID: "7"}), name(ONE, **{MAX_COLUMN_ID: "4"})),
        [(1, None)],
    ),
    ("feature_without_flag", log_of(name(ONE, None)), [(0, None)]),
    ("flag_not_boolean", log_of(name(ONE, "maybe")), [(0, None)]),
    ("flag_without_feature", log_of((name(ONE), UNTRACKED)), [(0, None)]),
    (
        "statistics_names",
        log_of(table({"a": ""}), files=(replace(FILE, statistics=(("x",),)),)),
        [(0, "x")],
    ),
    ("last_checkpoint_missing", replace(BARE, last_checkpoint_target=0), [(0, "_last_checkpoint")]),
    (
        "last_checkpoint_missing",
        replace(BARE, last_checkpoint_target=-1),
        [(None, "_last_checkpoint")],
    ),
    ("last_checkpoint_missing", BARE, []),
    (
        "misleading_name",
        log_of(name(CITY, "true"), name({**CITY, "city": "2 col-5d2c"}, "true")),
        [(1, "city")],
    ),
    (
        "partition_folders",
        log_of(table({"a": ""}), files=(FileGroup("x=1/f", 1, 9, folders=("x",)),)),
        [(0, "x=1/f")],
    ),
]


@pytest.mark.parametrize(("check", "log", "expected"), PROBLEMS, ids=[row[0] for row in PROBLEMS])
def test_check_finds_its_problem(
    check: str, log: TableLog, expected: list[tuple[int | None, str | None]]
) -> None:
    findings = [finding for finding in audit(log) if finding.check == check]

    assert [(each.version, each.column or each.file) for each in findings] == expected


def test_every_check_is_tested() -> None:
    assert {check for check, *_ in PROBLEMS} == {check.name for check in CHECKS}


ONE_FINDING: dict[str, tuple[TableLog, tuple[str, int, str | None]]] = {
    "mapping keys that remain, and files by their names": (
        log_of(
            (table({"a": "1 col-a"}, "none"), UNTRACKED),
            files=(file("a", "col-a", statistics=(("col-a",),)),),
        ),
        ("mapping_keys_remain", 0, "a"),
    ),
    "a dropped column is used again": (
        log_of(
            name({"a": "1 a", "b": f"2 {UUID}"}, "true"),
            name(ONE, "true", **{MAX_COLUMN_ID: "2"}),
            name({"a": "1 a", "b": f"2 {UUID}"}, "true"),
        ),
        ("id_used_again", 2, "b"),
    ),
    "a dropped struct": (
        log_of(
            name({"s": {"column": "1 s", "struct": {"x": "2 x"}}, "a": "3 a"}), name({"a": "3 a"})
        ),
        ("drop_without_flag", 1, "s"),
    ),
    "a drop where column mapping ends": (
        log_of(name(TWO), table({"a": ""}, "none", "false")),
        ("drop_without_flag", 1, "b"),
    ),
    "a flag that becomes false in a drop": (
        log_of(name(TWO, "true"), name(ONE, **{MAX_COLUMN_ID: "2"})),
        ("flag_turned_back", 1, None),
    ),
    "a missing flag, from the first version without it": (
        log_of(name(ONE), name(ONE, None), name(ONE, None, p="1")),
        ("feature_without_flag", 1, None),
    ),
    "a missing maxColumnId": (
        log_of(without(name(ONE), MAX_COLUMN_ID)),
        ("max_column_id_too_small", 0, None),
    ),
}


@pytest.mark.parametrize("case", ONE_FINDING)
def test_broken_histories_have_one_finding(case: str) -> None:
    log, expected = ONE_FINDING[case]

    assert found(log) == [expected]


def test_files_with_the_same_defect_are_one_finding() -> None:
    files = (file("a", "x"), replace(file("x", under=1), num_files=4))

    (finding,) = audit(log_of(name(ONE), name(ONE, **{"p": "1"}), files=files))

    assert finding.message.startswith("5 file(s)")


def test_unknown_columns_are_not_a_finding_when_the_log_starts_at_a_checkpoint() -> None:
    log = log_of(
        name(ONE), name(ONE), name(ONE, "true"), name({"a": "1 a", "b": f"4 {UUID}"}, "true")
    )
    log = since(log, 3, checkpoint(log, 2))

    assert found(replace(log, files=(file("a", "dropped", under=None),))) == []


def test_restored_columns_from_before_the_log_are_not_new() -> None:
    log = log_of(name(ONE), name(ONE, p="1"), (name(TWO), {"operation": "RESTORE"}))
    log = since(log, 2, checkpoint(log, 1))

    assert found(replace(log, files=(file("a", "b", under=None),))) == []
    unknown = replace(log.commits[0], operation="MERGE")
    log = replace(log, commits=(unknown,), files=(file("a", "b", under=None),))
    assert found(log) == [("dropped_column_shown", 2, "b")]


def test_replay_never_starts_at_a_checkpoint_before_missing_commits() -> None:
    log = log_of(name(ONE), name(ONE), name(TWO))

    assert found(since(log, 2, checkpoint(log, 0))) == [("log_without_start", 2, None)]


def test_checkpoints_before_the_replay_are_not_compared() -> None:
    log = log_of(name(ONE), name(ONE), name(TWO), name(TWO, p="1"))
    other = replace(checkpoint(log, 1), version=0)

    assert found(since(log, 3, other, checkpoint(log, 2))) == []


def test_checkpoints_without_metadata_are_found() -> None:
    log = log_of(name(ONE), name(TWO))
    half = replace(checkpoint(log, 1), metadata=None)

    assert found(replace(log, summaries=(half,))) == [("checkpoint_differs", 1, None)]


def test_checkpoints_are_compared_by_protocol_schema_and_partition_columns() -> None:
    log = log_of(name(TWO))
    whole = checkpoint(log, 0)
    protocol, metadata = whole.protocol, whole.metadata
    assert protocol is not None
    assert metadata is not None
    others = {
        "the protocol": replace(whole, protocol=replace(protocol, min_writer_version=8)),
        "the schema": replace(whole, metadata=replace(metadata, schema=name(ONE).schema)),
        "the partition columns": replace(
            whole, metadata=replace(metadata, partition_columns=("a",))
        ),
    }

    assert found(replace(log, summaries=(whole,))) == []
    for what, other in others.items():
        (finding,) = audit(replace(log, summaries=(other,)))
        assert (finding.check, finding.version) == ("checkpoint_differs", 0)
        assert what in finding.message


def test_ids_of_elements_count_as_ids() -> None:
    nested = {"column": "1 a", "metadata": {NESTED_COLUMN_IDS: {"a.element": 2}}}

    assert found(log_of(name({"a": nested}, **{MAX_COLUMN_ID: "2"}))) == []
    assert ("id_used_again", 0, "b") in found(log_of(name({"a": nested, "b": "2 b"})))


def test_tracking_feature_needs_writer_version_7() -> None:
    log = log_of(table(flag="false"))
    (commit,) = log.commits
    low = replace(commit, protocol=Protocol(1, 6, None, frozenset(TRACKED)))

    assert found(replace(log, commits=(low,))) == [("protocol_too_low", 0, None)]


def test_checkpoint_may_have_the_same_values_in_another_form() -> None:
    both = {"s": {"column": "1 s", "struct": {"x": "2 x"}}}
    log = log_of(name(both, **{"delta.appendOnly": "true", "delta.checkpointInterval": "10"}))
    (commit,) = log.commits
    assert commit.metadata is not None
    written = {**commit.metadata.configuration, "delta.appendOnly": True}
    written["delta.checkpointInterval"] = 10
    schema = json.loads(json.dumps(commit.metadata.schema).replace(', "metadata": {}', ""))
    changed = replace(commit.metadata, configuration=written, schema=schema)
    file = replace(checkpoint(log, 0), metadata=changed)

    assert found(replace(log, summaries=(file,))) == []
    wrong = replace(changed, configuration={**written, "delta.appendOnly": False})
    assert found(replace(log, summaries=(replace(file, metadata=wrong),))) == [
        ("checkpoint_differs", 0, None)
    ]


def test_version_with_an_unreadable_schema_adds_and_drops_no_column() -> None:
    log = log_of(name(TWO), name(TWO), name(TWO), files=(file("a", "b"),))
    first, second, third = log.commits
    assert second.metadata is not None
    unread = replace(second, metadata=replace(second.metadata, schema=None))

    checks = {each for each, *_ in found(replace(log, commits=(first, unread, third)))}

    assert not checks & {"dropped_column_shown", "id_used_again"}


@pytest.mark.parametrize("mode", ["name", "id"])
def test_column_id_of_any_type_is_no_error(mode: str) -> None:
    log = log_of(table(TWO, mode, "true"), table(TWO, mode, "true"), files=(file("a"),))
    assert log.commits[1].metadata is not None
    text = json.dumps(log.commits[1].metadata.schema)
    schema = json.loads(
        text.replace('"delta.columnMapping.id": 2', '"delta.columnMapping.id": [2]')
    )
    odd = replace(log.commits[1], metadata=replace(log.commits[1].metadata, schema=schema))

    assert found(replace(log, commits=(log.commits[0], odd)))


def test_log_compaction_files_lack_only_what_their_commits_lack() -> None:
    log = log_of(name(ONE), name(TWO))
    compacted = Summary("1.2", 2, 1, log.commits[1].protocol, log.commits[1].metadata)
    quiet = Summary("2.3", 3, 2, None, None)

    assert found(replace(log, last_version=3, summaries=(compacted, quiet))) == []
    lost = replace(compacted, metadata=None)
    assert found(replace(log, last_version=3, summaries=(lost, quiet))) == [
        ("checkpoint_differs", 2, None)
    ]


def test_log_compaction_files_are_not_compared_when_their_commits_are_deleted() -> None:
    log = log_of(name(ONE), name(TWO), name(TWO, "true"))
    other = log.commits[0]
    compacted = Summary("0.1", 1, 0, other.protocol, other.metadata)

    assert found(since(log, 2, checkpoint(log, 1), compacted)) == []


def test_findings_are_ordered_worst_first() -> None:
    missing = FileGroup("f", 1, 9, problem=MISSING)

    assert [check for check, _, _ in found(log_of(name(ONE, "maybe"), files=(missing,)))] == [
        "file_missing",
        "flag_not_boolean",
    ]


def test_checks_have_the_order_of_the_page() -> None:
    checks = PAGE.read_text().split("\n## Checks\n")[1].split("\n## ")[0]

    assert [check.name for check in CHECKS] == re.findall(r"^\| `(\w+)` \|", checks, re.MULTILINE)
    assert len({check.order for check in CHECKS}) == len(CHECKS)


def test_checks_of_a_risk_are_last() -> None:
    risks = [check for check in CHECKS if check.severity == RISK]

    assert risks == [check for check in CHECKS if check.order >= MISLEADING]
    assert f"The checks from `{risks[0].name}` on are a `risk`, all others" in PAGE.read_text()


def test_every_module_of_checks_is_imported() -> None:
    modules = {file.stem for file in Path(auditing.__file__).parent.glob("*.py")} - {"__init__"}

    assert modules <= set(vars(auditing))


def test_table_function_returns_the_findings() -> None:
    schema = json.dumps(
        {
            "type": "struct",
            "fields": [
                {
                    "name": "a b",
                    "type": "long",
                    "nullable": True,
                    "metadata": {"delta.columnMapping.id": 1},
                }
            ],
        }
    )
    actions = [
        {"metaData": {"schemaString": schema, "partitionColumns": [], "configuration": {}}},
        {"protocol": {"minReaderVersion": 1, "minWriterVersion": 2}},
    ]
    log = {
        "lastVersion": 0,
        "firstCommit": 0,
        "lastCheckpointTarget": None,
        "truncatedCommits": [],
        "commits": [{"version": 0, "time": 0, "actions": actions}],
        "summaries": [],
        "files": None,
    }

    request = {"name": "t", "metadata": None, "log": log, "folder": None}

    answer = json.loads(ask("column_mapping_audit", json.dumps(request)))

    (row,) = answer["rows"]
    assert (row["version"], row["check"], row["column"], row["file"]) == (
        0,
        "mapping_keys_remain",
        "`a b`",
        None,
    )
    assert list(row) == [column.split()[0].strip("`") for column in answer["schema"].split(", ")]


class TestApi:
    def test_public_name_audit_is_a_function(self) -> None:
        # A package of that name would replace it after an import.
        assert callable(spark_ext.audit)
        assert not (Path(spark_ext.__file__).parent / "audit").exists()

    @pytest.mark.parametrize("sample", [True, "3", 2.0])
    def test_sample_is_refused_when_not_an_integer(self, sample: Any) -> None:
        with pytest.raises(TypeError, match="use a number"):
            spark_ext.audit(None, "db.t", sample=sample)  # type: ignore[arg-type]

    def test_sample_is_refused_when_negative(self) -> None:
        with pytest.raises(ValueError, match="use at least 0"):
            spark_ext.audit(None, "db.t", sample=-1)  # type: ignore[arg-type]

    def test_table_is_refused_when_neither_text_nor_path(self) -> None:
        with pytest.raises(TypeError, match="neither a table's name nor a path"):
            spark_ext.audit(None, 3)  # type: ignore[arg-type]

    @pytest.mark.parametrize(
        ("table", "name"),
        [
            ("db.t", "db.t"),
            ("db.`a/b`.t", "db.`a/b`.t"),
            ("delta.`/t`", "delta.`/t`"),
            ("/a/b", "delta.`/a/b`"),
            ("s3a://bucket/t`x", "delta.`s3a://bucket/t``x`"),
            (Path("t"), "delta.`t`"),
        ],
    )
    def test_text_with_a_slash_outside_backticks_is_a_path(
        self, table: str | Path, name: str
    ) -> None:
        assert _sql_name(table) == name


class TestResult:
    WORST = Finding(3, "uuid_missing", "`a\nb`", None, "It is <so>.", "Do that.")
    OTHER = Finding(None, "file_missing", None, "part-0", "It is missing.", "Restore it.")
    RISK = Finding(1, "misleading_name", "a", None, "It misleads.", "Align.", "risk")

    def test_text_has_a_table_and_then_each_remedy(self) -> None:
        assert repr(AuditResult("db.t", (self.WORST, self.OTHER))).splitlines() == [
            "db.t: 2 findings (2 damage), worst first",
            "",
            "   severity  version  check         column  file",
            "-  --------  -------  ------------  ------  ------",
            "1  damage          3  uuid_missing  `a\\nb`",
            "2  damage             file_missing          part-0",
            "",
            "1. It is <so>.",
            "  What to do: Do that.",
            "",
            "2. It is missing.",
            "  What to do: Restore it.",
        ]

    def test_findings_are_counted_by_severity(self) -> None:
        result = AuditResult("db.t", (self.WORST, self.OTHER, self.RISK))

        assert (result.num_damages, result.num_risks) == (2, 1)
        assert repr(result).startswith("db.t: 3 findings (2 damage, 1 risk), worst first\n")
        assert repr(AuditResult("db.t", (self.RISK,))).startswith("db.t: 1 finding (1 risk)\n")
        assert [found["severity"] for found in result.as_objects()] == ["damage", "damage", "risk"]

    def test_text_of_a_healthy_table_contains_no_findings(self) -> None:
        assert repr(AuditResult("db.t", ())) == "db.t: no findings"

    def test_results_are_true_without_findings(self) -> None:
        assert AuditResult("db.t", ())
