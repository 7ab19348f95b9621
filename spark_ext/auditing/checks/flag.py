# SPDX-License-Identifier: Apache-2.0
"""Checks of the flag `delta.columnMapping.hasDroppedOrRenamed` and of the feature beside it."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from spark_ext.auditing.check import NEXT_CHANGE, Problem, check, is_below, state_check
from spark_ext.log.actions import TableLog
from spark_ext.log.replay import State
from spark_ext.model.column_mapping import Column
from spark_ext.model.keys import FEATURE_NAME, HAS_DROPPED_OR_RENAMED
from spark_ext.model.schema import Path, quoted

_TRACK_AGAIN = f"Run DROP FEATURE {FEATURE_NAME} and add the feature again"
_CHANGE_SCHEMA = "Any change of the schema in a session with spark-ext writes the flag as true."


@check(NEXT_CHANGE)
def flag_turned_back(log: TableLog, states: tuple[State, ...]) -> Iterator[Problem]:
    """Finds versions that set the flag of a tracked table to false.

    A flag that was missing or not a boolean counts as true.

    Source:
        RFC, "Writer Requirements for Usage Tracking": "it must never be set back".

    Example:
        >>> one, other = (table({"a": "1 a"}, "name", flag) for flag in ("true", "false"))
        >>> [found.version for found in flag_turned_back(*history(one, other))]
        [1]
        >>> list(flag_turned_back(*history(other, one)))
        []
    """
    for before, after in pairwise(states):
        if not before.is_tracked or not after.is_tracked:
            continue
        if before.flag is not False and after.flag is False:
            yield Problem(
                version=after.version,
                message=(
                    f"`{HAS_DROPPED_OR_RENAMED}` is false from this version on and was not false"
                    " before. A new column gets its logical name as physical name. If a dropped or"
                    " renamed column has that name in older files, the new column shows its values."
                ),
                remedy=(
                    f"{_TRACK_AGAIN}, which makes the flag true. Compare the columns that were"
                    " added since this version with the values that they should have."
                ),
            )


@check(NEXT_CHANGE + 5)
def drop_without_flag(log: TableLog, states: tuple[State, ...]) -> Iterator[Problem]:
    """Finds columns that were dropped or renamed in a commit that kept the flag false.

    In a mapped table, a column is the same if its id and physical path are the same. If the commit
    removes column mapping, its logical path identifies it. Without column mapping, no column can be
    dropped while files keep it. If a whole struct was dropped, only the struct is found.

    Source:
        RFC, "Writer Requirements for Usage Tracking".

    Example:
        >>> def without_flag(columns, flag="false"):
        ...     one = table({"a": "1 a", "b": "2 b"}, "name", "false")
        ...     return drop_without_flag(*history(one, table(columns, "name", flag)))
        >>> [found.column for found in without_flag({"b": "2 b"})]
        [('a',)]
        >>> [found.column for found in without_flag({"a": "1 a", "c": "2 b"})]
        [('b',)]
        >>> list(without_flag({"a": "1 a", "c": "2 b"}, "true"))
        []
    """
    for before, after in pairwise(states):
        if not (before.is_tracked and after.is_tracked) or not before.is_mapped:
            continue
        if before.flag is not False or after.flag is not False or after.metadata.schema is None:
            continue
        for column, happened in _changed(before, after):
            yield Problem(
                version=after.version,
                column=column.path,
                message=(
                    f"The column was {happened}, and the flag stayed false. A new column of this"
                    " name shows the values of the old one, and removing column mapping keeps"
                    " files that it should not keep."
                ),
                remedy=f"{_TRACK_AGAIN}, which makes the flag true, before a column is added.",
            )


@check(NEXT_CHANGE + 10)
def flag_started_false(log: TableLog, states: tuple[State, ...]) -> Iterator[Problem]:
    """Finds versions that add the feature to a mapped table and set the flag to false.

    Source:
        RFC, "Writer Requirements for Usage Tracking": "set to `true` when enabling usage tracking
        on an existing table with column mapping enabled".

    Example:
        >>> mapped = table({"a": "1 a"}, "name")
        >>> tracked = table({"a": "1 a"}, "name", "false")
        >>> [found.version for found in flag_started_false(*history((mapped, ()), tracked))]
        [1]
        >>> list(flag_started_false(*history((table({"a": ""}), ()), tracked)))
        []
    """
    for before, after in pairwise(states):
        if before.is_tracked or not after.is_tracked or after.flag is not False:
            continue
        if before.is_mapped and before.columns:
            yield Problem(
                version=after.version,
                message=(
                    f"`{HAS_DROPPED_OR_RENAMED}` is false from the start of tracking, on a table"
                    " that had column mapping. Earlier drops and renames are not recorded, and a"
                    " new column may show the values of an older one in the files."
                ),
                remedy=f"{_TRACK_AGAIN} in a session with spark-ext, which makes the flag true.",
            )


@state_check(NEXT_CHANGE + 30, remedy=_CHANGE_SCHEMA)
def feature_without_flag(state: State) -> str | None:
    """Finds a tracked table whose properties lack the flag.

    Source:
        RFC, "Writer Requirements for Usage Tracking".

    Example:
        >>> _, (state,) = history(table({"a": "1 a"}, "name"))
        >>> feature_without_flag(state)
        'The protocol lists `columnMappingUsageTracking`, and the table lacks ...'
    """
    if not state.is_tracked or HAS_DROPPED_OR_RENAMED in state.metadata.configuration:
        return None
    return (
        f"The protocol lists `{FEATURE_NAME}`, and the table lacks `{HAS_DROPPED_OR_RENAMED}`."
        " Nothing records whether a column was dropped or renamed. spark-ext takes the flag for"
        " true, and other writers may not."
    )


@state_check(NEXT_CHANGE + 35, remedy=_CHANGE_SCHEMA)
def flag_not_boolean(state: State) -> str | None:
    """Finds a flag of a tracked table that is neither true nor false, in any letter case.

    Source:
        RFC, "Usage Tracking".

    Example:
        >>> _, (state,) = history(table({"a": "1 a"}, "name", "maybe"))
        >>> flag_not_boolean(state)
        "`delta.columnMapping.hasDroppedOrRenamed` is 'maybe', ..."
    """
    configuration = state.metadata.configuration
    if not state.is_tracked or HAS_DROPPED_OR_RENAMED not in configuration:
        return None
    if state.flag is not None:
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
    """Finds the flag where the protocol does not list the feature.

    A CLONE by a session without spark-ext makes such a table.

    Source:
        RFC, "Usage Tracking": writers maintain the flag only because of the feature.

    Example:
        >>> _, (state,) = history((table({"a": "1 a"}, "name", "false"), ()))
        >>> flag_without_feature(state)
        'The table has `delta.columnMapping.hasDroppedOrRenamed`, and its protocol does not ...'
    """
    if state.is_tracked or HAS_DROPPED_OR_RENAMED not in state.metadata.configuration:
        return None
    return (
        f"The table has `{HAS_DROPPED_OR_RENAMED}`, and its protocol does not list"
        f" `{FEATURE_NAME}`. Any writer may drop and rename columns without changing the flag, so"
        " that the flag means nothing."
    )


def _changed(before: State, after: State) -> Iterator[tuple[Column, str]]:
    """Yields the columns that a commit dropped or renamed, each with the change in words."""
    by_id = {column.id: column for column in after.columns if column.id is not None}
    names = {column.path for column in after.columns}
    dropped: set[Path] = set()
    for column in before.columns:
        if is_below(column.path, dropped):
            continue
        if not after.is_mapped:
            if column.path not in names:
                dropped.add(column.path)
                yield column, "dropped"
        elif column.id is not None:
            same = by_id.get(column.id)
            if same is None or same.physical_path != column.physical_path:
                dropped.add(column.path)
                yield column, "dropped"
            elif same.path[-1] != column.path[-1]:
                yield column, f"renamed to {quoted(same.path)}"
