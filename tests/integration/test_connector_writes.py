# SPDX-License-Identifier: Apache-2.0
"""Tests writes of tracked tables by Delta's two connectors.

Kernel's connector does not know the feature, so it writes no tracked table. Under STRICT, Delta's
own connector still runs REPLACE, and calls of DataFrame and DeltaTable by path and some by name.
The rules apply to these.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from delta.tables import DeltaTable
from py4j.protocol import Py4JJavaError
from pyspark.sql import DataFrame

from tests.integration import routes
from tests.integration.connectors import (
    AUTO_ELSEWHERE,
    LIKE_TAKES_DEFAULT_FORMAT,
    LOOKS_AGAIN,
    MODE,
    TWO_CONNECTORS,
    rows,
)
from tests.support.delta_table import NAME_MODE, TRACKED, Table, create_like, refusal
from tests.support.session_conf import SetConf
from tests.support.table_log import FEATURE, FLAG, UUID

pytestmark = [TWO_CONNECTORS, pytest.mark.without("auto-compact")]

Write = Callable[[Table], object]
Create = Callable[[Table, str, str], object]

ROW = "SELECT 7 AS id, 'x' AS a, 'y' AS b"


@pytest.fixture
def clean(named_table: Table) -> Table:
    """Returns a tracked table with two rows and without drops and renames."""
    named_table.create_tracked("id INT, a STRING, b STRING")
    named_table.insert("(1, 'one', 'old')")
    named_table.insert("(2, 'two', 'old')")
    return named_table


@pytest.fixture
def changed(clean: Table) -> Table:
    """Returns the table `clean` after a rename of `a` to `c` and a drop of `b`."""
    clean.alter("RENAME COLUMN a TO c")
    clean.alter("DROP COLUMN b")
    return clean


def by_path(table: Table) -> str:
    return f"delta.`{table.path}`"


def row(table: Table) -> DataFrame:
    return table.spark.sql(ROW)


def sink(table: Table) -> None:
    """Writes to the table's path by a stream."""
    with TemporaryDirectory() as folder:
        source, checkpoint = f"{folder}/source", f"{folder}/checkpoint"
        row(table).write.parquet(source)
        stream = table.spark.readStream.schema(row(table).schema).parquet(source)
        writer = stream.writeStream.format("delta").option("mergeSchema", "true")
        writer = writer.option("checkpointLocation", checkpoint).trigger(availableNow=True)
        writer.start(str(table.path)).awaitTermination()


def by_path_of(table: Table) -> Table:
    return Table(table.spark, table.path)


# Each replaces the table by one with the columns of ROW, and some write the row too.
REPLACEMENTS: dict[str, Write] = {
    **{name: partial(route.run, query=ROW) for name, route in routes.REPLACEMENTS.items()},
    "AS SELECT by path": lambda t: routes.as_select("CREATE OR REPLACE")(by_path_of(t), ROW),
    "writeTo by path": lambda t: routes.writer_v2("createOrReplace")(by_path_of(t), ROW),
}
EVERY_REPLACEMENT = pytest.mark.parametrize("replace", REPLACEMENTS.values(), ids=REPLACEMENTS)


@EVERY_REPLACEMENT
@pytest.mark.parametrize("mode", AUTO_ELSEWHERE)
def test_replacement_does_not_reuse_physical_names_of_former_columns(
    changed: Table, conf: SetConf, mode: str, replace: Write
) -> None:
    before = changed.log.version
    conf(MODE, mode)

    with changed.one_commit():
        replace(changed)

    assert (changed.log.flag, changed.log.is_tracked) == ("true", True)
    assert changed.log.columns == {"id": (1, "id"), "a": (4, UUID), "b": (5, UUID)}
    assert changed.selected() in ([], [(7, "x", "y")])
    assert rows(changed.frame(before)) == [(1, "one"), (2, "two")]
    with changed.one_commit():
        changed.delta_table.restoreToVersion(before)
    assert changed.selected() == [(1, "one"), (2, "two")]
    assert (changed.log.flag, changed.log.columns) == ("true", {"id": (1, "id"), "c": (2, "a")})


