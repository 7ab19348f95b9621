# SPDX-License-Identifier: Apache-2.0
"""A survey as a value, and as people see it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from spark_ext.removal.survey import SurveyedTable
from spark_ext.removal.survey_sums import ObstacleSum, SurveySums, obstacles
from spark_ext.show.tables import as_html, as_text, facts_as_html, facts_as_text

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


@dataclass(frozen=True, repr=False)
class Survey:
    """What removing column mapping costs for many tables.

    Args:
        tables: In the order in which the catalog lists them.
        sums: Of all of them.
    """

    tables: tuple[SurveyedTable, ...]
    sums: SurveySums

    def __repr__(self) -> str:
        return self.text(shown=_SHOWN)

    def text(self, *, shown: int | None = None) -> str:
        """The tables, or the first so many of them, and the sums."""
        parts = [(rows, columns) for rows, columns in (self._tables(shown), *self._sums()) if rows]
        tables = [as_text(rows, columns) for rows, columns in parts]
        return "\n\n".join([*tables, facts_as_text(self._summary())])

    def _repr_html_(self) -> str:
        parts = (self._tables(_SHOWN), *self._sums())
        html = "".join(as_html(rows, columns) for rows, columns in parts if rows)
        return html + facts_as_html(self._summary())

    def _tables(self, shown: int | None) -> tuple[list[Sequence[Any]], Sequence[str]]:
        rows = [_shown(table) for table in self.tables[:shown]]
        left = len(self.tables) - len(rows)
        if left:
            rows.append((f"({left:,} more)", *[None] * (len(_TABLES) - 1)))
        return rows, _TABLES

    def _sums(self) -> Iterable[tuple[list[Sequence[Any]], Sequence[str]]]:
        yield (
            [
                (known.stage, known.cost, known.num_tables, known.num_files, known.size_in_bytes)
                for known in self.sums.costs
            ],
            _COSTS,
        )
        yield (
            [(known.stage, _words(known), known.num_tables) for known in self.sums.blocked_by],
            _OBSTACLES,
        )
        yield [(known.error, known.num_tables) for known in self.sums.errors], _ERRORS

    def _summary(self) -> dict[str, Any]:
        return {
            "tables": self.sums.num_tables,
            "cannot be read": sum(known.num_tables for known in self.sums.errors),
            "files": self.sums.num_files,
            "bytes": self.sums.size_in_bytes,
            "views left out": self.sums.num_views,
            "other tables left out": self.sums.num_others,
        }


def _shown(table: SurveyedTable) -> Sequence[Any]:
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
    """What blocks the stages of a table, shortly."""
    return [f"{known.stage}: {_words(known)}" for known in obstacles([table])]


def _words(known: ObstacleSum) -> str:
    return known.reason if known.name is None else f"{known.reason} {known.name}"
