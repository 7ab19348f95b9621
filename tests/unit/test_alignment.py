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
from spark_ext.removal.row import SurveyedTable, surveyed
from spark_ext.tables.goals import Alignment, Begun, Plan, reach
from spark_ext.tables.table import alignment_of
from tests.unit.tables import protocol, table

BEGIN = "ALTER TABLE t SET TBLPROPERTIES ('sparkext.columnMapping.aligning' = 'name')"
REMOVE_MAPPING = "ALTER TABLE t SET TBLPROPERTIES ('delta.columnMapping.mode' = 'none')"
DROP = "ALTER TABLE t DROP FEATURE columnMappingUsageTracking"
TRACK = (
    "ALTER TABLE t SET TBLPROPERTIES ('delta.feature.columnmappingusagetracking' = 'supported',"
    " 'delta.columnMapping.mode' = 'name')"
)
MAP = "ALTER TABLE t SET TBLPROPERTIES ('delta.columnMapping.mode' = 'name')"
END = "ALTER TABLE t UNSET TBLPROPERTIES IF EXISTS ('sparkext.columnMapping.aligning')"
OTHERS = ("columnMapping",)


def at(
    mode: str,
    flag: bool | None,
    *,
    column: str = "1 b",
    aligning: str | None = None,
    properties: dict[str, str] | None = None,
    name: str = "a",
) -> SurveyedTable:
    text = None if flag is None else str(flag).lower()
    marked = {} if aligning is None else {"sparkext.columnMapping.aligning": aligning}
    changed = marked | (properties or {})
    metadata = table({name: column if mode != "none" else ""}, mode, text, changed)
    features = protocol(OTHERS) if flag is None else protocol()
    facts = TableFacts(metadata, features, "t", FileCount(4, 5000), copies=flag is not None)
    return replace(surveyed(facts), version=7)


MISLED = at("name", True)
ALIGNED = at("name", False, column="1 a")


def remaining(where: SurveyedTable, *, to_name_mode: bool = False) -> tuple[str, ...]:
    return accepted(Alignment(to_name_mode).plan(where)).statements


def accepted(plan: Plan) -> Plan:
    if plan.refusal is not None:
        raise plan.refusal
    return plan


def test_tracked_table_is_tracked_again_when_the_flag_is_true() -> None:
    assert remaining(MISLED) == (BEGIN, REMOVE_MAPPING, DROP, TRACK, END)


def test_untracked_table_is_tracked() -> None:
    assert remaining(at("name", None)) == (BEGIN, REMOVE_MAPPING, TRACK, END)


def test_false_flag_is_kept() -> None:
    assert remaining(at("name", False)) == (BEGIN, REMOVE_MAPPING, MAP, END)


def test_table_with_equal_names_is_not_aligned_when_the_flag_is_true() -> None:
    assert remaining(at("name", True, column="1 a")) == (BEGIN, REMOVE_MAPPING, DROP, TRACK, END)


def test_aligned_table_needs_no_statement() -> None:
    assert ALIGNED.is_aligned
    assert not MISLED.is_aligned
    assert not at("none", False).is_aligned
    assert not at("name", None, column="1 a").is_aligned
    assert remaining(ALIGNED) == ()
    assert remaining(at("id", False, column="1 a")) == ()


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        (at("name", True, aligning="name"), (REMOVE_MAPPING, DROP, TRACK, END)),
        (at("none", True, aligning="name"), (DROP, TRACK, END)),
        (at("none", None, aligning="name"), (TRACK, END)),
        (at("none", False, aligning="name"), (MAP, END)),
        (replace(ALIGNED, aligning="name"), (END,)),
        (at("none", True, aligning="id"), (DROP, TRACK, END)),
    ],
)
def test_statements_continue_from_the_state_of_the_table(
    where: SurveyedTable, expected: tuple[str, ...]
) -> None:
    assert remaining(where) == expected


@pytest.mark.parametrize("flag", [None, False, True])
def test_unmapped_table_is_refused(flag: bool | None) -> None:
    with pytest.raises(NotMappedError) as refused:
        remaining(at("none", flag))

    assert refused.value.params == {"table": "t"}


def test_mode_id_is_refused_without_to_name_mode() -> None:
    by_id = at("id", True)

    with pytest.raises(ModeIdLostError):
        remaining(by_id)

    began = BEGIN.replace("'name'", "'id'")
    assert remaining(by_id, to_name_mode=True) == (began, REMOVE_MAPPING, DROP, TRACK, END)


