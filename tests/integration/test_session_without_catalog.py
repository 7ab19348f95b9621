# SPDX-License-Identifier: Apache-2.0
"""Tests sessions with both extensions and without `spark.sql.catalog.spark_catalog`.

Statements on Delta tables are refused, because some would bypass Delta. Other statements run.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from delta.tables import DeltaTable
from pyspark.sql import SparkSession

from tests.support.custom_sessions import Failure, failure_of, our_jar, resolved_jars, session
from tests.support.delta_table import Table
from tests.support.processes import in_new_process
from tests.support.sessions import with_hive_catalog
from tests.support.table_log import TableLog

pytestmark = pytest.mark.matrix  # its two sessions with Hive take a minute

Outcomes = dict[str, Failure | None]

# `{t}` is a tracked table by its name or its path, and `{new}` a table that does not exist.
OF_ANY_TABLE = [
    "SELECT * FROM {t}",
    "SELECT 1 WHERE 1 IN (SELECT a FROM {t})",
    "WITH q AS (SELECT * FROM {t}) SELECT * FROM q",
    "INSERT INTO {t} VALUES (2, 'y')",
    "INSERT OVERWRITE {t} VALUES (2, 'y')",
    "DELETE FROM {t}",
    "UPDATE {t} SET a = 2",
    "MERGE INTO {t} t USING (SELECT 1 AS a) s ON t.a = s.a WHEN MATCHED THEN DELETE",
    "ALTER TABLE {t} ADD COLUMN c INT",
    "ALTER TABLE {t} SET TBLPROPERTIES ('note' = 'n')",
    "ALTER TABLE {t} UNSET TBLPROPERTIES ('note')",
    "ALTER TABLE {t} DROP FEATURE columnMapping",
    "CREATE TABLE {new} LIKE {t}",
    "CREATE TABLE {new} SHALLOW CLONE {t}",
    "CREATE TABLE {new} USING parquet AS SELECT * FROM {t}",
    "CREATE VIEW {new} AS SELECT * FROM {t}",
    "RESTORE TABLE {t} TO VERSION AS OF 0",
    "OPTIMIZE {t}",
    "VACUUM {t}",
    "DESCRIBE {t}",
    "DESCRIBE DETAIL {t}",
    "SHOW TBLPROPERTIES {t}",
]
OF_NEW_TABLES = [
    "CREATE TABLE {new} (a INT) USING delta",
    "CREATE TABLE {new} USING delta AS SELECT 1 AS a",
    "CREATE TABLE {new} USING delta LOCATION '{path}'",
    "CREATE TABLE delta.`{path}-new` (a INT) USING delta",
    "CREATE TABLE delta.`{path}-new` USING delta AS SELECT 1 AS a",
]
BUILDERS: dict[str, Callable[[SparkSession, str], object]] = {
    "read": lambda spark, path: spark.read.format("delta").load(path).collect(),
    "readStream": lambda spark, path: spark.readStream.format("delta").load(path),
    "save": lambda spark, path: spark.range(1).write.format("delta").save(f"{path}-new"),
    "mergeSchema": lambda spark, path: (
        spark.range(1).write.format("delta").mode("append").option("mergeSchema", "true").save(path)
    ),
    "saveAsTable": lambda spark, path: spark.range(1).write.format("delta").saveAsTable("new"),
    "writeTo": lambda spark, path: spark.range(1).writeTo("new").using("delta").create(),
    "createTable": lambda spark, path: spark.catalog.createTable("new", path, source="delta"),
    "DeltaTable.create": lambda spark, path: (
        DeltaTable.create(spark).location(f"{path}-new").addColumn("a", "INT").execute()
    ),
    "DeltaTable.delete": lambda spark, path: DeltaTable.forPath(spark, path).delete(),
}
# These statements run on the named table only. Its entry in the catalog must remain.
OF_NAMED_TABLES = ["DROP TABLE {t}", "TRUNCATE TABLE {t}", "ALTER TABLE {t} RENAME TO {new}"]
OF_OTHER_TABLES = [
    "SELECT 1",
    "SELECT delta, x FROM VALUES (1, 2) AS t(delta, x)",
    "CREATE TABLE plain (a INT) USING parquet",
    "INSERT INTO plain VALUES (1)",
    "ALTER TABLE plain SET TBLPROPERTIES ('note' = 'n')",
    "ALTER TABLE plain ADD COLUMN b INT",
    "SELECT * FROM plain",
    "SHOW TABLES",
    "CREATE VIEW seen AS SELECT * FROM plain",
    "SELECT * FROM seen",
    "DROP VIEW seen",
    "DROP TABLE plain",
    "CREATE SCHEMA shop",
    "DROP SCHEMA shop",
    "SET spark.sql.shuffle.partitions = 2",
]


def hive(home: Path, jars: list[str], *, catalog: bool) -> SparkSession:
    builder = session(home, jars) if catalog else session(home, jars, catalog=None)
    url = f"jdbc:derby:{home / 'metastore'};create=true"
    builder = with_hive_catalog(builder)
    return builder.config("spark.hadoop.javax.jdo.option.ConnectionURL", url).getOrCreate()


def a_table_of_each_kind(home: Path, jars: list[str]) -> None:
    spark = hive(home, jars, catalog=True)
    for table in (Table(spark, home / "t"), Table(spark, home / "warehouse" / "named", "named")):
        table.create_tracked("a INT, b STRING").insert("(1, 'x')")


def outcomes(home: Path, jars: list[str]) -> tuple[Outcomes, Outcomes]:
    """Runs statements on Delta tables, and other statements."""
    spark = hive(home, jars, catalog=False)
    path = str(home / "t")
    statements = [*OF_ANY_TABLE, *OF_NAMED_TABLES]
    texts = [text.format(t="named", new="new") for text in statements]
    texts += [text.format(t=f"delta.`{path}`", new="new") for text in OF_ANY_TABLE]
    texts += [text.format(new="new", path=path) for text in OF_NEW_TABLES]
    others = {text: failure_of(partial(spark.sql, text)) for text in OF_OTHER_TABLES}
    refused = {text: failure_of(partial(spark.sql, text)) for text in texts}
    for name, build in BUILDERS.items():
        refused[name] = failure_of(partial(build, spark, path))
    assert [row.tableName for row in spark.sql("SHOW TABLES").collect()] == ["named"]
    return refused, others


@pytest.fixture(scope="module")
def found(
    spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, Outcomes, Outcomes]:
    home = tmp_path_factory.mktemp("without-catalog")
    jars = [*resolved_jars(spark), our_jar()]
    in_new_process(a_table_of_each_kind, home, jars)
    refused, others = in_new_process(outcomes, home, jars)
    return home, refused, others


def test_statements_on_delta_tables_are_refused(found: tuple[Path, Outcomes, Outcomes]) -> None:
    home, refused, _ = found

    conditions = {text: failure and failure.condition for text, failure in refused.items()}

    expected = "DELTA_CONFIGURE_SPARK_SESSION_WITH_EXTENSION_AND_CATALOG"
    assert conditions == dict.fromkeys(conditions, expected)
    assert TableLog(home / "t").version == 1
    assert TableLog(home / "warehouse" / "named").version == 1
    assert not (home / "t-new").exists()
    assert not (home / "warehouse" / "new").exists()


def test_other_statements_run(found: tuple[Path, Outcomes, Outcomes]) -> None:
    assert set(found[2].values()) == {None}
