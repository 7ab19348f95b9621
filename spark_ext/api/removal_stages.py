# SPDX-License-Identifier: Apache-2.0
"""The stages of a table as a list that people can read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from spark_ext.api.statements import StatementResult
from spark_ext.removal.reasons import reason_in_words, what_to_do
from spark_ext.removal.stages import BLOCKED, RemovalStage
from spark_ext.show.tables import as_html, as_text, cell

_COLUMNS = ("stage", "reached", "cost", "files", "bytes")
# A wide table has a reason for each of its columns.
_REASONS = 3


class RemovalStages(list[RemovalStage]):
    """The three stages; a list, with a form for people.

    Attributes:
        done: What each statement did that was run, in order.
    """

    def __init__(
        self, stages: Iterable[RemovalStage] = (), done: tuple[StatementResult, ...] = ()
    ) -> None:
        super().__init__(stages)
        self.done = done

    def __repr__(self) -> str:
        lines = [as_text(map(_cells, self), _COLUMNS), *_details(self)]
        if self.done:
            lines += ["\ndone:", *(f"  {result}" for result in self.done)]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        rows = [(*_cells(step), _reasons(step), "; ".join(step.statements)) for step in self]
        html = as_html(rows, (*_COLUMNS, "reasons", "statements"))
        return html + (as_html([(result,) for result in self.done], ("done",)) if self.done else "")


def _details(stages: list[RemovalStage]) -> Iterator[str]:
    for step in stages:
        if step.reasons or step.statements:
            yield f"\n{step.stage}: {_reasons(step)}".rstrip()
            yield from (f"  {cell(statement)}" for statement in step.statements)
            if step.cost == BLOCKED and (advice := what_to_do(step.reasons)):
                yield f"  {advice}"


def _cells(step: RemovalStage) -> tuple[Any, ...]:
    numbers = (_count(number, step) for number in (step.num_files, step.size_in_bytes))
    return (step.stage, step.reached, step.cost, *numbers)


def _count(number: int, step: RemovalStage) -> str:
    return f"{number:,}" if step.exact else f"at most {number:,}"


def _reasons(step: RemovalStage) -> str:
    shown = cell(list(map(reason_in_words, step.reasons[:_REASONS])))
    more = len(step.reasons) - _REASONS
    return f"{shown} and {more:,} more" if more > 0 else shown
