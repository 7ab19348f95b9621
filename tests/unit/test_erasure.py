# SPDX-License-Identifier: Apache-2.0
"""Where the data of dropped columns is, by what lies in a table's folder."""

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
    FileGroup,
    ParquetColumn,
    TableLog,
)
from spark_ext.log.places import (
    CHECKPOINT,
    COMMIT,
    OTHER,
    CleanupBoundary,
    LogFiles,
    TablePlaces,
)
from spark_ext.model.dropped import DroppedColumn
from spark_ext.model.metadata import FileCount, TableMetadata
from spark_ext.model.schema import Path
from tests.unit.logs import cleaned_up, log
from tests.unit.tables import TRACKED, table

HOUR = 3600 * 1000
DAY = 24 * HOUR
NOW = 100 * DAY + HOUR
WEEK, MONTH = 7 * DAY, 30 * DAY

BOTH = table({"a": "1 a", "b": "2 b"}, "name", "false")
ONE = table({"a": "1 a"}, "name", "true")
DROP = log(("CREATE TABLE", BOTH), ("DROP COLUMNS", ONE))


def places(of: TableLog = DROP, files: tuple[FileGroup, ...] = (), **facts: Any) -> TablePlaces:
    return TablePlaces(
        name="t",
        log=replace(of, files=files),
        now=NOW,
        deleted_file_retention=WEEK,
        log_retention=MONTH,
        **facts,
    )


def data(kind: str, *columns: Path | str, **facts: Any) -> FileGroup:
    facts = {"example": "f", "num_files": 1, "size_in_bytes": 10, "added_under": 0, **facts}
    if kind != LIVE:
        facts.setdefault("removable_from", NOW)
    found = (ParquetColumn((each,) if isinstance(each, str) else each) for each in columns)
    return FileGroup(kind=kind, columns=facts.pop("columns", tuple(found)), **facts)


def logged(kind: str, **facts: Any) -> LogFiles:
    return LogFiles(kind, **{"num_files": 1, "version": 0, "under": 0, **facts})


def only(of: TablePlaces) -> DroppedColumn:
    (column,) = dropped_columns(of)
    return column


def paths(of: TablePlaces) -> list[tuple[str | None, str | None, bool]]:
    return [(row.path, row.physical_path, row.gone) for row in dropped_columns(of)]


def statements(column: DroppedColumn) -> list[tuple[str, Any]]:
    return [(step.step, step.earliest) for step in column.steps]


def test_a_column_of_which_nothing_is_left_is_gone() -> None:
    column = only(places(files=(data(LIVE, "a"),), log_files=(logged(COMMIT),)))

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
    column = only(places(files=(data(kind, "a", "b", num_files=3), data(kind, "a"))))

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
def test_a_file_of_the_log_keeps_a_column_from_being_gone(found: dict[str, Any]) -> None:
    column = only(places(log_files=(logged(**{"kind": COMMIT, **found}),)))

    numbers = (column.commits, column.checkpoints, column.other_log_files, column.unknown_log_files)
    assert sum(numbers) == 1
    assert not column.gone
    assert column.steps


def test_a_name_alone_is_no_data() -> None:
    named = logged(COMMIT, schemas=(json.dumps(BOTH.schema),), texts=("ab = 1", "c > 2"))
    default = table({"a": "1 a", "b": {"column": "2 b", "metadata": {"CURRENT_DEFAULT": "'x'"}}})
    with_default = logged(COMMIT, schemas=(json.dumps(default.schema),))

    assert only(places(log_files=(named,))).gone
    assert not only(places(log_files=(with_default,))).gone


def test_statistics_of_live_files_are_counted() -> None:
    column = only(places(files=(data(LIVE, "a", num_files=2, statistics=(("b",),)),)))

    assert (column.live_files.num_files, column.live_statistics) == (0, 2)
    assert [step for step, _ in statements(column)] == ["REWRITE", "LOG CLEANUP"]


