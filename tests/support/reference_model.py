# SPDX-License-Identifier: Apache-2.0
"""Models a table after each statement: feature, flag, mode, names, ids and rows.

The model follows the RFC and Delta's behaviour, and shares no code with `spark_ext`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any

UUID = "col-<uuid>"
# Maps a kind to the parts of a path between a column and its fields.
INSIDE = {"STRUCT": (), "ARRAY": ("element",), "MAP": ("value",)}
Path = tuple[str, ...]
Key = int | str
Row = Mapping[Key, object]


@dataclass(frozen=True)
class Column:
    """Contains a column at any level. `key` identifies the column in rows and never changes."""

    name: str
    kind: str  # INT, STRING, STRUCT, or ARRAY or MAP of structs; Delta's type in `state_of`
    fields: tuple[Column, ...] = ()
    key: Key = field(default_factory=count().__next__)
    id: int | None = None
    physical: str | None = None

    @property
    def shape(self) -> object:
        """Returns the type, including the names of fields."""
        return self.kind, tuple((child.name, child.shape) for child in self.fields)


Columns = tuple[Column, ...]


def walk(
    columns: Columns, prefix: Path = (), *, physical: bool = False
) -> Iterator[tuple[Path, Column]]:
    """Yields every column with its path, parents first."""
    for column in columns:
        path = (*prefix, str(column.physical) if physical else column.name)
        yield path, column
        yield from walk(column.fields, inside(path, column), physical=physical)


def inside(path: Path, column: Column) -> Path:
    """Returns the path of a column's fields without their names."""
    return (*path, *INSIDE.get(column.kind, ()))


def leaves(columns: Columns) -> list[Column]:
    return [column for _, column in walk(columns) if not column.fields]


def mapped(columns: Columns, change: Callable[[Path, Column], Column], path: Path = ()) -> Columns:
    """Returns the columns with every column changed, parents first."""
    result = []
    for column in columns:
        own = (*path, column.name)
        column = change(own, column)
        result.append(replace(column, fields=mapped(column.fields, change, inside(own, column))))
    return tuple(result)


def edited(columns: Columns, parent: Path, change: Callable[[Columns], Columns]) -> Columns:
    names = [name for name in parent if name not in ("element", "value")]
    if not names:
        return change(columns)
    rest = tuple(names[1:])
    return tuple(
        replace(c, fields=edited(c.fields, rest, change)) if c.name == names[0] else c
        for c in columns
    )


