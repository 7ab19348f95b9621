# SPDX-License-Identifier: Apache-2.0
"""Finds the places with data of dropped columns by the files in a table's folder."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from spark_ext.erasure.dropped_columns import dropped_columns
from spark_ext.log.actions import (
    CHANGE_DATA,
    LIVE,
    MISSING,
    REMOVED,
    UNTRACKED,
    ParquetColumn,
    TableLog,
)
from spark_ext.log.folder import (
    CHECKPOINT,
    COMMIT,
    OTHER,
    CleanupBoundary,
    TableFolder,
)
from spark_ext.model.dropped import DroppedColumn
from spark_ext.model.metadata import FileCount, TableMetadata
from tests.unit.folders import BOTH, DAY, MONTH, NOW, ONE, WEEK, data, folder, logged
from tests.unit.logs import cleaned_up, log
from tests.unit.tables import TRACKED, table


def only(of: TableFolder) -> DroppedColumn:
    (column,) = dropped_columns(of)
    return column


def paths(of: TableFolder) -> list[tuple[str | None, str | None, bool]]:
    return [(row.path, row.physical_path, row.gone) for row in dropped_columns(of)]


def statements(column: DroppedColumn) -> list[tuple[str, Any]]:
    return [(step.step, step.earliest) for step in column.steps]


def test_dropped_column_is_erased_when_no_data_remains() -> None:
    column = only(folder(files=(data(LIVE, "a"),), log_files=(logged(COMMIT),)))

    assert (column.path, column.id, column.type) == ("b", 2, "bigint")
    assert (column.version, column.operation, column.user_name) == (1, "DROP COLUMNS", "anna")
    assert (column.versions, column.first_version, column.last_version) == (1, 0, 0)
    assert (column.gone, column.steps) == (True, ())


@pytest.mark.parametrize(
    ("kind", "field"),
    [
        (LIVE, "live_files"),
        (REMOVED, "removed_files"),
        (CHANGE_DATA, "change_data_files"),
        (UNTRACKED, "untracked_files"),
    ],
)
def test_files_of_each_kind_are_counted(kind: str, field: str) -> None:
    column = only(folder(files=(data(kind, "a", "b", num_files=3), data(kind, "a"))))

    assert getattr(column, field) == FileCount(3, 10)
    assert not column.gone
    assert column.steps


@pytest.mark.parametrize(
    "found",
    [
        {"statistics": (("b",),)},
        {"partition_columns": ("b",)},
        {"folders": ("B",)},
        {"texts": ("(b#12 = 'x')",)},
        {"kind": CHECKPOINT, "version": 1, "under": 1, "statistics": (("b",),)},
        {"kind": OTHER, "version": None, "under": None, "statistics": (("b",),)},
        {"problem": "it is broken"},
    ],
)
def test_column_is_not_erased_when_a_log_file_contains_its_data(found: dict[str, Any]) -> None:
    column = only(folder(log_files=(logged(**{"kind": COMMIT, **found}),)))

    numbers = (column.commits, column.checkpoints, column.other_log_files, column.unknown_log_files)
    assert sum(numbers) == 1
    assert not column.gone
    assert column.steps


def test_names_are_not_counted_as_data() -> None:
    named = logged(COMMIT, schemas=(json.dumps(BOTH.schema),), texts=("ab = 1", "c > 2"))
    default = table({"a": "1 a", "b": {"column": "2 b", "metadata": {"CURRENT_DEFAULT": "'x'"}}})
    with_default = logged(COMMIT, schemas=(json.dumps(default.schema),))

    assert only(folder(log_files=(named,))).gone
    assert not only(folder(log_files=(with_default,))).gone


def test_statistics_of_live_files_are_counted() -> None:
    column = only(folder(files=(data(LIVE, "a", num_files=2, statistics=(("b",),)),)))

    assert (column.live_files.num_files, column.live_statistics) == (0, 2)
    assert [step for step, _ in statements(column)] == ["REWRITE", "LOG CLEANUP"]


def test_no_column_is_erased_when_a_file_is_unreadable() -> None:
    broken = data(LIVE, columns=None, problem="its footer is encrypted")
    column = only(folder(files=(broken,)))

    assert (column.unknown_files, column.gone) == (FileCount(1, 10), False)
    assert [step for step, _ in statements(column)] == ["REWRITE", "VACUUM"]


def test_unreadable_file_has_a_row_when_no_column_was_dropped() -> None:
    untouched = log(("CREATE TABLE", BOTH))
    row = only(folder(untouched, files=(data(UNTRACKED, columns=None, problem="no footer"),)))

    assert (row.path, row.physical_path, row.gone) == (None, None, False)
    assert row.unknown_files == FileCount(1, 10)
    assert paths(folder(untouched, files=(data(LIVE, "a", "b"),))) == []


@pytest.mark.parametrize("kind", [REMOVED, CHANGE_DATA, UNTRACKED])
def test_missing_file_contains_no_data(kind: str) -> None:
    assert only(folder(files=(data(kind, columns=None, problem=MISSING),))).gone


def test_missing_live_file_is_unknown_and_must_be_restored_before_a_purge() -> None:
    missing = data(LIVE, columns=None, problem=MISSING)

    column = only(folder(files=(missing,)))
    with_data = only(folder(files=(missing, data(LIVE, "a", "b"))))

    assert (column.gone, column.unknown_files) == (False, FileCount(1, 10))
    assert statements(column) == [("BY HAND", None)]
    assert "Restore" in column.steps[0].statement
    assert [step for step, _ in statements(with_data)] == ["BY HAND", "VACUUM"]
    of_source = data(LIVE, columns=None, problem=MISSING, source="file:/source")
    steps = statements(only(folder(files=(of_source,))))
    assert [step for step, _ in steps] == ["BY HAND", "SOURCE"]


def test_renamed_column_has_its_former_paths() -> None:
    renamed = table({"a": "1 a", "c": "2 b"}, "name", "true")
    whole = log(("CREATE TABLE", BOTH), ("RENAME COLUMN", renamed), ("DROP COLUMNS", ONE))
    column = only(folder(whole, files=(data(LIVE, "b"),)))

    assert (column.path, column.former_paths, column.physical_path) == ("c", ("b",), "b")
    assert column.versions == 2
    assert column.live_files.num_files == 1


def nested(**fields: str) -> TableMetadata:
    inner = {"column": "1 s", "array": fields}
    return table({"s": inner}, "name", "true")


def test_column_in_array_of_structs_is_found_and_elements_are_not_columns() -> None:
    whole = log(("CREATE TABLE", nested(x="2 x", y="3 y")), ("DROP COLUMNS", nested(x="2 x")))
    file = data(LIVE, "s", ("s", "element"), ("s", "element", "x"), ("s", "element", "y"))
    column = only(folder(whole, files=(file,)))

    assert (column.path, column.live_files.num_files) == ("s.element.y", 1)


def test_column_is_found_when_the_list_has_a_nonstandard_layout() -> None:
    whole = log(("CREATE TABLE", nested(x="2 x", y="3 y")), ("DROP COLUMNS", nested(x="2 x")))
    file = data(LIVE, "s", ("s", "x"), ("s", "y"))

    assert paths(folder(whole, files=(file,))) == [("s.element.y", "s.element.y", False)]


def test_column_with_a_name_of_deltas_internal_columns_is_found() -> None:
    called = table({"a": "1 a", "_row-id-col-1": "2 _row-id-col-1"}, "name", "false")
    whole = log(("CREATE TABLE", called), ("DROP COLUMNS", ONE))

    assert not only(folder(whole, files=(data(LIVE, "a", "_row-id-col-1"),))).gone


def test_unknown_column_has_a_row_by_its_topmost_path() -> None:
    file = data(LIVE, "a", "col-1", ("col-1", "x"), "_change_type", added_under=None)

    assert paths(folder(log(("CREATE TABLE", ONE)), files=(file,))) == [(None, "`col-1`", False)]


def test_column_dropped_before_the_log_begins_is_found_by_its_files() -> None:
    whole = log(("CREATE TABLE", BOTH), ("DROP COLUMNS", ONE), ("SET TBLPROPERTIES", ONE))
    cut = cleaned_up(whole, 2)

    assert paths(folder(cut)) == []
    assert paths(folder(cut, files=(data(LIVE, "b", added_under=None),))) == [(None, "b", False)]


def test_name_belongs_to_the_column_that_had_it_when_the_file_was_written() -> None:
    plain = [table({"a": "", "b": ""}), table({"a": ""}), table({"a": "", "b": ""})]
    whole = log(*(("CREATE OR REPLACE TABLE", each) for each in plain))
    old, new = data(REMOVED, "b", added_under=0), data(LIVE, "b", added_under=2)

    column = only(folder(whole, files=(old, new)))
    assert (column.removed_files.num_files, column.live_files.num_files) == (1, 0)
    assert only(folder(whole, files=(new,))).gone
    unknown = only(folder(whole, files=(replace(old, added_under=None),)))
    assert unknown.removed_files.num_files == 1


def test_file_older_than_the_log_contains_no_later_column() -> None:
    both, one = table({"a": "", "b": ""}), table({"a": ""})
    whole = log(*(("CREATE OR REPLACE TABLE", each) for each in (both, one, both, one)))
    older = dropped_columns(folder(whole, files=(data(REMOVED, "b", added_under=None),)))
    of_any_time = dropped_columns(folder(whole, files=(data(UNTRACKED, "b", added_under=None),)))

    assert [(row.version, row.gone) for row in older] == [(3, True), (1, False)]
    assert [(row.version, row.gone) for row in of_any_time] == [(3, False), (1, False)]


def test_later_column_hides_no_column_from_before_the_log() -> None:
    one, both = table({"a": ""}), table({"a": "", "b": ""})
    whole = log(*(("WRITE", each) for each in (both, one, one, both)))
    cut = cleaned_up(whole, 2)

    for kind in (REMOVED, UNTRACKED, CHANGE_DATA):
        found = folder(cut, files=(data(kind, "b", added_under=None),))
        assert paths(found) == [(None, "b", False)], kind
    before = logged(COMMIT, version=1, under=None, statistics=(("b",),))
    assert paths(folder(cut, log_files=(before,))) == [(None, "b", False)]
    # The whole log contains every former column.
    of_any_time = (data(UNTRACKED, "b", added_under=None),)
    assert paths(folder(log(("WRITE", one), ("WRITE", both)), files=of_any_time)) == []


def test_random_physical_name_belongs_to_one_column() -> None:
    name = "col-3f2a91d4-0c11-4a5e-8a53-1f6f3fbd0c44"
    later = table({"a": "1 a", "b": f"2 {name}"}, "name", "true")
    cut = cleaned_up(log(("CREATE TABLE", ONE), ("DROP COLUMNS", ONE), ("ADD COLUMNS", later)), 1)

    assert paths(folder(cut, files=(data(UNTRACKED, name, added_under=None),))) == []


def test_field_from_before_the_log_is_found_when_its_struct_has_another_type_now() -> None:
    field = data(REMOVED, ("b",), ("b", "c"), added_under=None)

    assert paths(folder(log(("WRITE", table({"b": ""}))), files=(field,))) == [(None, "b.c", False)]


def test_field_from_before_the_log_is_found_when_its_struct_is_a_variant_now() -> None:
    field = data(REMOVED, ("b",), ("b", "c"), ("b", "typed_value"), added_under=None)
    variant = table({"b": {"column": "", "type": "variant"}})

    assert paths(folder(log(("WRITE", variant)), files=(field,))) == [(None, "b.c", False)]


def test_texts_of_commits_older_than_every_schema_are_unknown() -> None:
    whole = log(("CREATE TABLE", BOTH), ("DROP COLUMNS", ONE), ("WRITE", ONE))
    before = logged(COMMIT, version=1, under=None, texts=("(b#2 = 'x')",))
    since = logged(COMMIT, version=2, under=None, texts=("(a#1 = 'x')",))

    row = only(folder(cleaned_up(whole, 2), log_files=(before, since)))

    assert (row.path, row.unknown_log_files, row.gone) == (None, 1, False)
    assert [step for step, _ in statements(row)] == ["LOG CLEANUP"]


def test_checkpoint_may_contain_removed_files_of_any_earlier_time() -> None:
    both, one = table({"a": "", "b": ""}), table({"a": ""})
    whole = log(*(("WRITE", each) for each in (both, one, both)))
    checkpoint = logged(CHECKPOINT, version=2, under=2, partition_columns=("b",))

    (dropped,) = dropped_columns(folder(whole, log_files=(checkpoint,)))
    assert (dropped.version, dropped.checkpoints, dropped.gone) == (1, 1, False)


@pytest.mark.parametrize("name", ['a"b', "a\\b", "a`b", "größe"])
def test_names_are_found_in_json_and_sql(name: str) -> None:
    both = table({"a": "1 a", name: "2 col-5d2c"}, "name", "true")
    whole = log(("CREATE TABLE", both), ("DROP COLUMNS", ONE))
    condition = f"({name} = 'x')"
    written = {
        "json": json.dumps(condition),
        "json of other letters": json.dumps(condition, ensure_ascii=False),
        "sql": f"`{name.replace('`', '``')}` = 'x'",
    }

    for text in written.values():
        column = only(folder(whole, log_files=(logged(COMMIT, texts=(text,)),)))
        assert (column.commits, column.gone) == (1, False), text


def test_expression_of_another_column_may_contain_a_dropped_column() -> None:
    field = {"name": "a", "type": "boolean", "nullable": True}
    field["metadata"] = {"delta.generationExpression": "b = 'x'"}
    text = json.dumps({"type": "struct", "fields": [field]})

    column = only(folder(log_files=(logged(COMMIT, schemas=(text,)),)))

    assert (column.commits, column.gone) == (1, False)


def test_column_is_not_dropped_when_restore_restored_it() -> None:
    back = log(("CREATE TABLE", BOTH), ("DROP COLUMNS", ONE), ("RESTORE", BOTH))

    assert paths(folder(back, files=(data(LIVE, "a", "b"),))) == []
    steps = [("DROP COLUMNS", ONE), ("RESTORE", BOTH), ("DROP COLUMNS", ONE)]
    column = only(folder(log(("CREATE TABLE", BOTH), *steps)))
    assert (column.version, column.versions) == (3, 2)
    assert (column.first_version, column.last_version) == (0, 2)


def test_ambiguous_restored_column_hides_no_dropped_column() -> None:
    both, one = table({"a": "", "b": ""}), table({"a": ""})
    twice = [("WRITE", each) for each in (both, one, both, one)]
    removed = (data(REMOVED, "b", added_under=0), data(REMOVED, "b", added_under=2))

    found = dropped_columns(folder(log(*twice, ("RESTORE", both)), files=removed))
    assert [(row.version, row.removed_files.num_files) for row in found] == [(3, 1), (1, 1)]
    found = dropped_columns(folder(log(*twice[:2], ("WRITE", both)), files=removed[:1]))
    assert [(row.version, row.removed_files.num_files) for row in found] == [(1, 1)]
    assert paths(folder(log(*twice[:2], ("RESTORE", both)), files=removed[:1])) == []


@pytest.mark.parametrize("mode", ["none", "name"])
def test_column_of_a_clone_is_not_the_dropped_column(mode: str) -> None:
    keys = {"none": "", "name": "2 b"}[mode]
    both = table({"a": "1 a" if keys else "", "b": keys}, mode, "false" if keys else None)
    one = table({"a": "1 a" if keys else ""}, mode, "true" if keys else None)
    whole = log(("CREATE TABLE", both), ("DROP COLUMNS", one), ("CLONE", both))

    column = only(folder(whole, files=(data(REMOVED, "b"),)))

    assert (column.version, column.removed_files.num_files) == (1, 1)


def test_dropped_column_is_not_restored_when_ids_are_assigned_again() -> None:
    """Delta assigns ids from 1 again when column mapping is removed and enabled again."""
    plain, mapped = table({"a": ""}), table({"a": "1 a"}, "name", "false")
    steps = (("CREATE TABLE", BOTH), ("DROP COLUMNS", ONE), ("REMOVE COLUMN MAPPING", plain))
    again = log(*steps, ("SET TBLPROPERTIES", mapped), ("ADD COLUMNS", BOTH))

    column = only(folder(again, files=(data(REMOVED, "b"),)))

    assert (column.version, column.removed_files.num_files) == (1, 1)
    assert paths(folder(log(*steps, ("RESTORE", BOTH)), files=(data(LIVE, "b"),))) == []


def test_restore_of_a_name_that_two_dropped_columns_had_continues_neither() -> None:
    """Both columns were called `b` once. Either may be restored, so both are listed as dropped."""
    added_again = table({"a": "1 a", "b": "2 col-5d2c"}, "name", "true")
    plain = table({"a": "", "b": ""})
    mapped_again = table({"a": "1 a", "b": "2 b"}, "name", "true")
    renamed = table({"a": "1 a", "c": "2 b"}, "name", "true")
    whole = log(
        ("CREATE TABLE", BOTH),
        ("DROP COLUMNS", ONE),
        ("ADD COLUMNS", added_again),
        ("REMOVE COLUMN MAPPING", plain),
        ("SET TBLPROPERTIES", mapped_again),
        ("RENAME COLUMN", renamed),
        ("RESTORE", plain),
    )

    found = dropped_columns(folder(whole, files=(data(REMOVED, "b", added_under=0),)))

    assert [(row.version, row.gone) for row in found] == [(6, True), (1, False)]


def test_restore_to_a_version_before_the_log_continues_no_dropped_column() -> None:
    """The restored `b` may be another column, so the `b` dropped at version 3 is listed."""
    one, both = table({"a": ""}), table({"a": "", "b": ""})
    steps = (("WRITE", both), ("WRITE", one), ("WRITE", both), ("WRITE", one), ("RESTORE", both))

    (row,) = dropped_columns(
        folder(cleaned_up(log(*steps), 2), files=(data(REMOVED, "b", added_under=2),))
    )

    assert (row.version, row.removed_files.num_files) == (3, 1)


def test_later_name_of_a_column_hides_no_earlier_column() -> None:
    three = table({"a": "1 a", "b": "2 b", "c": "3 c"}, "name", "false")
    two = table({"a": "1 a", "b": "2 b"}, "name", "true")
    renamed = table({"a": "1 a", "c": "2 b"}, "name", "true")
    steps = (("CREATE TABLE", three), ("DROP COLUMNS", two), ("RENAME COLUMN", renamed))
    whole = log(*steps, ("REMOVE COLUMN MAPPING", table({"a": "", "c": ""})))
    older = data(REMOVED, "c", added_under=None)

    assert paths(folder(cleaned_up(whole, 1), files=(older,))) == [(None, "c", False)]


def test_field_id_decides_in_mode_id() -> None:
    by_id = (table({"a": "1 a", "b": "2 b"}, "id", "true"), table({"a": "1 a"}, "id", "true"))
    whole = log(("CREATE TABLE", by_id[0]), ("DROP COLUMNS", by_id[1]))
    foreign = (ParquetColumn(("x",), 1), ParquetColumn(("y",), 2))

    assert paths(folder(whole, files=(data(LIVE, columns=foreign),))) == [("b", "b", False)]
    misnamed = (ParquetColumn(("b",), 1),)
    assert only(folder(whole, files=(data(LIVE, columns=misnamed),))).gone
    # The writer of an untracked file may have its own field ids.
    strange = data(UNTRACKED, columns=(ParquetColumn(("z",), 1),), added_under=None)
    assert ("z", False) in [row[1:] for row in paths(folder(whole, files=(strange,)))]


def test_field_id_is_ignored_in_mode_name() -> None:
    by_name = table({"a": "1 a", "b": "2 b"}, "name", "false")
    whole = log(("ADD COLUMNS", by_name), ("RESTORE", table({"a": "1 a"}, "id", "true")))
    older = data(REMOVED, columns=(ParquetColumn(("c",), 2),), added_under=None)

    found = paths(folder(cleaned_up(whole, 0), files=(older,)))

    assert (None, "c", False) in found


def test_source_files_of_a_clone_are_named_and_not_counted() -> None:
    column = only(folder(files=(data(LIVE, "b", source="file:/source"),)))

    assert (column.live_files, column.source_files) == (FileCount(), ("file:/source",))
    assert [step for step, _ in statements(column)] == ["PURGE", "SOURCE"]


class TestSteps:
    def test_live_files_need_all_three_steps_and_retention_counts_from_now(self) -> None:
        column = only(folder(files=(data(LIVE, "b", statistics=(("b",),)),)))

        assert statements(column) == [
            ("PURGE", None),
            ("VACUUM", NOW + WEEK + 1),
            ("LOG CLEANUP", 101 * DAY + MONTH),
        ]
        assert column.steps[0].statement == "REORG TABLE t APPLY (PURGE)"

    @pytest.mark.parametrize("feature", ["catalogManaged", "catalogOwned-preview"])
    def test_catalog_deletes_files_of_a_managed_table(self, feature: str) -> None:
        managed = log(("CREATE TABLE", BOTH, (*TRACKED, feature)), ("DROP", ONE, (feature,)))
        column = only(folder(managed, files=(data(LIVE, "a", "b"), data(REMOVED, "b"))))

        assert [(step.step, step.by_catalog) for step in column.steps] == [
            ("REWRITE", False),
            ("VACUUM", True),
        ]
        assert column.steps[1].earliest == NOW + WEEK + 1
        assert "VACUUM t" not in column.steps[1].statement

    def test_vacuum_waits_for_the_last_removed_file(self) -> None:
        files = (
            data(REMOVED, "b", removable_from=NOW - WEEK),
            data(CHANGE_DATA, "b", removable_from=NOW - DAY),
            data(REMOVED, "a", removable_from=NOW),
        )

        assert statements(only(folder(files=files))) == [("VACUUM", NOW - DAY + WEEK + 1)]
        assert statements(only(folder(files=files[:1]))) == [("VACUUM", NOW + 1)]
        past = data(REMOVED, "b", removable_from=NOW - 2 * WEEK)
        assert statements(only(folder(files=(past,)))) == [("VACUUM", None)]

    def test_hidden_files_are_deleted_by_hand(self) -> None:
        hidden = data(UNTRACKED, "b", is_hidden=True)

        assert statements(only(folder(files=(hidden,)))) == [("BY HAND", None)]

    def test_log_cleanup_waits_whole_days_for_a_boundary(self) -> None:
        files = (logged(COMMIT, version=3, statistics=(("b",),)),)
        boundaries = (CleanupBoundary(3, 1), CleanupBoundary(9, 90 * DAY + 1))
        later = CleanupBoundary(20, NOW)

        column = only(folder(log_files=files, boundaries=(*boundaries, later)))
        assert statements(column) == [("LOG CLEANUP", 91 * DAY + MONTH)]
        without = only(folder(log_files=files, boundaries=(boundaries[0],)))
        assert statements(without) == [("LOG CLEANUP", 101 * DAY + MONTH)]

    def test_log_cleanup_has_no_time_when_disabled(self) -> None:
        files = (logged(COMMIT, statistics=(("b",),)),)
        (step,) = only(folder(log_files=files, cleans_up_log=False)).steps

        assert (step.step, step.earliest) == ("LOG CLEANUP", None)
        assert "delta.enableExpiredLogCleanup" in step.statement

    def test_log_cleanup_keeps_other_files(self) -> None:
        compaction = logged(OTHER, statistics=(("b",),))

        assert statements(only(folder(log_files=(compaction,)))) == [("BY HAND", None)]

    def test_rewrite_replaces_purge_when_table_is_unmapped(self) -> None:
        whole = log(
            ("CREATE TABLE", table({"a": "", "b": ""})), ("REPLACE TABLE", table({"a": ""}))
        )
        column = only(folder(whole, files=(data(LIVE, "b"),)))

        assert [step for step, _ in statements(column)] == ["REWRITE", "VACUUM"]


def test_log_without_states_has_no_rows() -> None:
    assert dropped_columns(folder(TableLog("t", -1))) == ()
