# SPDX-License-Identifier: Apache-2.0
"""Tests that errors name the version if a statement fails after its commit."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from pyspark.errors import AnalysisException

from tests.support.delta_table import Table, refusal
from tests.support.prepared import made_once
from tests.support.releases import PURGES
from tests.support.removal import (
    OPERATION,
    counts,
    data_files,
    insert_one_file,
    live,
    local,
)
from tests.support.session_conf import session_conf

pytestmark = pytest.mark.without("optimize-write", "auto-compact")

CONDITION = "USAGE_TRACKING_FAILED_AFTER_COMMIT"
STATISTICS = "delta.checkpoint.writeStatsAsJson"
FILES_IN_CHECKSUM = "spark.databricks.delta.allFilesInCrc.enabled"


@pytest.fixture
def broken_property(table: Table) -> Iterator[Callable[[], None]]:
    """Yields a function that makes statements fail after their commit, by an invalid property."""
    with session_conf(table.spark, {FILES_IN_CHECKSUM: "true"}):
        yield lambda: table.log.append_properties({STATISTICS: "perhaps"})


@made_once
def renamed(table: Table) -> Table:
    table.create_tracked("a INT, b STRING, g INT")
    insert_one_file(table, "(1, 'x', 7)")
    table.alter("RENAME COLUMN a TO c")
    table.alter("DROP COLUMN g")
    return table


def fails_after_commit(table: Table, statement: Callable[[], object], operation: str) -> None:
    version = table.log.version

    with refusal(CONDITION) as refused:
        statement()

    assert isinstance(refused.value, AnalysisException)
    assert refused.value.getSqlState() == "2DKD0"
    parameters = refused.value.getMessageParameters() or {}
    assert parameters["operation"] == operation
    assert parameters["version"] == str(table.log.version)
    assert "perhaps" in parameters["reason"]
    assert table.log.operation == operation
    assert table.log.version == version + 1
    assert all(local(table.path, path).is_file() for path in live(table.log))


def test_removal_by_copy_names_its_version_and_the_failure(
    table: Table, broken_property: Callable[[], None]
) -> None:
    renamed(table)
    broken_property()

    fails_after_commit(table, table.remove_mapping, OPERATION)

    assert counts(table.log) == (0, 1, 0)
    assert table.selected() == [(1, "x")]


def test_metadata_only_removal_names_its_version_and_the_failure(
    table: Table, broken_property: Callable[[], None]
) -> None:
    table.create_tracked("a INT, b STRING")
    insert_one_file(table, "(1, 'x')")
    broken_property()

    fails_after_commit(table, table.remove_mapping, OPERATION)

    assert "delta.columnMapping.mode" not in table.log.configuration or (
        table.log.configuration["delta.columnMapping.mode"] == "none"
    )
    assert table.selected() == [(1, "x")]


@PURGES
def test_purge_names_its_version_and_the_failure(
    table: Table, broken_property: Callable[[], None]
) -> None:
    renamed(table)
    broken_property()
    before = data_files(table.path)

    fails_after_commit(table, table.purge, "REORG")

    (copy,) = data_files(table.path) - before
    assert set(live(table.log)) == {copy.relative_to(table.path).as_posix()}
    assert table.selected() == [(1, "x")]


def test_align_names_names_the_failure_and_resumes(
    table: Table, broken_property: Callable[[], None]
) -> None:
    renamed(table)
    usage = table.usage
    (mark, *_) = usage.align_names(dry_run=True).statements
    table.spark.sql(mark)
    broken_property()

    fails_after_commit(table, usage.align_names, OPERATION)

    table.log.append_properties({STATISTICS: "true"})
    assert usage.align_names().aligned
    assert table.selected() == [(1, "x")]
