# SPDX-License-Identifier: Apache-2.0
"""Tests the history of columns and of the flag, on logs that are written by hand or drawn."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from itertools import groupby
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spark_ext.log.actions import Commit, LoggedMetadata, Summary, TableLog
from spark_ext.log.history import ColumnHistory, column_history, states, status
from spark_ext.model.keys import COLUMN_ID, COLUMN_MAPPING_MODE, PHYSICAL_NAME
from spark_ext.model.metadata import ColumnChange, FlagChange, TableMetadata
from spark_ext.model.schema import Path, path_of
from tests.unit import strategies
from tests.unit.logs import cleaned_up, log_of
from tests.unit.tables import TRACKED, protocol, struct

# A case: a log => version, change, id, old and new name of its events after version 0; and the
# newest columns, with the versions that added and last renamed them.
HISTORIES = """
creation: name {a: 1 a, s: {column: 2 s, struct: {x: 3 x}}} => ; a 0 -, s 0 -, s.x 0 -
each change: name {a: 1 a, b: 2 b} -> name {a: 1 a, b: 2 b, c: 3 c}
    -> name {a: 1 a, B: 2 b, c: 3 c} -> name {B: 2 b, c: 3 c}
    => 1 add 3 - c, 2 rename 2 b B, 3 drop 1 a -; B 0 2, c 1 -
swap: name {a: 1 x, b: 2 y} -> name {b: 1 x, a: 2 y, d: 3 z}
    => 1 rename 1 a b, 1 rename 2 b a, 1 add 3 - d; b 0 1, a 0 1, d 1 -
children of a renamed struct: name {s: {column: 1 s, struct: {x: 2 x, y: 3 y}}}
    -> name {t: {column: 1 s, struct: {x: 2 x, z: 3 y}}}
    => 1 rename 1 s t, 1 rename 3 s.y t.z; t 0 1, t.x 0 -, t.z 0 1
children of a renamed array: name {s: {column: 1 s, array: {x: 2 x, y: 3 y}}}
    -> name {t: {column: 1 s, array: {x: 2 x, z: 3 y}}}
    => 1 rename 1 s t, 1 rename 3 s.element.y t.element.z; t 0 1, t.element.x 0 -, t.element.z 0 1
children of a renamed map: name {s: {column: 1 s, map: {y: 3 y}}}
    -> name {t: {column: 1 s, map: {z: 3 y}}}
    => 1 rename 1 s t, 1 rename 3 s.value.y t.value.z; t 0 1, t.value.z 0 1
children of a dropped struct: name {a: 1 a, s: {column: 2 s, struct: {x: 3 x}}} -> name {a: 1 a}
    => 1 drop 2 s -, 1 drop 3 s.x -; a 0 -
another id: name {a: 1 a} -> name {a: 2 a} => 1 drop 1 a -, 1 add 2 - a; a 1 -
another physical name: name {a: 1 a} -> name {a: 1 b} => 1 drop 1 a -, 1 add 1 - a; a 1 -
restored column: name {a: 1 a, b: 2 b} -> name {a: 1 a} -> [RESTORE] name {a: 1 a, b: 2 b}
    => 1 drop 2 b -, 2 add 2 - b; a 0 -, b 2 -
types and order: name {a: 1 a, b: 2 b} -> name {b: 2 b, a: {column: 1 a, type: string}}
    => ; b 0 -, a 0 -
unreadable schema: name {a: 1 a} -> [unreadable] name {b: 2 b} -> name {a: 1 a} => ; a 0 -
by name without mapping: {a, b} -> {A, b: {type: string}}
    => 1 drop - a -, 1 add - - A; A 1 -, b 0 -
mapping enabled and removed: {a, b} -> name {a: 1 a, b: 2 b} -> name {a: 1 a, c: 2 b}
    -> none {a, c} -> name {a: 3 a, c: 4 c} => 2 rename 2 b c; a 0 -, c 0 2
