# SPDX-License-Identifier: Apache-2.0
"""Checks of live data files and their `add` actions: existence, partitions and statistics.

Source:
    Protocol, "Add File and Remove File" and "Writer Requirements for Column Mapping".
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import unquote

from spark_ext.auditing.check import MISLEADING, NEXT_CHANGE, WRONG_ROWS, Problem, check, grouped
from spark_ext.auditing.findings import RISK
from spark_ext.log.actions import MISSING, FileGroup, TableLog
from spark_ext.log.history import KnownNames
from spark_ext.log.replay import State
from spark_ext.model.keys import MODE_ID
from spark_ext.model.schema import Path, lower

_GIVE_UP_ROWS = (
    "give up their rows: set `spark.sql.files.ignoreMissingFiles` and"
    " `spark.sql.files.ignoreCorruptFiles` to true, run INSERT OVERWRITE t SELECT * FROM t, and"
    " reset both settings."
)
_RESTORE_FILES = (
    "Restore the files from a backup or from the versions that the storage keeps. Or run RESTORE to"
    f" a version that has their rows in other files. If neither is possible, {_GIVE_UP_ROWS}"
)
_ABSOLUTE = re.compile(r"/|[a-zA-Z][\w+.-]*:")


@check(WRONG_ROWS)
def file_missing(log: TableLog, states: tuple[State, ...]) -> Iterator[Problem]:
    """Finds data files and deletion vectors of the newest version that do not exist.

    Source:
        Protocol, "Add File and Remove File", "Deletion Vectors".

    Example:
        >>> from spark_ext.log.actions import FileGroup
        >>> files = (FileGroup("f", 1, 9, problem="missing"),
        ...     FileGroup("g", 1, 9, vector="v.bin", vector_problem="missing"))
        >>> [found.file for found in file_missing(*history(table({"a": ""}), files=files))]
        ['f', 'v.bin']
    """
    for group in log.files or ():
        if group.problem == MISSING:
            yield Problem(
                version=log.last_version,
                file=group.example,
                message=(
                    f"{group.num_files} file(s) of the table, such as this, do not exist. Every"
                    " query that needs them fails, and their rows are lost."
                ),
                remedy=_RESTORE_FILES,
            )
        if group.vector_problem == MISSING:
            yield _broken_vectors(log, group, "do not exist")


@check(WRONG_ROWS + 5)
def file_unreadable(log: TableLog, states: tuple[State, ...]) -> Iterator[Problem]:
    """Finds data files that Spark cannot read, and broken deletion vectors.

    Spark cannot read a footer, or in mode `id` a file without field ids. A vector is broken if its
    length or checksum differs from the values in the log and in its file.

    Source:
        Protocol, "Data Files", "Deletion Vector File Storage Format"; Spark 4.2,
        ParquetReadSupport.scala, `getRequestedSchema`.

    Example:
        >>> from spark_ext.log.actions import FileGroup
        >>> files = (FileGroup("f", 1, 9, problem="no footer"),
        ...     FileGroup("g", 1, 9, vector="v.bin", vector_problem="checksum"))
        >>> [found.file for found in file_unreadable(*history(table({"a": ""}), files=files))]
        ['f', 'v.bin']
    """
    for group in log.files or ():
        if group.problem not in (None, MISSING):
            yield Problem(
                version=log.last_version,
                file=group.example,
                message=(
                    f"The footers of {group.num_files} file(s), such as this, cannot be read"
                    f" ({group.problem}). Every query that needs them fails."
                ),
                remedy=_RESTORE_FILES,
            )
        if lacks_field_ids(group, states[-1]):
            yield Problem(
                version=log.last_version,
                file=group.example,
                message=(
                    f"{group.num_files} file(s), such as this, have no field ids, by which mode id"
                    " finds columns. Every query that needs them fails."
                ),
                remedy=(
                    "Read the files by spark.read.parquet, and keep the rows in another table."
                    f" Then {_GIVE_UP_ROWS} Insert the rows again."
                ),
            )
        if group.vector_problem not in (None, MISSING):
            yield _broken_vectors(log, group, f"cannot be read ({group.vector_problem})")


@check(WRONG_ROWS + 20)
def partition_values(log: TableLog, states: tuple[State, ...]) -> Iterator[Problem]:
    """Finds `partitionValues` whose keys are not the names of the partition columns in files.

    Source:
        Protocol, "Writer Requirements for Column Mapping": "use the physical name in partition
        values".

    Example:
        >>> from spark_ext.log.actions import FileGroup
        >>> one = (table({"a": "1 col-a"}, "name", "true"), {"partitions": ("a",)})
        >>> log, states = history(one, files=(FileGroup("f", 1, 9, partition_columns=("a",)),))
        >>> [found.file for found in partition_values(log, states)]
        ['f']
    """
    newest = states[-1]
    if newest.metadata.schema is None:
        return
    expected = _partition_keys(newest)
    found = grouped(
        (keys, group)
        for group in log.files or ()
        if (keys := frozenset(lower(group.partition_columns))) not in expected
    )
    for keys, files in found.items():
        yield Problem(
            version=log.last_version,
            file=files.example,
            message=(
                f"{files.num_files} file(s), such as this, have partition values for"
                f" {', '.join(sorted(keys)) or 'no column'}, and the table's partition columns are"
                f" {', '.join(sorted(expected[0])) or 'none'} in files. Readers read nulls, or skip"
                " rows."
            ),
            remedy="RESTORE the table to the version before, and write the rows again with Delta.",
        )


@check(NEXT_CHANGE + 45)
def statistics_names(log: TableLog, states: tuple[State, ...]) -> Iterator[Problem]:
    """Finds statistics of something that is neither a column nor a dropped column of the table.

    A column that the file itself contains is a finding of `file_columns` instead. If a whole struct
    has this problem, only the struct is found.

    Source:
        Protocol, "Writer Requirements for Column Mapping": "Track column level statistics ... with
        the physical name".

    Example:
        >>> from spark_ext.log.actions import FileGroup
        >>> log, states = history(table({"a": ""}), files=(FileGroup("f", 1, 9,
        ...     statistics=(("x",),)),))
        >>> [(found.file, found.column) for found in statistics_names(log, states)]
        [('f', ('x',))]
    """
    if states[-1].metadata.schema is None:
        return
    known = KnownNames(states)
    found = grouped(
        (path, group) for group in log.files or () for path in _unknown_statistics(group, known)
    )
    for path, files in found.items():
        yield Problem(
            version=log.last_version,
            column=path,
            file=files.example,
            message=(
                f"{files.num_files} file(s), such as this, have statistics of this column, which"
                " the table neither has nor had. Queries skip no file by these statistics, and may"
                " skip wrong files once a column has that name."
            ),
            remedy="Write the rows again with Delta: INSERT OVERWRITE t SELECT * FROM t.",
        )


@check(MISLEADING + 5, severity=RISK)
def partition_folders(log: TableLog, states: tuple[State, ...]) -> Iterator[Problem]:
    """Finds folders `name=value` whose name no column ever had, as logical or physical name.

    A kept file is still in its folder after its columns have changed. The check finds nothing if
    the log starts at a checkpoint, or if an operation is CLONE or unknown: folders may then have
    names that the log lacks.

    Source:
        Protocol, "Writer Requirements for Column Mapping"; Delta itself ignores folders.

    Example:
        >>> from spark_ext.log.actions import FileGroup
        >>> log, states = history(table({"a": ""}), files=(FileGroup("x=1/f", 1, 9,
        ...     folders=("x",)),))
        >>> [found.file for found in partition_folders(log, states)]
        ['x=1/f']
    """
    # A state that only a checkpoint has lacks an operation.
    if any(state.may_add_foreign_mapped_files for state in states):
        return
    names = {
        path[0].lower()
        for state in states
        for column in state.columns
        for path in (column.path, column.physical_path)
    }
    found = grouped(
        (folder, group)
        for group in log.files or ()
        if not _ABSOLUTE.match(group.example)
        for folder in group.folders
        if names.isdisjoint(_decoded(folder))
    )
    for folder, files in found.items():
        yield Problem(
            version=log.last_version,
            file=files.example,
            message=(
                f"{files.num_files} file(s), such as this, are in a folder `{folder}=..`, and no"
                " column has that name. Readers that find partitions by folders, such as Hive, see"
                " a column that the table does not have."
            ),
            remedy="Nothing for Delta. For other readers, write the rows again: INSERT OVERWRITE.",
        )


def lacks_field_ids(group: FileGroup, state: State) -> bool:
    """Returns whether Spark refuses the files, because mode `id` needs a field id in each file."""
    columns = group.columns if state.mode == MODE_ID else None
    return bool(columns) and all(column.field_id is None for column in columns or ())


def _broken_vectors(log: TableLog, group: FileGroup, problem: str) -> Problem:
    return Problem(
        version=log.last_version,
        file=group.vector,
        message=(
            f"The deletion vectors of {group.num_files} file(s) of the table, such as this of"
            f" {group.example}, {problem}. Every query that needs these files fails."
        ),
        remedy=_RESTORE_FILES,
    )


def _partition_keys(state: State) -> tuple[frozenset[str], ...]:
    """Returns the names of the partition columns in files, and the names that Delta also reads."""
    columns = state.partition_columns
    in_files = frozenset(state.name_in_files(column)[0] for column in columns)
    # `mapping_keys_remain` finds keys under mode none, and Delta uses them here.
    return in_files, frozenset(column.physical_path[0].lower() for column in columns)


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


def _decoded(folder: str) -> set[str]:
    """Returns the possible names of a folder: paths are URL-encoded, and folders escaped."""
    once = unquote(folder)
    return {folder.lower(), once.lower(), unquote(once).lower()}
