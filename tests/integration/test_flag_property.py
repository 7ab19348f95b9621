# SPDX-License-Identifier: Apache-2.0
"""Tests that statements may not set `delta.columnMapping.hasDroppedOrRenamed`."""

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
NAMED = f"TBLPROPERTIES ('{FLAG}' = 'false')"


def assert_refused(statement: Callable[[], object]) -> None:
    with refusal("DELTA_CANNOT_MODIFY_TABLE_PROPERTY") as refused:
        statement()

    assert isinstance(refused.value, AnalysisException)
    assert refused.value.getSqlState() == "42939"
    assert refused.value.getMessageParameters() == {"prop": FLAG}


def assert_no_commit(table: Table, statement: Callable[[], object]) -> None:
    with table.no_commit():
        assert_refused(statement)


@pytest.fixture(scope="module")
def unchanged(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Table]:
    """Returns two tables that only refused statements name."""
    tables = tmp_path_factory.mktemp("unchanged")
    return {
        "tracked": Table(spark, tables / "tracked").create("a INT", TRACKED, NAME_MODE),
        "untracked": Table(spark, tables / "untracked").create("a INT"),
    }


@pytest.fixture(params=["tracked", "untracked"])
def existing(unchanged: dict[str, Table], request: pytest.FixtureRequest) -> Table:
    return unchanged[request.param]


@pytest.fixture
def name(spark: SparkSession) -> Iterator[str]:
    """Yields the name of a table that does not exist yet."""
    yield "fresh"
    spark.sql("DROP TABLE IF EXISTS fresh")


# Existing tables: no commit is made.


@pytest.mark.parametrize(
    "statement",
    [
        "ALTER TABLE {t} SET TBLPROPERTIES ('{flag}' = 'false')",
        "ALTER TABLE {t} SET TBLPROPERTIES ('{flag}' = 'true')",
        "ALTER TABLE {t} SET TBLPROPERTIES ('comment' = 'c', '{flag}' = 'nonsense')",
        "ALTER TABLE {t} SET TBLPROPERTIES ({flag} = 'false')",
        "ALTER TABLE {t} UNSET TBLPROPERTIES ('{flag}')",
        "ALTER TABLE {t} UNSET TBLPROPERTIES IF EXISTS ('{flag}')",
        "REPLACE TABLE {t} (a INT) USING delta TBLPROPERTIES ('{flag}' = 'false')",
        "CREATE OR REPLACE TABLE {t} (a INT) USING delta TBLPROPERTIES ('{flag}' = 'false')",
        "CREATE TABLE IF NOT EXISTS {t} (a INT) USING delta TBLPROPERTIES ('{flag}' = 'false')",
        "REPLACE TABLE {t} USING delta TBLPROPERTIES ('{flag}' = 'false') AS SELECT 1 AS a",
        "CREATE OR REPLACE TABLE {t} USING delta TBLPROPERTIES ('{flag}' = 'false')"
        " AS SELECT 1 AS a",
        "CREATE OR REPLACE TABLE {t} SHALLOW CLONE {t} VERSION AS OF 0"
        " TBLPROPERTIES ('{flag}' = 'false')",
        """EXECUTE IMMEDIATE "ALTER TABLE {t} SET TBLPROPERTIES ('{flag}' = 'false')" """,
        "BEGIN ALTER TABLE {t} SET TBLPROPERTIES ('{flag}' = 'false'); END",
    ],
)
def test_statement_on_a_table_may_not_name_the_flag(existing: Table, statement: str) -> None:
    assert_no_commit(
        existing, lambda: existing.spark.sql(statement.format(t=existing.name, flag=FLAG))
    )


@pytest.mark.parametrize(
    "flag", [FLAG.lower(), FLAG.upper(), "Delta.columnmapping.HasDroppedOrRenamed"]
)
@pytest.mark.parametrize(
    "statement",
    [
        "ALTER TABLE {t} SET TBLPROPERTIES ('{flag}' = 'false')",
        "ALTER TABLE {t} UNSET TBLPROPERTIES ('{flag}')",
        "ALTER TABLE {t} UNSET TBLPROPERTIES IF EXISTS ('{flag}')",
        "CREATE OR REPLACE TABLE {t} (a INT) USING delta TBLPROPERTIES ('{flag}' = 'false')",
        "CREATE OR REPLACE TABLE {t} (a INT) USING delta OPTIONS ('{flag}' = 'false')",
    ],
)
def test_flag_is_known_in_any_letter_case(existing: Table, statement: str, flag: str) -> None:
    assert_no_commit(
        existing, lambda: existing.spark.sql(statement.format(t=existing.name, flag=flag))
    )