@EVERY_REPLACEMENT
@pytest.mark.parametrize("mode", AUTO_ELSEWHERE)
def test_replacement_by_the_same_columns_keeps_the_flag(
    clean: Table, conf: SetConf, mode: str, replace: Write
) -> None:
    conf(MODE, mode)

    with clean.one_commit():
        replace(clean)

    assert (clean.log.flag, clean.log.is_tracked) == ("false", True)
    assert clean.log.columns == {"id": (1, "id"), "a": (2, "a"), "b": (3, "b")}
    assert clean.selected() in ([], [(7, "x", "y")])


@EVERY_REPLACEMENT
@pytest.mark.parametrize("mode", AUTO_ELSEWHERE)
def test_replacement_that_drops_a_column_sets_the_flag(
    named_table: Table, conf: SetConf, mode: str, replace: Write
) -> None:
    named_table.create_tracked("id INT, a STRING, more INT")
    conf(MODE, mode)

    with named_table.one_commit():
        replace(named_table)

    assert (named_table.log.flag, named_table.log.is_tracked) == ("true", True)
    assert named_table.log.columns == {"id": (1, "id"), "a": (2, "a"), "b": (4, UUID)}


# Each adds the columns and the row of ROW by path.
EVOLUTIONS: dict[str, Write] = {
    "append": partial(routes.save, query=ROW),
    "sink": sink,
    "merge": partial(routes.merge_by_builder, query=ROW),
}


@pytest.mark.parametrize("evolve", EVOLUTIONS.values(), ids=EVOLUTIONS)
@pytest.mark.parametrize("mode", AUTO_ELSEWHERE)
def test_column_added_by_a_write_does_not_reuse_a_physical_name(
    changed: Table, conf: SetConf, mode: str, evolve: Write
) -> None:
    conf(MODE, mode)

    with changed.one_commit():
        evolve(changed)

    assert (changed.log.flag, changed.log.is_tracked) == ("true", True)
    now = {"id": (1, "id"), "c": (2, "a"), "a": (4, UUID), "b": (5, UUID)}
    assert changed.log.columns == now
    assert changed.selected() == [
        (1, "one", None, None),
        (2, "two", None, None),
        (7, None, "x", "y"),
    ]


# Commits that keep the columns, by path or by name, and the rows after them.
ROW_CHANGES: dict[str, tuple[Write, list[tuple[object, ...]]]] = {
    "delete": (lambda t: t.delta_table.delete("id = 1"), [(2, "two")]),
    "update": (
        lambda t: t.delta_table.update("id = 1", {"c": "'new'"}),
        [(1, "new"), (2, "two")],
    ),
    "merge": (
        lambda t: (
            t.delta_table.alias("t")
            .merge(row(t).alias("s"), "t.id = 1")
            .whenMatchedUpdate(set={"id": "s.id"})
            .execute()
        ),
        [(2, "two"), (7, "one")],
    ),
    "replaceWhere": (
        lambda t: (
            t.spark.sql("SELECT 1 AS id, 'new' AS c")
            .write.format("delta")
            .mode("overwrite")
            .option("replaceWhere", "id = 1")
            .save(str(t.path))
        ),
        [(1, "new"), (2, "two")],
    ),
    "overwrite by name": (
        lambda t: (
            t.spark.sql("SELECT 7 AS id")
            .write.format("delta")
            .mode("overwrite")
            .saveAsTable("named")
        ),
        [(7, None)],
    ),
    "optimize": (
        lambda t: t.delta_table.optimize().executeCompaction(),
        [(1, "one"), (2, "two")],
    ),
    "optimize by name": (
        lambda t: DeltaTable.forName(t.spark, "named").optimize().executeCompaction(),
        [(1, "one"), (2, "two")],
    ),
    "a further feature": (
        lambda t: t.delta_table.addFeatureSupport("appendOnly"),
        [(1, "one"), (2, "two")],
    ),
    "a further feature by name": (
        lambda t: DeltaTable.forName(t.spark, "named").addFeatureSupport("appendOnly"),
        [(1, "one"), (2, "two")],
    ),
}


@pytest.mark.parametrize(("change", "remaining"), ROW_CHANGES.values(), ids=ROW_CHANGES)
@pytest.mark.parametrize("mode", AUTO_ELSEWHERE)
def test_change_of_rows_keeps_flag_and_names(
    changed: Table, conf: SetConf, mode: str, change: Write, remaining: list[tuple[object, ...]]
) -> None:
    conf(MODE, mode)

    with changed.one_commit():
        change(changed)

    assert (changed.log.flag, changed.log.is_tracked) == ("true", True)
    assert changed.log.physical_names == {"id": "id", "c": "a"}
    assert changed.selected() == remaining


