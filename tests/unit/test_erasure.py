# SPDX-License-Identifier: Apache-2.0
"""Tests the moment of an erasure and the verdict, by logs and folders that the JVM has read."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import spark_ext
from spark_ext.erasure.find import FileColumns, column_verdict
from spark_ext.erasure.moment import ErasureStart, erasure_start
from spark_ext.errors import NotACertificateError
from spark_ext.log.actions import (
    LIVE,
    REMOVED,
    FileGroup,
    Moment,
    ParquetColumn,
    TableFolder,
    TableLog,
)
from spark_ext.log.history import KnownNames, states
from spark_ext.model.dropped import Asked, CheckedTable, ColumnVerdict, LiveColumn
from spark_ext.model.metadata import FileCount
from tests.unit.logs import cleaned_up, log_of

HAD = "name false {a: 1 a, ssn: 2 ssn}"
RENAMED = "name true {a: 1 a, tax: 2 ssn}"
ONE = "name true {a: 1 a}"
AGAIN = "name true {a: 1 a, ssn: 3 col-x}"
DROPPED = f"{HAD} -> {ONE} -> {AGAIN} -> {AGAIN}"
GONE = f"{HAD} -> {ONE} -> {ONE} -> {ONE}"


def files(*paths: str, kind: str = LIVE, ids: tuple[int | None, ...] = (), **facts: Any) -> Any:
    ids = ids or (None,) * len(paths)
    columns = tuple(
        ParquetColumn(tuple(path.split(".")), id) for path, id in zip(paths, ids, strict=True)
    )
    return FileGroup("f", 1, 10, kind=kind, columns=columns, **facts)


def verdict(
    text: str,
    *groups: FileGroup,
    column: str | None = "ssn",
    checked: CheckedTable | None = None,
    begins: int = 0,
    **facts: Any,
) -> ColumnVerdict:
    of = cleaned_up(text, begins) if begins else log_of(text)
    known: dict[str, Any] = {
        "moment": Moment(1, 1000),
        "other_tables": (),
        "log_files": FileCount(4, 40),
        "older_log_files": FileCount(),
        "unknown_log_files": (),
        "tombstones": 0,
        "older_tombstones": 0,
        "cleanable_from": 0,
        **facts,
    }
    return column_verdict(
        TableFolder(
            name="t",
            log=TableLog(**{**vars(of), "files": groups or (files("a"),)}),
            location="/t",
            asked=Asked(column, checked),
            now=10_000,
            deleted_file_retention=100,
            log_retention=1000,
            cleans_up_log=True,
            **known,
        )
    )


class TestMoment:
    def test_begins_at_the_newest_drop(self) -> None:
        assert erasure_start(log_of(DROPPED), None) == ErasureStart(1, None, 1, 1000)

    def test_begins_with_the_log_if_no_drop_is_known(self) -> None:
        assert erasure_start(log_of(f"{HAD} -> {HAD}"), None) == ErasureStart(0, None, -1, 0)
        later = replace(cleaned_up(GONE, 2), commits=())
        assert erasure_start(later, None) == ErasureStart(2, None, 1, 0)
        # The commit at the beginning of the log may have dropped a column.
        assert erasure_start(cleaned_up(GONE, 2), None) == ErasureStart(2, None, 2, 2000)

    def test_continues_a_certificate_while_the_log_has_every_version_since(self) -> None:
        known = CheckedTable(None, version=3, moment_version=1, moment_time=5)
        for of in (log_of(GONE), cleaned_up(GONE, 2), cleaned_up(GONE, 3)):
            assert erasure_start(of, known) == ErasureStart(4, 3, 1, 5)

    @pytest.mark.parametrize(
        ("of", "known"),
        [
            (cleaned_up(GONE, 3), CheckedTable(None, 1, 1, 5)),  # version 2 is missing
            (cleaned_up(GONE, 3), CheckedTable(None, 2, 1, 5)),  # version 3 has metadata
            (log_of(GONE), CheckedTable("other", 2, 1, 5)),
            (log_of(GONE), CheckedTable(None, 9, 1, 5)),
            (log_of(GONE), CheckedTable(None, 2)),  # its live files were not clean
            (log_of(GONE), CheckedTable(None, 0, 0, 5)),  # a column was dropped since
        ],
    )
    def test_begins_anew_otherwise(self, of: TableLog, known: CheckedTable) -> None:
        assert erasure_start(of, known) == erasure_start(of, None)


class TestVerdict:
    def test_is_erased_if_nothing_remains(self) -> None:
        found = verdict(GONE)
        assert (found.verdict, found.moment_version, found.had) == ("ERASED", 1, True)

    @pytest.mark.parametrize(
        ("group", "facts", "place", "step"),
        [
            (files("a", "ssn"), {}, "live files", "PURGE"),
            (files("a", "ssn", source="/s"), {}, "source files", "SOURCE"),
            (files("a", folders=("ssn",)), {}, "live files", "REWRITE"),
            (files("a", partition_columns=("ssn",)), {}, "live files", "REWRITE"),
            (files("a", kind=REMOVED, is_older=True), {}, "older files", "VACUUM"),
            (files("ssn", kind="untracked"), {}, "older files", "VACUUM"),
            (files("ssn", kind="changeData"), {}, "change data", "VACUUM"),
            (files(kind="vectors", is_older=True), {}, "vectors", "VACUUM"),
            (files("ssn", kind=REMOVED, is_hidden=True), {}, "hidden files", "BY HAND"),
            (files("ssn", kind=REMOVED), {"other_tables": ("/t/n",)}, "older files", "BY HAND"),
            (files("a"), {"older_log_files": FileCount(1, 2)}, "log", "LOG CLEANUP"),
            (files("a"), {"older_tombstones": 1}, "tombstones", "LOG CLEANUP"),
        ],
    )
    def test_names_each_place_and_its_step(
        self, group: FileGroup, facts: dict[str, Any], place: str, step: str
    ) -> None:
        found = verdict(GONE, group, **facts)

        assert found.verdict == "STILL_PRESENT"
        (row,) = [each for each in found.places if each.place == place]
        assert (row.num_files, row.step) == (1, step)

    @pytest.mark.parametrize("kind", [LIVE, REMOVED])
    def test_is_unknown_if_a_file_cannot_be_read(self, kind: str) -> None:
        unread = FileGroup("f", 1, 10, kind=kind, problem="missing")
        found = verdict(GONE, unread)
        assert found.verdict == verdict(GONE, unknown_log_files=("x",)).verdict == "UNKNOWN"
        assert (found.moment_version is None) == (kind == LIVE)

    def test_counts_every_other_file_until_live_files_are_clean(self) -> None:
        found = verdict(GONE, files("ssn"), files("a", kind=REMOVED))
        left = {each.place: each.num_files for each in found.places if each.num_files}
        assert left == {"live files": 1, "older files": 1, "log": 4}
        assert found.moment_version is None

    def test_moment_is_now_if_a_dropped_column_came_after_it(self) -> None:
        assert verdict(GONE, files("ssn", kind="untracked")).moment_version == 3

    @pytest.mark.parametrize(
        ("of", "begins"),
        [
            (HAD, 0),
            (f"{HAD} -> {RENAMED}", 0),
            (f"{HAD} -> {RENAMED}", 1),  # in files
            (f"{HAD} -> {RENAMED} -> {ONE} -> [RESTORE] {RENAMED}", 0),
        ],
    )
    def test_is_live_under_any_name(self, of: str, begins: int) -> None:
        for column in ("ssn", "a"):
            found = verdict(of, files("a", "ssn"), column=column, begins=begins)
            assert found.verdict == "LIVE"

    def test_is_live_as_an_earlier_certificate_found(self) -> None:
        of = "name true {a: 1 a, x: 2 y}"
        for live in (LiveColumn("ssn", "z", 2), LiveColumn("ssn", "y", None)):
            known = CheckedTable(None, 0, 0, 5, live=(live,))
            assert verdict(of, files("a", "y"), checked=known).verdict == "LIVE"

    def test_is_never_had_only_if_the_log_has_every_version(self) -> None:
        for begins, expected in ((0, "NEVER_HAD"), (2, "UNKNOWN")):
            assert verdict(GONE, column="other", begins=begins).verdict == expected
        # A file has the column of an earlier version, or one of no version.
        assert verdict(GONE, files("a", "ssn"), column="other").verdict == "NEVER_HAD"
        assert verdict(GONE, files("a", "xyz"), column="other").verdict == "STILL_PRESENT"
        assert verdict(ONE, column=None).verdict == "NEVER_HAD"

    def test_is_live_if_restore_brings_a_column_of_an_earlier_certificate_back(self) -> None:
        of = f"{ONE} -> [RESTORE] name {{a: 1 a, tax: 2 x}}"
        for id, expected in ((2, "LIVE"), (3, "ERASED")):  # else another column has the path
            named = (LiveColumn("tax", "x", id),)
            known = CheckedTable(None, 0, 0, 5, known=True, named=named)
            assert verdict(of, files("a", "x"), checked=known).verdict == expected

    def test_clones_may_have_columns_of_another_table(self) -> None:
        of = f"[CLONE] {ONE} -> {ONE}"
        assert verdict(of).verdict == "UNKNOWN"
        assert verdict(of, column=None).verdict == "ERASED"

    def test_rewrites_files_whose_names_purge_knows(self) -> None:
        found = verdict(GONE, files("a", ids=(7,)))
        assert found.places[0].step == "REWRITE"

    def test_stays_unknown_if_a_certificate_knew_nothing(self) -> None:
        for known, expected in (
            (CheckedTable(None, 3, 1, 5), "UNKNOWN"),
            (CheckedTable(None, 3, 1, 5, known=True), "ERASED"),
            (CheckedTable(None, 3, 1, 5, had=True), "ERASED"),
            (CheckedTable(None, 1, 1, 5, had=True, known=True), "UNKNOWN"),
        ):
            assert verdict(GONE, checked=known, begins=3).verdict == expected

    def test_is_erased_for_every_dropped_column_if_the_log_begins_later(self) -> None:
        assert verdict(GONE, column=None, begins=2).verdict == "ERASED"

    def test_steps_wait_for_the_retention_periods(self) -> None:
        found = verdict(GONE, files("a", kind=REMOVED, is_older=True), older_tombstones=1)
        steps = {each.step: each.earliest for each in found.places if each.step}
        assert steps == {"VACUUM": None, "LOG CLEANUP": 86_401_000}
        found = verdict(GONE, files("ssn", kind="untracked"))
        assert [each.earliest for each in found.places if each.step] == [10_101]


class TestFileColumns:
    """Compares paths and ids with a schema; nested columns too."""

    @pytest.mark.parametrize(
        ("mode", "file", "foreign"),
        [
            ("name", files("A", "S", "s.x", ids=(1, 2, 3)), []),
            ("name", files("a", "s.y"), ["s.y"]),
            ("name", files("a", ids=(7,)), ["a"]),  # a dropped column of the name
            ("none", files("a", ids=(7,)), []),
            ("id", files("q", "w", "w.e", ids=(1, 2, 3)), []),
            ("id", files("a", ids=(7,)), ["a"]),
            ("id", files("a"), ["a"]),
            ("name", files("l", "l.element", "l.element.z"), []),
            ("id", files("q", "q.element", "q.element.e", ids=(4, None, 5)), []),
            ("id", files("q", "q.element", "q.element.e", ids=(4, None, 9)), ["q.element.e"]),
            ("name", files("v", "v.metadata", "v.value"), []),
            ("name", files("a", "a.b"), ["a.b"]),
            ("name", files("_change_type", "_row-id-col-1"), []),
        ],
    )
    def test_foreign_columns_are_found(self, mode: str, file: FileGroup, foreign: Any) -> None:
        found = states(
            log_of(
                f"{mode} true {{a: 1 a, s: {{column: 2 s, struct: {{x: 3 x}}}},"
                " l: {column: 4 l, array: {z: 5 z}}, v: {column: 6 v, type: variant}}"
            )
        )

        paths = FileColumns(found[-1], KnownNames(found)).foreign(file)

        assert sorted(".".join(path) for path in paths) == foreign


class TestCall:
    @pytest.mark.parametrize("text", ["", "[]", '{"certificate": "x"}', '{"certificate": 1}'])
    def test_other_files_are_no_certificates(self, tmp_path: Path, text: str) -> None:
        file = tmp_path / "c.json"
        file.write_text(text)

        with pytest.raises(NotACertificateError):
            spark_ext.dropped_columns(SESSION, column="ssn", certificate=file)

    @pytest.mark.parametrize("name", ["", "`a"])
    def test_name_of_no_column_is_refused(self, name: str) -> None:
        with pytest.raises(ValueError, match="Cannot find columns"):
            spark_ext.dropped_columns(SESSION, "t", column=name)


SESSION: Any = None  # any use would raise an AttributeError
