# SPDX-License-Identifier: Apache-2.0
"""Describes a statement of the schedules, and its effect on the model of a table.

A statement refers to the columns at its analysis. A held DeltaTable, DataFrame or view refers to
the columns at the start of the schedule. The effects follow the meaning of the statements, not our
rules.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from delta.tables import DeltaTable
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import Row as SparkRow

from tests.schedules.table_kinds import Kind, Original
from tests.support.flat_tables import names
from tests.support.reference_model import Key, Row, State
from tests.support.table_log import TableLog


@dataclass
class Stage:
    """Contains the table in the session of an actor."""

    spark: SparkSession
    path: Path
    url: str
    kind: Kind
    original: Original

    def __post_init__(self) -> None:
        self.delta_table = DeltaTable.forPath(self.spark, self.url)
        self.frame: DataFrame = self.spark.read.format("delta").load(self.url)
        self.frame.createOrReplaceTempView("held")
        self.part = ""
        """The running statement of an act with several statements."""
        self.begun: Iterator[SparkRow] = iter(())
        """The rows that a query has not read yet."""
        self.go_on: Callable[[], object] = list
        """Lets a held stream run on."""
        self.delivered: list[NamedRow] = []
        """The rows that a stream has delivered, also if it failed."""

    @property
    def name(self) -> str:
        return f"delta.`{self.url}`"

    @property
    def early_names(self) -> list[str]:
        return list(names(self.kind.model).values())

    def names(self) -> tuple[str, ...]:
        """Returns the current names of the columns."""
        return tuple(TableLog(self.path).fields)

    def sql(self, text: str) -> None:
        self.spark.sql(text.replace("{t}", self.name))


@dataclass(frozen=True)
class Moment:
    """Contains the facts on which the effect of a statement depends.

    Args:
        number: The number of the statement.
        known: The table at the analysis of the statement.
        held: The table at the start of the schedule.
        early: The table that RESTORE restores.
        mapped: The table that RESTORE of mapped columns restores.
        seen: The rows that the statement read.
        has_failed: Whether the statement failed, so that some of its commits may be missing.
    """

    number: int
    known: State
    held: State
    early: State
    mapped: State
    seen: Sequence[NamedRow] = ()
    has_failed: bool = False


NamedRow = dict[str, Any]
Effect = Callable[[State, Moment], State | tuple[State, ...]]
"""Returns the table after a statement, or every table that is right."""


@dataclass(frozen=True)
class Act:
    """Describes a statement. The values that it writes depend on its number."""

    name: str
    run: Callable[[Stage, int], object]
    effect: Effect
    is_held: bool = False
    """Whether the statement uses an object from before the schedule."""
    has_parts: bool = False
    """Whether the statement commits more than once, and may fail between commits."""
    prepare: Callable[[Stage], object] | None = None
    """Prepares the statement before the schedule starts."""

    def __str__(self) -> str:
        return self.name


def new_key(number: int) -> int:
    return 100 * number


def key_in(row: Row) -> int:
    key = row["k"]
    assert isinstance(key, int)
    return key


def value_of(number: int, name: str) -> str:
    return f"{name}.of.{number}"


def values_for(number: int, names: Sequence[str], key: int | None = None) -> str:
    """Returns a row of values for these columns."""
    others = (f"'{value_of(number, name)}'" for name in names[1:])
    return f"({', '.join([str(key or new_key(number)), *others])})"


def row_for(number: int, known: State, key: int | None = None) -> Row:
    found: dict[Key, object] = {"k": key or new_key(number)}
    return found | {column.key: value_of(number, column.name) for column in known.columns[1:]}


def known(moment: Moment) -> State:
    return moment.known


def held(moment: Moment) -> State:
    return moment.held


def nothing(before: State, moment: Moment) -> State:
    return before


def sql(text: str) -> Callable[[Stage, int], object]:
    return lambda stage, number: stage.sql(text.replace("{n}", str(number)))
