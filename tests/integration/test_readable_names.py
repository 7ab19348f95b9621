# SPDX-License-Identifier: Apache-2.0
"""Tests the steps of docs/readable-names.md, after which physical names equal logical names."""

from __future__ import annotations

import re
from pathlib import Path

import pyarrow.parquet
import pytest
from pyspark.sql import SparkSession

import spark_ext
from tests.support.delta_table import NAME_MODE, Table
from tests.support.deltalake_readers import read_by_datafusion, read_by_pyarrow

PAGE = Path(__file__).parents[2] / "docs" / "readable-names.md"


def way_back() -> str:
    section = PAGE.read_text().split("## Readable names for an old table")[1]
    found = re.search(r"```python\n(.*?)```", section, re.DOTALL)
    assert found
    return found[1]


def names_in_files(table: Table) -> list[list[str]]:
    return [
        pyarrow.parquet.ParquetFile(table.path / path).schema_arrow.names
        for path in table.log.live_files
    ]


def run_the_page(spark: SparkSession, name: str) -> None:
    code = way_back()
    assert code.count("old_trips") == 1
    exec(code.replace("old_trips", name), {"spark": spark, "spark_ext": spark_ext})


@pytest.mark.without("auto-compact", "deletion-vectors")
def test_old_table_gets_readable_names_and_keeps_column_mapping(
    spark: SparkSession, named_table: Table
) -> None:
    table = named_table
    table.create("id INT, city STRING, fare DOUBLE", NAME_MODE)
    table.insert("(1, 'Rome', 2.5)")
    spark.sql("ALTER TABLE named RENAME COLUMN city TO town")
    spark.sql("ALTER TABLE named DROP COLUMN fare")
    table.insert("(2, 'Oslo')")
    assert all(name.startswith("col-") for names in names_in_files(table) for name in names)
    assert read_by_pyarrow(table.path).to_pylist() == [{"id": None, "town": None}] * 2

    run_the_page(spark, "named")

    assert table.log.configuration["delta.columnMapping.mode"] == "name"
    assert table.log.flag == "false"
    assert names_in_files(table) == [["id", "town"]] * 2
    rows = [{"id": 1, "town": "Rome"}, {"id": 2, "town": "Oslo"}]
    for read in (read_by_pyarrow, read_by_datafusion):
        assert sorted(read(table.path).to_pylist(), key=lambda row: row["id"]) == rows
    table.alter("ADD COLUMN fare DOUBLE")
    assert table.log.columns["fare"][1] == "fare"
    assert table.rows() == [(1, "Rome", None), (2, "Oslo", None)]

    before = table.log.live_files
    table.alter("SET TBLPROPERTIES ('delta.columnMapping.mode' = 'none')")
    assert table.log.live_files == before
