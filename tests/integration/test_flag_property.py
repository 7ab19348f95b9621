# SPDX-License-Identifier: Apache-2.0
"""Tests that builders, writers, streams and sessions may not set the flag.

`statements/properties.txt` has the statements in SQL.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from delta.tables import DeltaTable, DeltaTableBuilder
from pyspark.errors import AnalysisException, StreamingQueryException
from pyspark.sql import DataFrame, DataFrameWriter, DataFrameWriterV2, SparkSession

from tests.integration.streams import start_sink
from tests.support.delta_table import NAME_MODE, TRACKED, Table, refusal
from tests.support.session_conf import SetConf
from tests.support.table_log import FEATURE, FLAG

SESSION_DEFAULT = "spark.databricks.delta.properties.defaults.columnMapping.hasDroppedOrRenamed"


def assert_refused(statement: Callable[[], object]) -> None:
    with refusal("DELTA_CANNOT_MODIFY_TABLE_PROPERTY") as refused:
        statement()

    assert isinstance(refused.value, AnalysisException)
    assert refused.value.getSqlState() == "42939"
    assert refused.value.getMessageParameters() == {"prop": FLAG}


@pytest.fixture(params=[(TRACKED, NAME_MODE), ()], ids=["tracked", "untracked"])
def existing(table: Table, request: pytest.FixtureRequest) -> Table:
    return table.create("a INT", *request.param)


@pytest.fixture
def name(spark: SparkSession) -> Iterator[str]:
    """Yields the name of a table that does not exist yet."""
    yield "fresh"
    spark.sql("DROP TABLE IF EXISTS fresh")


def of_columns(
    builder: DeltaTableBuilder, path: str, key: str = FLAG, value: str = "false"
) -> DeltaTableBuilder:
    return builder.location(path).addColumn("a", "INT").property(key, value)


def frame_writer(spark: SparkSession) -> DataFrameWriter:
    return spark.range(1).write.format("delta")


def writer_v2(spark: SparkSession, path: str) -> DataFrameWriterV2:
    return spark.sql("SELECT 1 AS a").writeTo(f"delta.`{path}`").using("delta")


Build = Callable[[SparkSession, str], object]
ON_A_TABLE: dict[str, Build] = {
    "DeltaTable.replace": lambda spark, path: of_columns(DeltaTable.replace(spark), path).execute(),
    "df.write.overwriteSchema": lambda spark, path: (
        frame_writer(spark).option(FLAG, "false").save(path, mode="overwrite", overwriteSchema=True)
    ),
    "df.writeTo.option.append": lambda spark, path: (
        writer_v2(spark, path).option(FLAG, "false").append()
    ),
    "df.writeTo.tableProperty.replace": lambda spark, path: (
        writer_v2(spark, path).tableProperty(FLAG, "false").replace()
    ),
    "SQL with parameters": lambda spark, path: spark.sql(
        f"CREATE OR REPLACE TABLE delta.`{path}` USING delta"
        f" TBLPROPERTIES ('{FLAG}' = 'false') AS SELECT :one AS a",
        args={"one": 1},
    ),
    **{
        f"DeltaTable.clone, replace={replace}": lambda spark, path, replace=replace: (  # type: ignore[misc]
            DeltaTable.forPath(spark, path).clone(
                f"{path}/../t2", isShallow=True, replace=replace, properties={FLAG: "false"}
            )
        )
        for replace in (False, True)
    },
}


def test_builder_on_a_table_may_not_name_the_flag(existing: Table) -> None:
    for build in ON_A_TABLE.values():
        with existing.no_commit():
            assert_refused(lambda build=build: build(existing.spark, str(existing.path)))  # type: ignore[misc]

    assert not existing.path.with_name("t2").exists()


CREATING: dict[str, Build] = {
    "DeltaTable.create": lambda spark, path: of_columns(DeltaTable.create(spark), path).execute(),
    "DeltaTable.createIfNotExists": lambda spark, path: of_columns(
        DeltaTable.createIfNotExists(spark), path, FLAG.upper()
    ).execute(),
    "DeltaTable.createOrReplace": lambda spark, path: of_columns(
        DeltaTable.createOrReplace(spark), path
    ).execute(),
    "df.write.save": lambda spark, path: frame_writer(spark).option(FLAG, "false").save(path),
    "df.write.append.save": lambda spark, path: (
        frame_writer(spark).mode("append").option(FLAG.lower(), "false").save(path)
    ),
    "df.write.saveAsTable": lambda spark, path: (
        frame_writer(spark).option("path", path).option(FLAG, "false").saveAsTable("fresh")
    ),
    "df.writeTo.tableProperty.create": lambda spark, path: (
        writer_v2(spark, path).tableProperty(FLAG, "false").create()
    ),
    "df.writeTo.tableProperty.createOrReplace": lambda spark, path: (
        writer_v2(spark, path).tableProperty(FLAG.lower(), "false").createOrReplace()
    ),
    "df.writeTo.option.create": lambda spark, path: (
        writer_v2(spark, path).option(FLAG, "false").create()
    ),
    "catalog.createTable": lambda spark, path: spark.catalog.createTable(
        "fresh", path=path, source="delta", schema=spark.range(1).schema, **{FLAG: "false"}
    ),
}


def test_builder_may_not_create_a_table_with_the_flag(table: Table, name: str) -> None:
    for build in CREATING.values():
        assert_refused(lambda build=build: build(table.spark, str(table.path)))  # type: ignore[misc]
        assert not table.path.exists()
        assert not table.spark.catalog.tableExists(name)


# The session's default for new tables.

BY_DEFAULT: dict[str, Build] = {
    "CREATE": lambda spark, path: spark.sql(f"CREATE TABLE delta.`{path}` (a INT) USING delta"),
    "CTAS": lambda spark, path: spark.sql(f"CREATE TABLE delta.`{path}` USING delta AS SELECT 1 a"),
    "df.write.save": lambda spark, path: frame_writer(spark).save(path),
    "DeltaTable.create": lambda spark, path: of_columns(
        DeltaTable.create(spark), path, f"delta.feature.{FEATURE}", "supported"
    ).execute(),
}


@pytest.mark.parametrize("value", ["true", "false"])
def test_no_table_is_created_with_a_session_default(
    table: Table, conf: SetConf, value: str
) -> None:
    conf(SESSION_DEFAULT, value)

    for build in BY_DEFAULT.values():
        assert_refused(lambda build=build: build(table.spark, str(table.path)))  # type: ignore[misc]
        assert table.log.version == -1


def stream_of(spark: SparkSession, folder: Path) -> DataFrame:
    spark.range(1).write.parquet(str(folder / "source"))
    return spark.readStream.schema("id LONG").parquet(str(folder / "source"))


def test_no_stream_creates_a_table_with_a_session_default(
    table: Table, tmp_path: Path, conf: SetConf
) -> None:
    conf(SESSION_DEFAULT, "false")
    query = start_sink(stream_of(table.spark, tmp_path), table.path)

    with pytest.raises(StreamingQueryException) as failure:
        query.awaitTermination()
    cause = query._jsq.exception().get().cause()

    assert failure.value.getCondition() == "STREAM_FAILED"
    assert cause.getCondition() == "DELTA_CANNOT_MODIFY_TABLE_PROPERTY"
    assert cause.getSqlState() == "42939"
    assert table.log.version == -1


def test_option_of_a_stream_sets_no_flag(table: Table, tmp_path: Path) -> None:
    start_sink(stream_of(table.spark, tmp_path), table.path, **{FLAG: "true"}).awaitTermination()

    assert table.log.version == 0
    assert table.log.flag is None


def test_flag_can_be_read(table: Table, spark: SparkSession) -> None:
    table.create_tracked()

    [shown] = spark.sql(f"SHOW TBLPROPERTIES {table.name} ('{FLAG}')").collect()
    [default] = spark.sql(f"SET {SESSION_DEFAULT}").collect()

    assert shown.value == "false"
    assert default.value == "<undefined>"
