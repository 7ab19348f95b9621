# SPDX-License-Identifier: Apache-2.0
"""Tests that a removal runs stage by stage, and raises if a stage is blocked."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import pytest
from pyspark.sql import Row

from spark_ext import FileCount, RemovalStage, StatementResult
from spark_ext.api.removal import RemovalState, remove
from spark_ext.api.removal_stages import RemovalStages
from spark_ext.api.statements import StatementRunner
from spark_ext.errors import CannotRemoveColumnMappingError
from spark_ext.model.metadata import Protocol, TableFacts
from spark_ext.removal.stages import stages
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
) -> RemovalState:
    """Returns a table of four files with these writer features, in version 7."""
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
    return RemovalState("t", 7, RemovalStages(stages(facts)))


MAPPED = at(*OURS, mode="name")
UNMAPPED = at(*OURS)
READABLE = at("columnMappingUsageTracking", "checkpointProtection", reader=(1, None))
PROTECTED = at("checkpointProtection", reader=(1, None))
PLAIN = at(reader=(1, None))


def run_through(
    *states: RemovalState, until: str = "unmapped", waits: bool = False
) -> tuple[RemovalStages, list[tuple[str, int, RemovalStage | None]]]:
    ran: list[tuple[str, int, RemovalStage | None]] = []
    looks: Iterator[RemovalState] = iter(states)

    def run(statement: str, version: int, removal: RemovalStage | None) -> StatementResult:
        ran.append((statement, version, removal))
        return StatementResult(statement, version, version + 1, 0.5, waits and "TRUNC" in statement)

    return remove(lambda: next(looks), run, until=until), ran


def refused(*states: RemovalState, until: str) -> dict[str, str]:
    with pytest.raises(CannotRemoveColumnMappingError) as error:
        run_through(*states, until=until)
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
    state: RemovalState, reasons: str, advice: str, until: str
) -> None:
    params = refused(state, until=until)

    assert advice in params.pop("advice")
    assert params == {"table": "t", "stage": until, "reasons": reasons, "done": "none"}


@pytest.mark.parametrize(
    "state", [at(*OURS, mode="name", reader=VECTORS), at(*OURS, reader=VECTORS)]
)
def test_blocked_later_stage_is_refused_before_the_first_statement(state: RemovalState) -> None:
    params = refused(state, until="writers")

    assert params["reasons"] == (
        "readers: OTHER_FEATURE (deletionVectors); writers: OTHER_FEATURE (deletionVectors)"
    )
    assert params["done"] == "none"


def test_blocked_stage_after_the_wanted_stage_is_ignored() -> None:
    stages, ran = run_through(
        at(*OURS, mode="name", reader=VECTORS), at(*OURS, reader=VECTORS), until="unmapped"
    )

    assert [statement for statement, _, _ in ran] == [REMOVE]
    assert [stage.cost for stage in stages] == ["NOTHING", "BLOCKED", "BLOCKED"]


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
    stages, ran = run_through(MAPPED, UNMAPPED, READABLE, PLAIN, until="writers")

    assert [(statement, version) for statement, version, _ in ran] == [
        (REMOVE, 7),
        (DROP_MAPPING, 8),
        (DROP_TRACKING, 9),
        (TRUNCATE, 10),
    ]
    assert [removal and removal.stage for _, _, removal in ran] == ["unmapped", None, None, None]
    assert all(stage.reached for stage in stages)
    assert [result.statement for result in stages.done] == [statement for statement, _, _ in ran]


def test_waiting_stage_is_returned() -> None:
    stages, _ = run_through(READABLE, PROTECTED, until="writers", waits=True)

    assert [stage.reached for stage in stages] == [True, True, False]
    assert "RETENTION_PERIOD" in [why.reason for why in stages[2].reasons]
    assert [result.waits for result in stages.done] == [False, True]


def test_unmapped_and_untracked_table_needs_no_statement() -> None:
    stages, ran = run_through(PLAIN, until="writers")

    assert (ran, stages.done) == ([], ())
    assert all(stage.reached for stage in stages)


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
    COPY = at(*OURS, mode="name", columns={"a": "1 x"}).stages[0]
    REMOVED = row(8, "REMOVE COLUMN MAPPING", COUNTED)

    def run(
        self, session: Any, after: int, removal: RemovalStage | None, **options: Any
    ) -> StatementResult:
        runner = StatementRunner(
            session, lambda: Row(version=after, name="t"), progress=None, **options
        )
        return runner.run("S", 7, removal)

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

        result = self.run(session, 8, MAPPED.stages[0])

        assert session.statements == ["S"]
        assert (result.kept, result.copied, result.rewritten) == (FileCount(),) * 3

    def test_metadata_only_removal_is_counted_from_the_commit_beside_other_commits(self) -> None:
        session = Session(row(9, "WRITE"), self.REMOVED)

        assert self.run(session, 9, MAPPED.stages[0]).copied == FileCount(2, 20)

    def test_statement_without_removal_has_no_files(self) -> None:
        session = Session()

        assert self.run(session, 8, None).kept is None
        assert session.statements == ["S"]
