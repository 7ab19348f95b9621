# SPDX-License-Identifier: Apache-2.0
"""Commands of a Delta that calls for them what this Spark does not have."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.delta_table import NAME_MODE, TRACKED, Table, refusal
from tests.support.releases import UNLINKED

pytestmark = pytest.mark.skipif(not UNLINKED, reason="Delta fits this Spark")

REFUSED = "USAGE_TRACKING_UNSUPPORTED_COMMAND"


@pytest.fixture
def dropped(table: Table) -> Table:
    table.create("a INT, b INT", TRACKED, NAME_MODE, "'delta.enableDeletionVectors' = 'true'")
    table.insert("(1, 10), (2, 20), (3, 30)")
    table.alter("DROP COLUMN b")
    return table


def test_a_purge_is_refused(dropped: Table) -> None:
    with dropped.refusal(REFUSED) as refused:
        dropped.spark.sql(f"REORG TABLE {dropped.name} APPLY (PURGE)")

    assert "ParquetToSparkSchemaConverter(" in str(refused.value)


def test_a_conversion_is_refused(table: Table) -> None:
    table.spark.range(3).write.parquet(str(table.path))

    with refusal(REFUSED):
        table.spark.sql(f"CONVERT TO DELTA parquet.`{table.path}`")

    assert not (table.path / "_delta_log").exists()


def test_a_clone_of_parquet_files_is_refused(table: Table, tmp_path: Path) -> None:
    table.spark.range(3).write.parquet(str(tmp_path / "parquet"))

    with refusal(REFUSED):
        table.spark.sql(f"CREATE TABLE {table.name} SHALLOW CLONE parquet.`{tmp_path / 'parquet'}`")

    assert not table.path.exists()


def test_deletion_vectors_are_not_dropped(dropped: Table) -> None:
    dropped.spark.sql(f"DELETE FROM {dropped.name} WHERE a = 1")
    rows = dropped.rows()

    with refusal(REFUSED):
        dropped.alter("DROP FEATURE deletionVectors")

    assert dropped.rows() == rows
    assert "deletionVectors" in dropped.log.writer_features
