# SPDX-License-Identifier: Apache-2.0
"""Tests that errors name the version if a statement fails after its commit."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from pyspark.errors import AnalysisException

from tests.support.delta_table import Table, refusal
from tests.support.prepared import made_once
from tests.support.releases import PURGES
from tests.support.removal import files_of, insert_one_file
from tests.support.session_conf import session_conf

pytestmark = pytest.mark.without("optimize-write", "auto-compact")

CONDITION = "USAGE_TRACKING_FAILED_AFTER_COMMIT"
STATISTICS = "delta.checkpoint.writeStatsAsJson"
FILES_IN_CHECKSUM = "spark.databricks.delta.allFilesInCrc.enabled"

Statement = Callable[[Table], object]


@pytest.fixture
def broken_property(table: Table) -> Iterator[Callable[[], None]]:
    """Yields a function that makes statements fail after their commit, by an invalid property."""
    with session_conf(table.spark, {FILES_IN_CHECKSUM: "true"}):
        yield lambda: table.log.append_properties({STATISTICS: "perhaps"})


@made_once
def dropped(table: Table) -> Table:
    table.create_tracked("a INT, b STRING, g INT")
    insert_one_file(table, "(1, 'x', 7)")
    table.alter("DROP COLUMN g")
    return table


@made_once
def unchanged(table: Table) -> Table:
    table.create_tracked("a INT, b STRING")
    insert_one_file(table, "(1, 'x')")
    return table


def assert_fails_after_commit(table: Table, statement: Statement, files: str) -> None:
    version = table.log.version

    with refusal(CONDITION) as refused:
        statement(table)

    assert isinstance(refused.value, AnalysisException)
    assert refused.value.getSqlState() == "2DKD0"
    parameters = refused.value.getMessageParameters() or {}
    assert parameters["operation"] == table.log.operation
    assert parameters["version"] == str(table.log.version) == str(version + 1)
    assert "perhaps" in parameters["reason"]
    assert files_of(table.log) == files


@pytest.mark.every_variant
@pytest.mark.parametrize(
    ("make", "statement", "files"),
    [
        (dropped, Table.remove_mapping, "0 1 0"),
        (unchanged, Table.remove_mapping, "none"),
        pytest.param(dropped, Table.purge, "0 1 0", marks=PURGES),
    ],
)
def test_statement_names_its_version_and_the_failure(
    table: Table,
    broken_property: Callable[[], None],
    make: Statement,
    statement: Statement,
    files: str,
) -> None:
    make(table)
    broken_property()

    assert_fails_after_commit(table, statement, files)

    assert table.selected() == [(1, "x")]


def test_align_names_names_the_failure_and_resumes(
    table: Table, broken_property: Callable[[], None]
) -> None:
    dropped(table)
    usage = table.usage
    (mark, *_) = usage.align_names(dry_run=True).statements
    table.spark.sql(mark)
    broken_property()

    assert_fails_after_commit(table, lambda _: usage.align_names(), "0 1 0")

    table.log.append_properties({STATISTICS: "true"})
    assert usage.align_names().aligned
    assert table.selected() == [(1, "x")]
