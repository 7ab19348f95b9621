# SPDX-License-Identifier: Apache-2.0
"""Makes the tables on which schedules run, and their models.

Every table has the columns k, b, d, e and a few rows, in which all values differ.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from shutil import copytree

from pyspark.sql import SparkSession

from tests.schedules.table_model import Column, Model, Row, Value
from tests.support.delta_table import NAME_MODE, TRACKED, Table
from tests.support.removal import NONE_MODE, setting

MAPPINGS = ("plain", "free", "used", "removed")
"""Never mapped; mapped without changes; renamed and dropped; the same after a removal."""
DROPPED = "dropped"
"""Mapped with a dropped column and no renamed one, so RESTORE restores equal names."""

KEY = Column("k", "k")


def row(number: int, *identities: str) -> Row:
    return {"k": number} | {identity: f"{identity}.{number}" for identity in identities}


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
    def early(self) -> Model:
        """Returns the model of the version to which RESTORE goes."""
        middle = [Column("x", "b")] if self.was_renamed else [Column("b", "b")]
        deleted = [Column("g", "g")] if self.was_dropped else []
        columns = (KEY, *middle, Column("d", "d"), *deleted)
        identities = [column.identity for column in columns[1:]]
        if self.mapping == DROPPED:  # RESTORE undoes only the drop
            columns = (*columns, Column("e", "e"))
        rows = tuple(row(number, *identities) for number in self._early_keys)
        is_mapped = self.mapping != "plain"
        return Model(columns, rows, is_mapped, "false" if self.is_tracked else None)

    @property
    def model(self) -> Model:
        columns = (KEY, Column("b", "b"), Column("d", "d"), Column("e", "e"))
        rows = (*(row(number, "b", "d") for number in self._early_keys), row(5, "b", "d", "e"))
        flag = ("true" if self.was_dropped else "false") if self.is_tracked else None
        is_mapped = self.mapping in ("free", "used", DROPPED)
        return Model(columns, () if self.is_empty else rows, is_mapped, flag)

    @property
    def mapped(self) -> Model:
        """Returns the model of the version before the removal, or of the newest version."""
        whole = replace(self, is_empty=False).model
        return replace(whole, is_mapped=self.mapping != "plain")

    @property
    def values(self) -> set[tuple[str, Value]]:
        """Returns every value that a column ever had, including those of the deleted row."""
        return (
            self.early.values()
            | replace(self, is_empty=False).model.values()
            | set(row(2, "b", "d", "g").items())
        )

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
    """Makes a table, and returns the versions to which RESTORE goes."""
    # If mapping is enabled later, physical names equal logical names, as in tracked tables.
    is_mapped_later = kind.was_dropped and not kind.is_tracked
    is_mapped = kind.mapping != "plain" and not is_mapped_later
    properties = {
        NAME_MODE: is_mapped,
        TRACKED: kind.is_tracked,
        f"'delta.enableDeletionVectors' = '{str(kind.has_vectors).lower()}'": True,
        "'delta.enableChangeDataFeed' = 'true'": kind.has_feed,
    }
    early = replace(kind, has_vectors=False).early
    columns = ", ".join(f"{name} STRING" for name in early.names[1:])
    partitions = {"partitioned_by": f"{early.names[1]}, d"} if kind.has_partitions else {}
    wanted = (name for name, is_set in properties.items() if is_set)
    table.create(f"k INT, {columns}", *wanted, **partitions)
    if is_mapped_later:
        table.alter(f"SET TBLPROPERTIES ({NAME_MODE})")
    for keys in ((1, 2), (3, 4)):
        _insert(table, [r for r in early.rows if r["k"] in keys], early.identities)
    if kind.has_vectors:
        table.spark.sql(f"DELETE FROM {table.name} WHERE k = 2")
    early_version = table.log.version
    if kind.was_renamed:
        table.alter("RENAME COLUMN x TO b")
    if kind.was_dropped:
        table.alter("DROP COLUMN g")
    if kind.mapping != DROPPED:
        table.alter("ADD COLUMN e STRING")
    _insert(table, [row(5, "b", "d", "e")], kind.model.identities)
    mapped_version = table.log.version
    if kind.mapping == "removed":
        with setting(table, "copy"):
            table.alter(f"SET TBLPROPERTIES ({NONE_MODE})")
    if kind.is_empty:
        table.spark.sql(f"DELETE FROM {table.name}")
    return early_version, mapped_version


def _insert(table: Table, rows: list[Row], identities: tuple[str, ...]) -> None:
    values = ", ".join(
        "(" + ", ".join(_literal(row.get(identity)) for identity in identities) + ")"
        for row in rows
    )
    table.spark.sql(f"INSERT INTO {table.name} SELECT /*+ COALESCE(1) */ * FROM VALUES {values}")


def _literal(value: Value | None) -> str:
    return "CAST(NULL AS STRING)" if value is None else repr(value)
