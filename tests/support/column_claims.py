# SPDX-License-Identifier: Apache-2.0
"""Checks the flag, the ids and the physical names of a commit against the reference model.

Each function returns claims: the name of a finding, and what was found.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from tests.support.reference_model import UUID, Column, Path, State, mapped, walk
from tests.support.table_files import Action
from tests.support.table_log import FLAG, LIKE, is_uuid_name

Claim = tuple[str, str]

NO_TABLE = State((), "none", is_tracked=False)
BROUGHT = ("RESTORE", "CLONE", "CONVERT")
"""Operations that add columns and files of another version or table."""
ALIGNING = "sparkext.columnMapping.aligning"
"""A property of a table whose column mapping `align_names()` removes and enables again."""


@dataclass(frozen=True)
class Change:
    """Describes a commit of `metaData` or `protocol`."""

    before: State
    after: State
    metadata: Action
    info: Action
    """The `commitInfo`."""
    restored: State | None
    """The version that a RESTORE restores, if it is known."""

    @property
    def operation(self) -> str:
        return str(self.info.get("operation", ""))

    @property
    def is_like(self) -> bool:
        """Whether CREATE TABLE LIKE made the table, which has the names and flag of its source."""
        return self.info.get("userMetadata") == LIKE

    @property
    def has_names_of_others(self) -> bool:
        """Whether the names are those of another table, an unknown version or another writer."""
        is_created = is_by_spark(self.info) and "readVersion" not in self.info
        return self.is_brought or self.is_like or (self.before is NO_TABLE and not is_created)

    @property
    def is_brought(self) -> bool:
        return self.operation in BROUGHT

    @property
    def model(self) -> State:
        """Returns the version by the model. Columns that the earlier version lacks are new."""
        ids = {id for id, _ in self.before.identities()}

        def known(_: Path, column: Column) -> Column:
            is_kept = column.kind == "part" or column.id in ids
            return column if is_kept else replace(column, id=None, physical=None)

        after = replace(self.after, columns=mapped(self.after.columns, known))
        return self.before.changed(after)

    @property
    def flag(self) -> bool | None:
        """Returns the flag by the model."""
        before, after = self.before, self.after
        if self.operation == "RESTORE":
            return before.restored(self.restored).flag if self.restored else after.flag
        if self.is_brought:
            is_new = before is NO_TABLE
            target = replace(before, is_tracked=True, flag=False) if is_new else before
            return after.cloned_over(target).flag
        if self.is_like:
            return after.flag
        return True if before.is_tracked and before.flag is None else self.model.flag


def is_by_spark(info: Action) -> bool:
    """Returns whether Delta's own writer made a commit."""
    return str(info.get("engineInfo", "")).startswith("Apache-Spark/")


def _columns(state: State, *, physical: bool = False) -> list[tuple[Path, Column]]:
    found = walk(state.columns, physical=physical)
    return [(path, column) for path, column in found if column.kind != "part"]


def of_flag(change: Change) -> Iterator[Claim]:
    before, after, value = change.before, change.after, change.metadata["configuration"].get(FLAG)
    if not after.is_tracked:
        if before.is_tracked and change.operation != "DROP FEATURE":
            yield "feature_lost", f"by {change.operation}"
        if value is not None and (before.is_tracked or before.flag is None):
            yield "flag_without_feature", f"it is {value}"
    elif after.flag is None:
        yield "feature_without_flag" if value is None else "flag_not_boolean", str(value)
    elif before.is_tracked and before.flag and not after.flag:
        yield "flag_turned_back", f"by {change.operation}"
    elif change.flag and not after.flag:
        check = "drop_without_flag" if before.is_tracked else "flag_started_false"
        yield check, f"by {change.operation}: {before.identities()} became {after.identities()}"
    elif change.flag is False and after.flag:
        yield "flag_too_early", f"by {change.operation}: no column was dropped or renamed"


