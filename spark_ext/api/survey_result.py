# SPDX-License-Identifier: Apache-2.0
"""The result of a survey, for programs and for people."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import astuple, dataclass
from typing import Any

from spark_ext.removal.stages import COPY, METADATA, UNMAPPED
from spark_ext.removal.survey import SurveyedTable
from spark_ext.removal.survey_sums import ObstacleSum, SurveySums, obstacles
from spark_ext.show.tables import Facts, Lines, Part, Rendered, Table, as_text

_SHOWN = 100
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
    "blocked by, or error",
)
_COSTS = ("stage", "cost", "tables", "files", "bytes")
_OBSTACLES = ("stage", "blocked by", "tables")
_ERRORS = ("error", "tables")
_NEXT = (
    "spark-ext remove <the same places> --dry-run",
    "spark_ext.remove_column_mapping(spark, <the same places>, dry_run=True)",
)


@dataclass(frozen=True, repr=False)
class Survey(Rendered):
    """The cost of removing column mapping from many tables.

    Args:
        tables: The tables in the order in which the catalog lists them.
        sums: The sums of all tables.
    """

    tables: tuple[SurveyedTable, ...]
    sums: SurveySums

    def text(self, *, shown: int | None = None) -> str:
        """Returns the sums and the first `shown` tables; None for all tables."""
        return as_text(self._parts(shown))

    def _parts(self, shown: int | None = _SHOWN) -> Iterator[Part]:
        sums = self.sums
        yield Facts(
            {
                "tables": sums.num_tables,
                "cannot be read": sum(error.num_tables for error in sums.errors),
                "files": sums.num_files,
                "bytes": sums.size_in_bytes,
                "views left out": sums.num_views,
                "other tables left out": sums.num_others,
            }
        )
        costs = [astuple(cost) for cost in sums.costs]
        obstacles = [(known.stage, _words(known), known.num_tables) for known in sums.blocked_by]
        errors = [(error.error, error.num_tables) for error in sums.errors]
        for caption, columns, rows in (
            ("The cost of each removal stage", _COSTS, costs),
            ("What blocks a stage", _OBSTACLES, obstacles),
            ("Tables that cannot be read", _ERRORS, errors),
            ("The tables", _TABLES, self._tables(shown)),
        ):
            if rows:
                yield Table(columns, rows, caption)
        if any(sums.cost(UNMAPPED, cost).num_tables for cost in (METADATA, COPY)):
            yield Lines("Next, plan the removal:", _NEXT)

    def _tables(self, shown: int | None) -> list[tuple[Any, ...]]:
        rows = [_row(table) for table in self.tables[:shown]]
        more = len(self.tables) - len(rows)
        return [*rows, (f"({more:,} more)", *[None] * (len(_TABLES) - 1))] if more else rows


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
        table.error or obstacles_in_words(table),
    )


def obstacles_in_words(table: SurveyedTable) -> list[str]:
    """Returns the obstacles of a table, each in a few words."""
    return [f"{known.stage}: {_words(known)}" for known in obstacles([table])]


def _words(known: ObstacleSum) -> str:
    return known.reason if known.name is None else f"{known.reason} {known.name}"
