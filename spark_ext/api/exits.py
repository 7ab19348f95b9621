# SPDX-License-Identifier: Apache-2.0
"""The exits of a table as a list that people can read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from spark_ext.leave.exits import ColumnMappingExit
from spark_ext.leave.reasons import in_words
from spark_ext.show.tables import as_html, as_text, cell

_COLUMNS = ("exit", "reached", "cost", "files", "bytes")
# A wide table has a reason for each of its columns.
_REASONS = 3


class ColumnMappingExits(list[ColumnMappingExit]):
    """The three exits; a list, with a form for people."""

    def __repr__(self) -> str:
        return "\n".join([as_text(map(_cells, self), _COLUMNS), *_details(self)])

    def _repr_html_(self) -> str:
        rows = [(*_cells(step), _reasons(step), "; ".join(step.statements)) for step in self]
        return as_html(rows, (*_COLUMNS, "reasons", "statements"))


def _details(exits: list[ColumnMappingExit]) -> Iterator[str]:
    for step in exits:
        if step.reasons or step.statements:
            yield f"\n{step.exit}: {_reasons(step)}".rstrip()
            yield from (f"  {cell(statement)}" for statement in step.statements)


def _cells(step: ColumnMappingExit) -> tuple[Any, ...]:
    numbers = (_count(number, step) for number in (step.num_files, step.size_in_bytes))
    return (step.exit, step.reached, step.cost, *numbers)


def _count(number: int, step: ColumnMappingExit) -> str:
    return f"{number:,}" if step.exact else f"at most {number:,}"


def _reasons(step: ColumnMappingExit) -> str:
    shown = cell(list(map(in_words, step.reasons[:_REASONS])))
    more = len(step.reasons) - _REASONS
    return f"{shown} and {more:,} more" if more > 0 else shown
