# SPDX-License-Identifier: Apache-2.0
"""Tests the verdicts about a column from the files in a table's folder, and what they cover."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from spark_ext.erasure.column_erasure import column_erasure
from spark_ext.log.actions import (
    LIVE,
    MISSING,
    REMOVED,
    UNTRACKED,
    Commit,
    LoggedMetadata,
    TableLog,
)
from spark_ext.log.folder import CHECKPOINT, COMMIT, TableFolder
from spark_ext.model.erasure import FilesRead, NameInLog
from spark_ext.model.keys import MAX_COLUMN_ID, NESTED_COLUMN_IDS
from spark_ext.model.metadata import FileCount, TableMetadata
from spark_ext.model.name_pattern import NamePattern
from spark_ext.model.schema import path_of
from tests.unit.folders import BOTH, DROP, NOW, ONE, data, folder, logged
from tests.unit.logs import cleaned_up, log
from tests.unit.tables import table

UUID = "col-3f2a91d4-0c11-4a5e-8a53-1f6f3fbd0c44"
OTHER_UUID = "col-7b1e6a02-55c8-4f0d-9a37-2c9d8e4b6f13"
RENAMED = table({"a": "1 a", "c": "2 b"}, "name", "true")


def asked(of: TableFolder, column: str | None = "b", **facts: Any) -> Any:
    # Times are milliseconds here, and the JVM makes timestamps of them.
    return column_erasure(replace(of, column=column, **facts))


def forgotten(whole: TableLog, version: int, **parameters: Any) -> TableLog:
    """Returns the log from a checkpoint on. The commit of its version has these parameters."""
    cut = cleaned_up(whole, version)
    first, *others = cut.commits
    return replace(cut, commits=(replace(first, parameters=parameters), *others))


def test_column_has_the_verdict_erased_when_no_data_remains() -> None:
    found = asked(folder(files=(data(LIVE, "a"),)))

    assert found.verdict == "ERASED"
    assert [(row.path, row.version, row.gone) for row in found.columns] == [("b", 1, True)]
    assert (found.version, found.oldest_version, found.oldest_timestamp) == (1, 0, 0)
    assert found.timestamp == NOW


@pytest.mark.parametrize(
    "places",
    [
        {"files": (data(LIVE, "a", "b"),)},
        {"files": (data(REMOVED, "b"),)},
        {"files": (data(UNTRACKED, "b"),)},
        {"files": (data(LIVE, "a", statistics=(("b",),)),)},
        {"files": (data(LIVE, "b", source="file:/source"),)},
        {"log_files": (logged(COMMIT, statistics=(("b",),)),)},
        {"log_files": (logged(CHECKPOINT, statistics=(("b",),)),)},
    ],
)
def test_column_is_still_present_when_a_place_has_its_data(places: dict[str, Any]) -> None:
    found = asked(folder(**places))

    assert found.verdict == "STILL_PRESENT"
    assert found.columns[0].steps
    assert asked(folder(**places), "other").verdict == "NEVER_HAD"


@pytest.mark.parametrize("name", ["b", "m", "c", "B", "[bx]", "?"])
def test_column_is_found_by_each_name_and_by_patterns(name: str) -> None:
    middle = table({"a": "1 a", "m": "2 b"}, "name", "true")
    renames = [("RENAME COLUMN", middle), ("RENAME COLUMN", RENAMED)]
    whole = log(("CREATE TABLE", BOTH), *renames, ("DROP COLUMNS", ONE))
    found = asked(folder(whole, files=(data(LIVE, "a", "b"),)), name)

    assert [(row.path, row.former_paths) for row in found.columns] == [("c", ("b", "m"))]
    # A question mark matches the live column, too.
    assert found.verdict == ("LIVE" if name == "?" else "STILL_PRESENT")


SPELLINGS = {
    "p.ssn": ["ssn", "SSN", "`ssn`", " ssn ", "p.ssn", "`p`.`ssn`", "p.`ss?`", "p.*", "*.ssn"],
    "p.`a.b`": ["a.b", "`a.b`", "p.a.b", "p.`a.b`"],
    "p.`größe`": ["größe", "gro\u0308ße", "`GRO\u0308SSE`"],
    "p.`a``b`": ["a`b", "`a``b`", "p.`a``b`"],
}


@pytest.mark.parametrize(
    ("path", "spelling"),
    [(path, each) for path, spellings in SPELLINGS.items() for each in spellings],
)
def test_dropped_field_is_found_by_each_spelling(path: str, spelling: str) -> None:
    name = path_of(path)[-1]
    kept = {"x": "3 x"}
    both = table({"p": {"column": "1 p", "struct": {name: "2 f", **kept}}}, "name", "false")
    one = table({"p": {"column": "1 p", "struct": kept}}, "name", "true")
    whole = log(("CREATE TABLE", both), ("DROP COLUMNS", one))

    found = asked(folder(whole, files=(data(LIVE, "p", ("p", "x")),)), spelling)

    assert found.verdict != "NEVER_HAD"
    assert [row.path for row in found.columns] == [path]


@pytest.mark.parametrize(
    ("spelling", "matches"),
    [
        *[
            (each, True)
            for each in ("ssn", "p.ssn", "P.SSN", "`p`.ssn", "a.p.ssn", "p.element.ssn")
        ],
        *[(each, True) for each in ("a.p.element.ssn", "element.ssn", "t.a.p.ssn", "db.t.a.p.ssn")],
        *[(each, True) for each in ("p . ssn", "`p`. `ssn`", "db.t .a.p.ssn")],
        *[(each, True) for each in ("`db`.t.a.`p`.element.ssn", "c.db.t.a.p.*", "ss[n]")],
        *[(each, False) for each in ("sn", "a.ssn", "x.p.ssn", "x.t.a.p.ssn", "`p.ssn`.x", "p")],
        *[(each, False) for each in ("t.ssn", "`ssn", "s*n.x", "", "`p . ssn`")],
    ],
)
def test_path_in_an_array_is_matched_by_its_last_parts(spelling: str, matches: bool) -> None:
    pattern = NamePattern(spelling, ("c", "db", "t"))

    assert pattern.matches(("a", "p", "element", "ssn")) == matches


@pytest.mark.parametrize(
    ("column", "verdict"),
    [
        ("y", "STILL_PRESENT"),
        ("s.y", "STILL_PRESENT"),
        ("s.*", "LIVE"),
        ("x", "LIVE"),
        ("z", "NEVER_HAD"),
    ],
)
def test_nested_column_is_found_by_its_path_and_by_its_last_name(column: str, verdict: str) -> None:
    both = table({"s": {"column": "1 s", "struct": {"x": "2 x", "y": "3 y"}}}, "name", "false")
    one = table({"s": {"column": "1 s", "struct": {"x": "2 x"}}}, "name", "true")
    whole = log(("CREATE TABLE", both), ("DROP COLUMNS", one))

    found = asked(folder(whole, files=(data(LIVE, "s", ("s", "x"), ("s", "y")),)), column)

    assert found.verdict == verdict


def test_renamed_column_is_live_under_its_former_name() -> None:
    found = asked(folder(log(("CREATE TABLE", BOTH), ("RENAME COLUMN", RENAMED))))

    assert found.verdict == "LIVE"
    (live,) = found.live_columns
    assert (live.path, live.former_paths, live.physical_path, live.id) == ("c", ("b",), "b", 2)


def test_physical_name_is_the_first_name_when_the_log_lacks_the_rename() -> None:
    whole = log(("CREATE TABLE", BOTH), ("RENAME COLUMN", RENAMED), ("WRITE", RENAMED))

    found = asked(folder(cleaned_up(whole, 2)))

    assert (found.verdict, [live.path for live in found.live_columns]) == ("LIVE", ["c"])


def test_new_column_of_the_name_hides_no_data_of_the_dropped_column() -> None:
    again = table({"a": "1 a", "b": f"3 {UUID}"}, "name", "true")
    whole = log(("CREATE TABLE", BOTH), ("DROP COLUMNS", ONE), ("ADD COLUMNS", again))

    found = asked(folder(whole, files=(data(REMOVED, "b"),)))

    assert found.verdict == "LIVE"
    assert [row.removed_files.num_files for row in found.columns] == [1]


# The scope of the verdict.


def test_verdict_is_never_had_when_the_log_is_complete() -> None:
    found = asked(folder(files=(data(LIVE, "a"),)), "other")

    assert (found.verdict, found.oldest_version, found.columns) == ("NEVER_HAD", 0, ())
    assert found.forgotten_ids == 0


def test_ids_of_elements_are_known() -> None:
    items = {"column": "1 a", "metadata": {NESTED_COLUMN_IDS: {"a.element": 2}}}
    of = folder(log(("CREATE TABLE", table({"a": items}, "name", "false", {MAX_COLUMN_ID: "2"}))))

    assert asked(of, "other").forgotten_ids == 0


def test_verdict_covers_versions_since_the_oldest_schema_when_the_drop_is_deleted() -> None:
    whole = log(("CREATE TABLE", BOTH), ("DROP COLUMNS", ONE), ("WRITE", ONE))
    cut = cleaned_up(whole, 2)
    highest = {**cut.summaries[0].metadata.configuration, "delta.columnMapping.maxColumnId": "2"}  # type: ignore[union-attr]
    metadata = LoggedMetadata(ONE.schema, highest)
    cut = replace(
        cut, commits=(), summaries=(replace(cut.summaries[0], metadata=metadata),), first_commit=2
    )

    found = asked(folder(cut, files=(data(LIVE, "a"),), starts=(Commit(2, time=77),)))

    assert (found.verdict, found.oldest_version, found.oldest_timestamp) == ("NEVER_HAD", 2, 77)
    assert found.forgotten_ids == 1


def test_commit_of_the_drop_names_the_column_when_its_schemas_are_deleted() -> None:
    whole = log(("CREATE TABLE", BOTH), ("DROP COLUMNS", ONE))
    cut = forgotten(whole, 1, columns='["b","`x.y`","s.`n`"]')
    of = folder(cut, files=(data(LIVE, "a"),))

    found = asked(of)

    assert found.verdict == "ERASED"
    assert found.names_in_log == (NameInLog("b", 1, 1000, "DROP COLUMNS"),)  # type: ignore[arg-type]
    assert asked(of, "x.y").verdict == asked(of, "n").verdict == "ERASED"
    assert asked(of, "y").verdict == "NEVER_HAD"
    assert asked(of, None).verdict == "ERASED"


def test_commit_of_a_rename_has_the_former_name_when_its_schemas_are_deleted() -> None:
    by_uuid = table({"a": "1 a", "c": f"2 {UUID}"}, "name", "true")
    whole = log(("CREATE TABLE", BOTH), ("RENAME COLUMN", by_uuid), ("DROP COLUMNS", ONE))
    cut = forgotten(whole, 1, oldColumnPath="b", newColumnPath="C")

    found = asked(folder(cut, files=(data(LIVE, "a", UUID),)))

    assert (found.verdict, found.columns[0].path) == ("STILL_PRESENT", "c")
    live = asked(folder(forgotten(log(*[("RENAME COLUMN", by_uuid)] * 2), 1, oldColumnPath="b",
                                  newColumnPath="c")))  # fmt: skip
    assert (live.verdict, live.live_columns[0].former_paths) == ("LIVE", ("b",))


def test_commit_of_a_rename_may_have_backticks_in_names() -> None:
    both = {"a": "1 a", "p": {"column": "2 p", "struct": {"n`w": f"3 {UUID}"}}}
    renamed = table(both, "name", "true")
    whole = log(("CREATE TABLE", BOTH), ("RENAME COLUMN", renamed))
    cut = forgotten(whole, 1, oldColumnPath="p.old", newColumnPath="p.n`w")
    dropped = forgotten(log(("CREATE TABLE", BOTH), ("DROP COLUMNS", ONE)), 1, columns='["p.n`w"]')

    assert asked(folder(cut), "old").verdict == "LIVE"
    assert asked(folder(dropped), "`n``w`").verdict == "ERASED"


def nested(struct: str, field: str) -> TableMetadata:
    column = {"column": f"1 {UUID}", "struct": {field: f"2 {OTHER_UUID}"}}
    return table({struct: column, "a": "3 a"}, "name", "true")


Z, Y, S_Y, S_X = nested("R", "z"), nested("R", "y"), nested("s", "y"), nested("s", "x")


def test_commits_of_renames_have_each_former_path_of_a_struct_and_its_field() -> None:
    renames = (("R.z", "R.y", Y), ("R", "s", S_Y), ("s.y", "s.x", S_X))
    whole = log(("CREATE TABLE", Z), *[("RENAME COLUMN", after) for *_, after in renames])
    parameters = [{"oldColumnPath": old, "newColumnPath": new} for old, new, _ in renames]
    commits = [replace(commit, parameters=each)
               for commit, each in zip(whole.commits[1:], parameters, strict=True)]  # fmt: skip
    cut = replace(cleaned_up(whole, 3), commits=tuple(commits), first_commit=1)

    for name in ("z", "R.z", "r.y", "s.y", "x"):
        found = asked(folder(cut), name)
        assert (found.verdict, found.names_in_log) == ("LIVE", ())
        assert [live.former_paths for live in found.live_columns] == [("R.z", "R.y", "s.y")]
    assert asked(folder(cut), "r.x").verdict == "NEVER_HAD"


def test_column_is_live_under_a_name_before_restore_or_in_an_older_schema() -> None:
    whole = log(("CREATE TABLE", Y), ("RENAME COLUMN", S_Y), ("RESTORE", Y), ("WRITE", Y))
    cut = replace(cleaned_up(whole, 3), commits=whole.commits[1:], first_commit=1)
    older = logged("other", version=0, under=None, schemas=(json.dumps(S_X.schema),))

    assert asked(folder(cut), "s.y").verdict == "LIVE"
    assert asked(folder(cut, log_files=(older,)), "s.x").verdict == "LIVE"


def test_column_added_later_under_the_name_is_not_the_renamed_and_dropped_one() -> None:
    again = table({"a": "1 a", "c": f"3 {UUID}"}, "name", "true")
    whole = log(("CREATE TABLE", BOTH), ("RENAME COLUMN", RENAMED), ("DROP COLUMNS", ONE),
                ("ADD COLUMNS", again))  # fmt: skip
    rename = replace(whole.commits[1], parameters={"oldColumnPath": "b", "newColumnPath": "c"})
    cut = replace(cleaned_up(whole, 3), commits=(rename, *whole.commits[2:]), first_commit=1)

    assert asked(folder(cut, files=(data(LIVE, "a"),))).verdict == "ERASED"


def test_rename_without_its_new_name_may_concern_each_neighbour() -> None:
    whole = log(("CREATE TABLE", Z), ("RENAME COLUMN", Y))

    found = asked(folder(forgotten(whole, 1, oldColumnPath="R.z")), "z")

    assert [live.path for live in found.live_columns] == ["R.y"]


def test_unreadable_schema_before_the_known_history_makes_the_answer_unknown() -> None:
    whole = log(("CREATE TABLE", BOTH), ("RENAME COLUMN", RENAMED), ("WRITE", RENAMED))
    unreadable = replace(whole.commits[1], metadata=LoggedMetadata(None))
    cut = replace(cleaned_up(whole, 2), commits=(unreadable, *whole.commits[2:]), first_commit=1)

    assert asked(folder(cut), "other").verdict == "UNKNOWN"


def test_older_file_of_the_log_names_the_column_in_its_schema() -> None:
    whole = log(("CREATE TABLE", BOTH), ("DROP COLUMNS", ONE), ("WRITE", ONE))
    older = logged("other", version=0, under=None, schemas=(json.dumps(BOTH.schema),))
    newer = replace(older, version=1)

    found = asked(folder(cleaned_up(whole, 2), log_files=(older, newer)))

    # The column may be renamed, and have another physical name after column mapping was removed.
    assert found.verdict == "UNKNOWN"
    assert found.names_in_log == (NameInLog("b", 1, None, "SCHEMA"),)
    drop = forgotten(log(("CREATE TABLE", BOTH), ("DROP COLUMNS", ONE)), 1, columns='["b"]')
    assert asked(folder(drop, log_files=(older,))).verdict == "ERASED"


@pytest.mark.parametrize("asked_for", ["person", "ssn", "person.ssn"])
def test_field_of_a_struct_that_no_schema_has_is_found(asked_for: str) -> None:
    never_mapped = log(("CREATE TABLE", table({"a": ""})))
    inner = (("person", "ssn"),)
    in_file = folder(never_mapped, files=(data(UNTRACKED, "a", "person", *inner),))
    in_log = folder(never_mapped, log_files=(logged(COMMIT, statistics=inner),))

    for found in (in_file, in_log):
        assert asked(found, asked_for).verdict == "STILL_PRESENT"
        assert asked(found, "x").verdict == "NEVER_HAD"


@pytest.mark.parametrize("text", ["{", '{"type":"struct"}'])
def test_unreadable_schema_in_an_older_file_of_the_log_makes_the_answer_unknown(text: str) -> None:
    whole = log(("CREATE TABLE", BOTH), ("DROP COLUMNS", ONE), ("WRITE", ONE))
    older = logged(CHECKPOINT, version=0, under=None, schemas=(text,))

    found = asked(folder(cleaned_up(whole, 2), log_files=(older,)))

    assert (found.verdict, found.unknown_schemas) == ("UNKNOWN", 1)


def test_column_of_an_older_schema_is_live_under_its_new_name() -> None:
    before, after = (table({"a": "1 a", name: f"2 {UUID}"}, "name", "true") for name in "bc")
    whole = log(("CREATE TABLE", before), ("RENAME COLUMN", after), ("WRITE", after))
    older = logged("other", version=0, under=None, schemas=(json.dumps(before.schema),))

    found = asked(folder(cleaned_up(whole, 2), log_files=(older,)))

    assert (found.verdict, found.names_in_log) == ("LIVE", ())
    assert [(live.path, live.former_paths) for live in found.live_columns] == [("c", ("b",))]


def test_commit_that_drops_a_struct_drops_the_fields_of_its_older_schema() -> None:
    both = table({"a": "1 a", "s": {"column": "2 s", "struct": {"b": "3 b"}}}, "name", "false")
    older = logged("other", version=0, under=None, schemas=(json.dumps(both.schema),))
    cut = forgotten(log(("CREATE TABLE", both), ("DROP COLUMNS", ONE)), 1, columns='["s"]')

    found = asked(folder(cut, log_files=(older,)))

    assert found.verdict == "ERASED"
    assert [(name.path, name.source) for name in found.names_in_log] == [("s.b", "DROP COLUMNS")]


@pytest.mark.parametrize("kind", [LIVE, REMOVED, UNTRACKED])
def test_column_without_a_known_name_makes_the_answer_unknown(kind: str) -> None:
    whole = log(("CREATE TABLE", BOTH), ("DROP COLUMNS", ONE), ("WRITE", ONE))
    of = folder(cleaned_up(whole, 2), files=(data(kind, "a", UUID, added_under=None),))

    found = asked(of)

    assert (found.verdict, found.unnamed_columns) == ("UNKNOWN", (f"`{UUID}`",))
    (row,) = found.columns
    assert (row.path, row.physical_path, bool(row.steps)) == (None, f"`{UUID}`", True)
    assert asked(of, "col-*").verdict == "STILL_PRESENT"
    assert asked(of, None).verdict == "STILL_PRESENT"


def test_column_of_a_file_has_its_only_name_when_table_was_never_mapped() -> None:
    plain = log(("CREATE TABLE", table({"a": ""})), ("WRITE", table({"a": ""})))
    file = data(UNTRACKED, "a", "index", added_under=None)

    assert asked(folder(plain, files=(file,))).verdict == "NEVER_HAD"
    cloned = log(("CREATE TABLE", table({"a": ""})), ("CLONE", table({"a": ""})))
    assert asked(folder(cloned, files=(file,))).verdict == "UNKNOWN"
    cut = folder(cleaned_up(plain, 1), files=(file,))
    assert asked(cut).verdict == "UNKNOWN"


# Unreadable files.


def test_missing_live_file_makes_the_answer_unknown() -> None:
    """The storage of a clone's source may not be mounted."""
    missing = data(LIVE, columns=None, problem=MISSING, source="file:/source")
    removed = data(REMOVED, columns=None, problem=MISSING)

    assert asked(folder(files=(missing,)), "other").verdict == "UNKNOWN"
    assert asked(folder(files=(missing,))).verdict == "UNKNOWN"
    assert asked(folder(files=(removed,)), "other").verdict == "NEVER_HAD"


