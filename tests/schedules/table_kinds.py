# SPDX-License-Identifier: Apache-2.0
"""Makes the tables on which schedules run, and their models.

Every table has the columns k, b, d, e. Unless it is empty, it has a few rows of distinct values.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from shutil import copytree

from pyspark.sql import SparkSession

from tests.support.delta_table import NAME_MODE, TRACKED, Table
from tests.support.flat_tables import names, renamed, values, with_column, with_rows, without
from tests.support.reference_model import Column, Key, State
from tests.support.removal import NONE_MODE, setting

MAPPINGS = ("plain", "free", "used", "removed")
"""Never mapped; mapped without changes; renamed and dropped; the same after a removal."""
DROPPED = "dropped"
"""Mapped with a dropped column and no renamed one, so RESTORE restores equal names."""

KEY = Column("k", "INT", key="k")
Value = int | str


def row(number: int, *keys: Key) -> dict[Key, Value]:
    return {"k": number} | {key: f"{key}.{number}" for key in keys}


@dataclass(frozen=True)
class Kind:
    """Describes the history and the properties of a table."""

    mapping: str
    is_tracked: bool
    has_vectors: bool
    has_feed: bool
    is_empty: bool = False
    has_partitions: bool = False
    """Whether the table is partitioned by b and d."""

    def __str__(self) -> str:
        flags = {
            "tracked": self.is_tracked,
            "vectors": self.has_vectors,
            "feed": self.has_feed,
            "empty": self.is_empty,
            "partitions": self.has_partitions,
        }
        return "-".join([self.mapping, *(name for name, is_set in flags.items() if is_set)])

    @property
    def was_renamed(self) -> bool:
        return self.mapping in ("used", "removed")

    @property
    def was_dropped(self) -> bool:
        return self.was_renamed or self.mapping == DROPPED

    @property
    def early(self) -> State:
        """Returns the model of the version that RESTORE restores."""
        middle = Column("x" if self.was_renamed else "b", "STRING", key="b")
        others = [*"d", *"g" * self.was_dropped, *"e" * (self.mapping == DROPPED)]
        columns = (KEY, middle, *(Column(name, "STRING", key=name) for name in others))
        # If mapping is enabled later, physical names equal logical names, as in tracked tables.
        is_mapped = self.mapping != "plain" and not self.is_mapped_later
        state = State(columns, "name" if is_mapped else "none", self.is_tracked).created()
        state = state.mapping_enabled() if self.is_mapped_later else state
        return state.rewritten(self.early_row(number) for number in self._early_keys)

    @property
    def mapped(self) -> State:
        """Returns the model of `mapped_version`, before a removal or the DELETE of all rows."""
        state = self.early
        if self.was_renamed:
            state = renamed(state, "b", "b")
        if self.was_dropped:
            state = without(state, "g")
        if self.mapping != DROPPED:
            state = with_column(state, "e", "e")
        return with_rows(state, [row(5, "b", "d", "e")])

    @cached_property
    def model(self) -> State:
        state = self.mapped.mapping_disabled() if self.mapping == "removed" else self.mapped
        return state.rewritten(()) if self.is_empty else state

    @property
    def values(self) -> set[tuple[Key, object]]:
        """Returns every value that a column ever had, including those of the deleted row."""
        return values(self.mapped) | set(row(2, "b", "d", "g").items())

    def early_row(self, number: int) -> dict[Key, Value]:
        return row(number, "b", "d", *"g" * self.was_dropped)

    @property
    def is_mapped_later(self) -> bool:
        return self.was_dropped and not self.is_tracked

    @property
    def _early_keys(self) -> tuple[int, ...]:
        return (1, 3, 4) if self.has_vectors else (1, 2, 3, 4)


@dataclass(frozen=True)
class Original:
    """Contains a prepared table, which no statement changes."""

    path: Path
    early_version: int
    mapped_version: int
    """The version before the removal of column mapping."""


class Originals:
    """Makes one table of each kind when a schedule needs it first."""

    def __init__(self, spark: SparkSession, home: Path) -> None:
        self._spark = spark
        self._home = home
        self._made: dict[Kind, Original] = {}

    def copy(self, kind: Kind, path: Path) -> Original:
        """Copies the table of a kind, and returns the original."""
        if kind not in self._made:
            table = Table(self._spark, self._home / str(kind))
            self._made[kind] = Original(table.path, *_make(table, kind))
        copytree(self._made[kind].path, path)
        return self._made[kind]


def _make(table: Table, kind: Kind) -> tuple[int, int]:
    """Makes a table, and returns the versions that RESTORE restores."""
    early = kind.early
    properties = {
        NAME_MODE: early.is_mapped and not kind.is_mapped_later,
        TRACKED: kind.is_tracked,
        f"'delta.enableDeletionVectors' = '{str(kind.has_vectors).lower()}'": True,
        "'delta.enableChangeDataFeed' = 'true'": kind.has_feed,
    }
    columns = ", ".join(f"{column.name} {column.kind}" for column in early.columns)
    partitions = {"partitioned_by": f"{early.columns[1].name}, d"} if kind.has_partitions else {}
    wanted = (name for name, is_set in properties.items() if is_set)
    table.create(columns, *wanted, **partitions)
    if kind.is_mapped_later:
        table.alter(f"SET TBLPROPERTIES ({NAME_MODE})")
    for first in (1, 3):
        _insert(table, [kind.early_row(first), kind.early_row(first + 1)], list(names(early)))
    if kind.has_vectors:
        table.spark.sql(f"DELETE FROM {table.name} WHERE k = 2")
    early_version = table.log.version
    if kind.was_renamed:
        table.alter("RENAME COLUMN x TO b")
    if kind.was_dropped:
        table.alter("DROP COLUMN g")
    if kind.mapping != DROPPED:
        table.alter("ADD COLUMN e STRING")
    _insert(table, [row(5, "b", "d", "e")], list(names(kind.model)))
    mapped_version = table.log.version
    if kind.mapping == "removed":
        with setting(table, "copy"):
            table.alter(f"SET TBLPROPERTIES ({NONE_MODE})")
    if kind.is_empty:
        table.spark.sql(f"DELETE FROM {table.name}")
    return early_version, mapped_version


def _insert(table: Table, rows: list[dict[Key, Value]], keys: list[Key]) -> None:
    values = ", ".join(
        "(" + ", ".join(_literal(row.get(key)) for key in keys) + ")" for row in rows
    )
    table.spark.sql(f"INSERT INTO {table.name} SELECT /*+ COALESCE(1) */ * FROM VALUES {values}")


def _literal(value: Value | None) -> str:
    return "CAST(NULL AS STRING)" if value is None else repr(value)