def test_statement_with_parameters_may_not_name_the_flag(existing: Table) -> None:
    assert_no_commit(
        existing,
        lambda: existing.spark.sql(
            f"CREATE OR REPLACE TABLE {existing.name} USING delta {NAMED} AS SELECT :one AS a",
            args={"one": 1},
        ),
    )


@pytest.mark.parametrize("change", [f"SET {NAMED}", f"UNSET TBLPROPERTIES IF EXISTS ('{FLAG}')"])
def test_statement_is_refused_before_the_table_is_looked_up(
    spark: SparkSession, change: str
) -> None:
    assert_refused(lambda: spark.sql(f"ALTER TABLE no_such_table {change}"))


def of_columns(builder: DeltaTableBuilder, path: str) -> DeltaTableBuilder:
    return builder.location(path).addColumn("a", "INT")


def frame_writer(spark: SparkSession) -> DataFrameWriter:
    return spark.range(1).write.format("delta")


def writer_v2(spark: SparkSession, path: str) -> DataFrameWriterV2:
    return spark.sql("SELECT 1 AS a").writeTo(f"delta.`{path}`").using("delta")


Build = Callable[[SparkSession, str], object]
ON_A_TABLE: dict[str, Build] = {
    "DeltaTable.replace": lambda spark, path: (
        of_columns(DeltaTable.replace(spark), path).property(FLAG, "false").execute()
    ),
    "df.write.overwriteSchema": lambda spark, path: (
        frame_writer(spark).option(FLAG, "false").save(path, mode="overwrite", overwriteSchema=True)
    ),
    "df.writeTo.option.append": lambda spark, path: (
        writer_v2(spark, path).option(FLAG, "false").append()
    ),
    "df.writeTo.tableProperty.replace": lambda spark, path: (
        writer_v2(spark, path).tableProperty(FLAG, "false").replace()
    ),
}


@pytest.mark.parametrize("build", ON_A_TABLE.values(), ids=ON_A_TABLE)
def test_builder_on_a_table_may_not_name_the_flag(existing: Table, build: Build) -> None:
    assert_no_commit(existing, lambda: build(existing.spark, str(existing.path)))


# New tables: no table is created.


@pytest.mark.parametrize(
    "statement",
    [
        f"CREATE TABLE {{t}} (a INT) USING delta {NAMED}",
        f"CREATE TABLE {{t}} (a INT) USING delta {NAMED[:-1]}, {TRACKED}, {NAME_MODE})",
        f"CREATE TABLE IF NOT EXISTS {{t}} (a INT) USING delta {NAMED}",
        f"CREATE OR REPLACE TABLE {{t}} (a INT) USING delta {NAMED}",
        f"REPLACE TABLE {{t}} (a INT) USING delta {NAMED}",
        f"CREATE TABLE {{t}} USING delta {NAMED} AS SELECT 1 AS a",
        f"CREATE OR REPLACE TABLE {{t}} USING delta {NAMED} AS SELECT 1 AS a",
        f"CREATE TABLE {{t}} (a INT) USING delta OPTIONS ('{FLAG}' = 'false')",
        f"CREATE TABLE {{t}} (a INT) USING delta OPTIONS ({FLAG} 'false')",
        f"CREATE TABLE {{t}} USING delta OPTIONS ('{FLAG}' = 'false') AS SELECT 1 AS a",
        f"CREATE TABLE {{t}} (a INT) USING delta TBLPROPERTIES ('option.{FLAG}' = 'false')",
    ],
)
def test_statement_may_not_create_a_table_with_the_flag(
    spark: SparkSession, table: Table, name: str, statement: str
) -> None:
    assert_refused(lambda: spark.sql(statement.format(t=table.name)))
    assert_refused(lambda: spark.sql(statement.format(t=name)))
    assert not table.path.exists()
    assert not spark.catalog.tableExists(name)


@pytest.mark.parametrize("copy", ["SHALLOW CLONE", "LIKE"])
def test_statement_may_not_set_the_flag_of_a_copy(existing: Table, name: str, copy: str) -> None:
    assert_refused(
        lambda: existing.spark.sql(f"CREATE TABLE {name} {copy} {existing.name} {NAMED}")
    )
    assert not existing.spark.catalog.tableExists(name)