mapping keys that remain: none {a: 1 x} -> none {a: 2 y} => ; a 0 -
"""
CASES = re.findall(r"^(\S.*?): (.*) => (.*); (.*)$", HISTORIES.replace("\n    ", " "), re.M)
assert len(CASES) == HISTORIES.count("=>")


def text(*values: object) -> str:
    return " ".join("-" if value is None else str(value) for value in values)


def events(history: ColumnHistory, since: int = 1) -> str:
    return ", ".join(
        text(each.version, each.change, each.id, each.old_name, each.new_name)
        for each in history.events
        if each.version is None or each.version >= since
    )


@pytest.mark.parametrize("case", CASES, ids=lambda case: str(case[0]))
def test_history_has_the_changes_of_columns(case: tuple[str, ...]) -> None:
    _, log, expected, columns = case

    history = column_history(log_of(log))

    assert events(history) == expected
    found = [
        text(".".join(path), each.added, each.renamed) for path, each in history.columns.items()
    ]
    assert sorted(found) == sorted(columns.split(", "))


def test_events_have_time_operation_and_user() -> None:
    history = column_history(
        log_of("[CREATE TABLE] name {a: 1 a} -> [RENAME COLUMN] name {b: 1 a}")
    )

    assert [text(each.timestamp, each.operation, each.user_name) for each in history.events] == [
        "0 CREATE TABLE anna",
        "1000 RENAME COLUMN anna",
    ]
    info = {"commitInfo": {"inCommitTimestamp": None}}
    assert Commit.of_message(1, 7, [info]).time == 7
    assert Commit.of_message(1, 7, [{"commitInfo": {"inCommitTimestamp": 5}}]).time == 5


def of(*versions: TableMetadata) -> TableLog:
    """Returns the log of a tracked table with these versions."""
    metadata = [LoggedMetadata(each.schema, each.configuration) for each in versions]
    commits = tuple(
        Commit(version, protocol=protocol(), metadata=each) for version, each in enumerate(metadata)
    )
    return TableLog("t", len(versions) - 1, commits, first_commit=0)


@pytest.mark.parametrize("id", ["1", None, 1.5, True, [1]], ids=repr)
def test_column_is_another_one_when_its_id_is_not_an_integer(id: Any) -> None:
    # A column that cannot be compared may have been dropped, as for the flag.
    def with_id(name: str) -> TableMetadata:
        schema = struct({name: {"metadata": {COLUMN_ID: id, PHYSICAL_NAME: "a"}}, "b": "2 b"})
        return TableMetadata(schema, {COLUMN_MAPPING_MODE: "name"})

    history = column_history(of(with_id("a"), with_id("c")))

    assert events(history) == "1 drop - a -, 1 add - - c"


def test_schema_may_contain_a_name_twice() -> None:
    fields = [*struct({"a": "1 x"})["fields"], *struct({"a": "2 y"})["fields"]]
    mode = {COLUMN_MAPPING_MODE: "name"}
    twice = TableMetadata({"type": "struct", "fields": fields}, mode)

    history = column_history(of(twice, TableMetadata(struct({"b": "1 x"}), mode)))
    assert events(history) == "1 drop 2 a -, 1 rename 1 a b"
    assert column_history(of(twice, TableMetadata(struct({}), mode))).columns == {}


LATER = """[CREATE TABLE] name false {a: 1 a, b: 2 b} -> [RENAME COLUMN] name true {a: 1 a, c: 2 b}
    -> name true {a: 1 a, c: 2 b, d: 3 col-3} -> name true {c: 2 b, d: 3 col-3}"""


def test_columns_from_before_the_log_have_no_version() -> None:
    later = cleaned_up(LATER, 2)
    history, found = column_history(later), status(later)

    assert events(history) == ("- add 1 - a, - add 2 - c, - add 3 - d, 3 drop 1 a -")
    assert {(each.added, each.renamed) for each in history.columns.values()} == {(None, None)}
    assert (found.history_from, found.has_dropped_or_renamed, found.true_since) == (2, True, None)
    assert [(each.version, each.change) for each in found.dropped_or_renamed] == [(3, "drop")]
    assert column_history(log_of(f"{LATER}\n begins 3")).events == ()


# A case: a log => mode, tracked, flag, and the version that made the flag true.
FLAGS = """
{a} => none True True 0
[untracked] {a} => none False - -
name False {a: 1 a} => name True False -
name false {a: 1 a} -> name {a: 1 a} => name True True 1
name false {a: 1 a} -> name yes {a: 1 a} => name True True 1
name false {a: 1 a} -> name TRUE {a: 1 a} => name True True 1
[CLONE, untracked] name true {a: 1 a} => name False - -
[untracked] name {a: 1 a} -> name true {a: 1 a} -> [untracked] name {a: 1 a} => name False - -
[untracked] name {a: 1 a} -> name true {a: 1 a} -> [untracked] name {a: 1 a} -> name true {a: 1 a}
    -> name true {b: 1 a} => name True True 3