@dataclass
class KnownColumns:
    """Remembers the columns of all versions since column mapping was enabled."""

    owners: dict[Path, int | None] = field(default_factory=dict)
    """The ids by physical paths in lower case."""
    highest: int = 0

    def claims(self, change: Change) -> Iterator[Claim]:
        after = change.after
        for path, column in _columns(after):
            if after.is_mapped and None in (column.id, column.physical):
                yield "column_without_mapping", str(path)
            if not after.is_mapped and (column.id, column.physical) != (None, None):
                yield "mapping_keys_remain", str(path)
        if change.is_brought and not change.before.is_mapped:
            self.highest = 0  # column mapping starts again, also if it ends an alignment
        if after.is_mapped:
            yield from self._of_ids(change)
            yield from self._of_paths(change)
            if not change.has_names_of_others:
                yield from _of_new_names(change)
            return
        self.owners.clear()
        if ALIGNING not in change.metadata["configuration"]:
            self.highest = 0

    def _of_ids(self, change: Change) -> Iterator[Claim]:
        before, after = change.before, change.after
        fields = [column.id for _, column in _columns(after) if column.id is not None]
        ids = [*fields, *_nested_ids(json.loads(change.metadata["schemaString"]))]
        twice = {id for id in ids if ids.count(id) > 1}
        if twice:
            yield "id_used_again", f"{twice} are ids of two columns"
        if after.max_id < max(ids, default=0):
            yield "max_column_id_too_small", f"{after.max_id} of {ids}"
        if after.max_id < self.highest:
            yield "max_column_id_decreased", f"from {self.highest} to {after.max_id}"
        known = {id for id, _ in before.identities()}
        late = {id for id in fields if before.is_mapped and id <= before.max_id} - known
        if late and not change.is_brought:
            yield "id_used_again", f"{late} are new, and the highest was {before.max_id}"
        self.highest = max(self.highest, after.max_id)

    def _of_paths(self, change: Change) -> Iterator[Claim]:
        old = dict(iter(change.before.identities())) if change.before.is_mapped else {}
        here: dict[Path, int | None] = {}
        for path, column in _columns(change.after, physical=True):
            key = tuple(part.lower() for part in path)
            if key in here:
                yield "physical_name_used_again", f"{path} is the path of two columns"
            here[key] = column.id
            known = old.get(column.id or 0)
            if not change.is_brought and known and known[-1] != path[-1]:
                yield "physical_name_changed", f"{column.name} from {known} to {path}"
            if not change.is_brought and not known and self.owners.get(key, column.id) != column.id:
                yield "physical_name_used_again", f"{path} was the path of another column"
        self.owners |= here


def _of_new_names(change: Change) -> Iterator[Claim]:
    """Yields claims about the physical names of new columns."""
    before, after, is_new = change.before, change.after, change.before is NO_TABLE
    is_enabled = not before.is_mapped and not is_new and "REPLACE" not in change.operation
    ids = {id for id, _ in before.identities()}
    wanted = [column for column in walk(change.model.columns) if column[1].kind != "part"]
    for (path, model), (_, column) in zip(wanted, _columns(after), strict=True):
        if column.id in ids or column.physical is None:
            continue
        if model.physical == UUID and not is_enabled:
            if not is_uuid_name(column.physical):
                yield "uuid_missing", f"{path} has the physical name {column.physical}"
        elif column.physical != column.name and not (
            is_uuid_name(column.physical) and _is_taken(after, path)
        ):
            yield "logical_name_missing", f"{path} has the physical name {column.physical}"


def _is_taken(state: State, path: Path) -> bool:
    """Returns whether a name is reserved, or another column's physical name."""
    others = [(*each[:-1], str(c.physical)) for each, c in _columns(state) if each != path]
    key = "\0".join(path).lower()
    return path[0].startswith("_") or key in ("\0".join(each).lower() for each in others)


def _nested_ids(kind: Any) -> Iterator[int]:
    """Yields the ids of array elements, map keys and map values."""
    if isinstance(kind, dict):
        yield from kind.get("metadata", {}).get("delta.columnMapping.nested.ids", {}).values()
        inner = (kind.get(key) for key in ("type", "elementType", "keyType", "valueType"))
        for each in (*kind.get("fields", []), *inner):
            yield from _nested_ids(each)
