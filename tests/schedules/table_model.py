# SPDX-License-Identifier: Apache-2.0
"""Models a table as users see it, with columns whose identity does not depend on their name.

The identity of a column never changes and is never reused, so the model shows a value that moves to
another column.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

Value = int | str
Row = Mapping[str, Value]

OPEN = "open"
"""The RFC allows this flag to be true or false."""


class Impossible(Exception):
    """Reports that a statement cannot succeed on this table."""


@dataclass(frozen=True)
class Column:
    """Contains the name and the identity of a column."""

    name: str
    identity: str


@dataclass(frozen=True)
class Model:
    """Contains columns in order, and rows by identities of columns, without nulls."""

    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    is_mapped: bool | None = False
    """None if both values are allowed."""
    flag: str | None = None
    """None if the table is untracked."""

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
            raise Impossible(f"the columns were dropped: {missing}")

    def named_rows(self) -> list[dict[str, Value]]:
        """Returns the rows by names, as a reader returns them."""
        names = {column.identity: column.name for column in self.columns}
        return [{names[key]: value for key, value in row.items()} for row in self.rows]

    def values(self) -> set[tuple[str, Value]]:
        return {item for row in self.rows for item in row.items()}

    def appended(self, rows: Sequence[Row]) -> Model:
        return replace(self, rows=(*self.rows, *rows))

    def used(self) -> Model:
        """Returns the model after a column was dropped or renamed."""
        return replace(self, flag="true") if self.is_tracked and self.is_mapped else self

    def renamed(self, identity: str, name: str) -> Model:
        self.require(identity)
        if name in self.names:
            raise Impossible(f"{name} exists")
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
            raise Impossible(f"{name} exists")
        return replace(self, columns=(*self.columns, Column(name, identity)))

    def replaced_by(self, other: Model) -> Model:
        """Returns the model with the columns, the rows and the mode of another (RESTORE, CLONE)."""
        result = replace(self, columns=other.columns, rows=other.rows, is_mapped=other.is_mapped)
        if not self.is_tracked or self.flag == "true":
            return result
        if not (self.is_mapped and other.is_mapped):
            return replace(result, flag=OPEN)
        is_kept = set(self.columns) <= set(other.columns)
        return result if is_kept else replace(result, flag="true")
