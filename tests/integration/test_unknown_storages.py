# SPDX-License-Identifier: Apache-2.0
"""Tests that the error of a statement names a data file on an unknown storage."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from pyspark.errors import AnalysisException

import spark_ext
from tests.support.delta_table import Table, refusal
from tests.support.prepared import made_once
from tests.support.releases import PURGES
from tests.support.removal import (
    counts,
    insert_one_file,
    unmap,
    untouched,
)
from tests.support.variants import in_matrix

# OPTIMIZE would fail, because it opens the file system of each file that it may merge.
pytestmark = [
    pytest.mark.without("optimize-write", "auto-compact"),
    pytest.mark.broken_table("file_missing", "file_unreadable", "statistics_names"),
]

UNREADABLE = "USAGE_TRACKING_UNREADABLE_DATA_FILE"
NO_SCHEME = "s3://bucket/a%20b/x.parquet"
PATHS = [
    NO_SCHEME,
    *in_matrix("no-class://bucket/x.parquet", "hdfs://host.invalid:8020/x.parquet"),
]


@made_once
def changed(table: Table) -> None:
    table.create_tracked("a INT, b STRING, g INT")
    insert_one_file(table, "(1, 'x', 7)")
    table.alter("RENAME COLUMN a TO c")
    table.alter("DROP COLUMN g")


@pytest.fixture
def partly_elsewhere(table: Table) -> Callable[[str], Table]:
    """Returns a function that makes a table with changed columns and a file at a path."""
    hadoop = table.spark.sparkContext._jsc.hadoopConfiguration()
    hadoop.set("fs.no-class.impl", "no.such.FileSystem")

    def make(path: str) -> Table:
        changed(table)
        (add,) = table.log.at(1).actions("add")
        table.log.append_foreign({"add": {**add, "path": path}})
        return table

    return make


def test_audit_and_erasure_report_a_file_on_an_unknown_storage(
    partly_elsewhere: Callable[[str], Table],
) -> None:
    table = partly_elsewhere(NO_SCHEME)

    found = spark_ext.audit(table.spark, table.path, progress=None).findings
    erasure = table.usage.dropped_columns(progress=None)

    unread = [each.file for each in found if each.check == "file_unreadable"]
    assert unread == [NO_SCHEME]
    assert erasure.verdict not in ("ERASED", "NEVER_HAD")
    assert [each.num_files for each in erasure.places if each.place == "unreadable"] == [1]


def count(table: Table) -> None:
    table.usage.remove_column_mapping(dry_run=True, exact=True)


@pytest.mark.every_variant
@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(
    "statement", [Table.remove_mapping, count, pytest.param(Table.purge, marks=PURGES)]
)
def test_statement_names_a_file_on_an_unknown_storage(
    partly_elsewhere: Callable[[str], Table], statement: Callable[[Table], None], path: str
) -> None:
    table = partly_elsewhere(path)

    with untouched(table), table.refusal(UNREADABLE) as refused:
        statement(table)

    assert isinstance(refused.value, AnalysisException)
    parameters = refused.value.getMessageParameters() or {}
    assert parameters["path"] == path.replace("%20", " ")
    assert "its storage is unknown" in parameters["reason"]


def test_align_names_fails_when_the_storage_of_a_file_is_unknown(
    partly_elsewhere: Callable[[str], Table],
) -> None:
    table = partly_elsewhere(NO_SCHEME)

    with refusal(UNREADABLE) as refused:
        table.usage.align_names()

    assert isinstance(refused.value, AnalysisException)
    assert table.log.configuration["delta.columnMapping.mode"] == "name"


def test_removal_succeeds_once_the_file_is_removed(
    partly_elsewhere: Callable[[str], Table],
) -> None:
    table = partly_elsewhere(NO_SCHEME)
    removed = {"path": NO_SCHEME, "deletionTimestamp": 1, "dataChange": True}
    table.log.append_foreign({"remove": removed})

    assert counts(unmap(table)) == (0, 1, 0)
    assert table.rows() == [(1, "x")]
