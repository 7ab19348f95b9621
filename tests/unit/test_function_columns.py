# SPDX-License-Identifier: Apache-2.0
"""The columns of the table functions, which the JVM knows before it asks.

Run as a script, this writes them: `.venv/bin/python tests/unit/test_function_columns.py`.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from spark_ext.auditing import Finding
from spark_ext.model.dropped import DroppedColumn
from spark_ext.model.erasure import ColumnErasure
from spark_ext.model.status import HistoryRow, StatusRow
from spark_ext.process.table_functions import FUNCTIONS, MappedColumn
from spark_ext.removal.stages import RemovalStage
from spark_ext.removal.survey import SurveyedTable
from spark_ext.wire.rows import ddl

FILE = Path(__file__).parents[2] / "spark_ext" / "function_columns.json"


@dataclass
class NamedTable:
    """A row that `TableFunction.java` makes without the rule process."""

    name: str
    sql_name: str
    tracked: bool
    has_dropped_or_renamed: str | None
    jar_version: str
    version: int


@dataclass
class ListedTable:
    """A row that `Survey.java` makes without the rule process."""

    table: str
    kind: str | None
    error: str | None
    message: str | None


@dataclass
class UnnamedCopies:
    """A row that `TableFunction.java` makes without the rule process."""

    num_files: int
    size_in_bytes: int
    removable_from: datetime | None


ASKED = {
    "column_mapping": MappedColumn,
    "column_mapping_audit": Finding,
    "column_mapping_dropped": DroppedColumn,
    "column_mapping_erasure": ColumnErasure,
    "column_mapping_removal": RemovalStage,
    "column_mapping_history": HistoryRow,
    "column_mapping_status": StatusRow,
    "column_mapping_survey": SurveyedTable,
}
ROWS = {
    **ASKED,
    "column_mapping_copies": UnnamedCopies,
    "column_mapping_named_table": NamedTable,
    "column_mapping_tables": ListedTable,
}


def columns() -> dict[str, str]:
    return {function: ddl(ROWS[function]) for function in sorted(ROWS)}


def test_each_function_has_the_columns_of_its_rows() -> None:
    assert json.loads(FILE.read_text()) == columns()
    assert set(ASKED) == set(FUNCTIONS)


if __name__ == "__main__":
    FILE.write_text(json.dumps(columns(), indent=2) + "\n")
