# SPDX-License-Identifier: Apache-2.0
"""Compares the columns in data files with the schema of a version."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from spark_ext.log.actions import FileGroup
from spark_ext.log.history import KnownNames
from spark_ext.log.replay import State
from spark_ext.model.keys import MODE_ID
from spark_ext.model.schema import INNER, DataType, Path, inner_types, lower

_VARIANT = "variant"


def internal_names(known: Sequence[State]) -> Callable[[Path], bool]:
    """Returns whether a path is internal to Delta: no known state has a column of the name."""
    names = KnownNames(known)
    named = {path[0] for state in known for path in state.names_in_files}
    return lambda path: path[0] not in named and names.is_internal(path)


class FileColumns:
    """The columns that the files of a version may contain.

    Args:
        state: The version's protocol and metadata.
        is_internal: As `internal_names` returns it.
    """

    def __init__(self, state: State, is_internal: Callable[[Path], bool]) -> None:
        self._by_id = state.mode == MODE_ID
        self._is_internal = is_internal
        self._types: dict[Path, DataType | str] = {}
        self._ids: dict[Path, int | None] = {}
        self._path_of: dict[int, Path] = {}
        for column in state.columns:
            path = state.name_in_files(column)
            id = column.known_id if state.is_mapped else None
            self._ids[path] = id
            if id is not None:
                self._path_of[id] = path
            self._types.update(inner_types(path, column.field["type"]))
        self._partitions = {state.name_in_files(each)[0] for each in state.partition_columns}

    def foreign(self, files: FileGroup) -> set[Path]:
        """Returns the paths in footers, in folders `name=value` and in the log without a column.

        In mode id a column is found by its field id. In other modes the path decides, and if both
        sides have an id, it has to be the same: a column of the name may have been dropped.
        """
        found = self.foreign_folders(files)
        # The path in the schema of each path in the file.
        places: dict[Path, Path] = {}
        for column in files.columns or ():
            path = lower(column.path)
            place = self._place(path, column.field_id, places.get(path[:-1], path[:-1]))
            if place is not None:
                places[path] = place
            elif not self._is_internal(path):
                found.add(path)
        return found

    def foreign_folders(self, files: FileGroup) -> set[Path]:
        """Returns the names in folders and partition values that are no partition columns."""
        names = lower((*files.folders, *files.partition_columns))
        return {(name,) for name in names if name not in self._partitions}

    def _place(self, path: Path, id: int | None, above: Path) -> Path | None:
        if self._by_id and id in self._path_of:
            return self._path_of[id]
        place = (*above, path[-1])
        if self._types.get(above) == _VARIANT:
            return above
        if place not in self._types:
            return None
        known = self._ids.get(place)
        if self._by_id:
            return place if place not in self._ids and path[-1] in INNER else None
        return place if None in (id, known) or id == known else None
