# SPDX-License-Identifier: Apache-2.0
"""Tests that a removal runs stage by stage, and raises if a stage is blocked."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import pytest
from pyspark.sql import Row

from spark_ext import FileCount, StatementResult, SurveyedTable
from spark_ext.errors import CannotRemoveColumnMappingError
from spark_ext.model.metadata import Protocol, TableFacts
from spark_ext.removal.row import surveyed
from spark_ext.tables.goals import Begun, Plan, Removal, reach
from spark_ext.tables.sql import Statements
from tests.unit.tables import table

REMOVE = "ALTER TABLE t SET TBLPROPERTIES ('delta.columnMapping.mode' = 'none')"
DROP_MAPPING = "ALTER TABLE t DROP FEATURE columnMapping"
DROP_TRACKING = "ALTER TABLE t DROP FEATURE columnMappingUsageTracking"
TRUNCATE = "ALTER TABLE t DROP FEATURE checkpointProtection TRUNCATE HISTORY"
OURS = ("columnMapping", "columnMappingUsageTracking")
VECTORS = (3, ("columnMapping", "deletionVectors"))


def at(
    *features: str,
    mode: str = "none",
    reader: tuple[int, tuple[str, ...] | None] = (2, None),
    columns: dict[str, Any] | None = None,
    properties: dict[str, str] | None = None,
) -> SurveyedTable:
    """Returns a table of four files with these writer features."""
    names = columns or {"a": "1 a" if mode != "none" else ""}
    version, reader_features = reader
    of_reader = None if reader_features is None else frozenset(reader_features)
    facts = TableFacts(
        table(names, mode, "false", properties),
        Protocol(version, 7, of_reader, frozenset({*features, *(reader_features or ())})),
        "t",
        FileCount(4, 5000),
        copies="columnMappingUsageTracking" in features,
    )
    return surveyed(facts)


MAPPED = at(*OURS, mode="name")
UNMAPPED = at(*OURS)
READABLE = at("columnMappingUsageTracking", "checkpointProtection", reader=(1, None))
PROTECTED = at("checkpointProtection", reader=(1, None))
PLAIN = at(reader=(1, None))


class Target:
    """A table with these rows, one after the other, in versions from 7 on."""

    def __init__(self, *rows: SurveyedTable, waits: bool = False) -> None:
        self._rows = iter(rows)
        self._waits = waits
        self.ran: list[str] = []

    def read(self) -> SurveyedTable:
        return replace(next(self._rows), version=7 + len(self.ran))

    def run(self, statement: str) -> bool:
        self.ran.append(statement)
        return self._waits and "TRUNCATE" in statement

    def counts_since(self, version: int) -> dict[str, FileCount]:
        raise AssertionError(version)


def run_through(
    *rows: SurveyedTable, until: str = "unmapped", waits: bool = False
) -> tuple[Plan, Begun]:
    target: Any = Target(*rows, waits=waits)
    begun = Begun(target.read())
    plan = reach(Removal(until), target, begun)
    assert begun.statements == target.ran
    return plan, begun


def refused(*rows: SurveyedTable, until: str) -> dict[str, str]:
    with pytest.raises(CannotRemoveColumnMappingError) as error:
        run_through(*rows, until=until)
    assert error.value.condition == "USAGE_TRACKING_CANNOT_REMOVE_COLUMN_MAPPING"
    return error.value.params


# Refusals.


@pytest.mark.parametrize("until", ["unmapped", "readers", "writers"])
@pytest.mark.parametrize(
    ("state", "reasons", "advice"),
    [
        (
            at(*OURS, mode="name", columns={"a b": "1 x"}),
            "unmapped: INVALID_COLUMN_NAME (`a b`, blank)",
            "Rename the columns, and call again.",
        ),
        (
            at(*OURS, mode="name", properties={"delta.enableIcebergCompatV2": "true"}),
            "unmapped: OTHER_FEATURE (icebergCompatV2, delta.enableIcebergCompatV2)",
            "Set delta.enableIcebergCompatV2 to false, and call again.",
        ),
        (at(*OURS, columns={"a": "1 x"}), "unmapped: MAPPING_METADATA_LEFT", "VERSION AS OF"),
    ],
)
def test_blocked_stage_is_refused_with_its_reasons(
    state: SurveyedTable, reasons: str, advice: str, until: str
) -> None:
    params = refused(state, until=until)

    assert advice in params.pop("advice")
    assert params == {"table": "t", "stage": until, "reasons": reasons, "done": "none"}


@pytest.mark.parametrize(
    "state", [at(*OURS, mode="name", reader=VECTORS), at(*OURS, reader=VECTORS)]
)
def test_blocked_later_stage_is_refused_before_the_first_statement(state: SurveyedTable) -> None:
    params = refused(state, until="writers")

    assert params["reasons"] == (
        "readers: OTHER_FEATURE (deletionVectors); writers: OTHER_FEATURE (deletionVectors)"
    )
    assert params["done"] == "none"


def test_blocked_stage_after_the_wanted_stage_is_ignored() -> None:
    plan, begun = run_through(
        at(*OURS, mode="name", reader=VECTORS), at(*OURS, reader=VECTORS), until="unmapped"
    )

    assert begun.statements == [REMOVE]
    assert (plan.statements, plan.row.readers) == ((), "BLOCKED")


def test_stage_is_refused_with_the_statements_that_ran_when_another_writer_blocks_it() -> None:
    params = refused(MAPPED, at(*OURS, reader=VECTORS), until="readers")

    assert params["reasons"] == "readers: OTHER_FEATURE (deletionVectors)"
    assert params["done"] == REMOVE

    params = refused(MAPPED, at(*OURS, mode="name", columns={"a b": "1 x"}), until="unmapped")

    assert params["reasons"] == "unmapped: INVALID_COLUMN_NAME (`a b`, blank)"
    assert params["done"] == REMOVE


def test_stage_is_refused_when_another_writer_undoes_it() -> None:
    params = refused(MAPPED, MAPPED, until="unmapped")

    assert (params["reasons"], params["done"]) == ("unmapped: CONFLICT", REMOVE)


# Stages.


def test_stages_are_reached_in_order() -> None:
    plan, begun = run_through(MAPPED, UNMAPPED, READABLE, PROTECTED, PLAIN, until="writers")

    ran = [(each.statement, each.version_before, each.version_after) for each in begun.done]
    assert ran == [
        (REMOVE, 7, 8),
        (DROP_MAPPING, 8, 9),
        (DROP_TRACKING, 9, 10),
        (TRUNCATE, 10, 11),
    ]
    assert [each.kept is not None for each in begun.done] == [True, False, False, False]
    assert plan.statements == ()


def test_waiting_stage_is_returned() -> None:
    plan, begun = run_through(READABLE, PROTECTED, PROTECTED, until="writers", waits=True)

    assert (plan.statements, plan.only_waits) == ((TRUNCATE,), True)
    assert [each.waits for each in begun.done] == [False, True]


def test_waiting_stage_is_no_conflict_when_another_writer_tracks_the_table_again() -> None:
    plan, begun = run_through(PROTECTED, READABLE, PROTECTED, until="writers", waits=True)

    assert begun.statements == [TRUNCATE, DROP_TRACKING]
    assert plan.statements == (TRUNCATE,)


def test_unmapped_and_untracked_table_needs_no_statement() -> None:
    plan, begun = run_through(PLAIN, until="writers")

    assert (plan.statements, begun.done) == ((), [])


# Results of statements.


class Session:
    """Answers `column_mapping_commits` with these rows, newest first."""

    def __init__(self, *history: Row) -> None:
        self._history = history
        self.statements: list[str] = []

    def sql(self, text: str) -> Session:
        self.statements.append(text)
        return self

    def collect(self) -> list[Row]:
        version = int(self.statements[-1].split(", ")[1].removesuffix("L)"))
        return [row for row in self._history if row["version"] > version]


def row(version: int, operation: str, metrics: dict[str, str] | None = None) -> Row:
    return Row(version=version, operation=operation, operationMetrics=metrics)


class TestStatement:
    COUNTED: ClassVar[dict[str, str]] = {
        "numKeptFiles": "1",
        "numKeptBytes": "10",
        "numCopiedFiles": "2",
        "numCopiedBytes": "20",
        "numRewrittenFiles": "3",
        "numRewrittenBytes": "30",
    }
    COPY = at(*OURS, mode="name", columns={"a": "1 x"})
    REMOVED = row(8, "REMOVE COLUMN MAPPING", COUNTED)

    def run(self, session: Session, after: int, before: SurveyedTable) -> StatementResult:
        """Returns the result of a removal from version 7, after which the table has a version."""

        class Unmapped(Statements):
            def read(self) -> SurveyedTable:
                return replace(UNMAPPED, version=after)

        begun = Begun(replace(before, version=7))
        reach(Removal(), Unmapped(session, "t", None), begun)  # type: ignore[arg-type]
        (result,) = begun.done
        return result

    def test_files_are_counted_from_the_commit(self) -> None:
        result = self.run(Session(self.REMOVED), 8, self.COPY)

        assert (result.version_before, result.version_after) == (7, 8)
        assert (result.kept, result.copied) == (FileCount(1, 10), FileCount(2, 20))
        assert result.rewritten == FileCount(3, 30)

    def test_commit_is_found_among_commits_of_other_writers(self) -> None:
        others = [row(version, "WRITE") for version in range(60, 8, -1)]
        session = Session(*others, self.REMOVED, row(7, "REMOVE COLUMN MAPPING"))

        assert self.run(session, 60, self.COPY).kept == FileCount(1, 10)
        assert len(session.statements) == 2

    def test_earlier_removal_is_not_counted(self) -> None:
        session = Session(row(8, "WRITE"), row(7, "REMOVE COLUMN MAPPING", self.COUNTED))

        result = self.run(session, 8, self.COPY)

        assert (result.kept, result.copied, result.rewritten) == (None, None, None)

    def test_commit_without_counts_reports_none(self) -> None:
        for metrics in (None, {"numOutputBytes": "9", "numRewrittenFiles": "1"}):
            session = Session(row(8, "REMOVE COLUMN MAPPING", metrics))

            assert self.run(session, 8, self.COPY).rewritten is None

    def test_metadata_only_removal_reads_no_history_without_other_commits(self) -> None:
        session = Session()

        result = self.run(session, 8, MAPPED)

        assert session.statements == [REMOVE]
        assert (result.kept, result.copied, result.rewritten) == (FileCount(),) * 3

    def test_metadata_only_removal_is_counted_from_the_commit_beside_other_commits(self) -> None:
        session = Session(row(9, "WRITE"), self.REMOVED)

        assert self.run(session, 9, MAPPED).copied == FileCount(2, 20)
