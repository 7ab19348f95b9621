# SPDX-License-Identifier: Apache-2.0
"""The table functions of SQL: `SELECT * FROM column_mapping('db.t')`.

The JVM finds the table, sends a request by the function's name and turns the answer into a
relation. A function of this module returns the dataclass of its rows, which defines the columns,
and what makes rows of a request. `make jar` writes the columns into the jar.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from spark_ext.erasure.moment import ErasureStart, erasure_start
from spark_ext.errors import MalformedMessageError
from spark_ext.log.actions import TableFolder, TableLog
from spark_ext.log.history import ColumnVersions, column_history, states, status
from spark_ext.model.changes import misleading_names
from spark_ext.model.column_mapping import (
    column_id,
    has_column_id,
    has_physical_name,
    is_mapped,
    physical_name,
)
from spark_ext.model.dropped import Asked, ColumnVerdict, DroppedPlace
from spark_ext.model.metadata import ColumnChange, StatusRow, TableFacts, TableMetadata
from spark_ext.model.schema import Path, quoted, type_name, walk
from spark_ext.process.messages import parse, with_condition
from spark_ext.removal.stages import RemovalStage, SurveyedTable, stages, surveyed

# The dataclass of rows, and the function that makes rows of a request.
Relation = tuple[type, Callable[[str], Iterable[Any]]]

_UNKNOWN = ColumnVersions(added=None)


@dataclass(frozen=True)
class TableQuestion:
    """A table that a table function is called with, by the name that the user wrote.

    `metadata` is the newest one as Delta reads it, if the function lists the columns. `folder` is
    the table's folder, if the function finds dropped columns.
    """

    name: str
    log: TableLog
    metadata: TableMetadata | None
    folder: TableFolder | None


@dataclass(frozen=True)
class AskedTable:
    """A table of a survey. If the JVM could not read it, only its name and the error are set.

    `facts` is the text of a request of `column_mapping_removal`, so that invalid JSON affects no
    other table. `location` is the table's folder, a URI without escapes.
    """

    name: str
    facts: str | None
    version: int | None
    location: str | None
    error: str | None
    message: str | None


@dataclass  # frozen ones are made half as fast, and tables have thousands
class MappedColumn:
    """A column at any level of a table, parents first.

    Args:
        path: The path, quoted for SQL.
        physical_name: None without metadata of column mapping, as is the id.
        added_version: The version that added the column; None if it is older than the log.
        renamed_version: The last version of the log that renamed the column; None if none did.
        name_in_files_of: The column whose physical name is this column's name; None if there is
            none.
    """

    path: str
    name: str
    physical_name: str | None
    id: int | None
    type: str
    added_version: int | None
    renamed_version: int | None
    name_in_files_of: str | None


def _audit() -> Relation:
    # The process mostly starts for a commit that waits for it. Importing the checks takes time.
    from spark_ext.auditing import Finding, audit

    return Finding, lambda request: audit(_log(request))


def _verdict(request: str) -> ColumnVerdict:
    from spark_ext.erasure.find import column_verdict  # which takes time, as the audit

    return column_verdict(_folder(request))


FUNCTIONS: dict[str, Callable[[], Relation]] = {
    "column_mapping": lambda: (
        MappedColumn,
        lambda request: _mapped_columns(parse(TableQuestion, request)),
    ),
    "column_mapping_removal": lambda: (
        RemovalStage,
        lambda request: stages(parse(TableFacts, request)),
    ),
    "column_mapping_audit": _audit,
    "column_mapping_history": lambda: (
        ColumnChange,
        lambda request: column_history(_log(request)).events,
    ),
    "column_mapping_status": lambda: (
        StatusRow,
        lambda request: (status(_with_state(_log(request))),),
    ),
    "column_mapping_dropped": lambda: (DroppedPlace, lambda request: _verdict(request).places),
    "column_mapping_verdict": lambda: (ColumnVerdict, lambda request: (_verdict(request),)),
    "column_mapping_survey": lambda: (SurveyedTable, lambda request: parse(survey_rows, request)),
}


def erasure_question(name: str, log: TableLog, asked: Asked | None) -> ErasureStart:
    """Returns the answer to `erasure_start`."""
    return erasure_start(_with_state(log), None if asked is None else asked.checked)


def survey_rows(tables: tuple[AskedTable, ...]) -> Iterator[SurveyedTable]:
    """Returns a row for each table of a survey."""
    return map(_surveyed, tables)


def _log(request: str) -> TableLog:
    return parse(TableQuestion, request).log


def _folder(request: str) -> TableFolder:
    folder = parse(TableQuestion, request).folder
    if folder is None:
        raise MalformedMessageError(path="$.folder", problem="is null")
    _with_state(folder.log)
    return folder


def _with_state(log: TableLog) -> TableLog:
    if not states(log):
        # The answer would be that no column was dropped.
        raise MalformedMessageError(path="log", problem="has no protocol and metadata")
    return log


def _mapped_columns(asked: TableQuestion) -> Iterator[MappedColumn]:
    table = asked.metadata
    if table is None:
        raise MalformedMessageError(path="$.metadata", problem="is null")
    known = column_history(asked.log).columns
    misleading = misleading_names(table.schema) if is_mapped(table) else []
    others = {column.path: other.path for column, other in misleading}
    for path, field in walk(table.schema):
        versions = known.get(path, _UNKNOWN)
        yield MappedColumn(
            quoted(path),
            field["name"],
            physical_name(field) if has_physical_name(field) else None,
            column_id(field) if has_column_id(field) else None,
            type_name(field["type"]),
            versions.added,
            versions.renamed,
            _name(others.get(path)),
        )


def _surveyed(table: AskedTable) -> SurveyedTable:
    if table.facts is None:
        return SurveyedTable(table.name, error=table.error, message=table.message)
    try:
        row = surveyed(parse(TableFacts, table.facts))
        return replace(row, version=table.version, location=table.location)
    except Exception as error:  # the other tables have their own rows
        refusal = with_condition(error)
        return SurveyedTable(table.name, error=refusal.condition, message=str(refusal))


def _name(path: Path | None) -> str | None:
    return None if path is None else quoted(path)