@dataclass(frozen=True)
class State:
    """Contains one version of a table. Methods such as `altered` return the next version."""

    columns: Columns
    mode: str  # none, name or id
    is_tracked: bool
    flag: bool | None = None  # an untracked table may have a stale one
    max_id: int = 0
    rows: tuple[Row, ...] = ()

    @property
    def is_mapped(self) -> bool:
        return self.mode != "none"

    @property
    def flag_text(self) -> str | None:
        return None if self.flag is None else str(self.flag).lower()

    def created(self) -> State:
        return replace(self, flag=False if self.is_tracked else None)._assigned()

    def tracking_enabled(self) -> State:
        # RFC: the flag is true on a table with column mapping. A stale true flag is kept.
        flag = self.is_mapped or self.flag is True
        return self if self.is_tracked else replace(self, is_tracked=True, flag=flag)

    def mapping_enabled(self) -> State:
        # RFC: the physical names are the names in the files.
        named = mapped(self.columns, lambda _, column: replace(column, physical=column.name))
        return replace(self, mode="name", columns=named)._assigned(after=self)

    def mapping_disabled(self) -> State:
        return replace(self, mode="none")._assigned(after=self)

    def aligned(self) -> State:
        """Returns the version after `align_names()`, which keeps the ids."""
        return replace(self.mapping_enabled(), is_tracked=True, flag=False)

    def tracking_dropped(self) -> State:
        return replace(self, is_tracked=False, flag=None)

    def altered(self, columns: Columns) -> State:
        return replace(self, columns=columns)._assigned(after=self)

    def rewritten(self, rows: Iterable[Row]) -> State:
        return replace(self, rows=tuple(rows))

    def overwritten(self, columns: Columns, rows: Iterable[Row]) -> State:
        new = replace(self, columns=self._reused(columns), rows=tuple(rows))
        return new._assigned(after=self)

    def replaced(self, columns: Columns, rows: Iterable[Row], *, mode: str, track: bool) -> State:
        before = self.tracking_enabled() if track else self
        known = before._reused(columns) if mode == self.mode else columns
        flag = before.flag if before.is_tracked else None
        new = replace(before, columns=known, rows=tuple(rows), mode=mode, flag=flag)
        return new._assigned(after=before)

    def changed(self, new: State) -> State:
        """Returns the version after a commit without a known statement.

        `new` has the columns of the commit. Columns without an id are new.
        """
        before = self.tracking_enabled() if new.is_tracked else self
        is_lost = before.is_tracked and not new.is_tracked
        before = before.tracking_dropped() if is_lost else before
        return replace(before, columns=new.columns, mode=new.mode)._assigned(after=before)

    def can_change_to(self, mode: str) -> bool:
        """Returns whether Delta changes an existing table to a mode."""
        return mode in (self.mode, "none") or (self.mode, mode) == ("none", "name")

    def restored(self, to: State) -> State:
        """Returns the version after RESTORE, which removes no feature.

        A tracked table keeps a true flag.
        """
        if not self.is_tracked:
            new = replace(to, max_id=max(self.max_id, to.max_id))
            return new._untracked_after(self, was_mapped=self.is_mapped or to.is_mapped)._assigned()
        # Without a flag, earlier drops and renames are unknown.
        unknown = to.is_mapped and to.flag is None
        flag = self.flag or to.flag is True or unknown or to._has_unknown_past(self)
        new = replace(to, is_tracked=True, flag=flag, max_id=max(self.max_id, to.max_id))
        return new._assigned(after=self)

    def created_like(self) -> State:
        return replace(self, rows=(), max_id=0)._assigned()  # the new maximum is the highest id

    def without_us(self, before: State) -> State:
        """Returns this version with the flag unchanged, as a session without spark-ext makes it."""
        return replace(self, flag=before.flag)

    def cloned_without_us(self) -> State:
        """Returns a clone by a session without spark-ext, which drops the feature, not the flag."""
        return replace(self, is_tracked=False)

    def cloned_over(self, target: State) -> State:
        """Returns a CLONE of this table over an empty table of the same mode."""
        new = replace(self, max_id=max(self.max_id, target.max_id))
        if not target.is_tracked:
            was_mapped = self.is_mapped or target.is_mapped
            return new._untracked_after(target, was_mapped=was_mapped)._assigned()
        unknown = (self.is_mapped and self.flag is None) or self._has_unknown_past(target)
        flag = bool(target.flag or self.flag or unknown)
        return replace(new, is_tracked=True, flag=flag)._assigned(after=target)

    def _has_unknown_past(self, here: State) -> bool:
        """Returns whether columns of this version, which `here` gets, may have changed before.

        The flag that arrives with the columns may be stale if this version is untracked.
        Delta assigns ids in order and never reuses an id, so no column was dropped if no id is
        missing.
        """
        mine, known = self.identities(), here.identities()
        is_known = mine.keys() == known.keys() and self.max_id <= here.max_id
        if not self.is_mapped or (is_known and self.is_tracked):
            return False
        renamed = any(mine[key] != key[1][-1] for key in mine.keys() - known.keys())
        return renamed or {id for id, _ in mine} != set(range(1, self.max_id + 1))

    def _untracked_after(self, before: State, *, was_mapped: bool) -> State:
        """Returns this version with a true flag if `was_mapped` or if the flag of `before` is true.

        A version without a flag is unchanged. RFC: enabling column mapping is not a drop, so a
        false flag is kept.
        """
        is_used = was_mapped or before.flag is True
        return replace(self, flag=True) if self.flag is not None and is_used else self

    def visible_columns(self) -> object:
        """Returns the mode and the columns as users see them."""
        return self.mode, [(column.name, column.shape) for column in self.columns]

    def identities(self) -> dict[tuple[int, Path], str]:
        """Returns the logical name of each column with an id, by id and physical path."""
        found = walk(self.columns, physical=True)
        return {(column.id, path): column.name for path, column in found if column.id is not None}

    def _loses(self, new: State) -> bool:
        if new.is_mapped:
            return not self.identities().items() <= new.identities().items()
        return not {path for path, _ in walk(self.columns)} <= {p for p, _ in walk(new.columns)}

    def _reused(self, columns: Columns) -> Columns:
        """Returns new columns with the ids and names of old ones of the same name and type."""
        old = {tuple(map(str.lower, path)): column for path, column in walk(self.columns)}

        def known(path: Path, column: Column) -> Column:
            same = old.get(tuple(map(str.lower, path)))
            if same is None or same.shape != column.shape:
                return column
            return replace(column, id=same.id, physical=same.physical)

        return mapped(columns, known)

    def _assigned(self, after: State | None = None) -> State:
        """Returns the committed version: its flag, and ids and names for new columns."""
        used = after and self.is_tracked and after.is_mapped and after._loses(self)
        state = replace(self, flag=True) if used else self
        if after and not self.is_tracked and after.visible_columns() != self.visible_columns():
            state = state._untracked_after(after, was_mapped=after.is_mapped)
        if not state.is_mapped:
            plain = mapped(state.columns, lambda _, c: replace(c, id=None, physical=None))
            return replace(state, columns=plain, max_id=0)
        ids = count(max([state.max_id, *(c.id or 0 for _, c in walk(state.columns))]) + 1)
        logical = state.is_tracked and state.flag is False

        def assigned(_: Path, column: Column) -> Column:
            name = column.physical or (column.name if logical else UUID)
            return replace(column, id=column.id or next(ids), physical=name)

        columns = mapped(state.columns, assigned)
        return replace(state, columns=columns, max_id=next(ids) - 1)

    def expected_rows(self) -> list[Any]:
        return [_read(self.columns, row) for row in self.rows]


