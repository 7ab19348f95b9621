# SPDX-License-Identifier: Apache-2.0
"""To which column a name belongs that stands in a file, which may be older than the column is."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from spark_ext.history.lives import ColumnLife
from spark_ext.log.actions import LoggedMetadata, ParquetColumn
from spark_ext.log.known_names import KnownNames
from spark_ext.log.replay import Column, State, columns_of
from spark_ext.model.keys import MODE_ID
from spark_ext.model.schema import DataType, Path, inner_types, lower

# In the place of a version of metadata.
BEFORE_LOG: Final = -1


@dataclass(frozen=True)
class Stranger:
    """What files have and no state of the log knows, by its path there; letter case as written."""

    path: Path

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Stranger) and lower(self.path) == lower(other.path)

    def __hash__(self) -> int:
        return hash(lower(self.path))


Owner = ColumnLife | Stranger

# Delta 4.4.0, DeltaColumnMapping.scala, `generatePhysicalName`: no two columns have the same.
_RANDOM_NAME = re.compile(r"col-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")

# Parquet, VariantEncoding.md and VariantShredding.md.
_VARIANT_PARTS = ("metadata", "value", "typed_value")


@dataclass(frozen=True)
class Owners:
    """Whose a name is.

    A name may pass from one column to another while column mapping is off, so that it belongs to
    the column that had it when the file was written. Where that is not known, it belongs to each
    that may have had it.
    """

    states: Sequence[State]
    lives: Sequence[ColumnLife]

    def of(self, path: Path, under: int | None, field_id: int | None = None) -> set[Owner]:
        """The columns that a path in a data file, or in its statistics, may belong to.

        Args:
            path: At any level; what is inside a list or a map has no owner of its own.
            under: The version of the metadata that it was written under; `BEFORE_LOG` where that
                is older than the log, None where it may be any.
            field_id: As the file has it.
        """
        state = self.state_at(under)
        if state is not None:
            found = self._in_state(state, path, field_id)
            if found is not None:
                return found
        by_id = self._by_id.get(field_id, {}) if field_id else {}
        by_name = self._by_name.get(lower(path), {})
        if by_name or by_id:
            found = self._known_at({**by_id, **by_name}, path, under)
            # Who writes a file that no log has may count its fields in his own way.
            return found if by_name or under is not None else found | self._stranger(path)
        # A column of such a name was found above.
        if lower(path) in self._inner or self._known.is_internal(path):
            return set()
        return self._stranger(path)

    def of_columns(self, columns: Iterable[ParquetColumn], under: int | None) -> set[Owner]:
        """The columns of a data file."""
        return {
            owner for column in columns for owner in self.of(column.path, under, column.field_id)
        }

    def of_folder(self, name: str, under: int | None) -> set[Owner]:
        """The partition columns that a folder `name=value` may be of."""
        by_own_name: dict[Owner, int] = {}
        for life in self.lives:
            for since, column in life.columns:
                if lower(column.path) == (name.lower(),):
                    by_own_name.setdefault(life, since)
        found = self.of((name,), under)
        if any(isinstance(owner, Stranger) for owner in found) and by_own_name:
            return self._known_at(by_own_name, (name,), under)
        return found

    def of_schema(
        self, metadata: LoggedMetadata, under: int | None
    ) -> Iterator[tuple[Owner, Column]]:
        """Each column of a schema in the log with those it may be."""
        for column in columns_of(metadata.schema or {"type": "struct", "fields": []}):
            for owner in self.of(column.physical_path, under):
                yield owner, column

    def state_at(self, version: int | None) -> State | None:
        """The state in a version; None before the oldest that the log still has."""
        if version is None:
            return None
        place = bisect_right(self._versions, version)
        return self.states[place - 1] if place else None

    def _in_state(self, state: State, path: Path, field_id: int | None) -> set[Owner] | None:
        """The columns that a state has under a path; None where it has none."""
        column: Column | None = None
        if state.mode == MODE_ID and field_id is not None:
            column = self._ids_of(state).get(field_id)
        if column is None:
            column = state.names_in_files.get(lower(path))
        if column is None:
            return set() if lower(path) in self._inner_of(state) else None
        return set(self._with_path(column.path, state.version))

    def _with_path(self, path: Path, version: int) -> Iterator[ColumnLife]:
        for life in self._by_path.get(path, ()):
            if life.is_in(version) and life.at(version).path == path:
                yield life

    def _known_at(
        self, candidates: Mapping[Owner, int], path: Path, under: int | None
    ) -> set[Owner]:
        """Those that had a name when a file may have been written; else one that is forgotten.

        The candidates have the version since which each had it.
        """
        oldest = self.states[0].version
        version = oldest if under is None else max(under, oldest)
        older = {owner for owner, since in candidates.items() if since <= version}
        if under is not None:
            return older or {Stranger(path)}
        is_known = older or oldest == 0 or _RANDOM_NAME.fullmatch(path[-1])
        return {*candidates} if is_known else {*candidates, Stranger(path)}

    def _stranger(self, path: Path) -> set[Owner]:
        """The topmost part of a path that no schema knows."""
        for length in range(1, len(path) + 1):
            part = lower(path[:length])
            if part in self._by_name or part in self._inner:
                continue
            above = self._types.get(part[:-1], "struct")
            if above == "variant" and part[-1] in _VARIANT_PARTS:
                return set()  # what is below is the format's business
            if isinstance(above, str) or above["type"] == "struct":
                return {Stranger(path[:length])}
            return self._in_odd_group(path)
        return set()

    def _in_odd_group(self, path: Path) -> set[Owner]:
        """Columns in a list or a map that is laid out as no standard has it, by their last name."""
        ends = path[0].lower(), path[-1].lower()
        return {
            owner
            for known, owners in self._by_name.items()
            if len(known) > 1 and (known[0], known[-1]) == ends
            for owner in owners
        }

    @cached_property
    def _versions(self) -> list[int]:
        return [state.version for state in self.states]

    @cached_property
    def _inner_by_version(self) -> dict[int, frozenset[Path]]:
        return {}

    @cached_property
    def _ids_by_version(self) -> dict[int, dict[object, Column]]:
        return {}

    @cached_property
    def _known(self) -> KnownNames:
        return KnownNames(self.states)

    @cached_property
    def _by_path(self) -> dict[Path, list[ColumnLife]]:
        found: dict[Path, list[ColumnLife]] = defaultdict(list)
        for life in self.lives:
            for path in life.paths:
                found[path].append(life)
        return found

    @cached_property
    def _by_name(self) -> dict[Path, dict[Owner, int]]:
        """Each column by every name that it had in files, with the version since which."""
        found: dict[Path, dict[Owner, int]] = defaultdict(dict)
        for life in self.lives:
            for since, column in life.columns:
                found[lower(column.physical_path)].setdefault(life, since)
                # Files from before column mapping have this one.
                if not column.has_physical_name:
                    found[lower(column.path)].setdefault(life, since)
        return found

    @cached_property
    def _by_id(self) -> dict[object, dict[Owner, int]]:
        """The same by the ids that it had in files."""
        by_id = {state.version for state in self.states if state.mode == MODE_ID}
        found: dict[object, dict[Owner, int]] = defaultdict(dict)
        for life in self.lives:
            for since, column in life.columns:
                if since in by_id:
                    found[column.id].setdefault(life, since)
        return found

    @cached_property
    def _types(self) -> dict[Path, DataType | str]:
        found: dict[Path, DataType | str] = {}
        for life in self.lives:
            for _, column in life.columns:
                for path, kind in inner_types(lower(column.physical_path), column.field["type"]):
                    found[path] = kind
        return found

    @cached_property
    def _inner(self) -> set[Path]:
        """The elements, keys and values of every column."""
        return set(self._types) - set(self._by_name)

    def _inner_of(self, state: State) -> frozenset[Path]:
        known = self._inner_by_version.get(state.version)
        if known is None:
            known = self._inner_by_version[state.version] = frozenset(
                path
                for column in state.columns
                for path, _ in inner_types(state.name_in_files(column), column.field["type"])
            )
        return known

    def _ids_of(self, state: State) -> dict[object, Column]:
        if state.version not in self._ids_by_version:
            self._ids_by_version[state.version] = {each.id: each for each in state.columns}
        return self._ids_by_version[state.version]