def test_a_file_that_nobody_can_read_is_unknown_and_keeps_all_from_being_gone() -> None:
    broken = data(LIVE, columns=None, problem="its footer is encrypted")
    column = only(places(files=(broken,)))

    assert (column.unknown_files, column.gone) == (FileCount(1, 10), False)
    assert [step for step, _ in statements(column)] == ["REWRITE", "VACUUM"]


def test_a_file_that_nobody_can_read_is_told_of_where_nothing_was_dropped() -> None:
    untouched = log(("CREATE TABLE", BOTH))
    row = only(places(untouched, files=(data(UNTRACKED, columns=None, problem="no footer"),)))

    assert (row.path, row.physical_path, row.gone) == (None, None, False)
    assert row.unknown_files == FileCount(1, 10)
    assert paths(places(untouched, files=(data(LIVE, "a", "b"),))) == []


def test_a_file_that_is_missing_has_nothing() -> None:
    assert only(places(files=(data(LIVE, columns=None, problem=MISSING),))).gone


def test_a_renamed_column_has_its_names() -> None:
    renamed = table({"a": "1 a", "c": "2 b"}, "name", "true")
    whole = log(("CREATE TABLE", BOTH), ("RENAME COLUMN", renamed), ("DROP COLUMNS", ONE))
    column = only(places(whole, files=(data(LIVE, "b"),)))

    assert (column.path, column.former_paths, column.physical_path) == ("c", ("b",), "b")
    assert column.versions == 2
    assert column.live_files.num_files == 1


def nested(**fields: str) -> TableMetadata:
    inner = {"column": "1 s", "array": fields}
    return table({"s": inner}, "name", "true")


def test_a_column_in_a_struct_in_an_array_is_found_and_its_elements_are_none() -> None:
    whole = log(("CREATE TABLE", nested(x="2 x", y="3 y")), ("DROP COLUMNS", nested(x="2 x")))
    file = data(LIVE, "s", ("s", "element"), ("s", "element", "x"), ("s", "element", "y"))
    column = only(places(whole, files=(file,)))

    assert (column.path, column.live_files.num_files) == ("s.element.y", 1)


def test_a_list_that_is_laid_out_as_no_standard_has_it_hides_no_column() -> None:
    whole = log(("CREATE TABLE", nested(x="2 x", y="3 y")), ("DROP COLUMNS", nested(x="2 x")))
    file = data(LIVE, "s", ("s", "x"), ("s", "y"))

    assert paths(places(whole, files=(file,))) == [("s.element.y", "s.element.y", False)]


def test_a_column_that_is_called_as_one_of_deltas_is_found() -> None:
    called = table({"a": "1 a", "_row-id-col-1": "2 _row-id-col-1"}, "name", "false")
    whole = log(("CREATE TABLE", called), ("DROP COLUMNS", ONE))

    assert not only(places(whole, files=(data(LIVE, "a", "_row-id-col-1"),))).gone


def test_what_files_have_and_no_schema_knows_has_a_row_by_its_topmost_path() -> None:
    file = data(LIVE, "a", "col-1", ("col-1", "x"), "_change_type", added_under=None)

    assert paths(places(log(("CREATE TABLE", ONE)), files=(file,))) == [(None, "`col-1`", False)]


def test_a_column_that_was_dropped_before_the_log_begins_is_known_by_its_files() -> None:
    whole = log(("CREATE TABLE", BOTH), ("DROP COLUMNS", ONE), ("SET TBLPROPERTIES", ONE))
    cut = cleaned_up(whole, 2)

    assert paths(places(cut)) == []
    assert paths(places(cut, files=(data(LIVE, "b", added_under=None),))) == [(None, "b", False)]


