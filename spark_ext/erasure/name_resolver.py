# SPDX-License-Identifier: Apache-2.0
"""Resolves a name found in a file to the column that had it when the file was written."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from spark_ext.history.lifetimes import Lifetime
from spark_ext.log.actions import LoggedMetadata, ParquetColumn
from spark_ext.log.known_names import KnownNames
from spark_ext.log.replay import State
from spark_ext.model.columns import Column, columns_of
from spark_ext.model.keys import MODE_ID
from spark_ext.model.schema import DataType, Path, inner_types, lower

# Replaces the version of the metadata if a file is older than the log.
BEFORE_LOG: Final = -1


@dataclass(frozen=True)
class UnknownColumn:
    """A column of files that no state of the log contains, by its path there.

    Letter case is kept, and ignored by comparisons.
    """

    path: Path

    def __eq__(self, other: object) -> bool:
        return isinstance(other, UnknownColumn) and lower(self.path) == lower(other.path)

    def __hash__(self) -> int:
        return hash(lower(self.path))


Resolved = Lifetime | UnknownColumn

# Delta 4.4.0, DeltaColumnMapping.scala, `generatePhysicalName`: no two columns have the same.
_RANDOM_NAME = re.compile(r"col-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")

# Parquet, VariantEncoding.md and VariantShredding.md.
_VARIANT_PARTS = ("metadata", "value", "typed_value")


@dataclass(frozen=True)
class NameResolver:
    """Resolves names to columns.

    While column mapping is off, a name may pass from one column to another. The name in a file
    belongs to the column that had it when the file was written. If that time is not known, the
    name is resolved to each column that may have had it.
    """

    states: Sequence[State]
    lifetimes: Sequence[Lifetime]

    def resolve(self, path: Path, under: int | None, field_id: int | None = None) -> set[Resolved]:
        """Returns the columns that a path in a data file, or in its statistics, may belong to.

        Args:
            path: A path at any level. An element, key or value is not a column.
            under: The version of the metadata when the file was written; `BEFORE_LOG` if the file
                is older than the log, None if it is not known.
            field_id: The field id in the file.
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
            # The writer of an untracked file may have its own field ids.
            return found if by_name or under is not None else found | self._unknown(path)
        # A column with such a name was found above.
        if lower(path) in self._inner or self._known.is_internal(path):
            return set()
        return self._unknown(path)

    def resolve_columns(self, columns: Iterable[ParquetColumn], under: int | None) -> set[Resolved]:
        """Returns the columns that the columns of a data file may belong to."""
        return {
            found
            for column in columns
            for found in self.resolve(column.path, under, column.field_id)
        }

    def resolve_folder(self, name: str, under: int | None) -> set[Resolved]:
        """Returns the columns whose values a folder `name=value` may contain."""
        by_own_name: dict[Resolved, int] = {}
        for lifetime in self.lifetimes:
            for since, column in lifetime.columns:
                if lower(column.path) == (name.lower(),):
                    by_own_name.setdefault(lifetime, since)
        found = self.resolve((name,), under)
        if any(isinstance(each, UnknownColumn) for each in found) and by_own_name:
            return self._known_at(by_own_name, (name,), under)
        return found

    def resolve_schema(
        self, metadata: LoggedMetadata, under: int | None
    ) -> Iterator[tuple[Resolved, Column]]:
        """Yields each column of a schema in the log, with the columns that it may be."""
        for column in columns_of(metadata.schema or {"type": "struct", "fields": []}):
            for found in self.resolve(column.physical_path, under):
                yield found, column

    def state_at(self, version: int | None) -> State | None:
        """Returns the state in a version; None before the oldest state in the log."""
        if version is None:
            return None
        place = bisect_right(self._versions, version)
        return self.states[place - 1] if place else None

    def _in_state(self, state: State, path: Path, field_id: int | None) -> set[Resolved] | None:
        """Returns the columns that a path has in a state; None if the state does not contain it."""
        column: Column | None = None
        if state.mode == MODE_ID and field_id is not None:
            column = self._ids_of(state).get(field_id)
        if column is None:
            column = state.names_in_files.get(lower(path))
        if column is None:
            return set() if lower(path) in self._inner_of(state) else None
        return set(self.with_path(column.path, state.version))

    def with_path(self, path: Path, version: int) -> Iterator[Lifetime]:
        """Yields the columns that had a path in a version."""
        for lifetime in self._by_path.get(path, ()):
            if lifetime.is_in(version) and lifetime.at(version).path == path:
                yield lifetime

    def _known_at(
        self, candidates: Mapping[Resolved, int], path: Path, under: int | None
    ) -> set[Resolved]:
        """Returns the candidates that had a name when a file may have been written.

        The values of `candidates` are the first versions of that name. If no candidate had the name
        by the version `under`, the column is unknown. Without `under`, returns all candidates, and
        an unknown column too if a column older than the log may have had the name.
        """
        oldest = self.states[0].version
        version = oldest if under is None else max(under, oldest)
        older = {column for column, since in candidates.items() if since <= version}
        if under is not None:
            return older or {UnknownColumn(path)}
        is_known = older or oldest == 0 or _RANDOM_NAME.fullmatch(path[-1])
        return {*candidates} if is_known else {*candidates, UnknownColumn(path)}

    def _unknown(self, path: Path) -> set[Resolved]:
        """Returns the topmost part of a path that no schema contains, as an unknown column.

        Returns known columns for a list or a map with a nonstandard layout.
        """
        for length in range(1, len(path) + 1):
            part = lower(path[:length])
            if part in self._by_name or part in self._inner:
                continue
            above = self._types.get(part[:-1], "struct")
            if above == "variant" and part[-1] in _VARIANT_PARTS:
                return set()  # the format decides the parts of a variant
            if isinstance(above, str) or above["type"] == "struct":
                return {UnknownColumn(path[:length])}
            return self._in_odd_group(path)
        return set()

    def _in_odd_group(self, path: Path) -> set[Resolved]:
        """Returns columns in a list or a map with a nonstandard layout, by their last name."""
        ends = path[0].lower(), path[-1].lower()
        return {
            column
            for known, columns in self._by_name.items()
            if len(known) > 1 and (known[0], known[-1]) == ends
            for column in columns
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
    def _by_path(self) -> dict[Path, list[Lifetime]]:
        found: dict[Path, list[Lifetime]] = defaultdict(list)
        for lifetime in self.lifetimes:
            for path in lifetime.paths:
                found[path].append(lifetime)
        return found

    @cached_property
    def _by_name(self) -> dict[Path, dict[Resolved, int]]:
        """Returns the columns by every name in files, with the first version of the name."""
        found: dict[Path, dict[Resolved, int]] = defaultdict(dict)
        for lifetime in self.lifetimes:
            for since, column in lifetime.columns:
                found[lower(column.physical_path)].setdefault(lifetime, since)
                # Files from before column mapping have this name.
                if not column.has_physical_name:
                    found[lower(column.path)].setdefault(lifetime, since)
        return found

    @cached_property
    def _by_id(self) -> dict[object, dict[Resolved, int]]:
        """Returns the columns by every id in files, with the first version of the id."""
        by_id = {state.version for state in self.states if state.mode == MODE_ID}
        found: dict[object, dict[Resolved, int]] = defaultdict(dict)
        for lifetime in self.lifetimes:
            for since, column in lifetime.columns:
                if since in by_id:
                    found[column.id].setdefault(lifetime, since)
        return found

    @cached_property
    def _types(self) -> dict[Path, DataType | str]:
        found: dict[Path, DataType | str] = {}
        for lifetime in self.lifetimes:
            for _, column in lifetime.columns:
                for path, kind in inner_types(lower(column.physical_path), column.field["type"]):
                    found[path] = kind
        return found

    @cached_property
    def _inner(self) -> set[Path]:
        """Returns the elements, keys and values of every column."""
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
