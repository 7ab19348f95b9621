# SPDX-License-Identifier: Apache-2.0
"""Checks of the metadata and protocols in the log: schemas, modes, ids, names and the flag."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from spark_ext.auditing.check import (
    NEXT_CHANGE,
    UNREADABLE,
    WRONG_ROWS,
    Problem,
    check,
    state_check,
)
from spark_ext.log.actions import TableLog
from spark_ext.log.history import State, difference
from spark_ext.model.column_mapping import (
    SUPPORTED_MODES,
    Column,
    field_metadata,
    satisfy_column_mapping_protocol,
)
from spark_ext.model.keys import (
    COLUMN_ID,
    COLUMN_MAPPING_MODE,
    FEATURE_NAME,
    HAS_DROPPED_OR_RENAMED,
    MAX_COLUMN_ID,
    NESTED_COLUMN_IDS,
    PHYSICAL_NAME,
)
from spark_ext.model.schema import Path, is_below, lower, quoted, topmost

_KEYS = frozenset({COLUMN_ID, PHYSICAL_NAME, NESTED_COLUMN_IDS})
# A protocol of this version or a later one lists its features.
_LISTING_WRITER = 7
_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)

_RESTORE = "RESTORE the table to the last version before this one."
_REPLACE_COLUMN = (
    "Add a column in a session with spark-ext, copy the values into it, and drop this column"
)
_TRACK_AGAIN = f"Run DROP FEATURE {FEATURE_NAME} and add the feature again"
_CHANGE_SCHEMA = "Any change of the schema in a session with spark-ext writes the flag as true."


@state_check(UNREADABLE + 15, remedy=_RESTORE)
def unreadable_schema(state: State) -> str | None:
    """Finds a `schemaString` that is not a schema; no other check sees the columns then.

    Source: Protocol, "Schema Serialization Format".
    """
    if state.metadata.schema is not None:
        return None
    return "`schemaString` is not a schema. No reader can open the table."


@state_check(UNREADABLE + 20, remedy=_RESTORE)
def unknown_mode(state: State) -> str | None:
    """Finds a column mapping mode that Delta does not know, in any letter case.

    Source: Protocol, "Column Mapping"; Delta 4.4.0, `DeltaColumnMappingMode.apply`.
    """
    if state.mode in SUPPORTED_MODES:
        return None
    return (
        f"`{COLUMN_MAPPING_MODE}` is {state.mode!r}, not one of {', '.join(SUPPORTED_MODES)}."
        " Delta refuses the table."
    )


@check(
    WRONG_ROWS + 25,
    remedy=f"Compare the column with the values that it should have. {_REPLACE_COLUMN}.",
)
def physical_name_used_again(log: TableLog, states: tuple[State, ...]) -> Iterator[Problem]:
    """Finds physical paths that two columns have, at one time or one after the other.

    Letter case is ignored, because Parquet readers may ignore it. The comparison starts again after
    RESTORE, CLONE and a removal of column mapping. Of a struct, only the struct is found.

    Source: RFC, "Writer Requirements for Column Mapping": "Assign a unique physical name to each
    column".
    """
    assigned: dict[Path, object] = {}
    reported: set[tuple[Path, object]] = set()
    for state in states:
        if not state.is_mapped or state.may_add_foreign_columns:
            assigned = {}
        current: dict[Path, object] = {}
        used_again: set[Path] = set()
        for column in state.columns if state.is_mapped else ():
            path = lower(column.physical_path)
            if is_below(path, used_again):
                continue
            if path in current or assigned.get(path, column.id) != column.id:
                used_again.add(path)
                if (path, column.known_id) not in reported:
                    reported.add((path, column.known_id))
                    yield Problem(
                        state.version,
                        f"The physical name `{column.physical_path[-1]}` is or was the name of"
                        " another column. In older files the column shows the values of the other"
                        " column.",
                        column.path,
                    )
            current[path] = column.id
        assigned |= current


@check(WRONG_ROWS + 30, remedy=f"{_REPLACE_COLUMN}, or RESTORE the table to the version before.")
def id_used_again(log: TableLog, states: tuple[State, ...]) -> Iterator[Problem]:
    """Finds ids that two columns have, at one time or one after the other.

    An id belongs to another column if it has another physical name, or if it is used after a drop.
    If a struct is replaced by a value of another type, fields of the same name keep their ids and
    physical names. The comparison starts again after RESTORE, CLONE and a removal of column
    mapping: ids are then of another table or version, or all ids are assigned again.

    Source: Protocol, "Writer Requirements for Column Mapping"; Delta 4.4.0,
    DeltaColumnMapping.scala, `assignColumnIdAndPhysicalNameToSchema`, for replaced structs.
    """
    assigned: dict[int, Path] = {}
    before: set[int] = set()
    reported: set[tuple[int, Path]] = set()
    for state in states:
        if not state.is_mapped or state.may_add_foreign_columns:
            assigned, before = {}, set()
        if state.metadata.schema is None:
            continue
        current: dict[int, Path] = {}
        for id, path, column in _named_ids(state) if state.is_mapped else ():
            owner = current.get(id, assigned.get(id, path))
            is_reused = id in assigned and id not in before
            if (owner != path or is_reused) and (id, path) not in reported:
                reported.add((id, path))
                was_dropped = is_reused and owner == path
                happened = (
                    "was dropped and is used again"
                    if was_dropped
                    else "was the id of another column"
                )
                yield Problem(
                    state.version,
                    f"The column id {id} {happened}. Readers that find columns by id, such as"
                    " readers of mode id and Iceberg, read the values of the other column in older"
                    " files.",
                    column.path,
                )
            current.setdefault(id, path)
        assigned |= current
        before = set(current)


def _named_ids(state: State) -> Iterator[tuple[int, Path, Column]]:
    """Yields every id, also of elements, keys and values, with the physical name it belongs to."""
    for column in state.columns:
        if isinstance(column.id, int):
            yield column.id, column.physical_path[-1:], column
        for path, id in column.nested_ids.items():
            if isinstance(id, int):
                yield id, (column.physical_path[-1], path), column


@check(
    WRONG_ROWS + 35,
    remedy=(
        "Run INSERT OVERWRITE t SELECT * FROM t VERSION AS OF n, where n is the last"
        " version with column mapping, before any other change."
    ),
)
def mapping_keys_remain(log: TableLog, states: tuple[State, ...]) -> Iterator[Problem]:
    """Finds columns with an id or a physical name in the newest version, if the mode is none.

    Source: Delta 4.4.0, RemoveColumnMappingCommand.scala, `updateMetadata`; docs/limits.md.
    """
    newest = states[-1]
    for column in () if newest.is_mapped else newest.columns:
        if _KEYS.isdisjoint(field_metadata(column.field)):
            continue
        effect = (
            "Some engines refuse the table, and Delta never enables column mapping again."
            if column.physical_path == column.path
            else f"Files call the column {quoted(column.physical_path)}, and no reader looks for"
            " that name any more."
        )
        yield Problem(
            newest.version,
            f"Column mapping is off, and the column still has an id or a physical name. {effect}",
            column.path,
        )


@check(
    WRONG_ROWS + 40, remedy="RESTORE the table to the last version in which the column has both."
)
def column_without_mapping(log: TableLog, states: tuple[State, ...]) -> Iterator[Problem]:
    """Finds columns of a mapped table without an id or a physical name, in the newest version.

    Source: Protocol, "Writer Requirements for Column Mapping".
    """
    newest = states[-1]
    for column in newest.columns if newest.is_mapped else ():
        has = {"column id": column.known_id is not None, "physical name": column.has_physical_name}
        missing = " and no ".join(key for key, is_present in has.items() if not is_present)
        if missing:
            yield Problem(
                newest.version,
                f"Column mapping is on, and the column has no {missing}. Readers and writers"
                " refuse the table, or read the column as null.",
                column.path,
            )


@state_check(
    WRONG_ROWS + 45,
    remedy=(
        "Add the features with ALTER TABLE .. SET TBLPROPERTIES ('delta.feature.<name>' ="
        " 'supported'), or RESTORE the table to the version before."
    ),
)
def protocol_too_low(state: State) -> str | None:
    """Finds column mapping, or the tracking feature, under a protocol that does not allow it.

    Source: Protocol, "Column Mapping" and "Table Features"; RFC, "Writer Requirements for Usage
    Tracking": "writer version 7".
    """
    protocol = state.protocol
    versions = f"reader {protocol.min_reader_version}, writer {protocol.min_writer_version}"
    if state.is_mapped and not satisfy_column_mapping_protocol(protocol):
        mode = f"`{COLUMN_MAPPING_MODE}` is {state.mode}"
        problem = f"{mode}, and the protocol ({versions}) does not allow column mapping"
    elif state.is_tracked and protocol.min_writer_version < _LISTING_WRITER:
        problem = f"The protocol ({versions}) lists `{FEATURE_NAME}`, which needs writer 7"
    else:
        return None
    return (
        f"{problem}. Readers and writers without the feature open the table, and read nulls or"
        " write files under wrong names."
    )


@check(
    NEXT_CHANGE,
    remedy=(
        f"{_TRACK_AGAIN}, which makes the flag true. Compare the columns that were"
        " added since this version with the values that they should have."
    ),
)
def flag_turned_back(log: TableLog, states: tuple[State, ...]) -> Iterator[Problem]:
    """Finds versions that set the flag of a tracked table to false; an invalid flag was true.

    Source: RFC, "Writer Requirements for Usage Tracking": "it must never be set back".
    """
    for before, after in pairwise(states):
        was_true = before.is_tracked and before.flag is not False
        if was_true and after.is_tracked and after.flag is False:
            yield Problem(
                after.version,
                f"`{HAS_DROPPED_OR_RENAMED}` is false from this version on and was not false"
                " before. A new column gets its logical name as physical name. If a dropped or"
                " renamed column has that name in older files, the new column shows its values.",
            )


@check(
    NEXT_CHANGE + 5, remedy=f"{_TRACK_AGAIN}, which makes the flag true, before a column is added."
)
def drop_without_flag(log: TableLog, states: tuple[State, ...]) -> Iterator[Problem]:
    """Finds columns that were dropped or renamed in a commit that kept the flag false.

    In a mapped table, a column is the same if its id and physical path are the same. If the commit
    removes column mapping, its logical path identifies it. Without column mapping, no column can be
    dropped while files keep it. If a whole struct was dropped, only the struct is found.

    Source: RFC, "Writer Requirements for Usage Tracking".
    """
    for before, after in pairwise(states):
        if not (before.is_tracked and after.is_tracked) or not before.is_mapped:
            continue
        if before.flag is not False or after.flag is not False or after.metadata.schema is None:
            continue
        for path, happened in _changed(before, after):
            yield Problem(
                after.version,
                f"The column was {happened}, and the flag stayed false. A new column of this"
                " name shows the values of the old one, and removing column mapping keeps"
                " files that it should not keep.",
                path,
            )


def _changed(before: State, after: State) -> Iterator[tuple[Path, str]]:
    """Yields the columns that a commit dropped or renamed, each with the change in words."""
    change = difference(before, after)
    dropped = {
        column.path
        for column in change.dropped
        # Nothing identifies a column without an id.
        if column.id is not None or not after.is_mapped
    }
    for path in dropped:
        if not is_below(path, dropped):
            yield path, "dropped"
    for old, new in change.kept:
        if old.path[-1] != new.path[-1] and not is_below(old.path, dropped):
            yield old.path, f"renamed to {quoted(new.path)}"


@check(
    NEXT_CHANGE + 10,
    remedy=f"{_TRACK_AGAIN} in a session with spark-ext, which makes the flag true.",
)
def flag_started_false(log: TableLog, states: tuple[State, ...]) -> Iterator[Problem]:
    """Finds versions that add the feature to a mapped table and set the flag to false.

    Source: RFC, "Writer Requirements for Usage Tracking": "set to `true` when enabling usage
    tracking on an existing table with column mapping enabled".
    """
    for before, after in pairwise(states):
        is_added = after.is_tracked and not before.is_tracked
        if is_added and after.flag is False and before.is_mapped and before.columns:
            yield Problem(
                after.version,
                f"`{HAS_DROPPED_OR_RENAMED}` is false from the start of tracking, on a table"
                " that had column mapping. Earlier drops and renames are not recorded, and a"
                " new column may show the values of an older one in the files.",
            )


@check(
    NEXT_CHANGE + 15,
    remedy=(
        "Compare the column with the values that it should have in rows of earlier versions."
        f" {_REPLACE_COLUMN}."
    ),
)
def uuid_missing(log: TableLog, states: tuple[State, ...]) -> Iterator[Problem]:
    """Finds columns without a UUID that were added while the flag was true, or as it became true.

    RESTORE, CLONE and the commit that enables column mapping on an existing table are skipped:
    their columns already have names. Of a whole struct, only the struct is found.

    Source: RFC, "Writer Requirements for Column Mapping": "Otherwise the physical column name must
    contain a universally unique identifier".
    """
    for before, after in pairwise(states):
        if after.flag is False or after.may_add_foreign_columns or not before.columns:
            continue
        if not all(state.is_tracked and state.is_mapped for state in (before, after)):
            continue
        known = {column.known_id for column in before.columns}
        added = (
            column
            for column in after.columns
            if column.known_id not in known and not _UUID.search(column.physical_path[-1])
        )
        for column in topmost(added, lambda column: column.path):
            yield Problem(
                after.version,
                "The column was added while the flag was true, and its physical name is"
                f" `{column.physical_path[-1]}`. If a dropped or renamed column has that name in"
                " older files, the column shows the values of the older column.",
                column.path,
            )


@state_check(NEXT_CHANGE + 20, remedy=_RESTORE)
def max_column_id_too_small(state: State) -> str | None:
    """Finds a `maxColumnId` that is below an id in the schema, missing, or not a number.

    Source: Protocol, "Writer Requirements for Column Mapping"; Delta 4.4.0,
    DeltaColumnMapping.scala, `checkColumnIdAndPhysicalNameAssignments`, which refuses such a table.
    """
    highest = max((id for id in state.ids if isinstance(id, int)), default=None)
    if not state.is_mapped or highest is None:
        return None
    if state.max_column_id is not None and state.max_column_id >= highest:
        return None
    value = state.metadata.configuration.get(MAX_COLUMN_ID)
    return (
        f"`{MAX_COLUMN_ID}` is {value!r}, and the schema has the id {highest}. Delta refuses to"
        " write the table, and other writers assign an id a second time."
    )


@check(
    NEXT_CHANGE + 25,
    remedy=(
        "Remove column mapping before a column is added"
        " (UsageTracking.remove_column_mapping()), and enable it again."
    ),
)
def max_column_id_decreased(log: TableLog, states: tuple[State, ...]) -> Iterator[Problem]:
    """Finds versions of a mapped table with a lower `maxColumnId` than the version before.

    On an untracked table a RESTORE or CLONE may set the value of another version or table.

    Source: Protocol, "Writer Requirements for Column Mapping": it "must increase monotonically".
    """
    for before, after in pairwise(states):
        if not before.is_mapped or not after.is_mapped:
            continue
        if after.may_add_foreign_columns and not (before.is_tracked and after.is_tracked):
            continue
        old, new = before.max_column_id, after.max_column_id
        if old is not None and new is not None and new < old:
            yield Problem(
                after.version,
                f"`{MAX_COLUMN_ID}` decreased from {old} to {new}. New columns get ids of"
                " dropped columns, and readers that find columns by id read the wrong column.",
            )


@state_check(NEXT_CHANGE + 30, remedy=_CHANGE_SCHEMA)
def feature_without_flag(state: State) -> str | None:
    """Finds a tracked table whose properties lack the flag, against the RFC."""
    if not state.is_tracked or HAS_DROPPED_OR_RENAMED in state.metadata.configuration:
        return None
    return (
        f"The protocol lists `{FEATURE_NAME}`, and the table lacks `{HAS_DROPPED_OR_RENAMED}`."
        " Nothing records whether a column was dropped or renamed. spark-ext takes the flag for"
        " true, and other writers may not."
    )


@state_check(NEXT_CHANGE + 35, remedy=_CHANGE_SCHEMA)
def flag_not_boolean(state: State) -> str | None:
    """Finds a flag of a tracked table that is neither true nor false, in any letter case."""
    configuration = state.metadata.configuration
    has_flag = state.is_tracked and HAS_DROPPED_OR_RENAMED in configuration
    if not has_flag or state.flag is not None:
        return None
    return (
        f"`{HAS_DROPPED_OR_RENAMED}` is {configuration[HAS_DROPPED_OR_RENAMED]!r}, neither true nor"
        " false. Nothing records whether a column was dropped or renamed. spark-ext takes the flag"
        " for true, and other writers may not."
    )


@state_check(
    NEXT_CHANGE + 40,
    remedy=(
        "Track the table in a session with spark-ext, which sets the flag as the RFC demands:"
        " spark_ext.UsageTracking.forName(spark, ..).enable()."
    ),
)
def flag_without_feature(state: State) -> str | None:
    """Finds the flag where the protocol does not list the feature, such as after some CLONEs."""
    if state.is_tracked or HAS_DROPPED_OR_RENAMED not in state.metadata.configuration:
        return None
    return (
        f"The table has `{HAS_DROPPED_OR_RENAMED}`, and its protocol does not list"
        f" `{FEATURE_NAME}`. Any writer may drop and rename columns without changing the flag, so"
        " that the flag means nothing."
    )