def test_a_name_belongs_to_the_column_that_had_it_when_the_file_was_written() -> None:
    plain = [table({"a": "", "b": ""}), table({"a": ""}), table({"a": "", "b": ""})]
    whole = log(*(("CREATE OR REPLACE TABLE", each) for each in plain))
    old, new = data(REMOVED, "b", added_under=0), data(LIVE, "b", added_under=2)

    column = only(places(whole, files=(old, new)))
    assert (column.removed_files.num_files, column.live_files.num_files) == (1, 0)
    assert only(places(whole, files=(new,))).gone
    unknown = only(places(whole, files=(replace(old, added_under=None),)))
    assert unknown.removed_files.num_files == 1


def test_a_file_that_is_older_than_the_log_has_none_of_its_later_columns() -> None:
    both, one = table({"a": "", "b": ""}), table({"a": ""})
    whole = log(*(("CREATE OR REPLACE TABLE", each) for each in (both, one, both, one)))
    older = dropped_columns(places(whole, files=(data(REMOVED, "b", added_under=None),)))
    of_any_time = dropped_columns(places(whole, files=(data(UNTRACKED, "b", added_under=None),)))

    assert [(row.version, row.gone) for row in older] == [(3, True), (1, False)]
    assert [(row.version, row.gone) for row in of_any_time] == [(3, False), (1, False)]


def test_a_later_column_hides_none_that_the_log_forgot() -> None:
    one, both = table({"a": ""}), table({"a": "", "b": ""})
    whole = log(*(("WRITE", each) for each in (both, one, one, both)))
    cut = cleaned_up(whole, 2)

    for kind in (REMOVED, UNTRACKED, CHANGE_DATA):
        found = places(cut, files=(data(kind, "b", added_under=None),))
        assert paths(found) == [(None, "b", False)], kind
    before = logged(COMMIT, version=1, under=None, statistics=(("b",),))
    assert paths(places(cut, log_files=(before,))) == [(None, "b", False)]
    # The whole log knows all that ever was.
    of_any_time = (data(UNTRACKED, "b", added_under=None),)
    assert paths(places(log(("WRITE", one), ("WRITE", both)), files=of_any_time)) == []


def test_a_random_physical_name_is_of_one_column_alone() -> None:
    name = "col-3f2a91d4-0c11-4a5e-8a53-1f6f3fbd0c44"
    later = table({"a": "1 a", "b": f"2 {name}"}, "name", "true")
    cut = cleaned_up(log(("CREATE TABLE", ONE), ("DROP COLUMNS", ONE), ("ADD COLUMNS", later)), 1)

    assert paths(places(cut, files=(data(UNTRACKED, name, added_under=None),))) == []


def test_a_field_that_the_log_forgot_is_found_though_its_struct_is_none_now() -> None:
    field = data(REMOVED, ("b",), ("b", "c"), added_under=None)

    assert paths(places(log(("WRITE", table({"b": ""}))), files=(field,))) == [(None, "b.c", False)]


def test_a_field_that_the_log_forgot_is_found_though_its_struct_is_a_variant_now() -> None:
    field = data(REMOVED, ("b",), ("b", "c"), ("b", "typed_value"), added_under=None)
    variant = table({"b": {"column": "", "type": "variant"}})

    assert paths(places(log(("WRITE", variant)), files=(field,))) == [(None, "b.c", False)]


def test_texts_of_commits_that_are_older_than_every_schema_are_unknown() -> None:
    whole = log(("CREATE TABLE", BOTH), ("DROP COLUMNS", ONE), ("WRITE", ONE))
    before = logged(COMMIT, version=1, under=None, texts=("(b#2 = 'x')",))
    since = logged(COMMIT, version=2, under=None, texts=("(a#1 = 'x')",))

    row = only(places(cleaned_up(whole, 2), log_files=(before, since)))

    assert (row.path, row.unknown_log_files, row.gone) == (None, 1, False)
    assert [step for step, _ in statements(row)] == ["LOG CLEANUP"]