@pytest.mark.parametrize("mode", AUTO_ELSEWHERE)
def test_restore_by_name_keeps_the_flag(clean: Table, conf: SetConf, mode: str) -> None:
    before = clean.log.version
    clean.alter("RENAME COLUMN a TO c")
    conf(MODE, mode)

    with clean.one_commit():
        DeltaTable.forName(clean.spark, "named").restoreToVersion(before)

    assert (clean.log.flag, clean.log.is_tracked) == ("true", True)
    assert clean.log.physical_names == {"id": "id", "a": "a", "b": "b"}
    assert clean.selected() == [(1, "one", "old"), (2, "two", "old")]


@pytest.mark.parametrize("mode", AUTO_ELSEWHERE)
def test_delta_table_drops_the_feature_with_its_flag(
    changed: Table, conf: SetConf, mode: str
) -> None:
    conf(MODE, mode)

    with changed.one_commit():
        DeltaTable.forName(changed.spark, "named").dropFeatureSupport(FEATURE)

    assert (changed.log.flag, changed.log.is_tracked) == (None, False)
    assert changed.log.physical_names == {"id": "id", "c": "a"}
    assert changed.selected() == [(1, "one"), (2, "two")]


# Each creates a table with the columns of ROW.
CREATIONS: dict[str, Create] = {
    "CREATE": routes.of_columns("CREATE"),
    "AS SELECT": routes.as_select("CREATE"),
    "CREATE OR REPLACE": routes.of_columns("CREATE OR REPLACE"),
}
FLAG_OF_A_USER = f"'{FLAG}' = 'false'"


def assert_new(table: Table) -> None:
    assert (table.log.flag, table.log.is_tracked) == ("false", True)
    assert table.log.columns == {"id": (1, "id"), "a": (2, "a"), "b": (3, "b")}
    assert table.selected() in ([], [(7, "x", "y")])
    row(table).write.format("delta").mode("overwrite").save(str(table.path))
    assert table.selected() == [(7, "x", "y")]


@pytest.mark.parametrize("create", CREATIONS.values(), ids=CREATIONS)
@pytest.mark.parametrize("mode", AUTO_ELSEWHERE)
def test_new_table_is_tracked_with_and_without_a_name(
    named_table: Table, table: Table, conf: SetConf, mode: str, create: Create
) -> None:
    conf(MODE, mode)
    for new in (named_table, table):
        with refusal("DELTA_CANNOT_MODIFY_TABLE_PROPERTY"):
            create(new, ROW, f"{TRACKED}, {NAME_MODE}, {FLAG_OF_A_USER}")
        assert not new.path.exists()

        create(new, ROW, f"{TRACKED}, {NAME_MODE}")

        assert_new(new)


@pytest.mark.parametrize("mode", AUTO_ELSEWHERE)
def test_table_of_the_builder_is_tracked(named_table: Table, conf: SetConf, mode: str) -> None:
    conf(MODE, mode)
    builder = DeltaTable.create(named_table.spark).tableName("named")

    builder.addColumns(row(named_table).schema).property(
        "delta.columnMapping.mode", "name"
    ).property(f"delta.feature.{FEATURE}", "supported").execute()

    assert_new(named_table)


