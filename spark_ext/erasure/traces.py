# SPDX-License-Identifier: Apache-2.0
"""Finds the files that contain data of each dropped column."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache

from spark_ext.erasure.name_resolver import BEFORE_LOG, NameResolver, Resolved
from spark_ext.history.lifetimes import Lifetime
from spark_ext.log import actions
from spark_ext.log.actions import LIVE, MISSING, REMOVED, FileGroup
from spark_ext.log.folder import COMMIT, LogFiles, TableFolder
from spark_ext.log.replay import State
from spark_ext.model.column_mapping import field_metadata
from spark_ext.model.keys import COLUMN_MAPPING_METADATA_KEYS

# The keys of declared and former types: Spark, CharVarcharUtils; Delta, TypeWideningMetadata.
_NO_VALUES = COLUMN_MAPPING_METADATA_KEYS | {"__CHAR_VARCHAR_TYPE_STRING", "delta.typeChanges"}


@dataclass
class Traces:
    """The places with data of one dropped column.

    Args:
        files: Data files that contain the column.
        statistics: The number of live files for which the log has statistics or partition values of
            the column.
        log_files: Files of the log that contain data of the column.
    """

    files: list[FileGroup] = field(default_factory=list)
    statistics: int = 0
    log_files: list[LogFiles] = field(default_factory=list)


@dataclass(frozen=True)
class FoundTraces:
    """The traces of all dropped columns.

    Args:
        of: Traces by column; empty for a column whose data is erased.
        unknown_files: Data files that cannot be read.
        unknown_log_files: Files in the log's folder that cannot be read, and commits that are older
            than every known schema: their texts may have values of any column.
    """

    of: Mapping[Resolved, Traces]
    unknown_files: Sequence[FileGroup]
    unknown_log_files: Sequence[LogFiles]


def traces(
    folder: TableFolder, states: Sequence[State], lifetimes: Sequence[Lifetime]
) -> FoundTraces:
    """Returns the traces of every dropped column, and of columns that no schema contains."""
    resolver = NameResolver(states, lifetimes)
    found: dict[Resolved, Traces] = {
        lifetime: Traces() for lifetime in lifetimes if lifetime.dropped_by is not None
    }
    for files in folder.files:
        for column in _dropped(_in_data_files(resolver, files)):
            found.setdefault(column, Traces()).files.append(files)
        for column in _dropped(_in_entries(resolver, files)):
            found.setdefault(column, Traces()).statistics += files.num_files
    for log_files in folder.log_files:
        for column in _dropped(_in_log_files(resolver, log_files)):
            found.setdefault(column, Traces()).log_files.append(log_files)
    return FoundTraces(
        found,
        [
            files
            for files in folder.files
            # A missing removed file may have been deleted. A missing live file may exist elsewhere,
            # such as on a storage that is not mounted.
            if files.columns is None and (files.problem != MISSING or files.kind == LIVE)
        ],
        [
            files
            for files in folder.log_files
            if files.problem is not None or _is_of_unknown(files, states[0])
        ],
    )


def _is_of_unknown(files: LogFiles, oldest: State) -> bool:
    is_older = files.version is not None and files.version < oldest.version
    return files.kind == COMMIT and is_older and bool(files.texts)


def _dropped(columns: Iterable[Resolved]) -> set[Resolved]:
    """Returns the columns that the table does not contain."""
    return {
        column
        for column in columns
        if not isinstance(column, Lifetime) or column.dropped_by is not None
    }


def _in_data_files(resolver: NameResolver, files: FileGroup) -> set[Resolved]:
    if files.problem == MISSING:
        return set()
    under = _added_under(files)
    found = resolver.resolve_columns(files.columns or (), under)
    for folder in files.folders:
        found |= resolver.resolve_folder(folder, under)
    return found


def _added_under(files: FileGroup) -> int | None:
    """Returns the version of the metadata when files were added; None if it may be any.

    Files that the log names without a commit that added them are older than its commits.
    """
    if files.added_under is None and files.kind in (LIVE, REMOVED):
        return BEFORE_LOG
    return files.added_under


def _in_entries(resolver: NameResolver, files: FileGroup) -> set[Resolved]:
    """Returns the columns in the log's statistics and partition values of live files."""
    return _named(resolver, files.statistics, files.partition_columns, _added_under(files))


def _in_log_files(resolver: NameResolver, files: LogFiles) -> set[Resolved]:
    is_older = files.under is None and files.version is not None
    under = BEFORE_LOG if is_older else files.under
    # A checkpoint names removed files of any earlier time, with partition values only.
    of_removed = under if files.kind == COMMIT else None
    found = _named(resolver, files.statistics, (), under)
    found |= _named(resolver, (), files.partition_columns, of_removed)
    for folder in files.folders:
        found |= resolver.resolve_folder(folder, of_removed)
    texts = list(files.texts)
    for text in files.schemas:
        metadata = actions.metadata({"schemaString": text})
        if metadata is not None:
            for resolved, column in resolver.resolve_schema(metadata, under):
                values = field_metadata(column.field)
                # A name is not data. A default, an expression or a comment may be data.
                if not values.keys() <= _NO_VALUES:
                    found.add(resolved)
                # The expression of one column may contain values of another one.
                texts += [str(values[key]) for key in values.keys() - _NO_VALUES]
    for lifetime in resolver.lifetimes:
        if lifetime.dropped_by is not None and _may_contain(lifetime, files):
            name = _as_word(lifetime)
            if any(name.search(text) for text in texts):
                found.add(lifetime)
    return found


def _named(
    resolver: NameResolver,
    statistics: Iterable[tuple[str, ...]],
    partition_columns: Iterable[str],
    under: int | None,
) -> set[Resolved]:
    paths = [*statistics, *((name,) for name in partition_columns)]
    # A path of statistics ends at a leaf, and each struct above it is a column.
    parts = {path[:length] for path in paths for length in range(1, len(path) + 1)}
    return {column for part in parts for column in resolver.resolve(part, under)}


def _may_contain(lifetime: Lifetime, files: LogFiles) -> bool:
    """Returns whether the table may have had a column when a file of the log was written."""
    under = files.under
    return (
        under is None or files.kind != COMMIT or lifetime.is_in(under) or lifetime.is_in(under - 1)
    )


@cache
def _as_word(lifetime: Lifetime) -> re.Pattern[str]:
    """Returns a pattern of a column's names as words, in any letter case and as JSON or SQL."""
    names = {
        part
        for _, column in lifetime.columns
        for part in (column.path[-1], column.physical_path[-1])
    }
    names |= {
        json.dumps(name, ensure_ascii=is_ascii)[1:-1]
        for name in names
        for is_ascii in (True, False)
    }
    names |= {name.replace("`", "``") for name in names}
    words = "|".join(map(re.escape, sorted(names, reverse=True)))
    return re.compile(rf"(?<!\w)(?:{words})(?!\w)", re.IGNORECASE)
