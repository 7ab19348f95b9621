# SPDX-License-Identifier: Apache-2.0
"""Checks of the columns in data files: by their footers, and by the names that files use."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from spark_ext.auditing.check import MISLEADING, WRONG_ROWS, Problem, check, grouped, topmost
from spark_ext.auditing.checks.data_files import lacks_field_ids
from spark_ext.auditing.findings import RISK
from spark_ext.log.actions import FileGroup, TableLog
from spark_ext.log.history import KnownNames
from spark_ext.log.replay import State
from spark_ext.model.keys import MODE_ID, RESTORE
from spark_ext.model.misleading_names import misleading_names
from spark_ext.model.schema import (
    CHILDREN,
    EMPTY_SCHEMA,
    INNER,
    DataType,
    Path,
    as_code,
    inner_types,
    lower,
)

# The version of a column that is older than the log.
_BEFORE_THE_LOG = -1
_ALIGN = (
    "spark_ext.UsageTracking.forName(spark, ..).align_names() makes every physical name equal to"
    " the logical name."
)
_MAY_MISREAD = (
    "Readers that use the names of the table, also for statistics only, may miss rows, or show the"
    " values of the other column."
)
_ColumnIds = tuple[object, object]


@check(WRONG_ROWS + 10)
def dropped_column_shown(log: TableLog, states: tuple[State, ...]) -> Iterator[Problem]:
    """Finds files that contain a column which was added to the table after the files.

    In a mapped table two columns are the same if id and physical path agree. If column mapping is
    enabled or removed in between, they are the same if the logical name and the name in files
    agree. A file that is added again, as by a DELETE with deletion vectors, counts as new. If a
    whole struct has this problem, only the struct is found.

    Source:
        RFC, introduction; docs/limits.md, "Statements".

    Example:
        >>> from spark_ext.log.actions import FileGroup, ParquetColumn
        >>> columns = (ParquetColumn(("a",)), ParquetColumn(("b",)))
        >>> files = (FileGroup("f", 1, 9, added_under=0, columns=columns),)
        >>> log, states = history(table({"a": ""}), table({"a": "", "b": ""}), files=files)
        >>> [(found.version, found.column) for found in dropped_column_shown(log, states)]
        [(1, ('b',))]
    """
    added_in = _versions_added(states)
    found = grouped(
        (path, group) for group in log.files or () for path in _newer(group, states[-1], added_in)
    )
    for path, files in found.items():
        yield Problem(
            version=added_in[path],
            column=path,
            file=files.example,
            message=(
                f"The column was added in this version, and {files.num_files} older file(s), such"
                " as this, contain a column that readers read as this column. Rows of these files"
                " show the values of the older column."
            ),
            remedy=(
                "If the values are wrong, set the column to null in the rows of these files"
                " (UPDATE t SET .. = NULL WHERE _metadata.file_path = ..)."
            ),
        )


@check(WRONG_ROWS + 15)
def file_columns(log: TableLog, states: tuple[State, ...]) -> Iterator[Problem]:
    """Finds columns in files that are neither columns nor dropped columns of the table.

    A file may lack columns, which are null then. Columns of row tracking and of Delta itself are
    in files and in no schema. Drops from before the oldest version of the log are unknown, and so
    are the drops of a CLONE's source; if the flag is false, there was none. Mode id ignores names,
    and the other modes ignore ids. If a whole struct has this problem, only the struct is found.

    Source:
        Protocol, "Reader Requirements for Column Mapping".

    Example:
        >>> from spark_ext.log.actions import FileGroup, ParquetColumn
        >>> files = (FileGroup("f", 1, 9, columns=(ParquetColumn(("b",)),)),)
        >>> log, states = history(table({"a": "1 a"}, "name", "false"), files=files)
        >>> [(found.file, found.column) for found in file_columns(log, states)]
        [('f', ('b',))]
    """
    if states[-1].metadata.schema is None:
        return
    known = KnownNames(states)
    unknown = _unknown_ids if known.by_id else _unknown_names
    found = grouped(
        (column, group)
        for group in log.files or ()
        if not lacks_field_ids(group, states[-1])
        for column in topmost(unknown(group, known), lambda column: column[0])
    )
    for (path, problem), files in found.items():
        yield Problem(
            version=log.last_version,
            column=path,
            file=files.example,
            message=(
                f"{files.num_files} file(s), such as this, contain {problem}. Its values are not"
                " visible, and the column that the writer meant may be null. A new column may show"
                " the values."
            ),
            remedy=(
                "Find out who wrote the files (DESCRIBE HISTORY) and which column was meant, and"
                " write their rows again with Delta."
            ),
        )


@check(MISLEADING, severity=RISK)
def misleading_name(log: TableLog, states: tuple[State, ...]) -> Iterator[Problem]:
    """Finds columns whose logical name is the name of another column in data files.

    A rename or a drop followed by an ADD of the old name makes such a column. Nothing is damaged:
    Delta uses physical names and ids. A dropped column is found if a footer contains it.

    Source:
        Protocol, "Reader Requirements for Column Mapping", which readers have to follow for
        statistics as well.

    Example:
        >>> one = table({"town": "1 city"}, "name", "true")
        >>> other = table({"town": "1 city", "city": "2 col-5d2c"}, "name", "true")
        >>> [(found.version, found.column) for found in misleading_name(*history(one, other))]
        [(1, ('city',))]
    """
    newest = states[-1]
    if not newest.is_mapped or newest.metadata.schema is None:
        return
    versions = _versions_of_pairs(states)
    ids = {column.path: column.known_id for column in newest.columns}
    for path, other in misleading_names(newest.metadata.schema).items():
        yield Problem(
            version=versions[ids[path], ids[other]],
            column=path,
            message=(
                f"Data files contain the column {as_code(other)} under the name of this column."
                f" Nothing is damaged, and Delta reads both columns. {_MAY_MISREAD}"
            ),
            remedy=_ALIGN,
        )
    # Delta refuses REORG of a table that a catalog manages.
    purge = "INSERT OVERWRITE" if newest.is_catalog_managed else "REORG TABLE .. APPLY (PURGE)"
    for path, files in grouped(_held_by_name(log, newest)).items():
        yield Problem(
            version=log.last_version,
            column=path,
            file=files.example,
            message=(
                f"{files.num_files} file(s), such as this, contain another column, such as a"
                " dropped one, under the name of this column. Nothing is damaged, and Delta does"
                f" not show the other column here. {_MAY_MISREAD}"
            ),
            remedy=f"{_ALIGN} {purge} removes the old column from the files.",
        )


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


def _versions_of_pairs(states: tuple[State, ...]) -> dict[_ColumnIds, int]:
    """Returns the version since which each misleading name, a pair of ids, exists."""
    versions: dict[_ColumnIds, int] = {}
    lasting: set[_ColumnIds] | None = None
    for state in reversed(states):
        now = _misleading_pairs(state)
        lasting = now if lasting is None else lasting & now
        if not lasting:
            break
        versions |= dict.fromkeys(lasting, state.version)
    return versions


def _misleading_pairs(state: State) -> set[_ColumnIds]:
    if not state.is_mapped or state.metadata.schema is None:
        return set()
    misleading = misleading_names(state.metadata.schema)
    ids = {column.path: column.known_id for column in state.columns} if misleading else {}
    return {(ids[column], ids[other]) for column, other in misleading.items()}


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
