# SPDX-License-Identifier: Apache-2.0
"""The table functions of SQL: `SELECT * FROM column_mapping('db.t')`.

The JVM finds the table, asks by the function's name and turns the answer into a relation. Here a
function makes rows of the request; their dataclass says what the columns are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from spark_ext.errors import MalformedMessageError
from spark_ext.history.columns import ColumnEvent, ColumnVersions, column_history
from spark_ext.history.status import Status, status
from spark_ext.log.actions import Commit, TableLog
from spark_ext.log.replay import states
from spark_ext.model.column_mapping import (
    column_id,
    has_column_id,
    has_physical_name,
    is_mapped,
    physical_name,
)
from spark_ext.model.dropped import DroppedColumn
from spark_ext.model.metadata import TableMetadata
from spark_ext.model.misleading_names import misleading_names
from spark_ext.model.schema import Path, quoted, type_name, walk
from spark_ext.model.status import ColumnChange, FlagChange, HistoryRow, StatusRow
from spark_ext.removal.stages import RemovalStage, stages
from spark_ext.removal.survey import SurveyedTable, surveyed
from spark_ext.wire.failures import described
from spark_ext.wire.logs import parse_log, parse_table_and_log
from spark_ext.wire.messages import parse_table_facts
from spark_ext.wire.places import parse_places
from spark_ext.wire.surveys import AskedTable, parse_survey

# The dataclass of the rows, and the rows.
Relation = tuple[type, Iterable[Any]]

_UNKNOWN = ColumnVersions(added=None)


@dataclass  # frozen ones are made half as fast, and tables have thousands
class MappedColumn:
    """A column at any level of a table, parents first.

    Args:
        path: As SQL wants it.
        name: The last part of the path.
        physical_name: None without column mapping, as the next one.
        id: The column's.
        type: As SQL has it.
        added_version: The version that added it; None where the log no longer tells.
        renamed_version: The last one that renamed it; None where none did that the log tells of.
        name_in_files_of: The column that has this one's name in data files; None where none has.
    """

    path: str
    name: str
    physical_name: str | None
    id: int | None
    type: str
    added_version: int | None
    renamed_version: int | None
    name_in_files_of: str | None


def column_mapping(request: str) -> Relation:
    """Every column of a table at every level."""
    return MappedColumn, _mapped_columns(*parse_table_and_log(request))


def column_mapping_removal(request: str) -> Relation:
    """The three stages of a table."""
    return RemovalStage, stages(parse_table_facts(request))


def column_mapping_audit(request: str) -> Relation:
    """What is wrong with a table."""
    # The process mostly starts for a commit, which waits for it, and every check is a module.
    from spark_ext.auditing import Finding, audit

    return Finding, audit(parse_log(request))


def column_mapping_history(request: str) -> Relation:
    """What happened to the names of a table's columns, oldest first."""
    events = column_history(parse_log(request)).events
    return HistoryRow, (HistoryRow(*_event(event)) for event in events)


def column_mapping_status(request: str) -> Relation:
    """Where a table stands: one row."""
    found = status(parse_log(request))
    if found is None:
        raise MalformedMessageError(path="log", problem="has no protocol and metadata")
    return StatusRow, (_status(found),)


def column_mapping_dropped(request: str) -> Relation:
    """Where the data of dropped columns still is."""
    # As for the audit.
    from spark_ext.erasure.dropped_columns import dropped_columns

    places = parse_places(request)
    if not states(places.log):
        # Nothing would be said of any column.
        raise MalformedMessageError(path="log", problem="has no protocol and metadata")
    return DroppedColumn, dropped_columns(places)


def column_mapping_survey(request: str) -> Relation:
    """What removing column mapping costs, a row for each table that was asked about."""
    return SurveyedTable, map(_surveyed, parse_survey(request))


FUNCTIONS: dict[str, Callable[[str], Relation]] = {
    function.__name__: function
    for function in (
        column_mapping,
        column_mapping_removal,
        column_mapping_audit,
        column_mapping_history,
        column_mapping_status,
        column_mapping_dropped,
        column_mapping_survey,
    )
}


def _mapped_columns(table: TableMetadata, log: TableLog) -> Iterator[MappedColumn]:
    known = column_history(log).columns
    others = misleading_names(table.schema) if is_mapped(table) else {}
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
        return surveyed(parse_table_facts(table.facts))
    except Exception as error:  # whatever is wrong with one table
        refusal = described(error)
        return SurveyedTable(table.name, error=refusal.condition, message=str(refusal))


def _status(found: Status) -> StatusRow:
    since, protocol = found.true_since, found.protocol
    return StatusRow(
        mode=found.mode,
        tracked=found.tracked,
        has_dropped_or_renamed=found.has_dropped_or_renamed,
        min_reader_version=protocol.min_reader_version,
        min_writer_version=protocol.min_writer_version,
        reader_features=_sorted(protocol.reader_features),
        writer_features=_sorted(protocol.writer_features),
        true_since=None if since is None else FlagChange(*_commit(since)),
        dropped_or_renamed=tuple(
            ColumnChange(*_event(event)) for event in found.dropped_or_renamed
        ),
        history_from=found.history_from,
    )


def _event(event: ColumnEvent) -> tuple[Any, ...]:
    return *_commit(event.commit), event.change, event.id, _name(event.old), _name(event.new)


def _commit(commit: Commit | None) -> tuple[Any, ...]:
    """What a row tells of a commit.

    The time stays milliseconds, of which the JVM makes a timestamp: it may be any 64-bit number,
    while Python's datetime ends with the year 9999.
    """
    if commit is None:
        return None, None, None, None
    return commit.version, commit.time, commit.operation, commit.user


def _name(path: Path | None) -> str | None:
    return None if path is None else quoted(path)


def _sorted(features: frozenset[str] | None) -> tuple[str, ...] | None:
    return None if features is None else tuple(sorted(features))
