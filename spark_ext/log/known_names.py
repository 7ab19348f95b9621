# SPDX-License-Identifier: Apache-2.0
"""Decides which names and field ids the data files of a table may contain, by its log."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from spark_ext.log.replay import State
from spark_ext.model.keys import (
    INTERNAL_COLUMNS,
    MODE_ID,
    ROW_TRACKING_COLUMNS,
)
from spark_ext.model.schema import DataType, Path, inner_types, lower

# Delta 4.4.0, RowTracking: prefixes of internal columns. Each table adds a UUID of its own, and
# files of a clone contain the UUID of the source.
_ROW_TRACKING_PREFIXES = ("_row-id-col-", "_row-commit-version-col-")


@dataclass(frozen=True)
class KnownNames:
    """The names and field ids that the data files of a table may contain, in any letter case.

    Args:
        states: Every known state of the table, oldest first.
    """

    states: Sequence[State]

    @property
    def by_id(self) -> bool:
        """Returns whether readers find columns by field id, and ignore names."""
        return self.states[-1].mode == MODE_ID

    def allows(self, path: Path) -> bool:
        """Returns whether a file may contain a column with this path.

        A file may contain present, dropped and internal columns. If the log does not name every
        dropped column, a file may contain any path.
        """
        path = lower(path)
        if self.is_internal(path):
            return True
        return self._is_in(path, self._present) or not (
            self._dropped_are_known and not self._is_in(path, self._former)
        )

    def allows_id(self, id: int) -> bool:
        """Returns whether a file may contain a column with this field id."""
        if id in self._types_by_id:
            return True
        return not (self._dropped_are_known and id not in self._former_ids)

    def is_internal(self, path: Path) -> bool:
        """Returns whether a path belongs to a column that only Delta itself uses."""
        name = path[0].lower()
        return name in self._internal or name.startswith(_ROW_TRACKING_PREFIXES)

    def type_of(self, id: int) -> DataType | str | None:
        """Returns the type of a present or dropped column; None for any other id."""
        return self._types_by_id.get(id) or self._former_types_by_id.get(id)

    @property
    def _states_with_dropped(self) -> Sequence[State]:
        """Returns the states with columns that live files may contain after a drop.

        If the table has no column mapping, its files contain present columns only.
        """
        return self.states if self.states[-1].is_mapped else ()

    @cached_property
    def _dropped_are_known(self) -> bool:
        """Returns whether the states name every dropped column that files may contain."""
        newest = self.states[-1]
        if not newest.is_mapped or (newest.is_tracked and newest.flag is False):
            return True
        # Foreign files may contain columns that no state names. A state from a checkpoint has no
        # operation, and counts as one that may add such files.
        return not any(state.may_add_foreign_files for state in self.states)

    @cached_property
    def _present(self) -> dict[Path, DataType | str]:
        newest = self.states[-1]
        # After a removal, the schema may still contain physical names. The check
        # `mapping_keys_remain` reports them.
        physical = {lower(each.physical_path): each.field["type"] for each in newest.columns}
        return {**physical, **dict(_typed(newest))}

    @cached_property
    def _former(self) -> dict[Path, DataType | str]:
        return {path: kind for state in self._states_with_dropped for path, kind in _typed(state)}

    @cached_property
    def _types_by_id(self) -> dict[int, DataType | str | None]:
        newest = self.states[-1]
        by_id = ((column.known_id, column.field["type"]) for column in newest.columns)
        types = {id: kind for id, kind in by_id if id is not None}
        return dict.fromkeys(_integers(newest.ids)) | types

    @cached_property
    def _former_types_by_id(self) -> dict[int | None, DataType | str]:
        mapped = (state for state in self._states_with_dropped if state.is_mapped)
        columns = (column for state in mapped for column in state.columns)
        return {column.known_id: column.field["type"] for column in columns}

    @cached_property
    def _former_ids(self) -> set[int]:
        mapped = (state for state in self._states_with_dropped if state.is_mapped)
        return {id for state in mapped for id in _integers(state.ids)}

    @cached_property
    def _internal(self) -> frozenset[str]:
        properties = (
            state.metadata.configuration.get(key)
            for state in self.states
            for key in ROW_TRACKING_COLUMNS
        )
        return INTERNAL_COLUMNS | {str(name).lower() for name in properties if name}

    def _is_in(self, path: Path, known: dict[Path, DataType | str]) -> bool:
        if path in known:
            return True
        # The schema names every column of a struct. The file format names the parts of other types,
        # such as variants, so any path below them is known.
        above = (path[:length] for length in range(len(path) - 1, 0, -1))
        nearest = next((known[each] for each in above if each in known), "struct")
        return (nearest if isinstance(nearest, str) else nearest["type"]) != "struct"


def _integers(ids: Iterable[Any]) -> list[int]:
    return [id for id in ids if type(id) is int]


def _typed(state: State) -> Iterator[tuple[Path, DataType | str]]:
    """Yields the path in files and the type of each column, element, key and value."""
    for column in state.columns:
        yield from inner_types(state.name_in_files(column), column.field["type"])
