# SPDX-License-Identifier: Apache-2.0
"""Checks of live data files and their `add` actions: by the log, and by their footers.

Source: Protocol, "Add File and Remove File" and "Writer Requirements for Column Mapping".
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from urllib.parse import unquote

from spark_ext.auditing.check import MISLEADING, NEXT_CHANGE, RISK, WRONG_ROWS, Problem, check
from spark_ext.log.actions import MISSING, FileGroup, TableLog
from spark_ext.log.history import KnownNames, State
from spark_ext.model.changes import misleading_names
from spark_ext.model.keys import CLONE, MODE_ID, RESTORE
from spark_ext.model.schema import (
    CHILDREN,
    EMPTY_SCHEMA,
    INNER,
    DataType,
    Path,
    as_code,
    inner_types,
    lower,
    topmost,
)

_GIVE_UP_ROWS = (
    "give up their rows: set `spark.sql.files.ignoreMissingFiles` and"
    " `spark.sql.files.ignoreCorruptFiles` to true, run INSERT OVERWRITE t SELECT * FROM t, and"
    " reset both settings."
)
_RESTORE_FILES = (
    "Restore the files from a backup or from the versions that the storage keeps. Or run RESTORE to"
    f" a version that has their rows in other files. If neither is possible, {_GIVE_UP_ROWS}"
)
_KEEP_ROWS = (
    "Read the files by spark.read.parquet, and keep the rows in another table."
    f" Then {_GIVE_UP_ROWS} Insert the rows again."
)
_ALIGN = (
    "spark_ext.UsageTracking.forName(spark, ..).align_names() makes every physical name equal to"
    " the logical name."
)
_MAY_MISREAD = (
    "Readers that use the names of the table, also for statistics only, may miss rows, or show the"
    " values of the other column."
)
_ABSOLUTE = re.compile(r"/|[a-zA-Z][\w+.-]*:")
# The version of a column that is older than the log.
_BEFORE_THE_LOG = -1


def _problem(log: TableLog, group: FileGroup, text: str, column: Path | None = None) -> Problem:
    """Returns a problem of files in the newest version, by a text that follows their number."""
    return Problem(log.last_version, text, column, group.example, num_files=group.num_files)


@check(WRONG_ROWS, remedy=_RESTORE_FILES)
def file_missing(log: TableLog, states: tuple[State, ...]) -> Iterator[Problem]:
    """Finds data files and deletion vectors of the newest version that do not exist."""
    for group in log.files or ():
        if group.problem == MISSING:
            text = "do not exist. Every query that needs them fails, and their rows are lost."
            yield _problem(log, group, text)
        if group.vector_problem == MISSING:
            yield _broken_vectors(log, group, "do not exist")


@check(WRONG_ROWS + 5, remedy=_RESTORE_FILES)
def file_unreadable(log: TableLog, states: tuple[State, ...]) -> Iterator[Problem]:
    """Finds data files that Spark cannot read, and broken deletion vectors.

    Spark cannot read a footer, or in mode `id` a file without field ids. A vector is broken if its
    length or checksum differs from the values in the log and in its file.

    Source: Protocol, "Data Files", "Deletion Vector File Storage Format"; Spark 4.2,
    ParquetReadSupport.scala, `getRequestedSchema`.
    """
    for group in log.files or ():
        if group.problem not in (None, MISSING):
            text = f"have unreadable footers ({group.problem}). Every query that needs them fails."
            yield _problem(log, group, text)
        if _lacks_field_ids(group, states[-1]):
            text = (
                "have no field ids, by which mode id finds columns. Every query that needs them"
                " fails."
            )
            yield replace(_problem(log, group, text), remedy=_KEEP_ROWS)
        if group.vector_problem not in (None, MISSING):
            yield _broken_vectors(log, group, f"cannot be read ({group.vector_problem})")


def _lacks_field_ids(group: FileGroup, state: State) -> bool:
    """Returns whether Spark refuses the files, because mode `id` needs a field id in each file."""
    columns = group.columns if state.mode == MODE_ID else None
    return bool(columns) and all(column.field_id is None for column in columns or ())


def _broken_vectors(log: TableLog, group: FileGroup, problem: str) -> Problem:
    return Problem(
        log.last_version,
        f"The deletion vectors of {group.num_files} file(s) of the table, such as this of"
        f" {group.example}, {problem}. Every query that needs these files fails.",
        file=group.vector,
    )


@check(
    WRONG_ROWS + 10,
    remedy=(
        "If the values are wrong, set the column to null in the rows of these files"
        " (UPDATE t SET .. = NULL WHERE _metadata.file_path = ..)."
    ),
)
def dropped_column_shown(log: TableLog, states: tuple[State, ...]) -> Iterator[Problem]:
    """Finds files that contain a column which was added to the table after the files.

    In a mapped table two columns are the same if id and physical path agree. If column mapping is
    enabled or removed in between, they are the same if the logical name and the name in files
    agree. A file that is added again, as by a DELETE with deletion vectors, counts as new. If a
    whole struct has this problem, only the struct is found.

    Source: RFC, introduction; docs/limits.md, "Statements".
    """
    added_in = _versions_added(states)
    text = (
        "are older than this version, which added the column, and contain a column that readers"
        " read as this column. Rows of these files show the values of the older column."
    )
    for group in log.files or ():
        for path in _newer(group, states[-1], added_in):
            yield replace(_problem(log, group, text, path), version=added_in[path])


def _newer(group: FileGroup, state: State, added_in: Mapping[Path, int]) -> Iterator[Path]:
    """Yields the columns that readers find in files and that are newer than the files."""
    if state.mode == MODE_ID:
        by_id = {column.known_id: column for column in state.columns}
        found = [
            None if column.field_id is None else by_id.get(column.field_id)
            for column in group.columns or ()
        ]
    else:
        names = state.names_in_files
        found = [names.get(lower(column.path)) for column in group.columns or ()]
    added = _BEFORE_THE_LOG if group.added_under is None else group.added_under
    paths = sorted((column.path for column in found if column is not None), key=len)
    yield from topmost((path for path in paths if added_in[path] > added), lambda path: path)


def _versions_added(states: tuple[State, ...]) -> Mapping[Path, int]:
    """Returns the version that added each column of the newest state."""
    ever: dict[tuple[object, ...], int] = {}
    before: dict[tuple[object, ...], int] = {}
    previous: State | None = None
    versions: dict[Path, int] = {}
    for state in states:
        if state.metadata.schema is None:
            continue
        now: dict[tuple[object, ...], int] = {}
        versions = {}
        for column in state.columns:
            by_name = (lower(column.path), state.name_in_files(column))
            by_id = (column.known_id, column.physical_path)
            known = by_id if state.is_mapped and previous and previous.is_mapped else by_name
            added = before.get(known)
            if added is None and previous is not None and state.may_add_foreign_columns:
                added = ever.get(by_id if state.is_mapped else by_name)
                # The log knows every column that RESTORE can restore, if it starts at 0.
                is_known = state.operation == RESTORE and states[0].commit is not None
                added = _BEFORE_THE_LOG if added is None and not is_known else added
            if added is None:
                added = _BEFORE_THE_LOG if previous is None else state.version
            versions[column.path] = added
            now[by_name] = added
            if state.is_mapped:
                now[by_id] = added
        ever = {**now, **ever}
        before, previous = now, state
    return versions


@check(
    WRONG_ROWS + 15,
    remedy=(
        "Find out who wrote the files (DESCRIBE HISTORY) and which column was meant, and"
        " write their rows again with Delta."
    ),
)
def file_columns(log: TableLog, states: tuple[State, ...]) -> Iterator[Problem]:
    """Finds columns in files that are neither columns nor dropped columns of the table.

    A file may lack columns, which are null then. Columns of row tracking and of Delta itself are in
    files and in no schema. Drops from before the oldest version of the log are unknown, and so are
    the drops of a CLONE's source; if the flag is false, there was none. Mode id ignores names, and
    the other modes ignore ids. If a whole struct has this problem, only the struct is found.

    Source: Protocol, "Reader Requirements for Column Mapping".
    """
    if states[-1].metadata.schema is None:
        return
    known = KnownNames(states)
    unknown = _unknown_ids if known.by_id else _unknown_names
    for group in log.files or ():
        if _lacks_field_ids(group, states[-1]):
            continue
        for path, column in topmost(unknown(group, known), lambda each: each[0]):
            text = (
                f"contain {column}. Its values are not visible, and the column that the writer"
                " meant may be null. A new column may show the values."
            )
            yield _problem(log, group, text, path)


def _unknown_names(group: FileGroup, known: KnownNames) -> Iterator[tuple[Path, str]]:
    for column in group.columns or ():
        if not known.allows(column.path):
            yield column.path, "this column, which the table neither has nor had"


def _unknown_ids(group: FileGroup, known: KnownNames) -> Iterator[tuple[Path, str]]:
    types: dict[Path, DataType | str | None] = {}
    for column in group.columns or ():
        path, id = column.path, column.field_id
        above = types.get(path[:-1], EMPTY_SCHEMA)
        if path in types or known.is_internal(path):  # an element, a key or a value, or Delta's
            continue
        if _has_only_parts(above) or (above is None and path[-1] in INNER):
            types[path] = above
        elif id is None:
            yield path, "this column without a field id, by which mode id finds columns"
        elif not known.allows_id(id):
            yield path, f"this column with the field id {id}, which no column has or had"
        else:
            kind = known.type_of(id)
            types |= {path: None} if kind is None else dict(inner_types(path, kind))


def _has_only_parts(data_type: DataType | str | None) -> bool:
    """Returns whether names below a type are no columns, such as the parts of a variant."""
    if data_type is None or isinstance(data_type, str):
        return data_type is not None
    return data_type["type"] not in ("struct", *CHILDREN)


@check(
    WRONG_ROWS + 20,
    remedy="RESTORE the table to the version before, and write the rows again with Delta.",
)
def partition_values(log: TableLog, states: tuple[State, ...]) -> Iterator[Problem]:
    """Finds `partitionValues` whose keys are not the names of the partition columns in files.

    Source: Protocol, "Writer Requirements for Column Mapping": "use the physical name in partition
    values".
    """
    newest = states[-1]
    if newest.metadata.schema is None:
        return
    columns = newest.partition_columns
    in_files = {newest.name_in_files(column)[0] for column in columns}
    # `mapping_keys_remain` finds keys under mode none, and Delta uses them here.
    expected = in_files, {column.physical_path[0].lower() for column in columns}
    for group in log.files or ():
        keys = set(lower(group.partition_columns))
        if keys not in expected:
            text = (
                f"have partition values for {', '.join(sorted(keys)) or 'no column'}, and the"
                f" table's partition columns are {', '.join(sorted(in_files)) or 'none'} in files."
                " Readers read nulls, or skip rows."
            )
            yield _problem(log, group, text)


@check(
    NEXT_CHANGE + 45, remedy="Write the rows again with Delta: INSERT OVERWRITE t SELECT * FROM t."
)
def statistics_names(log: TableLog, states: tuple[State, ...]) -> Iterator[Problem]:
    """Finds statistics of something that is neither a column nor a dropped column of the table.

    A column that the file itself contains is a finding of `file_columns` instead. Of a whole
    struct, only the struct is found.

    Source: Protocol, "Writer Requirements for Column Mapping": "Track column level statistics ...
    with the physical name".
    """
    if states[-1].metadata.schema is None:
        return
    known = KnownNames(states)
    text = (
        "have statistics of this column, which the table neither has nor had. Queries skip no file"
        " by these statistics, and may skip wrong files once a column has that name."
    )
    for group in log.files or ():
        for path in _unknown_statistics(group, known):
            yield _problem(log, group, text, path)


def _unknown_statistics(group: FileGroup, known: KnownNames) -> set[Path]:
    """Returns the topmost unknown part of each path in the statistics, if no file column has it."""
    held = {lower(column.path) for column in group.columns or ()}
    unknown = set()
    for path in group.statistics:
        parts = (path[:length] for length in range(1, len(path) + 1))
        part = next((part for part in parts if not known.allows(part)), None)
        if part is not None and lower(part) not in held:
            unknown.add(part)
    return unknown


@check(MISLEADING, severity=RISK, remedy=_ALIGN)
def misleading_name(log: TableLog, states: tuple[State, ...]) -> Iterator[Problem]:
    """Finds columns whose logical name is the name of another column in data files.

    A rename or a drop followed by an ADD of the old name makes such a column. Nothing is damaged:
    Delta uses physical names and ids. A dropped column is found if a footer contains it.

    Source: Protocol, "Reader Requirements for Column Mapping", also for statistics.
    """
    newest = states[-1]
    if not newest.is_mapped or newest.metadata.schema is None:
        return
    versions: dict[tuple[object, object], int] = {}
    lasting = _misleading_ids(newest)
    for state in reversed(states):
        lasting = lasting & _misleading_ids(state) if lasting else lasting
        versions |= dict.fromkeys(lasting, state.version)
    for column, other in misleading_names(newest.metadata.schema):
        yield Problem(
            versions[column.known_id, other.known_id],
            f"Data files contain the column {as_code(other.path)} under the name of this column."
            f" Nothing is damaged, and Delta reads both columns. {_MAY_MISREAD}",
            column.path,
        )
    text = (
        "contain another column, such as a dropped one, under the name of this column. Nothing is"
        f" damaged, and Delta does not show the other column here. {_MAY_MISREAD}"
    )
    # Delta refuses REORG of a table that a catalog manages.
    purge = "INSERT OVERWRITE" if newest.is_catalog_managed else "REORG TABLE .. APPLY (PURGE)"
    remedy = f"{_ALIGN} {purge} removes the old column from the files."
    for path, group in _held_by_name(log, newest):
        yield replace(_problem(log, group, text, path), remedy=remedy)


def _misleading_ids(state: State) -> set[tuple[object, object]]:
    """Returns each misleading name as a pair of ids, which a further rename does not change."""
    if not state.is_mapped or state.metadata.schema is None:
        return set()
    found = misleading_names(state.metadata.schema)
    return {(column.known_id, other.known_id) for column, other in found}


def _held_by_name(log: TableLog, newest: State) -> Iterator[tuple[Path, FileGroup]]:
    """Yields each column whose logical name files use for a column that the table does not have."""
    held = {lower(column.physical_path) for column in newest.columns}
    names = {
        name: column.path
        for column in newest.columns
        if (name := lower((*column.physical_path[:-1], column.path[-1]))) not in held
    }
    for group in log.files or ():
        for name in {lower(column.path) for column in group.columns or ()} & names.keys():
            yield names[name], group


@check(
    MISLEADING + 5,
    severity=RISK,
    remedy="Nothing for Delta. For other readers, write the rows again: INSERT OVERWRITE.",
)
def partition_folders(log: TableLog, states: tuple[State, ...]) -> Iterator[Problem]:
    """Finds folders `name=value` whose name no column ever had, as logical or physical name.

    A kept file is still in its folder after its columns have changed. The check finds nothing if
    the log starts at a checkpoint, or if an operation is CLONE or unknown: folders may then have
    names that the log lacks. Delta itself ignores folders.
    """
    # A state that only a checkpoint has lacks an operation. Files of CONVERT have logical names.
    if any(state.operation in (None, CLONE) for state in states):
        return
    names = {
        path[0].lower()
        for state in states
        for column in state.columns
        for path in (column.path, column.physical_path)
    }
    for group in log.files or ():
        for folder in () if _ABSOLUTE.match(group.example) else group.folders:
            once = unquote(folder)  # paths are URL-encoded, and folders escaped
            if names.isdisjoint({folder.lower(), once.lower(), unquote(once).lower()}):
                text = (
                    f"are in a folder `{folder}=..`, and no column has that name. Readers that find"
                    " partitions by folders, such as Hive, see a column that the table does not"
                    " have."
                )
                yield _problem(log, group, text)