def test_unreadable_file_makes_the_answer_unknown() -> None:
    broken = data(UNTRACKED, columns=None, problem="no footer")
    erased = asked(folder(files=(broken,)))
    never = asked(folder(files=(broken,)), "other")

    assert (erased.verdict, erased.unknown_files) == ("UNKNOWN", FileCount(1, 10))
    assert (never.verdict, len(never.columns)) == ("UNKNOWN", 1)
    assert (never.columns[0].path, never.columns[0].physical_path) == (None, None)
    assert [step.step for step in never.columns[0].steps] == ["VACUUM"]


def test_unreadable_log_file_or_schema_makes_the_answer_unknown() -> None:
    broken = logged(COMMIT, problem="it is broken")
    assert asked(folder(log_files=(broken,))).unknown_log_files == 1
    assert asked(folder(log_files=(broken,)), "other").verdict == "UNKNOWN"
    first, last = DROP.commits
    unreadable = replace(first, version=1, metadata=LoggedMetadata(None))
    whole = replace(DROP, commits=(first, unreadable, replace(last, version=2)), last_version=2)

    found = asked(folder(whole), "other")

    assert (found.verdict, found.unknown_schemas) == ("UNKNOWN", 1)


def test_files_are_counted_by_kind() -> None:
    found = asked(
        folder(
            files=(
                data(LIVE, "a"),
                data(LIVE, "b", num_files=2),
                data(LIVE, columns=None, problem=MISSING),
                data(REMOVED, "b"),
            ),
            log_files=(logged(COMMIT, num_files=3, size_in_bytes=30), logged(CHECKPOINT)),
        )
    )

    assert found.files_read == (
        FilesRead("live", 3, 20),
        FilesRead("removed", 1, 10),
        FilesRead("commit", 3, 30),
        FilesRead("checkpoint", 1, 0),
    )


def test_sources_are_those_of_live_files_with_and_without_the_column() -> None:
    files = (
        data(LIVE, "a", source="file:/s"),
        data(LIVE, "a", "b", source="file:/s"),
        data(LIVE, "a", source="file:/r"),
        data(LIVE, "a"),
        data(REMOVED, "a", "b", source="file:/earlier"),
    )

    assert column_erasure(folder(files=files)).sources == ("file:/r", "file:/s")