def test_a_checkpoint_may_have_removed_files_of_any_time_before_it() -> None:
    both, one = table({"a": "", "b": ""}), table({"a": ""})
    whole = log(*(("WRITE", each) for each in (both, one, both)))
    checkpoint = logged(CHECKPOINT, version=2, under=2, partition_columns=("b",))

    (dropped,) = dropped_columns(places(whole, log_files=(checkpoint,)))
    assert (dropped.version, dropped.checkpoints, dropped.gone) == (1, 1, False)


@pytest.mark.parametrize("name", ['a"b', "a\\b", "a`b", "größe"])
def test_names_are_found_as_json_and_sql_write_them(name: str) -> None:
    both = table({"a": "1 a", name: "2 col-5d2c"}, "name", "true")
    whole = log(("CREATE TABLE", both), ("DROP COLUMNS", ONE))
    condition = f"({name} = 'x')"
    written = {
        "json": json.dumps(condition),
        "json of other letters": json.dumps(condition, ensure_ascii=False),
        "sql": f"`{name.replace('`', '``')}` = 'x'",
    }

    for text in written.values():
        column = only(places(whole, log_files=(logged(COMMIT, texts=(text,)),)))
        assert (column.commits, column.gone) == (1, False), text


def test_an_expression_of_another_column_may_be_of_a_dropped_one() -> None:
    field = {"name": "a", "type": "boolean", "nullable": True}
    field["metadata"] = {"delta.generationExpression": "b = 'x'"}
    text = json.dumps({"type": "struct", "fields": [field]})

    column = only(places(log_files=(logged(COMMIT, schemas=(text,)),)))

    assert (column.commits, column.gone) == (1, False)


def test_a_column_that_restore_brought_back_was_not_dropped() -> None:
    back = log(("CREATE TABLE", BOTH), ("DROP COLUMNS", ONE), ("RESTORE", BOTH))

    assert paths(places(back, files=(data(LIVE, "a", "b"),))) == []
    steps = [("DROP COLUMNS", ONE), ("RESTORE", BOTH), ("DROP COLUMNS", ONE)]
    column = only(places(log(("CREATE TABLE", BOTH), *steps)))
    assert (column.version, column.versions) == (3, 2)
    assert (column.first_version, column.last_version) == (0, 2)


def test_a_column_that_came_back_as_nobody_knows_which_hides_none_of_them() -> None:
    both, one = table({"a": "", "b": ""}), table({"a": ""})
    twice = [("WRITE", each) for each in (both, one, both, one)]
    removed = (data(REMOVED, "b", added_under=0), data(REMOVED, "b", added_under=2))

    found = dropped_columns(places(log(*twice, ("RESTORE", both)), files=removed))
    assert [(row.version, row.removed_files.num_files) for row in found] == [(3, 1), (1, 1)]
    found = dropped_columns(places(log(*twice[:2], ("WRITE", both)), files=removed[:1]))
    assert [(row.version, row.removed_files.num_files) for row in found] == [(1, 1)]
    assert paths(places(log(*twice[:2], ("RESTORE", both)), files=removed[:1])) == []


@pytest.mark.parametrize("mode", ["none", "name"])
def test_a_column_that_another_table_brought_is_not_the_one_that_was_dropped(mode: str) -> None:
    keys = {"none": "", "name": "2 b"}[mode]
    both = table({"a": "1 a" if keys else "", "b": keys}, mode, "false" if keys else None)
    one = table({"a": "1 a" if keys else ""}, mode, "true" if keys else None)
    whole = log(("CREATE TABLE", both), ("DROP COLUMNS", one), ("CLONE", both))

    column = only(places(whole, files=(data(REMOVED, "b"),)))

    assert (column.version, column.removed_files.num_files) == (1, 1)


