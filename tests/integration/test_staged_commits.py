# SPDX-License-Identifier: Apache-2.0
"""Reads tables whose newest commits are only in `_staged_commits`, and not yet published."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

import spark_ext
from spark_ext import UsageTracking
from tests.integration.catalog_managed import CATALOG_MANAGED, managed_table, staged
from tests.support.delta_table import NAME_MODE, TRACKED, Table
from tests.support.removal import local

pytestmark = CATALOG_MANAGED

NAME = "managed"
UUID = "7c9e6679-7425-40de-944b-e07fc1f90ae7"


@pytest.fixture
def managed(spark: SparkSession) -> Iterator[Table]:
    with managed_table(spark, NAME, "a INT, b STRING, d INT", TRACKED, NAME_MODE) as table:
        yield table


@pytest.fixture
def changed(managed: Table) -> Table:
    """Returns a table with three staged commits, and one that the catalog did not accept."""
    managed.insert("(1, 'x', 7)")
    managed.alter("RENAME COLUMN a TO c")
    managed.alter("DROP COLUMN d")
    assert [int(file.name[:20]) for file in staged(managed)] == [1, 2, 3]
    assert managed.log.version == 0
    last = staged(managed)[-1]
    shutil.copy(last, last.with_name(f"{4:020}.{UUID}.json"))
    return managed


def test_history_contains_staged_commits(changed: Table) -> None:
    tracking = UsageTracking.forName(changed.spark, NAME)

    since = tracking.status().true_since

    assert since is not None
    assert (since.version, since.operation) == (2, "RENAME COLUMN")
    live, *_ = tracking.dropped_columns(column="d").places
    assert (live.num_files, live.paths, live.step) == (1, ("d",), "REWRITE")


@pytest.mark.broken_table("file_missing")
def test_audit_reads_files_of_staged_commits(changed: Table) -> None:
    assert not spark_ext.audit(changed.spark, NAME).findings
    (add,) = [
        json.loads(line)["add"]
        for line in staged(changed)[0].read_text().splitlines()
        if "add" in json.loads(line)
    ]

    local(changed.path, add["path"]).unlink()

    (finding,) = spark_ext.audit(changed.spark, NAME).findings
    assert finding.check == "file_missing"