@pytest.mark.parametrize("replace", [False, True])
def test_clone_builder_may_not_name_the_flag(
    existing: Table, tmp_path: Path, replace: bool
) -> None:
    target = tmp_path / "clone"

    assert_refused(
        lambda: existing.delta_table.clone(
            str(target), isShallow=True, replace=replace, properties={FLAG: "false"}
        )
    )
    assert not target.exists()


CREATING: dict[str, Build] = {
    "DeltaTable.create": lambda spark, path: (
        of_columns(DeltaTable.create(spark), path).property(FLAG, "false").execute()
    ),
    "DeltaTable.createIfNotExists": lambda spark, path: (
        of_columns(DeltaTable.createIfNotExists(spark), path)
        .property(FLAG.upper(), "false")
        .execute()
    ),
    "DeltaTable.createOrReplace": lambda spark, path: (
        of_columns(DeltaTable.createOrReplace(spark), path).property(FLAG, "false").execute()
    ),
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


@pytest.mark.parametrize("build", CREATING.values(), ids=CREATING)
def test_builder_may_not_create_a_table_with_the_flag(
    table: Table, name: str, build: Build
) -> None:
    assert_refused(lambda: build(table.spark, str(table.path)))
    assert not table.path.exists()
    assert not table.spark.catalog.tableExists(name)


# The session's default for new tables.


@pytest.mark.parametrize(
    "statement",
    [
        f"SET {SESSION_DEFAULT} = false",
        f"SET {SESSION_DEFAULT.lower()}=true",
        f"SET `{SESSION_DEFAULT}` = `false`",
    ],
)
def test_session_default_may_not_be_set_in_sql(spark: SparkSession, statement: str) -> None:
    assert_refused(lambda: spark.sql(statement))
    assert spark.conf.get(SESSION_DEFAULT, None) is None


BY_DEFAULT: dict[str, Build] = {
    "CREATE": lambda spark, path: spark.sql(f"CREATE TABLE delta.`{path}` (a INT) USING delta"),
    "CTAS": lambda spark, path: spark.sql(f"CREATE TABLE delta.`{path}` USING delta AS SELECT 1 a"),
    "df.write.save": lambda spark, path: frame_writer(spark).save(path),
    "DeltaTable.create": lambda spark, path: (
        of_columns(DeltaTable.create(spark), path)
        .property(f"delta.feature.{FEATURE}", "supported")
        .execute()
    ),
}


@pytest.mark.parametrize("value", ["true", "false"])
@pytest.mark.parametrize("build", BY_DEFAULT.values(), ids=BY_DEFAULT)
def test_no_table_is_created_with_a_session_default(
    table: Table, conf: SetConf, build: Build, value: str
) -> None:
    conf(SESSION_DEFAULT, value)

    assert_refused(lambda: build(table.spark, str(table.path)))
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


def test_existing_tables_are_not_affected_by_a_session_default(table: Table, conf: SetConf) -> None:
    table.create_tracked("a INT")
    conf(SESSION_DEFAULT, "true")

    table.alter("ADD COLUMN b INT")
    table.insert("(1, 2)")

    assert table.log.version == 2
    assert table.log.flag == "false"


def test_option_of_a_stream_sets_no_flag(table: Table, tmp_path: Path) -> None:
    start_sink(stream_of(table.spark, tmp_path), table.path, **{FLAG: "true"}).awaitTermination()

    assert table.log.version == 0
    assert table.log.flag is None


# Statements that may name the flag.


def test_column_may_have_the_name_of_the_flag(table: Table) -> None:
    table.create_tracked(f"a INT, `{FLAG}` INT")
    table.insert("(1, 2)")

    table.alter(f"RENAME COLUMN `{FLAG}` TO b")
    table.alter(f"ADD COLUMN `{FLAG}` STRING COMMENT '{FLAG}'")

    assert table.spark.table(table.name).columns == ["a", "b", FLAG]
    assert table.rows() == [(1, 2, None)]


def test_value_may_name_the_flag(table: Table) -> None:
    table.create_tracked()

    table.alter(f"SET TBLPROPERTIES ('note' = '{FLAG}', 'delta.columnMapping.mode' = 'name')")

    assert table.log.configuration["note"] == FLAG
    assert table.log.flag == "false"


def test_flag_can_be_read(table: Table, spark: SparkSession) -> None:
    table.create_tracked()

    [shown] = spark.sql(f"SHOW TBLPROPERTIES {table.name} ('{FLAG}')").collect()
    [default] = spark.sql(f"SET {SESSION_DEFAULT}").collect()

    assert shown.value == "false"
    assert default.value == "<undefined>"
