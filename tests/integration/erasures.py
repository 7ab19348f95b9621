# SPDX-License-Identifier: Apache-2.0
"""Makes tables with dropped columns, and reads what `dropped_columns` reports of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

import spark_ext
from spark_ext import ErasureReport, TableErasure
from tests.support.delta_table import NAME_MODE, TRACKED, Table
from tests.support.prepared import made_once

MARKER = "Z7q0MARKER0q7Z"
SHORT = (
    "'delta.deletedFileRetentionDuration' = 'interval 0 hours'",
    "'delta.logRetentionDuration' = 'interval 0 days'",
)


def report(table: Table, *others: Table, column: str | None = "ssn", **options: Any) -> Any:
    where = [each.path for each in (table, *others)]
    return spark_ext.dropped_columns(table.spark, *where, column=column, progress=None, **options)


def only(found: ErasureReport) -> TableErasure:
    (table,) = found.tables
    return table


def verdict(table: Table, column: str | None = "ssn", **options: Any) -> str:
    with table.no_commit():
        return only(report(table, column=column, **options)).verdict


def steps_of(table: TableErasure) -> list[str]:
    return [step.step for step in table.steps]


def clean_up_log(table: Table) -> None:
    """Lets Delta delete every commit before a new checkpoint."""
    table.age_log()
    table.alter("SET TBLPROPERTIES ('delta.checkpointInterval' = '1')")


def footers_and_log(table: Table) -> str:
    """Returns the schemas of all data files and the text of the log, read without Spark."""
    files = [file for file in table.path.rglob("*.parquet") if "_delta_log" not in file.parts]
    log = (table.path / "_delta_log").glob("*.json")
    return "\n".join([str(pq.read_schema(file)) for file in files] + [f.read_text() for f in log])


@made_once
def top_level(table: Table) -> None:
    table.create("id INT, ssn STRING", TRACKED, NAME_MODE, *SHORT)
    table.insert(f"(1, '{MARKER}')")
    table.alter("DROP COLUMN ssn")


@made_once
def renamed_by_uuid(table: Table) -> None:
    table.create("id INT, ssn STRING", NAME_MODE, *SHORT)
    table.insert(f"(1, '{MARKER}')")
    table.alter("RENAME COLUMN ssn TO hidden")
    table.alter("DROP COLUMN hidden")


def with_marker(table: Table) -> Path:
    """Returns a data file that still contains the values of the dropped column."""
    files = table.path.rglob("part-*.parquet")
    return next(file for file in files if MARKER.encode() in file.read_bytes())