# Statements that fail on a table of Kernel, and the condition, or None if the error has none. `{t}`
# is a table with columns `id` and `c`. Delta's commands refuse Kernel's tables, tracked or not.
UNSUPPORTED = "UNSUPPORTED_FEATURE.TABLE_OPERATION"
NOT_OF_DELTA = "DELTA_ONLY_OPERATION"
REFUSED = {
    "INSERT INTO {t} VALUES (3, 'three')": None,
    "INSERT INTO {t} BY NAME SELECT 3 AS id, 'three' AS c": None,
    "INSERT OVERWRITE {t} VALUES (3, 'three')": UNSUPPORTED,
    "UPDATE {t} SET c = 'x'": UNSUPPORTED,
    "DELETE FROM {t}": "_LEGACY_ERROR_TEMP_1121",
    "MERGE INTO {t} USING (SELECT 7 AS k) ON id = k WHEN MATCHED THEN DELETE": UNSUPPORTED,
    "TRUNCATE TABLE {t}": "_LEGACY_ERROR_TEMP_1121",
    "OPTIMIZE {t}": NOT_OF_DELTA,
    "REORG TABLE {t} APPLY (PURGE)": "DELTA_NOT_A_DELTA_TABLE",
    "RESTORE TABLE {t} TO VERSION AS OF 1": NOT_OF_DELTA,
    "VACUUM {t}": NOT_OF_DELTA,
    "DESCRIBE HISTORY {t}": NOT_OF_DELTA,
    "DESCRIBE DETAIL {t}": "DELTA_OPERATION_MISSING_PATH",
    "CREATE TABLE other SHALLOW CLONE {t}": "DELTA_CLONE_UNSUPPORTED_SOURCE",
    "ALTER TABLE {t} SET TBLPROPERTIES ('delta.columnMapping.hasDroppedOrRenamed' = 'false')": (
        "DELTA_CANNOT_MODIFY_TABLE_PROPERTY"
    ),
}
# Spark looks for the column in the catalog's schema, which does not have it.
ALTERED = {
    "ALTER TABLE {t} RENAME COLUMN c TO d": "FIELD_NOT_FOUND",
    "ALTER TABLE {t} DROP COLUMN c": "FIELD_NOT_FOUND",
    "ALTER TABLE {t} ALTER COLUMN c COMMENT 'x'": "FIELD_NOT_FOUND",
    "ALTER TABLE {t} REPLACE COLUMNS (id INT)": "FIELD_NOT_FOUND",
}
# By name, these statements change only the catalog, with spark-ext and without.
UNHEARD = [
    "ALTER TABLE {t} SET TBLPROPERTIES ('delta.columnMapping.mode' = 'none')",
    "ALTER TABLE {t} DROP FEATURE columnMapping",
    "ALTER TABLE {t} DROP FEATURE columnMappingUsageTracking",
    "ALTER TABLE {t} ADD COLUMN more INT",
]


def assert_refused(table: Table, statement: str, condition: str | None) -> None:
    """Asserts that a statement fails without a commit. Older releases have other conditions."""
    with table.refusal(condition if LOOKS_AGAIN else None):
        table.spark.sql(statement)


def test_kernel_refuses_to_write_a_tracked_table(changed: Table, conf: SetConf) -> None:
    conf(MODE, "STRICT")

    for statement, condition in {**REFUSED, **ALTERED}.items():
        assert_refused(changed, statement.format(t="named"), condition)
    for statement, condition in REFUSED.items():
        assert_refused(changed, statement.format(t=by_path(changed)), condition)
    for statement in [*ALTERED, *UNHEARD]:
        assert_refused(changed, statement.format(t=by_path(changed)), "SCHEMA_NOT_FOUND")


def test_change_of_the_catalog_alone_commits_nothing(changed: Table, conf: SetConf) -> None:
    conf(MODE, "STRICT")
    with changed.no_commit():
        for statement in UNHEARD:
            changed.spark.sql(statement.format(t="named"))
    assert changed.selected() == [(1, "one"), (2, "two")]

    conf(MODE, "NONE")
    assert changed.selected() == [(1, "one"), (2, "two")]
    changed.alter("ADD COLUMN more INT")
    changed.alter("RENAME COLUMN c TO d")
    assert (changed.log.flag, changed.log.is_tracked) == ("true", True)
    assert changed.log.columns == {"id": (1, "id"), "d": (2, "a"), "more": (4, UUID)}


@pytest.fixture
def other(changed: Table) -> Iterator[Table]:
    """Yields a table that does not exist yet."""
    yield Table(changed.spark, changed.path.with_name("other"), "other")
    changed.spark.sql("DROP TABLE IF EXISTS other")


@pytest.mark.skipif(not LIKE_TAKES_DEFAULT_FORMAT, reason="LIKE takes the format of the table")
def test_table_created_like_a_tracked_table_of_kernel_is_untracked(
    changed: Table, other: Table, conf: SetConf
) -> None:
    conf(MODE, "STRICT")

    changed.spark.sql("CREATE TABLE other LIKE named")
    assert not other.path.joinpath("_delta_log").exists()
    changed.spark.sql("DROP TABLE other")
    changed.spark.sql("CREATE TABLE other LIKE named USING delta")

    assert (other.log.flag, other.log.is_tracked) == (None, False)
    assert other.log.columns == {"id": (None, None), "c": (None, None)}


