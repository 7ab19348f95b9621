# SPDX-License-Identifier: Apache-2.0
"""Commands of a Delta that calls for them what this Spark does not have."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from spark_ext import UsageTracking
from tests.support.delta_table import NAME_MODE, TRACKED, Table, refusal
from tests.support.releases import UNLINKED

pytestmark = pytest.mark.skipif(not UNLINKED, reason="Delta fits this Spark")

REFUSED = "USAGE_TRACKING_UNSUPPORTED_COMMAND"
VECTORS = "'delta.enableDeletionVectors' = 'true'"
WIDENING = "'delta.enableTypeWidening' = 'true'"
UPGRADE = "UPGRADE UNIFORM (ICEBERG_COMPAT_VERSION = 2)"


@pytest.fixture
def dropped(table: Table) -> Table:
    table.create("a INT, b INT", TRACKED, NAME_MODE, VECTORS)
    table.insert("(1, 10), (2, 20), (3, 30)")
    table.alter("DROP COLUMN b")
    return table


def test_a_purge_is_refused(dropped: Table) -> None:
    with dropped.refusal(REFUSED) as refused:
        dropped.spark.sql(f"REORG TABLE {dropped.name} APPLY (PURGE)")

    assert "ParquetToSparkSchemaConverter(" in str(refused.value)


def test_the_data_of_a_dropped_column_goes_by_writing_rows_again(dropped: Table) -> None:
    tracking = UsageTracking.forName(dropped.spark, dropped.name)
    (column,) = tracking.dropped_columns(progress=None).columns
    assert [step.step for step in column.steps][:2] == ["REWRITE", "VACUUM"]

    dropped.spark.sql(f"INSERT OVERWRITE {dropped.name} SELECT * FROM {dropped.name}")

    (column,) = tracking.dropped_columns(progress=None).columns
    assert column.live_files.num_files == 0
    assert sorted(dropped.rows()) == [(1,), (2,), (3,)]


def test_a_purge_of_an_empty_table_does_nothing(table: Table) -> None:
    table.create_tracked("a INT")

    with table.no_commit():
        table.spark.sql(f"REORG TABLE {table.name} APPLY (PURGE)")


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


@pytest.mark.parametrize("how", ["", " TRUNCATE HISTORY"])
def test_deletion_vectors_are_not_dropped(dropped: Table, how: str) -> None:
    dropped.spark.sql(f"DELETE FROM {dropped.name} WHERE a = 1")

    assert_keeps(dropped, f"deletionVectors{how}")

    assert dropped.log.configuration["delta.enableDeletionVectors"] == "true"


def test_nor_where_there_are_none(dropped: Table) -> None:
    """Delta looks for them in all files, whether the log has any or not."""
    dropped.alter("UNSET TBLPROPERTIES ('delta.enableDeletionVectors')")

    assert_keeps(dropped, "deletionVectors")


@pytest.mark.parametrize("feature", ["typeWidening", "`typeWidening-preview`"])
def test_type_widening_is_not_dropped(table: Table, feature: str) -> None:
    table.create(
        "a INT", TRACKED, NAME_MODE, WIDENING, f"'delta.feature.{feature.strip('`')}' = 'supported'"
    )
    table.insert("(1), (2)")
    table.alter("ALTER COLUMN a TYPE BIGINT")

    assert_keeps(table, feature)

    assert table.log.configuration["delta.enableTypeWidening"] == "true"


@pytest.mark.parametrize(
    ("feature", "column"), [("deletionVectors", "INT"), ("typeWidening", "BIGINT")]
)
def test_an_empty_table_loses_them(table: Table, feature: str, column: str) -> None:
    """Delta looks into no file."""
    table.create("a INT", TRACKED, NAME_MODE, VECTORS, WIDENING)
    table.alter(f"ALTER COLUMN a TYPE {column}")

    table.alter(f"DROP FEATURE {feature}")

    assert feature not in table.log.writer_features
    assert table.log.fields["a"].type == {"INT": "integer", "BIGINT": "long"}[column]


def test_type_widening_that_widened_nothing_is_dropped(table: Table) -> None:
    table.create("a INT", TRACKED, NAME_MODE, WIDENING)
    table.insert("(1), (2)")

    table.alter("DROP FEATURE typeWidening")

    assert "typeWidening" not in table.log.writer_features
    assert "delta.enableTypeWidening" not in table.log.configuration
    assert table.rows() == [(1,), (2,)]


@pytest.mark.parametrize("operation", ["DeltaPurgeOperation", "DeltaRewriteTypeWideningOperation"])
def test_a_file_that_came_meanwhile_is_not_looked_into(table: Table, operation: str) -> None:
    """What DROP FEATURE on an empty table comes to, if another writer adds the first file."""
    table.create_tracked("a INT").insert("(1)")
    jvm: Any = table.spark._jvm
    delta, session = jvm.org.apache.spark.sql.delta, table.spark._jsparkSession
    snapshot = delta.DeltaLog.forTable(session, str(table.path)).update(
        False, jvm.scala.Option.empty(), jvm.scala.Option.empty()
    )
    files = jvm.scala.jdk.javaapi.CollectionConverters.asScala(snapshot.allFiles().collectAsList())

    with table.refusal(REFUSED):
        getattr(delta.commands, operation)().filterFilesToReorg(session, snapshot, files.toSeq())


def test_a_predicate_that_chooses_no_partition_is_refused_by_delta(dropped: Table) -> None:
    with dropped.refusal("DELTA_NON_PARTITION_COLUMN_REFERENCE"):
        dropped.spark.sql(f"REORG TABLE {dropped.name} WHERE a = 1 APPLY (PURGE)")


def test_an_upgrade_to_uniform_is_deltas(dropped: Table) -> None:
    """It writes all files anew, looks into none, and fails where the jar of Iceberg is missing."""
    version, rows = dropped.log.version, dropped.rows()

    with refusal("DELTA_UNIVERSAL_FORMAT_CONVERSION_FAILED"):
        dropped.spark.sql(f"REORG TABLE {dropped.name} APPLY ({UPGRADE})")

    made = [
        dropped.log.at(after).operation for after in range(version + 1, dropped.log.version + 1)
    ]
    assert made == ["REORG TABLE UPGRADE UNIFORM", "REORG", "SET TBLPROPERTIES"]
    assert (dropped.log.flag, dropped.rows()) == ("true", rows)


def assert_keeps(table: Table, feature: str) -> None:
    """The feature is not dropped, and nothing is written."""
    log, rows = table.log, table.rows()

    with table.refusal(REFUSED):
        table.alter(f"DROP FEATURE {feature}")

    assert (table.log.protocol, table.log.metadata) == (log.protocol, log.metadata)
    assert table.rows() == rows