"""


@pytest.mark.parametrize("case", FLAGS.replace("\n    ", " ").strip().splitlines())
def test_status_has_the_flag_and_the_commit_that_set_it(case: str) -> None:
    log, expected = case.split(" => ")

    found = status(log_of(log))

    since = None if found.true_since is None else found.true_since.version
    assert text(found.mode, found.tracked, found.has_dropped_or_renamed, since) == expected


def test_status_has_the_protocol_and_the_drops_and_renames() -> None:
    found = status(log_of(LATER))

    assert (found.min_reader_version, found.min_writer_version) == (2, 7)
    assert (found.reader_features, found.writer_features) == (None, tuple(sorted(TRACKED)))
    time: Any = 1000
    assert found.true_since == FlagChange(1, time, "RENAME COLUMN", "anna")
    assert found.history_from == 0
    changes = [(each.version, each.change) for each in found.dropped_or_renamed]
    assert changes == [(1, "rename"), (3, "drop")]


@st.composite
def logs(draw: st.DrawFn) -> TableLog:
    """Draws versions of a table with any schemas, with the ids and names that Delta assigns."""
    versions = [draw(strategies.tables())]
    for _ in range(draw(st.integers(1, 4))):
        versions.append(draw(strategies.changes(old=versions[-1])).new)
    return of(*versions)


Known = tuple[int | None, int | None]


def replayed(events: Iterable[ColumnChange]) -> dict[Path, Known]:
    """Returns the columns by path, with the versions that added and last renamed them."""
    columns: dict[Path, Known] = {}
    for version, group in groupby(events, key=lambda event: event.version):
        now = list(group)
        names: dict[Any, Path] = {
            path_of(each.old_name or ""): path_of(each.new_name or "")
            for each in now
            if each.change == "rename"
        }
        for each in now:
            if each.change == "drop":
                del columns[path_of(each.old_name or "")]
        columns = {
            called(path, names): (added, version if path in names else renamed)
            for path, (added, renamed) in columns.items()
        }
        for each in now:
            if each.change == "add":
                assert path_of(each.new_name or "") not in columns
                columns[path_of(each.new_name or "")] = (version, None)
    return columns


def called(path: Path, names: dict[Any, Path]) -> Path:
    """Returns a path after renames of columns on the path."""
    prefixes = [path[: end + 1] for end in range(len(path))]
    return tuple(names.get(prefix, prefix)[-1] for prefix in prefixes)


@given(logs(), st.data())
def test_events_replayed_give_the_newest_columns(whole: TableLog, data: st.DataObject) -> None:
    start = data.draw(st.integers(1, whole.last_version))
    kept = whole.commits[start:]
    checkpoint = Summary("c", start, None, kept[0].protocol, kept[0].metadata)
    later = replace(whole, commits=kept, first_commit=start, summaries=(checkpoint,))
    histories = [column_history(whole), column_history(later)]

    paths = {column.path for column in states(whole)[-1].columns}
    for history in histories:
        found = {path: (known.added, known.renamed) for path, known in history.columns.items()}
        assert found == replayed(history.events)
        assert found.keys() == paths
    since = [event for event in histories[0].events if (event.version or 0) > start]
    assert [event for event in histories[1].events if event.version is not None] == since
