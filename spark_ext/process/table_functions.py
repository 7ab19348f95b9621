# SPDX-License-Identifier: Apache-2.0
"""The table functions of SQL: `SELECT * FROM column_mapping('db.t')`.

A function is its schema and the rows that it makes of a table. The JVM finds the table, asks by the
function's name and turns the answer into a relation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from spark_ext.errors import MalformedMessageError
from spark_ext.history.columns import ColumnEvent, ColumnVersions, column_history
from spark_ext.history.status import status
from spark_ext.leave.exits import exits
from spark_ext.leave.survey import SurveyedTable
from spark_ext.log.actions import Commit, TableLog
from spark_ext.model.column_mapping import (
    column_id,
    has_column_id,
    has_physical_name,
    physical_name,
)
from spark_ext.model.metadata import TableFacts, TableMetadata
from spark_ext.model.schema import Path, quoted, type_name, walk
from spark_ext.wire.logs import parse_log, parse_table_and_log
from spark_ext.wire.messages import parse_table_facts
from spark_ext.wire.rows import as_row
from spark_ext.wire.surveys import parse_survey

Row = Mapping[str, Any]


@dataclass(frozen=True)
class TableFunction:
    """A table function.

    Args:
        schema: The columns of its rows, as DDL.
        parse: From the request to what it has to know of the table.
        rows: From that to rows, by the names of the columns.
    """

    schema: str
    parse: Callable[[str], Any]
    rows: Callable[[Any], Iterable[Row]]


def _column_mapping(table_and_log: tuple[TableMetadata, TableLog]) -> Iterable[Row]:
    table, log = table_and_log
    known = column_history(log).columns
    for path, field in walk(table.schema):
        versions = known.get(path, ColumnVersions(added=None))
        yield {
            "path": quoted(path),
            "name": field["name"],
            "physicalName": physical_name(field) if has_physical_name(field) else None,
            "id": column_id(field) if has_column_id(field) else None,
            "type": type_name(field["type"]),
            "addedVersion": versions.added,
            "renamedVersion": versions.renamed,
        }


def _column_mapping_history(log: TableLog) -> Iterable[Row]:
    return map(_event, column_history(log).events)


def _column_mapping_status(log: TableLog) -> Iterable[Row]:
    found = status(log)
    if found is None:
        raise MalformedMessageError(path="log", problem="has no protocol and metadata")
    features = found.protocol.reader_features, found.protocol.writer_features
    yield {
        "mode": found.mode,
        "tracked": found.tracked,
        "hasDroppedOrRenamed": found.has_dropped_or_renamed,
        "minReaderVersion": found.protocol.min_reader_version,
        "minWriterVersion": found.protocol.min_writer_version,
        "readerFeatures": None if features[0] is None else sorted(features[0]),
        "writerFeatures": None if features[1] is None else sorted(features[1]),
        "trueSince": None if found.true_since is None else _commit(found.true_since),
        "droppedOrRenamed": [_event(event) for event in found.dropped_or_renamed],
        "historyFrom": found.history_from,
    }


def _event(event: ColumnEvent) -> Row:
    return {
        **_commit(event.commit),
        "change": event.change,
        "id": event.id,
        "oldName": _name(event.old),
        "newName": _name(event.new),
    }


def _commit(commit: Commit | None) -> Row:
    return {
        "version": commit and commit.version,
        "timestamp": commit and commit.time,
        "operation": commit and commit.operation,
        "userName": commit and commit.user,
    }


def _name(path: Path | None) -> str | None:
    return None if path is None else quoted(path)


def _column_mapping_exit(facts: TableFacts) -> Iterable[Row]:
    return map(as_row, exits(facts))


def _column_mapping_audit(log: TableLog) -> Iterable[Row]:
    # The process mostly starts for a commit, which waits for it, and every check is a module.
    from spark_ext.auditing import audit

    return (asdict(finding) for finding in audit(log))


def _column_mapping_survey(tables: Iterable[SurveyedTable]) -> Iterable[Row]:
    return map(as_row, tables)


def _struct(columns: Iterable[str]) -> str:
    """A struct of the columns."""
    return f"STRUCT<{', '.join(column.replace(' ', ': ') for column in columns)}>"


# As DESCRIBE HISTORY calls them.
_COMMIT = ("version BIGINT", "timestamp TIMESTAMP", "operation STRING", "userName STRING")
_EVENT = (*_COMMIT, "change STRING", "id BIGINT", "oldName STRING", "newName STRING")
_FILES = "STRUCT<numFiles: BIGINT, sizeInBytes: BIGINT>"

FUNCTIONS = {
    "column_mapping": TableFunction(
        "path STRING, name STRING, physicalName STRING, id BIGINT, type STRING,"
        " addedVersion BIGINT, renamedVersion BIGINT",
        parse_table_and_log,
        _column_mapping,
    ),
    "column_mapping_exit": TableFunction(
        "exit STRING, meaning STRING, reached BOOLEAN, cost STRING,"
        " reasons ARRAY<STRUCT<reason: STRING, name: STRING, detail: STRING>>,"
        " numFiles BIGINT, sizeInBytes BIGINT, exact BOOLEAN,"
        f" kept {_FILES}, copied {_FILES}, rewritten {_FILES}, statements ARRAY<STRING>",
        parse_table_facts,
        _column_mapping_exit,
    ),
    "column_mapping_audit": TableFunction(
        "version BIGINT, `check` STRING, `column` STRING, file STRING, message STRING,"
        " remedy STRING",
        parse_log,
        _column_mapping_audit,
    ),
    "column_mapping_history": TableFunction(
        ", ".join(_EVENT),
        parse_log,
        _column_mapping_history,
    ),
    "column_mapping_status": TableFunction(
        "mode STRING, tracked BOOLEAN, hasDroppedOrRenamed BOOLEAN,"
        " minReaderVersion BIGINT, minWriterVersion BIGINT,"
        " readerFeatures ARRAY<STRING>, writerFeatures ARRAY<STRING>,"
        f" trueSince {_struct(_COMMIT)}, droppedOrRenamed ARRAY<{_struct(_EVENT)}>,"
        " historyFrom BIGINT",
        parse_log,
        _column_mapping_status,
    ),
    "column_mapping_survey": TableFunction(
        "`table` STRING, mode STRING, tracked BOOLEAN, hasDroppedOrRenamed BOOLEAN,"
        " numColumns BIGINT, numOtherNames BIGINT, numFiles BIGINT, sizeInBytes BIGINT,"
        " unmapped STRING, readers STRING, writers STRING,"
        " blockedBy ARRAY<STRUCT<exit: STRING, reason: STRING, name: STRING, detail: STRING>>,"
        " error STRING, message STRING",
        parse_survey,
        _column_mapping_survey,
    ),
}
