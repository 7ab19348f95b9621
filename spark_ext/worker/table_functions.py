# SPDX-License-Identifier: Apache-2.0
"""The table functions of SQL: `SELECT * FROM column_mapping('db.t')`.

A function is its schema and the rows that it makes of a table. The JVM finds the table, asks by the
function's name and turns the answer into a relation.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from spark_ext.leave.exits import exits
from spark_ext.leave.survey import SurveyedTable
from spark_ext.model.column_mapping import (
    column_id,
    has_column_id,
    has_physical_name,
    physical_name,
)
from spark_ext.model.metadata import TableFacts, TableMetadata
from spark_ext.model.schema import quoted, type_name, walk
from spark_ext.worker.survey_wire import parse_survey
from spark_ext.worker.wire import parse_table, parse_table_facts

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


def _column_mapping(table: TableMetadata) -> Iterable[Row]:
    for path, field in walk(table.schema):
        yield {
            "path": quoted(path),
            "name": field["name"],
            "physicalName": physical_name(field) if has_physical_name(field) else None,
            "id": column_id(field) if has_column_id(field) else None,
            "type": type_name(field["type"]),
        }


def _column_mapping_exit(facts: TableFacts) -> Iterable[Row]:
    for step in exits(facts):
        yield asdict(step, dict_factory=_row)


def _column_mapping_survey(tables: Iterable[SurveyedTable]) -> Iterable[Row]:
    for table in tables:
        yield asdict(table, dict_factory=_row)


def _row(fields: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    """By the names of columns, which are written as Delta writes them: `num_files`, `numFiles`."""
    return {re.sub(r"_(\w)", lambda end: end[1].upper(), name): value for name, value in fields}


_FILES = "STRUCT<numFiles: BIGINT, sizeInBytes: BIGINT>"

FUNCTIONS = {
    "column_mapping": TableFunction(
        "path STRING, name STRING, physicalName STRING, id BIGINT, type STRING",
        parse_table,
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
    "column_mapping_survey": TableFunction(
        "table STRING, mode STRING, tracked BOOLEAN, hasDroppedOrRenamed BOOLEAN,"
        " numColumns BIGINT, numOtherNames BIGINT, numFiles BIGINT, sizeInBytes BIGINT,"
        " unmapped STRING, readers STRING, writers STRING,"
        " blockedBy ARRAY<STRUCT<exit: STRING, reason: STRING, name: STRING, detail: STRING>>,"
        " error STRING, message STRING",
        parse_survey,
        _column_mapping_survey,
    ),
}
