# SPDX-License-Identifier: Apache-2.0
"""A table as its user knows it, without Delta: columns that stay themselves whatever their name.

A column's identity never changes and is never given again, so a value that gets into another
column is seen.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

Value = int | str
Row = Mapping[str, Value]

OPEN = "open"
"""A flag of which the RFC leaves open what it is: true or false."""


class Impossible(Exception):
    """The statement cannot succeed on this table."""


@dataclass(frozen=True)
class Column:
    """Its name and what it is known by for ever."""

    name: str
    identity: str


@dataclass(frozen=True)
class Model:
    """Columns in order, rows by the identities of columns, nulls left out."""

    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    is_mapped: bool | None = False
    """None: both are right."""
    flag: str | None = None
    """None of an untracked table."""

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.columns)

    @property
    def identities(self) -> tuple[str, ...]:
        return tuple(column.identity for column in self.columns)

    @property
    def is_tracked(self) -> bool:
        return self.flag is not None

    def identity(self, name: str) -> str:
        for column in self.columns:
            if column.name == name:
                return column.identity
        raise Impossible(f"no column {name}")

    def require(self, *identities: str) -> None:
        missing = set(identities) - set(self.identities)
        if missing:
            raise Impossible(f"no column any more: {missing}")

    def named_rows(self) -> list[dict[str, Value]]:
        """As a reader has them."""
        names = {column.identity: column.name for column in self.columns}
        return [{names[key]: value for key, value in row.items()} for row in self.rows]

    def values(self) -> set[tuple[str, Value]]:
        return {item for row in self.rows for item in row.items()}

    def appended(self, rows: Sequence[Row]) -> Model:
        return replace(self, rows=(*self.rows, *rows))

    def used(self) -> Model:
        """After a column is gone or has another name."""
        return replace(self, flag="true") if self.is_tracked and self.is_mapped else self

    def renamed(self, identity: str, name: str) -> Model:
        self.require(identity)
        if name in self.names:
            raise Impossible(f"{name} is there")
        columns = (
            replace(column, name=name) if column.identity == identity else column
            for column in self.columns
        )
        return replace(self, columns=tuple(columns)).used()

    def without(self, identity: str) -> Model:
        self.require(identity)
        return replace(
            self,
            columns=tuple(column for column in self.columns if column.identity != identity),
            rows=tuple({k: v for k, v in row.items() if k != identity} for row in self.rows),
        ).used()

    def with_column(self, name: str, identity: str) -> Model:
        if name in self.names:
            raise Impossible(f"{name} is there")
        return replace(self, columns=(*self.columns, Column(name, identity)))

    def brought_back(self, other: Model) -> Model:
        """With the columns, the rows and the mode of another one, as RESTORE and CLONE do it."""
        result = replace(self, columns=other.columns, rows=other.rows, is_mapped=other.is_mapped)
        if not self.is_tracked or self.flag == "true":
            return result
        if not (self.is_mapped and other.is_mapped):
            return replace(result, flag=OPEN)
        is_kept = set(self.columns) <= set(other.columns)
        return result if is_kept else replace(result, flag="true")