def test_ids_that_are_counted_anew_bring_no_column_back() -> None:
    """As `align_names` has it, and a column of the same name that is added then."""
    plain, mapped = table({"a": ""}), table({"a": "1 a"}, "name", "false")
    steps = (("CREATE TABLE", BOTH), ("DROP COLUMNS", ONE), ("REMOVE COLUMN MAPPING", plain))
    anew = log(*steps, ("SET TBLPROPERTIES", mapped), ("ADD COLUMNS", BOTH))

    column = only(places(anew, files=(data(REMOVED, "b"),)))

    assert (column.version, column.removed_files.num_files) == (1, 1)
    assert paths(places(log(*steps, ("RESTORE", BOTH)), files=(data(LIVE, "b"),))) == []


def test_restore_brings_what_a_column_was_before_it_was_renamed() -> None:
    """Both columns were called `b` once, and either may be the one."""
    again = table({"a": "1 a", "b": "2 col-5d2c"}, "name", "true")
    plain = table({"a": "", "b": ""})
    anew = table({"a": "1 a", "b": "2 b"}, "name", "true")
    renamed = table({"a": "1 a", "c": "2 b"}, "name", "true")
    whole = log(
        ("CREATE TABLE", BOTH),
        ("DROP COLUMNS", ONE),
        ("ADD COLUMNS", again),
        ("REMOVE COLUMN MAPPING", plain),
        ("SET TBLPROPERTIES", anew),
        ("RENAME COLUMN", renamed),
        ("RESTORE", plain),
    )

    found = dropped_columns(places(whole, files=(data(REMOVED, "b", added_under=0),)))

    assert [(row.version, row.gone) for row in found] == [(6, True), (1, False)]


def test_restore_to_a_version_that_the_log_forgot_brings_no_column_that_it_knows() -> None:
    one, both = table({"a": ""}), table({"a": "", "b": ""})
    steps = (("WRITE", both), ("WRITE", one), ("WRITE", both), ("WRITE", one), ("RESTORE", both))

    (row,) = dropped_columns(
        places(cleaned_up(log(*steps), 2), files=(data(REMOVED, "b", added_under=2),))
    )

    assert (row.version, row.removed_files.num_files) == (3, 1)


def test_a_name_that_a_column_got_later_hides_none_that_had_it_before() -> None:
    three = table({"a": "1 a", "b": "2 b", "c": "3 c"}, "name", "false")
    two = table({"a": "1 a", "b": "2 b"}, "name", "true")
    renamed = table({"a": "1 a", "c": "2 b"}, "name", "true")
    steps = (("CREATE TABLE", three), ("DROP COLUMNS", two), ("RENAME COLUMN", renamed))
    whole = log(*steps, ("REMOVE COLUMN MAPPING", table({"a": "", "c": ""})))
    older = data(REMOVED, "c", added_under=None)

    assert paths(places(cleaned_up(whole, 1), files=(older,))) == [(None, "c", False)]


def test_in_mode_id_the_field_id_tells() -> None:
    by_id = (table({"a": "1 a", "b": "2 b"}, "id", "true"), table({"a": "1 a"}, "id", "true"))
    whole = log(("CREATE TABLE", by_id[0]), ("DROP COLUMNS", by_id[1]))
    foreign = (ParquetColumn(("x",), 1), ParquetColumn(("y",), 2))

    assert paths(places(whole, files=(data(LIVE, columns=foreign),))) == [("b", "b", False)]
    misnamed = (ParquetColumn(("b",), 1),)
    assert only(places(whole, files=(data(LIVE, columns=misnamed),))).gone
    # Who wrote a file that no log has may have counted in his own way.
    strange = data(UNTRACKED, columns=(ParquetColumn(("z",), 1),), added_under=None)
    assert ("z", False) in [row[1:] for row in paths(places(whole, files=(strange,)))]


def test_an_id_of_mode_name_is_in_no_file() -> None:
    by_name = table({"a": "1 a", "b": "2 b"}, "name", "false")
    whole = log(("ADD COLUMNS", by_name), ("RESTORE", table({"a": "1 a"}, "id", "true")))
    older = data(REMOVED, columns=(ParquetColumn(("c",), 2),), added_under=None)

    found = paths(places(cleaned_up(whole, 0), files=(older,)))

    assert (None, "c", False) in found