@pytest.mark.skipif(LIKE_TAKES_DEFAULT_FORMAT, reason="LIKE takes the session's format")
def test_table_created_like_a_tracked_table_of_kernel_is_tracked(
    changed: Table, other: Table, conf: SetConf
) -> None:
    conf(MODE, "STRICT")

    create_like(changed.spark, "other", "named")

    assert (other.log.flag, other.log.is_tracked) == ("true", True)
    assert other.log.columns == changed.log.columns


def test_kernel_names_the_unknown_feature(changed: Table, conf: SetConf) -> None:
    conf(MODE, "STRICT")

    for name in ("named", by_path(changed)):
        with changed.no_commit(), pytest.raises(Py4JJavaError) as refused:
            changed.spark.sql(f"INSERT INTO {name} VALUES (3, 'three')")

        thrown = refused.value.java_exception
        assert thrown.getClass().getSimpleName() == "UnsupportedTableFeatureException"
        assert FEATURE in thrown.getMessage()


# Writes by the table's name, through Kernel's table. Some write the rows of the DataFrame.
FRAME_WRITES: dict[str, Callable[[DataFrame], object]] = {
    "saveAsTable": lambda frame: frame.write.format("delta").mode("append").saveAsTable("named"),
    "insertInto": lambda frame: frame.write.insertInto("named"),
    "writeTo": lambda frame: frame.writeTo("named").append(),
    "overwritePartitions": lambda frame: frame.writeTo("named").overwritePartitions(),
    "delete": lambda frame: DeltaTable.forName(frame.sparkSession, "named").delete("id = 1"),
    "update": lambda frame: DeltaTable.forName(frame.sparkSession, "named").update(
        set={"id": "id + 1"}
    ),
    "merge": lambda frame: (
        DeltaTable.forName(frame.sparkSession, "named")
        .merge(frame.selectExpr("id AS k"), "id = k")
        .whenMatchedDelete()
        .execute()
    ),
    "vacuum": lambda frame: DeltaTable.forName(frame.sparkSession, "named").vacuum(),
}


def test_write_through_kernels_table_is_refused_under_strict(changed: Table, conf: SetConf) -> None:
    conf(MODE, "STRICT")
    further = changed.spark.sql("SELECT 3 AS id, 'three' AS c")

    for write in FRAME_WRITES.values():
        with changed.refusal():
            write(further)


def test_sink_by_name_is_refused_under_strict(
    changed: Table, conf: SetConf, tmp_path: Path
) -> None:
    changed.spark.sql("SELECT 3 AS id, 'three' AS c").write.parquet(str(tmp_path / "s"))
    source = changed.spark.readStream.schema("id INT, c STRING").parquet(str(tmp_path / "s"))
    conf(MODE, "STRICT")
    writer = source.writeStream.option("checkpointLocation", str(tmp_path / "c"))

    with changed.refusal():
        writer.trigger(availableNow=True).toTable("named").awaitTermination()


@pytest.mark.parametrize("mode", ["AUTO", "NONE"])
def test_sql_by_name_and_by_path_follows_the_rules_without_strict(
    changed: Table, conf: SetConf, mode: str
) -> None:
    conf(MODE, mode)

    for name in ("named", by_path(changed)):
        changed.spark.sql(f"INSERT INTO {name} VALUES (3, 'three')")
        changed.spark.sql(f"UPDATE {name} SET c = 'new' WHERE id = 1")
        changed.spark.sql(
            f"MERGE INTO {name} t USING (SELECT 3 AS id) s ON t.id = s.id WHEN MATCHED THEN DELETE"
        )
        changed.spark.sql(f"ALTER TABLE {name} ADD COLUMN a STRING")
        assert changed.log.columns["a"][1] == UUID
        changed.spark.sql(f"ALTER TABLE {name} RENAME COLUMN a TO d")
        changed.spark.sql(f"ALTER TABLE {name} DROP COLUMN d")
        with changed.refusal("DELTA_CANNOT_MODIFY_TABLE_PROPERTY"):
            changed.spark.sql(
                f"ALTER TABLE {name} SET TBLPROPERTIES"
                " ('delta.columnMapping.hasDroppedOrRenamed' = 'false')"
            )

    assert (changed.log.flag, changed.log.is_tracked) == ("true", True)
    assert changed.log.columns == {"id": (1, "id"), "c": (2, "a")}
    assert changed.selected() == [(1, "new"), (2, "two")]
