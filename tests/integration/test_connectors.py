# SPDX-License-Identifier: Apache-2.0
"""Delta's two connectors: its own (`NONE`, and all that is tested here under `AUTO`) and Kernel's.

Under `STRICT`, which Delta calls a mode for tests, Kernel reads every table of a catalog. It does
not know the feature, so it may read tracked tables, and must not write them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from delta.tables import DeltaTable
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException, StreamingQueryException
from pyspark.sql import DataFrame, SparkSession

import spark_ext
from spark_ext import UsageTracking
from tests.support.delta_table import NAME_MODE, TRACKED, Table, refusal
from tests.support.releases import DELTA
from tests.support.table_log import FLAG

pytestmark = pytest.mark.skipif(DELTA < (4, 4), reason="Delta has one connector")

MODE = "spark.databricks.delta.v2.enableMode"
INCOMPATIBLE_CHANGE = "DELTA_STREAMING_INCOMPATIBLE_SCHEMA_CHANGE_USE_SCHEMA_LOG"

SetConf = Callable[[str, str], None]

# Of a table with two rows in one file each; `a` was renamed to `c`.
READS = [
    "SELECT id, c FROM named",
    "SELECT id, c FROM named WHERE c IS NOT NULL AND id > 0",
    "SELECT id, a FROM named VERSION AS OF 2",
    "SELECT id, c FROM delta.`{path}`",
]
ROWS = [(1, "one"), (2, "two")]

# Delta's commands take no table of Kernel's, tracked or not.
WRITES = [
    "INSERT INTO named VALUES (3, 'three', 'b')",
    "INSERT OVERWRITE named VALUES (3, 'three', 'b')",
    "CREATE TABLE other SHALLOW CLONE named",
    "UPDATE named SET c = 'x'",
    "DELETE FROM named",
    "MERGE INTO named USING (SELECT 1 AS id) s ON named.id = s.id "
    "WHEN MATCHED THEN UPDATE SET c = 'x'",
    "TRUNCATE TABLE named",
    "ALTER TABLE named RENAME COLUMN c TO d",
    "ALTER TABLE named DROP COLUMN c",
    "OPTIMIZE named",
    "REORG TABLE named APPLY (PURGE)",
    "RESTORE TABLE named TO VERSION AS OF 1",
    "VACUUM named",
]
# Spark changes its catalog by them, and Delta does not hear of it: with spark-ext and without.
UNHEARD = [
    "ALTER TABLE named SET TBLPROPERTIES ('delta.columnMapping.mode' = 'none')",
    "ALTER TABLE named DROP FEATURE columnMapping",
    "ALTER TABLE named ADD COLUMN more INT",
]


@pytest.fixture
def renamed(named_table: Table) -> Table:
    """A tracked table whose column `a` is `c` now."""
    named_table.create_tracked("id INT, a STRING, b STRING")
    named_table.insert("(1, 'one', 'old')")
    named_table.insert("(2, 'two', 'old')")
    named_table.alter("RENAME COLUMN a TO c")
    return named_table


def rows(frame: DataFrame) -> list[tuple[object, ...]]:
    return sorted(tuple(row) for row in frame.collect())


def streamed(
    table: Table, columns: Sequence[str] = ("id", "c"), **options: str
) -> list[tuple[object, ...]]:
    """What a stream of the table shows, by name."""
    frame = table.spark.readStream.options(**options).table(table.name).select(*columns)
    query = frame.writeStream.format("memory").queryName("shown").trigger(availableNow=True).start()
    query.awaitTermination()
    return rows(table.spark.table("shown"))


@pytest.mark.every_variant
@pytest.mark.parametrize("mode", ["NONE", "AUTO", "STRICT"])
def test_every_read_shows_the_rows(renamed: Table, conf: SetConf, mode: str) -> None:
    conf(MODE, mode)

    for read in READS:
        assert rows(renamed.spark.sql(read.format(path=renamed.path))) == ROWS, read
    assert streamed(renamed) == ROWS


CHANGES = ["id", "c", "_change_type"]
CHANGED = [(3, "three", "insert")]


@pytest.mark.every_variant
@pytest.mark.parametrize("mode", ["NONE", "AUTO", "STRICT"])
def test_changes_show_the_rows(renamed: Table, conf: SetConf, mode: str) -> None:
    renamed.alter("SET TBLPROPERTIES ('delta.enableChangeDataFeed' = 'true')")
    since = {"readChangeFeed": "true", "startingVersion": str(renamed.log.version + 1)}
    renamed.insert("(3, 'three', 'old')")
    conf(MODE, mode)
    reader = renamed.spark.read.options(**since)

    assert rows(reader.format("delta").load(str(renamed.path)).select(CHANGES)) == CHANGED
    assert streamed(renamed, CHANGES, **since) == CHANGED
    if mode == "STRICT":
        # Delta's, of any table: Kernel's has no such columns.
        with refusal("UNRESOLVED_COLUMN.WITH_SUGGESTION"):
            reader.table("named").select(CHANGES)
    else:
        assert rows(reader.table("named").select(CHANGES)) == CHANGED


@pytest.mark.every_variant
@pytest.mark.parametrize("mode", ["NONE", "AUTO", "STRICT"])
def test_a_table_that_is_made_is_tracked(renamed: Table, conf: SetConf, mode: str) -> None:
    conf(MODE, mode)
    renamed.spark.sql("DROP TABLE named")

    renamed.spark.sql(
        f"CREATE TABLE named USING delta TBLPROPERTIES ({TRACKED}, {NAME_MODE}) AS SELECT 1 AS id"
    )

    assert renamed.log.flag == "false"
    assert renamed.log.physical_names == {"id": "id"}
    assert rows(renamed.spark.table("named")) == [(1,)]


@pytest.mark.every_variant
@pytest.mark.parametrize("mode", ["NONE", "AUTO"])
def test_the_rules_hold(renamed: Table, conf: SetConf, mode: str) -> None:
    conf(MODE, mode)

    renamed.insert("(3, 'b', 'three')")
    renamed.spark.sql("UPDATE named SET b = 'new' WHERE id = 1")
    renamed.alter("DROP COLUMN b")
    renamed.alter("ADD COLUMN a STRING")

    assert renamed.log.configuration[FLAG] == "true"
    assert renamed.log.fields["c"].physical_name == "a"
    assert renamed.log.fields["a"].physical_name not in ("a", "b", "c")
    with renamed.refusal("DELTA_CANNOT_MODIFY_TABLE_PROPERTY"):
        renamed.alter(f"SET TBLPROPERTIES ('{FLAG}' = 'false')")


def test_kernel_writes_no_tracked_table(renamed: Table, conf: SetConf) -> None:
    conf(MODE, "STRICT")

    with renamed.no_commit():
        for statement in WRITES:
            with pytest.raises((PySparkException, Py4JJavaError)):
                renamed.spark.sql(statement)
        for statement in UNHEARD:
            renamed.spark.sql(statement)


# By the table's name, from a DataFrame with a further row.
FRAME_WRITES: dict[str, Callable[[DataFrame], object]] = {
    "saveAsTable": lambda frame: frame.write.format("delta").mode("append").saveAsTable("named"),
    "insertInto": lambda frame: frame.write.insertInto("named"),
    "writeTo": lambda frame: frame.writeTo("named").append(),
    "DeltaTable": lambda frame: DeltaTable.forName(frame.sparkSession, "named").delete("id = 1"),
}


@pytest.mark.every_variant
@pytest.mark.parametrize("write", FRAME_WRITES.values(), ids=FRAME_WRITES)
def test_no_frame_is_written_under_strict(
    renamed: Table, conf: SetConf, write: Callable[[DataFrame], object]
) -> None:
    conf(MODE, "STRICT")
    further = renamed.spark.sql("SELECT 3 AS id, 'three' AS c, 'new' AS b")

    with renamed.no_commit(), pytest.raises((PySparkException, Py4JJavaError)):
        write(further)


def test_a_sink_by_name_writes_nothing_under_strict(
    renamed: Table, conf: SetConf, tmp_path: Path
) -> None:
    renamed.spark.sql("SELECT 3 AS id, 'three' AS c, 'new' AS b").write.parquet(str(tmp_path / "s"))
    source = renamed.spark.readStream.schema("id INT, c STRING, b STRING").parquet(
        str(tmp_path / "s")
    )
    conf(MODE, "STRICT")
    writer = source.writeStream.option("checkpointLocation", str(tmp_path / "c"))

    with renamed.no_commit(), pytest.raises((PySparkException, Py4JJavaError)):
        writer.trigger(availableNow=True).toTable("named").awaitTermination()


def test_kernel_names_the_feature_that_it_does_not_know(renamed: Table, conf: SetConf) -> None:
    conf(MODE, "STRICT")

    with renamed.no_commit(), pytest.raises(Py4JJavaError) as refused:
        renamed.insert("(3, 'three', 'b')")

    thrown = refused.value.java_exception
    assert thrown.getClass().getSimpleName() == "UnsupportedTableFeatureException"
    assert "columnMappingUsageTracking" in thrown.getMessage()


# What is said of a table is said of the one that ALTER TABLE changes, which is none there.
OURS: dict[str, Callable[[SparkSession, Path], object]] = {
    "columns": lambda spark, _: spark.sql("SELECT * FROM column_mapping('named')"),
    "exits": lambda spark, _: spark.sql("SELECT * FROM column_mapping_exit('named')"),
    "history": lambda spark, _: spark.sql("SELECT * FROM column_mapping_history('named')"),
    "dropped": lambda spark, _: spark.sql("SELECT * FROM column_mapping_dropped('named')"),
    "by path": lambda spark, path: spark.sql(f"SELECT * FROM column_mapping('delta.`{path}`')"),
    "forName": lambda spark, _: UsageTracking.forName(spark, "named"),
    "forPath": UsageTracking.forPath,
}


def test_a_table_of_kernel_is_refused_by_the_name_of_the_setting(
    renamed: Table, conf: SetConf
) -> None:
    conf(MODE, "STRICT")
    names = ("named", f"delta.`{renamed.path}`", f"delta.`file:{renamed.path}`")

    for ask in OURS.values():
        with renamed.refusal("USAGE_TRACKING_KERNEL_TABLE") as refused:
            ask(renamed.spark, renamed.path)

        told = refused.value.getMessageParameters()
        assert told.pop("table") in names
        assert told == {"setting": MODE, "value": "STRICT"}


# Made before, by another setting.
LATER: dict[str, Callable[[UsageTracking], object]] = {
    "enable": UsageTracking.enable,
    "disable": UsageTracking.disable,
    "disable_column_mapping": UsageTracking.disable_column_mapping,
    "align_names": UsageTracking.align_names,
    "status": UsageTracking.status,
    "flag": lambda usage: usage.has_dropped_or_renamed,
}


def test_no_call_of_ours_changes_the_catalog_in_place_of_the_table(
    renamed: Table, conf: SetConf
) -> None:
    usages = [
        UsageTracking.forName(renamed.spark, "named"),
        UsageTracking.forPath(renamed.spark, renamed.path),
    ]
    conf(MODE, "STRICT")

    for usage in usages:
        for call in LATER.values():
            with renamed.refusal("USAGE_TRACKING_KERNEL_TABLE"):
                call(usage)


def test_a_survey_names_the_setting_and_an_audit_reads_the_table(
    renamed: Table, conf: SetConf
) -> None:
    conf(MODE, "STRICT")

    (surveyed,) = spark_ext.survey(renamed.spark, progress=None).tables
    assert surveyed.error == "USAGE_TRACKING_KERNEL_TABLE"
    for name in ("named", f"delta.`{renamed.path}`"):
        assert spark_ext.audit(renamed.spark, name, progress=None).findings == ()


@pytest.mark.without("auto-compact")
def test_a_write_to_the_path_is_tracked_under_strict(renamed: Table, conf: SetConf) -> None:
    conf(MODE, "STRICT")
    wider = renamed.spark.sql("SELECT 3 AS id, 'c' AS c, 'b' AS b, 'new' AS a")

    with renamed.one_commit():
        writer = wider.write.format("delta").mode("append").option("mergeSchema", "true")
        writer.save(str(renamed.path))

    assert renamed.log.fields["a"].physical_name not in ("a", "b", "c")
    assert streamed(renamed) == [*ROWS, (3, "c")]


@pytest.mark.every_variant
@pytest.mark.parametrize("mode", ["NONE", "AUTO", "STRICT"])
def test_no_stream_shows_a_dropped_column_as_a_later_one(
    renamed: Table, conf: SetConf, mode: str
) -> None:
    conf(MODE, mode)
    held = renamed.spark.table("named")
    conf(MODE, "NONE")
    renamed.alter("DROP COLUMN b")
    renamed.alter("SET TBLPROPERTIES ('delta.columnMapping.mode' = 'none')")
    renamed.alter("ADD COLUMN b STRING")
    conf(MODE, mode)

    assert rows(renamed.spark.table("named")) == [(1, "one", None), (2, "two", None)]
    with pytest.raises(StreamingQueryException) as refused:
        streamed(renamed, startingVersion="1", ignoreChanges="true")
    assert INCOMPATIBLE_CHANGE in str(refused.value)
    if mode == "STRICT":
        # Spark analyses it anew, by names: the column is the later one here too.
        assert rows(held) == [(1, "one", None), (2, "two", None)]
    else:
        with refusal("DELTA_SCHEMA_CHANGE_SINCE_ANALYSIS"):
            held.collect()
