# SPDX-License-Identifier: Apache-2.0
"""Tests that the settings of docs/object-stores.md start a session that removes mapping on S3."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import spark_ext
from tests.object_stores.aws import hadoop_version
from tests.object_stores.requests import Kind
from tests.object_stores.store import Store
from tests.object_stores.uploaded import insert_text, upload
from tests.support.delta_table import Table
from tests.support.pages import Block, blocks
from tests.support.processes import in_new_process
from tests.support.sessions import small_session

PAGE = "docs/object-stores.md"
REMOVE_MAPPING = "ALTER TABLE {} SET TBLPROPERTIES ('delta.columnMapping.mode' = 'none')"


def block(section: str, language: str) -> Block:
    (found,) = [
        block for block in blocks(PAGE) if block.section == section and block.language == language
    ]
    return found


def remove_in_turn(
    packages: str, settings: Mapping[str, str], statement: str, names: list[str], home: Path
) -> None:
    """Removes mapping from a table in the session, and from another after the page's statement."""
    builder = small_session(SparkSession.builder, home / "warehouse")
    for line in packages.splitlines():
        builder.config(*line.split(maxsplit=1))
    for name, value in settings.items():
        builder.config(f"spark.hadoop.{name}", value)
    spark = spark_ext.configure(builder).getOrCreate()
    spark.sql(REMOVE_MAPPING.format(names[0]))
    spark.sql(statement)
    spark.sql(REMOVE_MAPPING.format(names[1]))
    spark.stop()


@pytest.mark.skipif(hadoop_version() != "3.5.0", reason="the page's packages are of another Hadoop")
def test_settings_of_the_page_start_a_session(table: Table, store: Store, tmp_path: Path) -> None:
    table.create_tracked("id BIGINT, a STRING")
    insert_text(table, "a", megabytes=6)
    table.alter("RENAME COLUMN a TO d")
    first, second = upload(table, store), upload(table, store)
    store.proxy.forget()

    in_new_process(
        remove_in_turn,
        block("Set-up", "properties").text,
        store.settings,
        block("Copies made by S3", "sql").text,
        [first.name, second.name],
        tmp_path,
    )

    assert first.counts()[Kind.COPY_PART] == 1
    assert second.counts()[Kind.COPY_PART] == 0
    rows = table.frame().count()
    assert [len(store.rows(each.key)) for each in (first, second)] == [rows, rows]
