# SPDX-License-Identifier: Apache-2.0
"""Data files have the columns, and in mode id the field ids, that the metadata says."""

from __future__ import annotations

from collections.abc import Iterator

from spark_ext.auditing.findings import Finding
from spark_ext.log.actions import FileGroup, TableLog
from spark_ext.log.known_names import KnownNames
from spark_ext.log.replay import State
from spark_ext.model.schema import Path, quoted

_INNER = ("element", "key", "value")


def file_columns(log: TableLog, states: tuple[State, ...]) -> Iterator[Finding]:
    """Finds columns in files that are none of the table's and none that it dropped.

    A file may lack columns, which are null then. Columns of row tracking and of Delta itself are
    in files and in no schema. What was dropped before the log's oldest version is not known, nor
    what a CLONE's source dropped; with a flag of false nothing was. Names mean nothing in mode id,
    and ids in the other modes. Of a struct only the topmost column is found.

    Source:
        Protocol, "Reader Requirements for Column Mapping".

    Example:
        >>> from spark_ext.log.actions import FileGroup, ParquetColumn
        >>> files = (FileGroup("f", 1, 9, columns=(ParquetColumn(("b",)),)),)
        >>> log, states = history(table({"a": "1 a"}, "name", "false"), files=files)
        >>> [(found.file, found.column) for found in file_columns(log, states)]
        [('f', 'b')]
    """
    if states[-1].metadata.schema is None:
        return
    known = KnownNames(states)
    unknown = _unknown_ids if known.by_id else _unknown_names
    found: dict[tuple[Path, str], list[FileGroup]] = {}
    for group in log.files or ():
        told: set[Path] = set()
        for path, problem in unknown(group, known):
            if not any(path[:length] in told for length in range(1, len(path))):
                told.add(path)
                found.setdefault((path, problem), []).append(group)
    for (path, problem), groups in found.items():
        yield Finding(
            version=log.last_version,
            check="file_columns",
            column=quoted(path),
            file=groups[0].example,
            message=(
                f"{sum(group.num_files for group in groups)} file(s), such as this, hold {problem}:"
                " its values are not seen, and a column that was meant may be null. A column that"
                " is added may show them."
            ),
            remedy=(
                "See who wrote the files (DESCRIBE HISTORY) and what the column should have been,"
                " and write their rows again with Delta."
            ),
        )


def _unknown_names(group: FileGroup, known: KnownNames) -> Iterator[tuple[Path, str]]:
    for column in group.columns or ():
        if not known.is_accounted_for(column.path):
            yield column.path, "this column, which neither is nor was one of the table's"


def _unknown_ids(group: FileGroup, known: KnownNames) -> Iterator[tuple[Path, str]]:
    told_by_id: set[Path] = set()
    for column in group.columns or ():
        path, id = column.path, column.field_id
        if path[:-1] in told_by_id or path[-1] in _INNER or known.is_internal(path):
            continue
        if id is None:
            yield path, "this column without a field id, by which mode id finds it"
        elif not known.is_id_accounted_for(id):
            yield path, f"this column with the field id {id}, which neither is nor was a column's"
        elif known.has_no_columns_below(id):
            told_by_id.add(path)
