# SPDX-License-Identifier: Apache-2.0
"""Which names in data files a table's log accounts for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from spark_ext.log.replay import State
from spark_ext.model.keys import (
    INTERNAL_COLUMNS,
    MODE_ID,
    ROW_TRACKING_COLUMNS,
)
from spark_ext.model.schema import DataType, Path, inner_types, lower

# Delta 4.4.0, RowTracking: how it names its columns in files; a clone's files have its source's.
_ROW_TRACKING_PREFIXES = ("_row-id-col-", "_row-commit-version-col-")

# What brings files with columns that this log never had.
_FILES_FROM_ELSEWHERE = ("CLONE", "CONVERT")


@dataclass(frozen=True)
class KnownNames:
    """The names, and the ids, that data files of a table may have; letter case is ignored."""

    states: Sequence[State]

    @property
    def by_id(self) -> bool:
        """Whether readers find columns by field id, so that names mean nothing."""
        return self.states[-1].mode == MODE_ID

    def is_accounted_for(self, path: Path) -> bool:
        """Whether a path may be in a file: it is a column's, below one's, or not the table's."""
        path = lower(path)
        if self.is_internal(path):
            return True
        return self._is_in(path, self._now) or not (
            self._dropped_are_known and not self._is_in(path, self._ever)
        )

    def is_id_accounted_for(self, id: int) -> bool:
        """Whether a field id may be in a file, in the same sense."""
        if id in self._types_by_id:
            return True
        return not (self._dropped_are_known and id not in self._ids_ever)

    def is_internal(self, path: Path) -> bool:
        """Whether a path is of a column that Delta keeps for itself in files."""
        name = path[0].lower()
        return name in self._own or name.startswith(_ROW_TRACKING_PREFIXES)

    def has_no_columns_below(self, id: int) -> bool:
        """Whether what files have below the column with this id is the format's business."""
        return isinstance(self._types_by_id.get(id), str)

    @property
    def _told(self) -> Sequence[State]:
        """The states whose columns may be in live files without being the table's any more."""
        # Without column mapping files hold what the table has.
        return self.states if self.states[-1].is_mapped else ()

    @cached_property
    def _dropped_are_known(self) -> bool:
        """Whether these states show every column that was dropped."""
        newest = self.states[-1]
        if not newest.is_mapped or (newest.is_tracked and newest.flag is False):
            return True
        # A state that only a checkpoint has lacks an operation.
        return not any(
            state.operation is None or state.operation in _FILES_FROM_ELSEWHERE
            for state in self.states
        )

    @cached_property
    def _now(self) -> dict[Path, DataType | str]:
        newest = self.states[-1]
        # Keys of column mapping that were left have a check of their own.
        left = {lower(each.physical_path): each.field["type"] for each in newest.columns}
        return {**left, **dict(_typed(newest))}

    @cached_property
    def _ever(self) -> dict[Path, DataType | str]:
        return {path: kind for state in self._told for path, kind in _typed(state)}

    @cached_property
    def _types_by_id(self) -> dict[object, DataType | str | None]:
        newest = self.states[-1]
        types = {column.id: column.field["type"] for column in newest.columns}
        return dict.fromkeys(_ids(newest)) | types

    @cached_property
    def _ids_ever(self) -> set[object]:
        return {id for state in self._told if state.is_mapped for id in _ids(state)}

    @cached_property
    def _own(self) -> frozenset[str]:
        properties = (
            state.metadata.configuration.get(key)
            for state in self.states
            for key in ROW_TRACKING_COLUMNS
        )
        return INTERNAL_COLUMNS | {str(name).lower() for name in properties if name}

    def _is_in(self, path: Path, known: dict[Path, DataType | str]) -> bool:
        if path in known:
            return True
        # What is below anything but a struct, such as a variant's parts, is the format's business.
        above = (path[:length] for length in range(len(path) - 1, 0, -1))
        nearest = next((known[each] for each in above if each in known), "struct")
        return (nearest if isinstance(nearest, str) else nearest["type"]) != "struct"


def _typed(state: State) -> Iterator[tuple[Path, DataType | str]]:
    """Every column's path in files, and that of elements, keys and values, with its type."""
    for column in state.columns:
        yield from inner_types(state.name_in_files(column), column.field["type"])


def _ids(state: State) -> set[object]:
    return {id for column in state.columns for id in (column.id, *column.nested_ids.values())}
