# SPDX-License-Identifier: Apache-2.0
"""Tests the statements of an alignment from any state of a table."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from spark_ext import FileCount, NameAlignment
from spark_ext.errors import (
    AlignmentConflictError,
    CannotAlignNamesError,
    ModeIdLostError,
    NotMappedError,
)
from spark_ext.model.metadata import TableFacts
from spark_ext.removal.stages import SurveyedTable, surveyed
from spark_ext.tables.goals import Alignment, Begun, reach
from spark_ext.tables.table import alignment_of
from tests.unit.case_files import table_of
from tests.unit.tables import TRACKED, protocol

ALIGNING = "sparkext.columnMapping.aligning"
STATEMENTS = {
    "BEGIN": f"ALTER TABLE t SET TBLPROPERTIES ('{ALIGNING}' = 'name')",
    "BEGIN-ID": f"ALTER TABLE t SET TBLPROPERTIES ('{ALIGNING}' = 'id')",
    "REMOVE": "ALTER TABLE t SET TBLPROPERTIES ('delta.columnMapping.mode' = 'none')",
    "DROP": "ALTER TABLE t DROP FEATURE columnMappingUsageTracking",
    "TRACK": "ALTER TABLE t SET TBLPROPERTIES ('delta.feature.columnmappingusagetracking' ="
    " 'supported', 'delta.columnMapping.mode' = 'name')",
    "MAP": "ALTER TABLE t SET TBLPROPERTIES ('delta.columnMapping.mode' = 'name')",
    "END": f"ALTER TABLE t UNSET TBLPROPERTIES IF EXISTS ('{ALIGNING}')",
}


def at(text: str) -> SurveyedTable:
    """Returns the row of a table; `aligning` and `untracked` may come first."""
    words = text.partition("{")[0].split()
    metadata = table_of(text.replace("aligning ", "").replace("untracked ", ""))
    if "aligning" in words:
        metadata = metadata.with_property(ALIGNING, "name")
    is_tracked = "untracked" not in words
    features = protocol(TRACKED if is_tracked else ("columnMapping",))
    facts = TableFacts(metadata, features, "t", FileCount(4, 5000), copies=is_tracked)
    return replace(surveyed(facts), version=7)


def names_of(statements: Any) -> str:
    names = {statement: name for name, statement in STATEMENTS.items()}
    return " ".join(names[statement] for statement in statements)


def remaining(text: str, *, to_name_mode: bool = False) -> str:
    plan = Alignment(to_name_mode).plan(at(text))
    if plan.refusal is not None:
        raise plan.refusal
    return names_of(plan.statements)


@pytest.mark.parametrize(
    ("table", "expected"),
    [
        ("name true {a: 1 b}", "BEGIN REMOVE DROP TRACK END"),
        ("name true {a: 1 a}", "BEGIN REMOVE DROP TRACK END"),
        ("name false {a: 1 b}", "BEGIN REMOVE MAP END"),
        ("untracked name {a: 1 b}", "BEGIN REMOVE TRACK END"),
        ("untracked name {a: 1 a}", "BEGIN REMOVE TRACK END"),
        ("name false {a: 1 a}", ""),
        ("id false {a: 1 a}", ""),
        # An alignment that was interrupted continues.
        ("aligning name true {a: 1 b}", "REMOVE DROP TRACK END"),
        ("aligning none true {a}", "DROP TRACK END"),
        ("aligning untracked none {a}", "TRACK END"),
        ("aligning none false {a}", "MAP END"),
        ("aligning name false {a: 1 a}", "END"),
        ("none true {a} {sparkext.columnMapping.aligning: id}", "DROP TRACK END"),
    ],
)
def test_statements_continue_from_the_state_of_the_table(table: str, expected: str) -> None:
    assert remaining(table) == expected
    assert at(table).is_aligned == (expected in ("", "END"))


@pytest.mark.parametrize("table", ["untracked none {a}", "none false {a}", "none true {a}"])
def test_unmapped_table_is_refused(table: str) -> None:
    with pytest.raises(NotMappedError) as refused:
        remaining(table)

    assert refused.value.params == {"table": "t"}
    assert not at(table).is_aligned


def test_mode_id_is_refused_without_to_name_mode() -> None:
    with pytest.raises(ModeIdLostError):
        remaining("id true {a: 1 b}")

    expected = "BEGIN-ID REMOVE DROP TRACK END"
    assert remaining("id true {a: 1 b}", to_name_mode=True) == expected


@pytest.mark.parametrize(
    ("table", "reasons"),
    [
        ("name true {a b: 1 b}", "INVALID_COLUMN_NAME (`a b`, blank)"),
        ("name true {__is_cdc: 1 b}", "RESERVED_COLUMN_NAME (__is_cdc, __is_cdc)"),
        (
            'untracked name {a: 1 b} {delta.enableIcebergCompatV2: "true"}',
            "OTHER_FEATURE (icebergCompatV2, delta.enableIcebergCompatV2)",
        ),
    ],
)
def test_blocked_table_is_refused_before_any_statement(table: str, reasons: str) -> None:
    with pytest.raises(CannotAlignNamesError) as refused:
        run_through(table)

    params = refused.value.params
    assert (params["table"], params["reasons"]) == ("t", reasons)
    assert ("RENAME COLUMN" in params["advice"]) == ("NAME" in reasons)


class Target:
    """A table with these rows, one after the other."""

    def __init__(self, *rows: SurveyedTable) -> None:
        self._rows = iter(rows)
        self._version = 0
        self.ran: list[str] = []

    def read(self) -> SurveyedTable:
        row = next(self._rows)
        self._version = max(self._version + 1, row.version or 0)  # each statement commits
        return replace(row, version=self._version)

    def run(self, statement: str) -> bool:
        self.ran.append(statement)
        return False

    def counts_since(self, version: int) -> dict[str, FileCount]:
        assert (names_of(self.ran[-1:]), version) == ("REMOVE", self._version - 1)
        return {"copied": FileCount(3, 40), "rewritten": FileCount(1, 2)}


def run_through(*tables: str, version: int = 7) -> tuple[NameAlignment, str]:
    """Returns the result and the statements of a run; the fourth row has a version."""
    rows = [replace(at(text), version=version if n == 3 else 7) for n, text in enumerate(tables)]
    target: Any = Target(*rows)
    begun = Begun(target.read())
    result = alignment_of(reach(Alignment(), target, begun), begun)
    assert [each.statement for each in result.done] == target.ran
    return result, names_of(target.ran)


UNTRACKED = ("untracked name {a: 1 b}", "aligning untracked name {a: 1 b}")
MAPPED = "aligning name true {a: 1 b}"
REMOVED = "aligning none true {a}"
DROPPED = "aligning untracked none {a}"
MAPPED_AGAIN = "aligning name true {a: 1 a}"
ALIGNED = ("aligning name false {a: 1 a}", "name false {a: 1 a}")


def test_result_has_the_files_of_the_removal() -> None:
    result, ran = run_through("name true {a: 1 b}", MAPPED, REMOVED, DROPPED, *ALIGNED)

    assert ran == "BEGIN REMOVE DROP TRACK END"
    assert result == NameAlignment("t", True, "name", "COPY", 4, 42, result.done, ())
    counts = (FileCount(3, 40), FileCount(1, 2), None)
    assert (result.copied, result.rewritten, result.kept) == counts


def test_result_has_no_files_when_the_run_continues_after_the_removal() -> None:
    result, ran = run_through("aligning none false {a}", *ALIGNED)

    assert ran == "MAP END"
    assert result == NameAlignment("t", True, "name", "NOTHING", 0, 0, result.done, ())


@pytest.mark.parametrize("version", [7, 70])  # others may commit rows in between
@pytest.mark.parametrize(
    ("tables", "expected"),
    [
        # The first commit that tracks the table has the flag true.
        (
            (*UNTRACKED, DROPPED, MAPPED_AGAIN, REMOVED, DROPPED, *ALIGNED),
            "BEGIN REMOVE TRACK REMOVE DROP TRACK END",
        ),
        ((DROPPED, MAPPED_AGAIN, REMOVED, DROPPED, *ALIGNED), "TRACK REMOVE DROP TRACK END"),
        # Another call has ended, and has unset the property.
        (
            ("name true {a: 1 b}", MAPPED, "none false {a}", "aligning none false {a}", *ALIGNED),
            "BEGIN REMOVE BEGIN MAP END",
        ),
    ],
)
def test_run_continues_with_what_remains(
    tables: tuple[str, ...], expected: str, version: int
) -> None:
    result, ran = run_through(*tables, version=version)

    assert (ran, result.aligned) == (expected, True)


@pytest.mark.parametrize(
    ("tables", "statement"),
    [
        ((MAPPED, MAPPED), "REMOVE"),
        ((*UNTRACKED, DROPPED, MAPPED_AGAIN, REMOVED, DROPPED, MAPPED_AGAIN), "REMOVE"),
        # The property is unset after DROP FEATURE.
        (("name true {a: 1 b}", MAPPED, REMOVED, "untracked none {a}"), "BEGIN"),
    ],
)
def test_step_that_another_writer_undoes_is_a_conflict(
    tables: tuple[str, ...], statement: str
) -> None:
    with pytest.raises(AlignmentConflictError) as refused:
        run_through(*tables)

    assert refused.value.params == {"table": "t", "statement": STATEMENTS[statement]}


def test_plan_has_cost_and_statements() -> None:
    misled = at("name true {a: 1 b}")

    alignment = alignment_of(Alignment().plan(misled), Begun(misled))

    names = names_of(alignment.statements)
    assert names == "BEGIN REMOVE DROP TRACK END"
    assert alignment == NameAlignment("t", False, "name", "COPY", 4, 5000, (), alignment.statements)
