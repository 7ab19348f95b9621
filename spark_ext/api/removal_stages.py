# SPDX-License-Identifier: Apache-2.0
"""The stages of a removal as a list that people can read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from spark_ext.api.statements import StatementResult
from spark_ext.removal.reasons import reason_in_words, what_to_do
from spark_ext.removal.stages import BLOCKED, RemovalStage
from spark_ext.show.tables import Lines, Part, Rendered, Table, cell

_COLUMNS = ("stage", "reached", "cost", "files", "bytes")
# A wide table has a reason for each of its columns.
_REASONS = 3


class RemovalStages(Rendered, list[RemovalStage]):
    """The three stages, from `unmapped` to `writers`: a list that prints as a table.

    Attributes:
        done: The results of the statements that ran, in order.
    """

    def __init__(
        self, stages: Iterable[RemovalStage] = (), done: tuple[StatementResult, ...] = ()
    ) -> None:
        super().__init__(stages)
        self.done = done

    def _parts(self) -> Iterator[Part]:
        yield Table(_COLUMNS, list(map(_cells, self)), "The removal stages")
        for stage in self:
            if stage.reasons or stage.statements:
                advice = what_to_do(stage.reasons) if stage.cost == BLOCKED else None
                lines = (*stage.statements, *([advice] if advice else []))
                yield Lines(f"{stage.stage}: {_reasons(stage)}".rstrip(), lines)
        if self.done:
            yield Lines("done:", tuple(map(str, self.done)))


def _cells(stage: RemovalStage) -> tuple[Any, ...]:
    numbers = (_count(number, stage) for number in (stage.num_files, stage.size_in_bytes))
    return (stage.stage, stage.reached, stage.cost, *numbers)


def _count(number: int, stage: RemovalStage) -> str:
    return f"{number:,}" if stage.exact else f"at most {number:,}"


def _reasons(stage: RemovalStage) -> str:
    shown = cell(list(map(reason_in_words, stage.reasons[:_REASONS])))
    more = len(stage.reasons) - _REASONS
    return f"{shown} and {more:,} more" if more > 0 else shown
