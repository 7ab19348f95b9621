# SPDX-License-Identifier: Apache-2.0
"""The result of a survey, for programs and for people."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from spark_ext.removal.reasons import EARLIER_STAGE, reason_in_words, what_to_do
from spark_ext.removal.stages import BLOCKED, COPY, METADATA, REWRITE, STAGES, UNMAPPED
from spark_ext.removal.survey import SurveyedTable
from spark_ext.removal.survey_sums import ObstacleSum, SurveySums
from spark_ext.show.states import size
from spark_ext.show.tables import (
    Cases,
    Facts,
    Lines,
    ManyTables,
    Part,
    Table,
    error_in_words,
)

_TABLES = (
    "table",
    "mode",
    "tracked",
    "hasDroppedOrRenamed",
    "numColumns",
    "numOtherNames",
    "numFiles",
    "sizeInBytes",
    "unmapped",
    "readers",
    "writers",
)
_NARROW = (*STAGES, "numFiles", "sizeInBytes", "table")
_OBSTACLES = ("stage", "blocked by", "tables")
_CASES = ("state", "table", "because", "what to do")
_NEXT = (
    "spark-ext remove <the same places> --dry-run",
    "spark_ext.remove_column_mapping(spark, <the same places>, dry_run=True)",
)


@dataclass(frozen=True, repr=False)
class Survey(ManyTables):
    """The cost of removing column mapping from many tables.

    Args:
        tables: The tables in the order in which the catalog lists them.
        sums: The sums of all tables.
    """

    tables: tuple[SurveyedTable, ...]
    sums: SurveySums

    def _parts(self, shown: int | None = 100, *, has_rows: bool = True) -> Iterator[Part]:
        sums = self.sums
        yield Facts(
            {
                "tables": f"{sums.num_tables:,}",
                **{stage: self._groups(stage) for stage in STAGES},
                "cannot be read": _errors(sums),
                "files": f"{sums.num_files:,}, {size(sums.size_in_bytes)}",
                "views left out": sums.num_views,
                "other tables left out": sums.num_others,
            },
            fits=True,
        )
        blocked_by = [each for each in sums.blocked_by if each.reason != EARLIER_STAGE]
        if blocked_by:
            obstacles = [(known.stage, _words(known), known.num_tables) for known in blocked_by]
            yield Table(_OBSTACLES, obstacles, "What blocks a stage")
        cases = [_case(each) for each in self.tables if each.error or each.blocked_by]
        yield from self._tables(
            Cases(_CASES, cases, "Tables that need a person"),
            Table(_TABLES, [*map(_row, self.tables)], "The tables", _NARROW),
            shown,
            has_rows=has_rows,
        )
        if any(sums.cost(UNMAPPED, cost).num_tables for cost in (METADATA, COPY)):
            yield Lines("Next, plan the removal:", _NEXT)

    def _groups(self, stage: str) -> str:
        """Returns the tables by the cost of a stage, with the bytes to copy or rewrite."""
        costs = [each for each in self.sums.costs if each.stage == stage]
        return ", ".join(
            f"{each.num_tables:,} {each.cost}"
            + (f" {size(each.size_in_bytes)}" if each.cost in (COPY, REWRITE) else "")
            for each in costs
        )


def _errors(sums: SurveySums) -> str:
    return ", ".join(f"{each.num_tables:,} {each.error}" for each in sums.errors) or "0"


def _case(table: SurveyedTable) -> tuple[str, ...]:
    if table.error is not None:
        return "UNREADABLE", table.table, error_in_words(table.error, table.message), ""
    obstacles = [each for each in table.blocked_by if each.reason != EARLIER_STAGE]
    reasons = [f"{each.stage}: {reason_in_words(each.why)}" for each in obstacles]
    return BLOCKED, table.table, "\n".join(reasons), what_to_do(each.why for each in obstacles)


def _row(table: SurveyedTable) -> tuple[Any, ...]:
    return (
        table.table,
        table.mode,
        table.tracked,
        table.has_dropped_or_renamed,
        table.num_columns,
        table.num_other_names,
        table.num_files,
        table.size_in_bytes,
        table.unmapped,
        table.readers,
        table.writers,
    )


def _words(known: ObstacleSum) -> str:
    return known.reason if known.name is None else f"{known.reason} {known.name}"