def test_files_of_a_clones_source_are_named_and_not_counted() -> None:
    column = only(places(files=(data(LIVE, "b", source="file:/source"),)))

    assert (column.live_files, column.source_files) == (FileCount(), ("file:/source",))
    assert [step for step, _ in statements(column)] == ["PURGE", "SOURCE"]


class TestSteps:
    def test_live_files_go_by_all_three_and_time_counts_from_now(self) -> None:
        column = only(places(files=(data(LIVE, "b", statistics=(("b",),)),)))

        assert statements(column) == [
            ("PURGE", None),
            ("VACUUM", NOW + WEEK + 1),
            ("LOG CLEANUP", 101 * DAY + MONTH),
        ]
        assert column.steps[0].statement == "REORG TABLE t APPLY (PURGE)"

    @pytest.mark.parametrize("feature", ["catalogManaged", "catalogOwned-preview"])
    def test_what_delta_refuses_of_a_managed_table_is_left_to_its_catalog(
        self, feature: str
    ) -> None:
        managed = log(("CREATE TABLE", BOTH, (*TRACKED, feature)), ("DROP", ONE, (feature,)))
        column = only(places(managed, files=(data(LIVE, "a", "b"), data(REMOVED, "b"))))

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

        assert statements(only(places(files=files))) == [("VACUUM", NOW - DAY + WEEK + 1)]
        assert statements(only(places(files=files[:1]))) == [("VACUUM", NOW + 1)]
        past = data(REMOVED, "b", removable_from=NOW - 2 * WEEK)
        assert statements(only(places(files=(past,)))) == [("VACUUM", None)]

    def test_what_vacuum_passes_over_is_to_be_deleted_by_hand(self) -> None:
        hidden = data(UNTRACKED, "b", is_hidden=True)

        assert statements(only(places(files=(hidden,)))) == [("BY HAND", None)]

    def test_the_log_is_cleaned_up_before_a_checkpoint_whole_days_later(self) -> None:
        files = (logged(COMMIT, version=3, statistics=(("b",),)),)
        boundaries = (CleanupBoundary(3, 1), CleanupBoundary(9, 90 * DAY + 1))
        later = CleanupBoundary(20, NOW)

        column = only(places(log_files=files, boundaries=(*boundaries, later)))
        assert statements(column) == [("LOG CLEANUP", 91 * DAY + MONTH)]
        without = only(places(log_files=files, boundaries=(boundaries[0],)))
        assert statements(without) == [("LOG CLEANUP", 101 * DAY + MONTH)]

    def test_a_log_that_is_not_cleaned_up_has_no_time(self) -> None:
        files = (logged(COMMIT, statistics=(("b",),)),)
        (step,) = only(places(log_files=files, cleans_up_log=False)).steps

        assert (step.step, step.earliest) == ("LOG CLEANUP", None)
        assert "delta.enableExpiredLogCleanup" in step.statement

    def test_log_cleanup_leaves_other_files(self) -> None:
        compaction = logged(OTHER, statistics=(("b",),))

        assert statements(only(places(log_files=(compaction,)))) == [("BY HAND", None)]

    def test_where_delta_cannot_purge_a_table_is_written_again(self) -> None:
        column = only(places(files=(data(LIVE, "b"),), purges=False))

        assert [step for step, _ in statements(column)] == ["REWRITE", "VACUUM"]

    def test_a_table_without_column_mapping_is_written_again(self) -> None:
        whole = log(
            ("CREATE TABLE", table({"a": "", "b": ""})), ("REPLACE TABLE", table({"a": ""}))
        )
        column = only(places(whole, files=(data(LIVE, "b"),)))

        assert [step for step, _ in statements(column)] == ["REWRITE", "VACUUM"]


def test_a_log_without_a_state_has_no_rows() -> None:
    assert dropped_columns(places(TableLog("t", -1))) == ()
