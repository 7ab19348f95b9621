# SPDX-License-Identifier: Apache-2.0
"""Tests that a removal runs stage by stage, and raises if a stage is blocked."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from pyspark.sql import Row

from spark_ext import FileCount, StatementResult, SurveyedTable
from spark_ext.errors import CannotRemoveColumnMappingError
from spark_ext.model.metadata import Protocol, TableFacts
from spark_ext.removal.stages import surveyed
from spark_ext.tables.goals import Begun, Plan, Removal, reach
from spark_ext.tables.sql import Statements
from tests.unit.case_files import table_of

REMOVE = "ALTER TABLE t SET TBLPROPERTIES ('delta.columnMapping.mode' = 'none')"
DROP_MAPPING = "ALTER TABLE t DROP FEATURE columnMapping"
DROP_TRACKING = "ALTER TABLE t DROP FEATURE columnMappingUsageTracking"
TRUNCATE = "ALTER TABLE t DROP FEATURE checkpointProtection TRUNCATE HISTORY"
TRACKING = "columnMappingUsageTracking"
VECTORS = ("columnMapping", "deletionVectors")


def at(
    text: str, *features: str, reader: tuple[int, tuple[str, ...] | None] = (2, None)
) -> SurveyedTable:
    """Returns a table of four files; without features, it has ours."""
    version, of_reader = reader
    writers = {*(features or ("columnMapping", TRACKING)), *(of_reader or ())}
    facts = TableFacts(
        table_of(text),
        Protocol(
            version, 7, None if of_reader is None else frozenset(of_reader), frozenset(writers)
        ),
        "t",
        FileCount(4, 5000),
        copies=TRACKING in writers,
    )
    return surveyed(facts)


MAPPED = at("name false {a: 1 a}")
UNMAPPED = at("none false {a}")
READABLE = at("none false {a}", TRACKING, "checkpointProtection", reader=(1, None))
PROTECTED = at("none false {a}", "checkpointProtection", reader=(1, None))
PLAIN = at("none false {a}", "appendOnly", reader=(1, None))
WITH_VECTORS = at("none false {a}", reader=(3, VECTORS))


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


# Refusals.


@pytest.mark.parametrize(
    ("state", "reasons", "advice"),
    [
        (
            at("name false {a b: 1 x}"),
            "unmapped: INVALID_COLUMN_NAME (`a b`, blank)",
            "Rename the columns, and call again.",
        ),
        (
            at('name false {a: 1 a} {delta.enableIcebergCompatV2: "true"}'),
            "unmapped: OTHER_FEATURE (icebergCompatV2, delta.enableIcebergCompatV2)",
            "Set delta.enableIcebergCompatV2 to false, and call again.",
        ),
        (at("none false {a: 1 x}"), "unmapped: MAPPING_METADATA_LEFT", "VERSION AS OF"),
    ],
)
def test_blocked_stage_is_refused_with_its_reasons_and_advice(
    state: SurveyedTable, reasons: str, advice: str
) -> None:
    for until in ("unmapped", "readers", "writers"):
        with pytest.raises(CannotRemoveColumnMappingError) as error:
            run_through(state, until=until)
        params = error.value.params
        assert advice in params.pop("advice")
        assert params == {"table": "t", "stage": until, "reasons": reasons, "done": "none"}


BY_VECTORS = "readers: OTHER_FEATURE (deletionVectors)"
BY_NAME = "unmapped: INVALID_COLUMN_NAME (`a b`, blank)"


@pytest.mark.parametrize(
    ("rows", "until", "reasons", "done"),
    [
        # A later stage is blocked, and no statement runs.
        (
            [at("name false {a: 1 a}", reader=(3, VECTORS))],
            *("writers", f"{BY_VECTORS}; writers: OTHER_FEATURE (deletionVectors)", "none"),
        ),
        # Another writer blocks or undoes a stage meanwhile.
        ([MAPPED, WITH_VECTORS], "readers", BY_VECTORS, REMOVE),
        ([MAPPED, at("name false {a b: 1 x}")], "unmapped", BY_NAME, REMOVE),
        ([MAPPED, MAPPED], "unmapped", "unmapped: CONFLICT", REMOVE),
    ],
)
def test_refusal_has_the_reasons_and_the_statements_that_ran(
    rows: list[SurveyedTable], until: str, reasons: str, done: str
) -> None:
    with pytest.raises(CannotRemoveColumnMappingError) as error:
        run_through(*rows, until=until)

    assert (error.value.params["reasons"], error.value.params["done"]) == (reasons, done)


# Stages.


@pytest.mark.parametrize(
    ("rows", "until", "ran", "left"),
    [
        ([PLAIN], "writers", [], []),
        # A blocked stage after the wanted one is ignored.
        ([at("name false {a: 1 a}", reader=(3, VECTORS)), WITH_VECTORS], "unmapped", [REMOVE], []),
        ([READABLE, PROTECTED, PROTECTED], "writers", [DROP_TRACKING, TRUNCATE], [TRUNCATE]),
        # Another writer tracks the table again while it waits.
        ([PROTECTED, READABLE, PROTECTED], "writers", [TRUNCATE, DROP_TRACKING], [TRUNCATE]),
    ],
)
def test_statements_run_until_the_stage_is_reached_or_waits(
    rows: list[SurveyedTable], until: str, ran: list[str], left: list[str]
) -> None:
    plan, begun = run_through(*rows, until=until, waits=True)

    assert (begun.statements, list(plan.statements), plan.only_waits) == (ran, left, bool(left))
    assert [each.waits for each in begun.done] == ["TRUNCATE" in statement for statement in ran]


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


REMOVAL = "REMOVE COLUMN MAPPING"
COUNTS = {"Kept": FileCount(1, 10), "Copied": FileCount(2, 20), "Rewritten": FileCount(3, 30)}
COUNTED = {f"num{name}Files": str(count.num_files) for name, count in COUNTS.items()} | {
    f"num{name}Bytes": str(count.size_in_bytes) for name, count in COUNTS.items()
}


def row(version: int, operation: str = "WRITE", metrics: dict[str, str] | None = None) -> Row:
    return Row(version=version, operation=operation, operationMetrics=metrics)


REMOVED = row(8, REMOVAL, COUNTED)
COPIED = at("name false {a: 1 x}")


@pytest.mark.parametrize(
    ("before", "history", "counts"),
    [
        (COPIED, [REMOVED], list(COUNTS.values())),
        (COPIED, [*map(row, range(60, 8, -1)), REMOVED, row(7, REMOVAL)], list(COUNTS.values())),
        # An earlier removal is not counted.
        (COPIED, [row(8), row(7, REMOVAL, COUNTED)], [None] * 3),
        (COPIED, [row(8, REMOVAL)], [None] * 3),
        (COPIED, [row(8, REMOVAL, {"numOutputBytes": "9", "numRewrittenFiles": "1"})], [None] * 3),
        # A change of metadata alone reads no history without other commits.
        (MAPPED, [], [FileCount()] * 3),
        (MAPPED, [row(9), REMOVED], list(COUNTS.values())),
    ],
)
def test_files_are_counted_from_the_commit_of_the_removal(
    before: SurveyedTable, history: list[Row], counts: list[FileCount | None]
) -> None:
    newest = max([8, *(each["version"] for each in history)])
    session: Any = Session(*history)

    class Unmapped(Statements):
        def read(self) -> SurveyedTable:
            return replace(UNMAPPED, version=newest)

    begun = Begun(replace(before, version=7))
    reach(Removal(), Unmapped(session, "t", None), begun)

    result: StatementResult
    (result,) = begun.done
    assert (result.version_before, result.version_after) == (7, newest)
    assert [result.kept, result.copied, result.rewritten] == counts
    assert len(session.statements) == (2 if history else 1)
