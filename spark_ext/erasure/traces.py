# SPDX-License-Identifier: Apache-2.0
"""What of a dropped column is where: each group of files, by the columns that it has."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache

from spark_ext.erasure.owners import BEFORE_LOG, Owner, Owners
from spark_ext.history.lives import ColumnLife
from spark_ext.log import actions
from spark_ext.log.actions import LIVE, MISSING, REMOVED, FileGroup
from spark_ext.log.places import COMMIT, LogFiles, TablePlaces
from spark_ext.log.replay import State
from spark_ext.model.column_mapping import field_metadata
from spark_ext.model.keys import COLUMN_MAPPING_METADATA_KEYS

# Spark, CharVarcharUtils: how a column was declared; Delta, TypeWideningMetadata: its types.
_NO_VALUES = COLUMN_MAPPING_METADATA_KEYS | {"__CHAR_VARCHAR_TYPE_STRING", "delta.typeChanges"}


@dataclass
class Traces:
    """Where one dropped column is.

    Args:
        files: Data files that have it.
        statistics: How many live files the log has statistics or partition values of it for.
        log_files: Files of the log that have data of it.
    """

    files: list[FileGroup] = field(default_factory=list)
    statistics: int = 0
    log_files: list[LogFiles] = field(default_factory=list)


@dataclass(frozen=True)
class FoundTraces:
    """All that was found.

    Args:
        of: By dropped column; those of which nothing is left have empty ones.
        unknown_files: Data files that cannot be read.
        unknown_log_files: Files in the log's folder that cannot, and commits that are older than
            every schema that is known, whose texts may have values of any column.
    """

    of: Mapping[Owner, Traces]
    unknown_files: Sequence[FileGroup]
    unknown_log_files: Sequence[LogFiles]


def traces(
    places: TablePlaces, states: Sequence[State], lives: Sequence[ColumnLife]
) -> FoundTraces:
    """Looks for every dropped column in every file, and for what no schema knows."""
    owners = Owners(states, lives)
    found: dict[Owner, Traces] = {life: Traces() for life in lives if life.dropped_by is not None}
    for files in places.files:
        for owner in _dropped(_in_data_files(owners, files)):
            found.setdefault(owner, Traces()).files.append(files)
        for owner in _dropped(_in_entries(owners, files)):
            found.setdefault(owner, Traces()).statistics += files.num_files
    for log_files in places.log_files:
        for owner in _dropped(_in_log_files(owners, log_files)):
            found.setdefault(owner, Traces()).log_files.append(log_files)
    return FoundTraces(
        found,
        [files for files in places.files if files.columns is None and files.problem != MISSING],
        [
            files
            for files in places.log_files
            if files.problem is not None or _is_of_unknown(files, states[0])
        ],
    )


def _is_of_unknown(files: LogFiles, oldest: State) -> bool:
    is_older = files.version is not None and files.version < oldest.version
    return files.kind == COMMIT and is_older and bool(files.texts)


def _dropped(owners: Iterable[Owner]) -> set[Owner]:
    """Without the columns that the table has."""
    return {
        owner
        for owner in owners
        if not isinstance(owner, ColumnLife) or owner.dropped_by is not None
    }


def _in_data_files(owners: Owners, files: FileGroup) -> set[Owner]:
    if files.problem == MISSING:
        return set()
    under = _added_under(files)
    found = owners.of_columns(files.columns or (), under)
    for folder in files.folders:
        found |= owners.of_folder(folder, under)
    return found


def _added_under(files: FileGroup) -> int | None:
    """What the log names is older than the commits that are left; anything else may be as new."""
    if files.added_under is None and files.kind in (LIVE, REMOVED):
        return BEFORE_LOG
    return files.added_under


def _in_entries(owners: Owners, files: FileGroup) -> set[Owner]:
    """What the log says of live files."""
    return _named(owners, files.statistics, files.partition_columns, _added_under(files))


def _in_log_files(owners: Owners, files: LogFiles) -> set[Owner]:
    is_older = files.under is None and files.version is not None
    under = BEFORE_LOG if is_older else files.under
    # A checkpoint has removed files of any time before it, with partition values and no statistics.
    of_removed = under if files.kind == COMMIT else None
    found = _named(owners, files.statistics, (), under)
    found |= _named(owners, (), files.partition_columns, of_removed)
    for folder in files.folders:
        found |= owners.of_folder(folder, of_removed)
    texts = list(files.texts)
    for text in files.schemas:
        metadata = actions.metadata({"schemaString": text})
        if metadata is not None:
            for owner, column in owners.of_schema(metadata, under):
                told = field_metadata(column.field)
                # A name alone is no data; a default, an expression or a comment may be.
                if not told.keys() <= _NO_VALUES:
                    found.add(owner)
                # An expression may be of another column than the one that has it.
                texts += [str(told[key]) for key in told.keys() - _NO_VALUES]
    for life in owners.lives:
        if life.dropped_by is not None and _may_tell_of(life, files):
            name = _as_word(life)
            if any(name.search(text) for text in texts):
                found.add(life)
    return found


def _named(
    owners: Owners,
    statistics: Iterable[tuple[str, ...]],
    partition_columns: Iterable[str],
    under: int | None,
) -> set[Owner]:
    paths = [*statistics, *((name,) for name in partition_columns)]
    # A path of statistics ends at a leaf, and each struct above it is a column.
    parts = {path[:length] for path in paths for length in range(1, len(path) + 1)}
    return {owner for part in parts for owner in owners.of(part, under)}


def _may_tell_of(life: ColumnLife, files: LogFiles) -> bool:
    """Whether a column was there when a file was written, or that is not known."""
    under = files.under
    return under is None or files.kind != COMMIT or life.is_in(under) or life.is_in(under - 1)


@cache
def _as_word(life: ColumnLife) -> re.Pattern[str]:
    """Each of a column's names, as a word in any letter case; as JSON or SQL has it, too."""
    names = {
        part for _, column in life.columns for part in (column.path[-1], column.physical_path[-1])
    }
    names |= {
        json.dumps(name, ensure_ascii=is_ascii)[1:-1]
        for name in names
        for is_ascii in (True, False)
    }
    names |= {name.replace("`", "``") for name in names}
    words = "|".join(map(re.escape, sorted(names, reverse=True)))
    return re.compile(rf"(?<!\w)(?:{words})(?!\w)", re.IGNORECASE)
