# SPDX-License-Identifier: Apache-2.0
"""Tests the history of columns and of the flag, on logs that are written by hand or drawn."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from itertools import groupby
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spark_ext.log.actions import Commit, LoggedMetadata, TableLog
from spark_ext.log.history import ColumnVersions, column_history, states, status
from spark_ext.model.keys import COLUMN_ID, COLUMN_MAPPING_MODE, FEATURE_NAME, PHYSICAL_NAME
from spark_ext.model.metadata import ColumnChange, FlagChange, TableMetadata
from spark_ext.model.schema import Path, path_of
from tests.unit import strategies
from tests.unit.logs import Step, cleaned_up, log
from tests.unit.tables import TRACKED, struct, table

UNTRACKED = ("columnMapping",)


def name_mode(columns: Any, flag: str | None = None) -> TableMetadata:
    return table(columns, "name", flag)


def described(events: Iterable[ColumnChange]) -> list[tuple[Any, ...]]:
    """Returns version, change, id, old and new path of each event."""
    return [
        (event.version, event.change, event.id, path(event.old_name), path(event.new_name))
        for event in events
    ]


def path(name: str | None) -> Path | None:
    return None if name is None else path_of(name)


def flag_change(log: TableLog, version: int) -> FlagChange:
    commit = log.commits[version]
    time: Any = commit.time
    return FlagChange(version, time, commit.operation, commit.user)


def after_the_first(*steps: Step) -> list[tuple[Any, ...]]:
    return [event for event in described(column_history(log(*steps)).events) if event[0] != 0]


def versions(*steps: Step) -> dict[Path, tuple[int | None, int | None]]:
    found = column_history(log(*steps)).columns
    return {path: (known.added, known.renamed) for path, known in found.items()}


class TestColumnsOfAMappedTable:
    def test_first_columns_are_added_by_the_creation(self) -> None:
        created = log(
            (
                "CREATE TABLE",
                name_mode({"a": "1 a", "s": {"column": "2 s", "struct": {"x": "3 x"}}}),
            )
        )

        history = column_history(created)

        assert described(history.events) == [
            (0, "add", 1, None, ("a",)),
            (0, "add", 2, None, ("s",)),
            (0, "add", 3, None, ("s", "x")),
        ]
        facts: set[Any] = {(e.timestamp, e.operation, e.user_name) for e in history.events}
        assert facts == {(0, "CREATE TABLE", "anna")}

    def test_each_change_is_an_event(self) -> None:
        steps: list[Step] = [
            ("CREATE TABLE", name_mode({"a": "1 a", "b": "2 b"})),
            ("ADD COLUMNS", name_mode({"a": "1 a", "b": "2 b", "c": "3 c"})),
            ("RENAME COLUMN", name_mode({"a": "1 a", "B": "2 b", "c": "3 c"})),
            ("DROP COLUMNS", name_mode({"B": "2 b", "c": "3 c"})),
        ]

        assert after_the_first(*steps) == [
            (1, "add", 3, None, ("c",)),
            (2, "rename", 2, ("b",), ("B",)),
            (3, "drop", 1, ("a",), None),
        ]
        assert versions(*steps) == {("B",): (0, 2), ("c",): (1, None)}

    def test_names_may_be_swapped_in_one_commit(self) -> None:
        steps: list[Step] = [
            ("CREATE TABLE", name_mode({"a": "1 x", "b": "2 y"})),
            ("RENAME COLUMN", name_mode({"b": "1 x", "c": "2 y"})),
            ("RESTORE", name_mode({"c": "1 x", "b": "2 y", "d": "3 z"})),
        ]

        assert after_the_first(*steps)[2:] == [
            (2, "rename", 1, ("b",), ("c",)),
            (2, "rename", 2, ("c",), ("b",)),
            (2, "add", 3, None, ("d",)),
        ]
        assert versions(*steps) == {("c",): (0, 2), ("b",): (0, 2), ("d",): (2, None)}

    @pytest.mark.parametrize("kind", ["struct", "array", "map"])
    def test_children_of_a_renamed_column_are_not_renamed(self, kind: str) -> None:
        inside = {"struct": (), "array": ("element",), "map": ("value",)}[kind]
        before = {"s": {"column": "1 s", kind: {"x": "2 x", "y": "3 y"}}}
        after = {"t": {"column": "1 s", kind: {"x": "2 x", "z": "3 y"}}}
        steps: list[Step] = [("CREATE TABLE", name_mode(before)), ("RESTORE", name_mode(after))]

        assert after_the_first(*steps) == [
            (1, "rename", 1, ("s",), ("t",)),
            (1, "rename", 3, ("s", *inside, "y"), ("t", *inside, "z")),
        ]
        assert versions(*steps) == {
            ("t",): (0, 1),
            ("t", *inside, "x"): (0, None),
            ("t", *inside, "z"): (0, 1),
        }

    def test_children_of_a_dropped_struct_are_dropped(self) -> None:
        before = name_mode({"a": "1 a", "s": {"column": "2 s", "struct": {"x": "3 x"}}})
        steps: list[Step] = [("CREATE TABLE", before), ("DROP COLUMNS", name_mode({"a": "1 a"}))]

        assert after_the_first(*steps) == [
            (1, "drop", 2, ("s",), None),
            (1, "drop", 3, ("s", "x"), None),
        ]

    @pytest.mark.parametrize("new", ["2 a", "1 b"], ids=["another id", "another physical name"])
    def test_new_column_of_the_same_name_is_another_column(self, new: str) -> None:
        steps: list[Step] = [
            ("CREATE TABLE", name_mode({"a": "1 a"})),
            ("CLONE", name_mode({"a": new})),
        ]

        assert [event[1] for event in after_the_first(*steps)] == ["drop", "add"]
        assert versions(*steps) == {("a",): (1, None)}

    def test_restored_column_is_added(self) -> None:
        both, one = name_mode({"a": "1 a", "b": "2 b"}), name_mode({"a": "1 a"})
        steps: list[Step] = [("CREATE TABLE", both), ("DROP COLUMNS", one), ("RESTORE", both)]

        assert versions(*steps)[("b",)] == (2, None)

    def test_types_and_order_are_not_events(self) -> None:
        steps: list[Step] = [
            ("CREATE TABLE", name_mode({"a": "1 a", "b": "2 b"})),
            ("CHANGE COLUMN", name_mode({"b": "2 b", "a": {"column": "1 a", "type": "string"}})),
        ]

        assert after_the_first(*steps) == []

    @pytest.mark.parametrize("id", ["1", None, 1.5, True, [1]], ids=repr)
    def test_column_is_another_one_when_its_id_is_not_an_integer(self, id: Any) -> None:
        # A column that cannot be compared may have been dropped, as for the flag.
        def with_id(name: str) -> TableMetadata:
            metadata = {COLUMN_ID: id, PHYSICAL_NAME: "a"}
            schema = struct({name: {"metadata": metadata}, "b": "2 b"})
            return TableMetadata(schema, {COLUMN_MAPPING_MODE: "name"})

        steps: list[Step] = [("FOREIGN", with_id("a")), ("FOREIGN", with_id("c"))]

        assert after_the_first(*steps) == [
            (1, "drop", None, ("a",), None),
            (1, "add", None, None, ("c",)),
        ]


class TestABrokenLog:
    def test_unreadable_schema_is_skipped(self) -> None:
        same = name_mode({"a": "1 a"})
        whole = log(("CREATE TABLE", same), ("FOREIGN", same), ("FOREIGN", same))
        broken = replace(whole.commits[1], metadata=LoggedMetadata(None))
        found = column_history(replace(whole, commits=(whole.commits[0], broken, whole.commits[2])))

        assert [event[:2] for event in described(found.events)] == [(0, "add")]

    def test_schema_may_contain_a_name_twice(self) -> None:
        one, other = struct({"a": "1 x"}), struct({"a": "2 y"})
        twice = TableMetadata(
            {"type": "struct", "fields": [*one["fields"], *other["fields"]]},
            {COLUMN_MAPPING_MODE: "name"},
        )
        steps: list[Step] = [("FOREIGN", twice), ("FOREIGN", name_mode({"b": "1 x"}))]

        assert after_the_first(*steps) == [
            (1, "drop", 2, ("a",), None),
            (1, "rename", 1, ("a",), ("b",)),
        ]
        assert versions(("FOREIGN", twice), ("FOREIGN", name_mode({}))) == {}

    def test_time_of_the_file_replaces_a_null_time(self) -> None:
        info = {"commitInfo": {"inCommitTimestamp": None}}

        assert Commit.of_message(1, 7, [info]).time == 7
        assert Commit.of_message(1, 7, [{"commitInfo": {"inCommitTimestamp": 5}}]).time == 5


class TestWithoutMapping:
    def test_columns_are_compared_by_name(self) -> None:
        steps: list[Step] = [
            ("CREATE TABLE", table({"a": "", "b": ""})),
            ("CREATE OR REPLACE TABLE", table({"A": "", "b": {"type": "string"}})),
        ]

        assert after_the_first(*steps) == [
            (1, "drop", None, ("a",), None),
            (1, "add", None, None, ("A",)),
        ]
        assert versions(*steps) == {("A",): (1, None), ("b",): (0, None)}

    def test_columns_are_the_same_when_mapping_is_enabled_and_removed(self) -> None:
        steps: list[Step] = [
            ("CREATE TABLE", table({"a": "", "b": ""})),
            ("SET TBLPROPERTIES", name_mode({"a": "1 a", "b": "2 b"})),
            ("RENAME COLUMN", name_mode({"a": "1 a", "c": "2 b"})),
            ("REMOVE COLUMN MAPPING", table({"a": "", "c": ""}, "none")),
            ("SET TBLPROPERTIES", name_mode({"a": "3 a", "c": "4 c"})),
        ]

        assert after_the_first(*steps) == [(2, "rename", 2, ("b",), ("c",))]
        assert versions(*steps) == {("a",): (0, None), ("c",): (0, 2)}

    def test_remaining_mapping_keys_are_ignored_without_mapping(self) -> None:
        steps: list[Step] = [
            ("CREATE TABLE", table({"a": "1 x"}, "none")),
            ("FOREIGN", table({"a": "2 y"}, "none")),
        ]

        assert after_the_first(*steps) == []


class TestALogThatBeginsLater:
    WHOLE = log(
        ("CREATE TABLE", name_mode({"a": "1 a", "b": "2 b"}, "false")),
        ("RENAME COLUMN", name_mode({"a": "1 a", "c": "2 b"}, "true")),
        ("ADD COLUMNS", name_mode({"a": "1 a", "c": "2 b", "d": "3 col-3"}, "true")),
        ("DROP COLUMNS", name_mode({"c": "2 b", "d": "3 col-3"}, "true")),
    )

    def test_first_columns_have_no_version(self) -> None:
        history = column_history(cleaned_up(self.WHOLE, 2))

        assert described(history.events) == [
            (None, "add", 1, None, ("a",)),
            (None, "add", 2, None, ("c",)),
            (None, "add", 3, None, ("d",)),
            (3, "drop", 1, ("a",), None),
        ]
        assert set(history.columns.values()) == {ColumnVersions(None, None)}

    def test_status_has_the_oldest_version(self) -> None:
        found = status(cleaned_up(self.WHOLE, 2))

        assert (found.history_from, found.has_dropped_or_renamed) == (2, True)
        assert found.true_since is None
        assert described(found.dropped_or_renamed) == [(3, "drop", 1, ("a",), None)]

    def test_log_without_states_has_no_events(self) -> None:
        empty = TableLog("t", 3, self.WHOLE.commits[3:], first_commit=3)

        assert column_history(empty).events == ()


class TestStatus:
    def test_unmapped_table_has_a_status(self) -> None:
        found = status(log(("CREATE TABLE", table({"a": ""}), ())))

        assert (found.mode, found.tracked, found.has_dropped_or_renamed) == ("none", False, None)
        assert (found.true_since, found.dropped_or_renamed, found.history_from) == (None, (), 0)

    def test_flag_is_true_since_the_commit_that_set_it(self) -> None:
        whole = TestALogThatBeginsLater.WHOLE
        found = status(whole)

        assert (found.mode, found.tracked, found.has_dropped_or_renamed) == ("name", True, True)
        assert (found.min_reader_version, found.min_writer_version) == (2, 7)
        assert (found.reader_features, found.writer_features) == (None, tuple(sorted(TRACKED)))
        assert (found.true_since, found.history_from) == (flag_change(whole, 1), 0)
        assert [event[:2] for event in described(found.dropped_or_renamed)] == [
            (1, "rename"),
            (3, "drop"),
        ]

    def test_false_flag_has_no_commit(self) -> None:
        found = status(log(("CREATE TABLE", name_mode({"a": "1 a"}, "False"))))

        assert (found.has_dropped_or_renamed, found.true_since) == (False, None)

    @pytest.mark.parametrize("flag", [None, "yes", "TRUE"])
    def test_flag_is_true_when_it_is_not_false(self, flag: str | None) -> None:
        written = log(
            ("CREATE TABLE", name_mode({"a": "1 a"}, "false")),
            ("FOREIGN", name_mode({"a": "1 a"}, flag)),
        )
        found = status(written)

        assert (found.has_dropped_or_renamed, found.true_since) == (True, flag_change(written, 1))

    def test_true_since_starts_when_the_feature_is_added_again(self) -> None:
        mapped, flagged = name_mode({"a": "1 a"}), name_mode({"a": "1 a"}, "true")
        steps = log(
            ("CREATE TABLE", mapped, UNTRACKED),
            ("SET TBLPROPERTIES", flagged),
            ("DROP FEATURE", mapped, UNTRACKED),
            ("SET TBLPROPERTIES", flagged),
            ("RENAME COLUMN", name_mode({"b": "1 a"}, "true")),
        )
        found, dropped = status(steps), status(replace(steps, commits=steps.commits[:3]))

        assert found.true_since == flag_change(steps, 3)
        assert (dropped.has_dropped_or_renamed, dropped.true_since) == (None, None)

    def test_flag_is_none_when_untracked(self) -> None:
        found = status(log(("CLONE", name_mode({"a": "1 a"}, "true"), UNTRACKED)))

        assert (found.tracked, found.has_dropped_or_renamed) == (False, None)


@st.composite
def logs(draw: st.DrawFn) -> TableLog:
    """Draws versions of a table with any schemas, with the ids and names that Delta assigns."""
    current = draw(strategies.tables())
    steps: list[Step] = [("CREATE TABLE", current)]
    for _ in range(draw(st.integers(1, 4))):
        current = draw(strategies.changes(old=current)).new
        features = draw(st.sampled_from([("columnMapping", FEATURE_NAME), UNTRACKED]))
        steps.append(("ALTER", current, features))
    return log(*steps)


Known = tuple[int | None, int | None]


def replayed(events: Iterable[ColumnChange]) -> dict[Path, Known]:
    """Returns the columns by path, with the versions that added and last renamed them."""
    columns: dict[Path, Known] = {}
    for version, group in groupby(described(events), key=lambda event: event[0]):
        now = list(group)
        names = {old: new for _, change, _, old, new in now if change == "rename"}
        for _, change, _, old, _ in now:
            if change == "drop":
                del columns[old]
        columns = {
            called(path, names): (added, version if path in names else renamed)
            for path, (added, renamed) in columns.items()
        }
        for _, change, _, _, new in now:
            if change == "add":
                assert new not in columns
                columns[new] = (version, None)
    return columns


def called(path: Path, names: dict[Any, Any]) -> Path:
    """Returns a path after renames of columns on the path."""
    prefixes = [path[: end + 1] for end in range(len(path))]
    return tuple(names.get(prefix, prefix)[-1] for prefix in prefixes)


@given(logs(), st.data())
def test_events_replayed_give_the_newest_columns(whole: TableLog, data: st.DataObject) -> None:
    start = data.draw(st.integers(1, whole.last_version))
    later = cleaned_up(whole, start)
    histories = [column_history(whole), column_history(later)]

    paths = {column.path for column in states(whole)[-1].columns}
    for history in histories:
        found = {path: (known.added, known.renamed) for path, known in history.columns.items()}
        assert found == replayed(history.events)
        assert found.keys() == paths
    since = [event for event in histories[0].events if (event.version or 0) > start]
    assert [event for event in histories[1].events if event.version is not None] == since