@pytest.mark.parametrize(
    ("where", "reasons"),
    [
        (at("name", True, name="a b"), "INVALID_COLUMN_NAME (`a b`, blank)"),
        (at("name", True, name="__is_cdc"), "RESERVED_COLUMN_NAME (__is_cdc, __is_cdc)"),
        (
            at("name", None, properties={"delta.enableIcebergCompatV2": "true"}),
            "OTHER_FEATURE (icebergCompatV2, delta.enableIcebergCompatV2)",
        ),
    ],
)
def test_blocked_table_is_refused_with_the_reasons(where: SurveyedTable, reasons: str) -> None:
    with pytest.raises(CannotAlignNamesError) as refused:
        remaining(where)

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
        assert (self.ran[-1], version) == (REMOVE_MAPPING, self._version - 1)
        return {"copied": FileCount(3, 40), "rewritten": FileCount(1, 2)}


def run_through(*rows: SurveyedTable) -> tuple[NameAlignment, list[str]]:
    target: Any = Target(*rows)
    begun = Begun(target.read())
    result = alignment_of(reach(Alignment(), target, begun), begun)
    assert [each.statement for each in result.done] == target.ran
    return result, target.ran


def test_align_reads_the_table_after_each_statement() -> None:
    result, ran = run_through(
        MISLED,
        at("name", True, aligning="name"),
        at("none", True, aligning="name"),
        at("none", None, aligning="name"),
        replace(ALIGNED, aligning="name"),
        ALIGNED,
    )

    assert ran == [BEGIN, REMOVE_MAPPING, DROP, TRACK, END]
    assert result == NameAlignment("t", True, "name", "COPY", 4, 42, result.done, ())
    assert (result.copied, result.rewritten, result.kept) == (
        FileCount(3, 40),
        FileCount(1, 2),
        None,
    )


def test_align_reports_no_files_when_it_continues_after_the_removal() -> None:
    result, ran = run_through(
        at("none", False, aligning="name"), replace(ALIGNED, aligning="name"), ALIGNED
    )

    assert result == NameAlignment("t", True, "name", "NOTHING", 0, 0, result.done, ())
    assert ran == [MAP, END]


def test_align_raises_when_another_writer_undoes_a_step() -> None:
    again = at("name", True, aligning="name")

    with pytest.raises(AlignmentConflictError) as refused:
        run_through(again, again)

    assert refused.value.params == {"table": "t", "statement": REMOVE_MAPPING}


def test_align_tracks_a_second_time_when_the_first_commit_has_the_flag_true() -> None:
    first = (at("name", None), at("name", None, aligning="name"), at("none", None, aligning="name"))
    flagged = at("name", True, column="1 a", aligning="name")
    again = (flagged, at("none", True, aligning="name"), at("none", None, aligning="name"))

    # Other writers may commit rows between the commit and the next reading.
    flagged_later = replace(flagged, version=70)
    for tracked in (flagged, flagged_later):
        result, ran = run_through(
            *first, tracked, *again[1:], replace(ALIGNED, aligning="name"), ALIGNED
        )

        assert ran == [BEGIN, REMOVE_MAPPING, TRACK, REMOVE_MAPPING, DROP, TRACK, END]
        assert result.aligned
    with pytest.raises(AlignmentConflictError):
        run_through(*first, *again, flagged)


def test_interrupted_alignment_tracks_a_second_time() -> None:
    """The call that was interrupted has removed column mapping and dropped the feature."""
    result, ran = run_through(
        at("none", None, aligning="name"),
        at("name", True, column="1 a", aligning="name"),
        at("none", True, aligning="name"),
        at("none", None, aligning="name"),
        replace(ALIGNED, aligning="name"),
        ALIGNED,
    )

    assert ran == [TRACK, REMOVE_MAPPING, DROP, TRACK, END]
    assert result.aligned


def test_align_continues_when_another_call_has_ended() -> None:
    """The other call has unset the property that marks the table."""
    result, ran = run_through(
        MISLED,
        at("name", True, aligning="name"),
        at("none", False),
        at("none", False, aligning="name"),
        replace(ALIGNED, aligning="name"),
        ALIGNED,
    )

    assert ran == [BEGIN, REMOVE_MAPPING, BEGIN, MAP, END]
    assert result.aligned


def test_align_raises_when_the_aligning_property_is_unset_after_drop_feature() -> None:
    with pytest.raises(AlignmentConflictError) as refused:
        run_through(
            MISLED,
            at("name", True, aligning="name"),
            at("none", True, aligning="name"),
            at("none", None),
        )

    assert refused.value.params == {"table": "t", "statement": BEGIN}


def test_align_refuses_illegal_names_before_any_statement() -> None:
    target: Any = Target()

    with pytest.raises(CannotAlignNamesError):
        reach(Alignment(), target, Begun(at("name", True, name="a b")))

    assert target.ran == []


def test_plan_has_cost_and_statements() -> None:
    alignment = alignment_of(Alignment().plan(MISLED), Begun(MISLED))

    assert alignment == NameAlignment(
        "t", False, "name", "COPY", 4, 5000, (), (BEGIN, REMOVE_MAPPING, DROP, TRACK, END)
    )