def state_of(metadata: Mapping[str, Any], *, is_tracked: bool) -> State:
    """Returns the version that a `metaData` action describes, without rows."""
    properties = metadata["configuration"]
    prefix = "delta.columnMapping."
    return State(
        _columns(json.loads(metadata["schemaString"])),
        properties.get(f"{prefix}mode", "none").lower(),
        is_tracked,
        {"true": True, "false": False}.get(
            properties.get(f"{prefix}hasDroppedOrRenamed", "").lower()
        ),
        int(properties.get(f"{prefix}maxColumnId", 0)),
    )


def _columns(kind: Any) -> Columns:
    """Returns the fields of a type. The parts with structs of an array or a map have no ids."""
    if not isinstance(kind, dict):
        return ()
    if kind["type"] == "struct":
        return tuple(_column(field) for field in kind["fields"])
    parts = {"element": "elementType", "key": "keyType", "value": "valueType"}
    return tuple(
        Column(name, "part", fields, physical=name)
        for name, key in parts.items()
        if (fields := _columns(kind.get(key)))
    )


def _column(field: Mapping[str, Any]) -> Column:
    kind = field["type"] if isinstance(field["type"], str) else field["type"]["type"]
    id, physical = (
        field["metadata"].get(f"delta.columnMapping.{key}") for key in ("id", "physicalName")
    )
    return Column(field["name"], kind, _columns(field["type"]), id=id, physical=physical)


def _read(columns: Columns, row: Row) -> dict[str, Any]:
    found = {}
    for column in columns:
        value: Any = _read(column.fields, row) or None if column.fields else row.get(column.key)
        if value is not None:
            found[column.name] = {"ARRAY": [value], "MAP": {"k": value}}.get(column.kind, value)
    return found
