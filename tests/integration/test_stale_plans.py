# SPDX-License-Identifier: Apache-2.0
"""Tests stale plans: DeltaTables, DataFrames and views analysed before physical names changed.

Delta keeps their analysis. If the analysis no longer fits the files, the statement that uses the
analysis is refused and the table is unchanged.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from delta.tables import DeltaTable
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame
from pyspark.sql.functions import expr, lit

from tests.support.delta_table import (
    ID_MODE,
    NAME_MODE,
    NONE_MODE,
    TRACKED,
    Table,
    in_turn,
    refusal,
)
from tests.support.name_changes import (
    Change,
    drop_and_add,
    map_again,
    nothing,
    remove_mapping,
    rename,
    rename_and_add,
    swap,
)
from tests.support.prepared import made_once
from tests.support.releases import REFRESHES_STALE_CACHES
from tests.support.session_conf import SetConf
from tests.support.variants import crossed, in_matrix

STALE = "DELTA_SCHEMA_CHANGE_SINCE_ANALYSIS"
COLUMNS = "a INT, b STRING, d STRING"
ROWS = "(1, 'x', 'p'), (2, 'y', 'q')"
VECTORS = "'delta.enableDeletionVectors' = '{}'"

CHECKED = "spark.databricks.delta.checkLatestSchemaOnRead"
SKIPPING = "spark.databricks.delta.stats.skipping"
ROW_INDEX = "spark.databricks.delta.deletionVectors.useMetadataRowIndex"


@made_once
def filled(
    table: Table, *properties: str, partitioned_by: str = "", before: Change = nothing
) -> Table:
    table.create(COLUMNS, *properties, partitioned_by=partitioned_by)
    table.insert(ROWS)
    before(table)
    return table


def tracked(table: Table, *properties: str, before: Change = nothing) -> Table:
    return filled(table, TRACKED, NAME_MODE, *properties, before=before)


def remove_mapping_and_add(table: Table) -> None:
    remove_mapping(table)
    table.alter("ADD COLUMN b STRING")
    table.spark.sql(f"UPDATE {table.name} SET b = 'new'")


def and_remove_mapping(change: Change) -> Change:
    """Adds a removal, which hides the earlier change: physical names equal logical names again."""
    return in_turn(change, remove_mapping)


def restore(version: int) -> Change:
    return lambda table: table.restore(version)


def clone_over(table: Table) -> None:
    source = Table(table.spark, table.path.with_name("source"))
    tracked(source, before=drop_and_add)
    source.insert("(5, 'r', 'v')")
    table.spark.sql(f"DELETE FROM {table.name}")  # only an empty table may be cloned over
    table.spark.sql(f"CREATE OR REPLACE TABLE {table.name} SHALLOW CLONE {source.name}")


def replace_unmapped(table: Table) -> None:
    table.spark.sql(
        f"CREATE OR REPLACE TABLE {table.name} USING delta TBLPROPERTIES ({NONE_MODE})"
        " AS SELECT 7 AS a, 'r' AS c, 's' AS d"
    )


@dataclass(frozen=True)
class Way:
    """Changes physical names after a plan was analysed."""

    name: str
    change: Change
    before: Change = nothing
    is_tracked: bool = True
    is_like_another: bool = False
    """The hooks compare the same facts as for another way, so only the matrix runs it."""

    def __str__(self) -> str:
        return self.name


WAYS = [
    Way("removed by byte copy", remove_mapping, rename),
    Way(
        "removed by Delta's rewrite",
        lambda table: remove_mapping(table, "rewrite"),
        rename,
        is_like_another=True,
    ),
    Way(
        "removed and the old name used again", remove_mapping_and_add, rename, is_like_another=True
    ),
    Way("removed and mapped again", in_turn(remove_mapping, map_again), rename),
    Way("dropped and added", drop_and_add),
    Way("renamed and the old name used again", rename_and_add, is_like_another=True),
    Way("restored", restore(1), drop_and_add, is_like_another=True),
    Way("restored after a removal", restore(2), and_remove_mapping(rename)),
    Way("cloned over", clone_over),
    Way("replaced without mapping", replace_unmapped, rename),
    Way("swapped and removed", and_remove_mapping(swap)),
    Way(
        "swapped, removed and mapped again",
        in_turn(and_remove_mapping(swap), map_again),
        is_like_another=True,
    ),
    Way("dropped, added and removed", and_remove_mapping(drop_and_add)),
    Way(
        "renamed, the old name used again, and removed",
        and_remove_mapping(rename_and_add),
        is_like_another=True,
    ),
    Way("untracked, swapped and removed", and_remove_mapping(swap), is_tracked=False),
    Way("untracked, removed by byte copy", remove_mapping, rename, is_tracked=False),
    Way(
        "untracked, removed by Delta's rewrite",
        lambda t: remove_mapping(t, "rewrite"),
        rename,
        is_tracked=False,
        is_like_another=True,
    ),
    Way("untracked, dropped and added", drop_and_add, is_tracked=False, is_like_another=True),
]


class Held:
    """Plans that were analysed before the change."""

    def __init__(self, table: Table) -> None:
        self.spark = table.spark
        self.table = table
        self.delta_table = table.delta_table
        self.frame = table.spark.read.format("delta").load(str(table.path))
        self.frame.createOrReplaceTempView("held")

    def merge(self, source: DataFrame, target: DeltaTable | None = None) -> Any:
        return (target or self.delta_table).alias("t").merge(source.alias("s"), "t.a = s.a")

    def fresh(self) -> DeltaTable:
        return self.table.delta_table

    def write(self, rows: DataFrame, mode: str = "append", **options: str) -> None:
        rows.write.format("delta").mode(mode).options(**options).save(str(self.table.path))


def update(held: Held) -> None:
    held.delta_table.update("a > 0", {"a": "a + 1"})


USES: dict[str, Callable[[Held], object]] = {
    "update": update,
    "update without a condition": lambda held: held.delta_table.update(set={"a": "a + 1"}),
    "delete": lambda held: held.delta_table.delete("a > 1"),
    "merge into": lambda held: (
        held.merge(held.spark.sql("SELECT 1 AS a"))
        .whenMatchedUpdate(set={"a": "t.a + 1"})
        .execute()
    ),
    "merge into, with deletes alone": lambda held: (
        held.merge(held.spark.sql("SELECT 1 AS a")).whenMatchedDelete().execute()
    ),
    "merge from": lambda held: (
        held.merge(held.frame, held.fresh()).whenMatchedUpdate(set={"a": "t.a + 1"}).execute()
    ),
    "append": lambda held: held.write(held.frame),
    "overwrite": lambda held: held.write(held.frame, "overwrite"),
    "replaceWhere": lambda held: held.write(
        held.frame.where("a > 0"), "overwrite", replaceWhere="a > 0"
    ),
    "insert from a view": lambda held: held.spark.sql(
        f"INSERT INTO {held.table.name} (a) SELECT a FROM held"
    ),
    "replace from a view": lambda held: held.spark.sql(
        f"CREATE OR REPLACE TABLE {held.table.name} USING delta AS SELECT * FROM held"
    ),
    "write elsewhere": lambda held: held.frame.write.format("delta").save(
        f"{held.table.path}-elsewhere"
    ),
    "read": lambda held: held.frame.collect(),
    "read beside a fresh one": lambda held: held.fresh().toDF().join(held.frame, "a").collect(),
    "read in a subquery": lambda held: held.spark.sql(
        f"SELECT * FROM {held.table.name} WHERE a IN (SELECT a FROM held)"
    ).collect(),
    # If the table has no deletion vectors, Delta computes these from the log only.
    "append a maximum": lambda held: held.write(held.frame.selectExpr("max(a) AS a")),
    "read a maximum after a fresh one": lambda held: held.spark.sql(
        f"SELECT max(a) FROM {held.table.name} UNION ALL SELECT max(a) FROM held"
    ).collect(),
}


def assert_refused(held: Held, *uses: str) -> None:
    for use in uses:
        with held.table.refusal(STALE):
            USES[use](held)


def with_uses(ways: list[Way]) -> list[Any]:
    """Returns each way with and without deletion vectors, and with all uses for the matrix.

    Every run has the ways that differ, with one of both variants and a third of the uses.
    """
    thirds = [list(USES)[start::3] for start in range(3)]
    return [
        pytest.param(
            way,
            vectors,
            uses,
            id=f"{way}-{'vectors' if vectors else 'rewrites'}{suffix}".replace(" ", "-"),
            marks=marks,
        )
        for number, way in enumerate(ways)
        for vectors, uses, suffix, marks in (
            (number % 2 == 1, thirds[number % 3], "-some", ()),
            (False, list(USES), "", pytest.mark.matrix),
            (True, list(USES), "", pytest.mark.matrix),
        )
        if not (suffix and way.is_like_another)
    ]


@pytest.mark.every_variant
@pytest.mark.parametrize(("way", "vectors", "uses"), with_uses(WAYS))
def test_stale_plan_is_refused_when_physical_names_changed(
    table: Table, way: Way, vectors: bool, uses: list[str]
) -> None:
    properties = [NAME_MODE, VECTORS.format(str(vectors).lower())]
    filled(table, *properties, *([TRACKED] if way.is_tracked else []), before=way.before)
    held = Held(table)
    way.change(table)
    rows = table.rows()

    assert_refused(held, *uses)
    assert table.rows() == rows


@pytest.mark.every_variant
@pytest.mark.parametrize(
    ("change", "kind", "statement"),
    crossed(
        [drop_and_add, swap, and_remove_mapping(swap), and_remove_mapping(rename_and_add)],
        ["INTO", "OVERWRITE"],
        ["VALUES (3, 'v', 'w')", "SELECT * FROM VALUES (3, 'v', 'w')"],
    ),
)
def test_insert_into_stale_view_is_refused_when_columns_changed(
    table: Table, change: Change, kind: str, statement: str
) -> None:
    Held(tracked(table))
    change(table)

    with table.refusal(STALE):
        table.spark.sql(f"INSERT {kind} held {statement}")


@pytest.mark.every_variant
def test_insert_into_stale_view_succeeds_when_columns_are_the_same(
    table: Table,
) -> None:
    tracked(table, before=rename)
    Held(table)
    remove_mapping(table)

    table.spark.sql("INSERT INTO held VALUES (3, 'z', 'r')")

    assert table.rows() == [(1, "x", "p"), (2, "y", "q"), (3, "z", "r")]


@pytest.mark.every_variant
def test_delete_of_partitions_is_refused_when_columns_were_swapped(table: Table) -> None:
    table.create_tracked(COLUMNS, partitioned_by="b, d")
    table.insert("(1, 'x', 'p'), (2, 'p', 'x')")
    held = Held(table)
    swap(table)

    with table.refusal(STALE):
        held.delta_table.delete("b = 'x'")


def reorder(table: Table) -> None:
    table.alter("ALTER COLUMN d AFTER a")


@pytest.mark.every_variant
@pytest.mark.parametrize(
    ("change", "condition"),
    crossed(
        [drop_and_add, swap, and_remove_mapping(swap), and_remove_mapping(drop_and_add), reorder],
        ["t.a = s.a", "t.a = s.a AND t.a > 1000"],
    ),
)
def test_merge_that_inserts_by_position_is_refused_when_columns_changed(
    table: Table, change: Change, condition: str
) -> None:
    held = Held(tracked(table))
    change(table)
    rows = table.spark.sql("SELECT 7 AS a, 'v' AS b, 'w' AS d")

    with table.refusal(STALE):
        held.delta_table.alias("t").merge(
            rows.alias("s"), condition
        ).whenNotMatchedInsertAll().execute()
    with table.refusal(STALE):
        table.spark.sql(
            f"MERGE INTO held t USING (SELECT 7 AS a, 'v' AS b, 'w' AS d) s ON {condition}"
            " WHEN NOT MATCHED THEN INSERT *"
        )


@pytest.mark.every_variant
def test_condition_on_statistics_is_refused_when_columns_were_swapped(table: Table) -> None:
    held = Held(tracked(table))
    swap(table)
    rows = table.spark.sql("SELECT 'x' AS b")

    with table.refusal(STALE):
        held.delta_table.update("b = 'x'", {"a": "9"})
    with table.refusal(STALE):
        held.delta_table.delete("b = 'x'")
    with table.refusal(STALE):
        held.delta_table.alias("t").merge(
            rows.alias("s"), "t.b = s.b AND t.b = 'x'"
        ).whenMatchedUpdate(set={"a": "9"}).execute()


@pytest.mark.every_variant
@pytest.mark.parametrize("change", [drop_and_add, swap, rename_and_add])
def test_insert_is_refused_when_mapping_was_enabled_and_columns_changed(
    table: Table, change: Change
) -> None:
    filled(table, TRACKED)
    Held(table)
    map_again(table)
    change(table)

    with table.refusal(STALE):
        table.spark.sql("INSERT INTO held VALUES (3, 'v', 'w')")


def test_read_is_refused_when_commits_since_the_analysis_are_deleted(
    table: Table,
) -> None:
    tracked(table)
    held = Held(table)
    table.alter("ADD COLUMN e INT")
    table.insert("(3, 'z', 'r', 1)")
    table.cut_log(table.log.version)

    with table.refusal(STALE):
        held.frame.collect()


@pytest.mark.parametrize("change", [swap, drop_and_add], ids=["swapped", "dropped and added"])
def test_stale_plan_is_refused_when_restore_replaced_unmapped_columns(
    table: Table, change: Change
) -> None:
    filled(table, TRACKED, VECTORS.format("false"))
    map_again(table)
    change(table)
    remove_mapping(table)
    held = Held(table)
    restore(1)(table)

    assert_refused(held, "update", "delete", "merge into", "append", "insert from a view", "read")
    with table.refusal(STALE):
        table.spark.sql("INSERT INTO held VALUES (3, 'v', 'w')")

    assert table.rows() == [(1, "x", "p"), (2, "y", "q")]


def test_stale_plan_reads_by_name_when_unmapped_table_was_replaced(table: Table) -> None:
    tracked(table)
    remove_mapping(table)
    held = Held(table)
    table.spark.sql(
        f"CREATE OR REPLACE TABLE {table.name} USING delta AS SELECT 7 AS a, 'r' AS b, 's' AS d"
    )

    update(held)

    assert table.rows() == [(8, "r", "s")]


@pytest.mark.every_variant
def test_stale_plan_is_refused_when_mapping_and_its_history_were_dropped(table: Table) -> None:
    no_time = "'{}' = 'interval 0 hours'"
    filled(
        table,
        no_time.format("delta.dropFeatureTruncateHistory.retentionDuration"),
        no_time.format("delta.logRetentionDuration"),
        no_time.format("delta.deletedFileRetentionDuration"),
    )
    held = Held(table)
    map_again(table)
    swap(table)
    remove_mapping(table)
    table.alter("DROP FEATURE columnMapping")
    table.age_log()
    table.alter("DROP FEATURE checkpointProtection TRUNCATE HISTORY")
    assert "columnMapping" not in table.log.protocol.get("writerFeatures", [])

    assert_refused(held, "update", "read")
    with table.refusal(STALE):
        table.spark.sql("INSERT INTO held VALUES (3, 'v', 'w')")


@pytest.mark.every_variant
def test_stale_plan_is_refused_when_folder_was_replaced_by_a_copy(
    table: Table, tmp_path: Path
) -> None:
    tracked(table)
    shutil.copytree(table.path, tmp_path / "copy")
    held = Held(table)
    for value in "xyz":
        table.alter(f"SET TBLPROPERTIES ('a' = '{value}')")
    remove_mapping(table)
    update(held)
    shutil.rmtree(table.path)
    shutil.copytree(tmp_path / "copy", table.path)
    held = Held(table)
    swap(table)
    remove_mapping(table)

    assert_refused(held, "update")
    with table.refusal(STALE):
        table.spark.sql("INSERT INTO held VALUES (3, 'v', 'w')")


def test_streaming_sink_is_refused_when_delta_does_not_check_schemas_on_read(
    table: Table, tmp_path: Path, conf: SetConf
) -> None:
    tracked(table, before=rename)
    held = Held(table)
    remove_mapping_and_add(table)
    source = Table(table.spark, tmp_path / "source").create("k INT")
    source.insert("(1)")
    conf(CHECKED, "false")

    stream = table.spark.readStream.format("delta").load(str(source.path))
    query = (
        stream.join(held.frame, expr("k = a"))
        .selectExpr("a", "c", "d")
        .writeStream.format("delta")
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .trigger(availableNow=True)
    )
    with table.no_commit(), pytest.raises(StreamingQueryException) as stopped:
        query.start(str(table.path)).awaitTermination()

    assert STALE in str(stopped.value)


# Other changes of columns.


# The columns, a row, and the path of the struct that changes.
NESTED = {
    "struct": ("a INT, s STRUCT<x: INT, y: INT>", "(1, named_struct('x', 2, 'y', 3))", "s"),
    "array": ("a INT, s ARRAY<STRUCT<x: INT, y: INT>>", "(1, array((2, 3)))", "s.element"),
    "map": ("a INT, s MAP<INT, STRUCT<x: INT, y: INT>>", "(1, map(1, (2, 3)))", "s.value"),
}


@pytest.mark.every_variant
@pytest.mark.parametrize(
    ("shape", "kind"), crossed(list(NESTED), ["dropped and added", "removed", "added"])
)
def test_stale_plan_is_refused_when_nested_columns_changed(
    table: Table, shape: str, kind: str
) -> None:
    columns, values, change = NESTED[shape]
    table.create_tracked(columns)
    table.insert(values)
    if kind == "removed":
        table.alter(f"RENAME COLUMN {change}.x TO z")
    held = Held(table)
    if kind == "removed":
        remove_mapping(table)
    elif kind == "added":
        table.alter(f"ADD COLUMN {change}.z INT")
    else:
        table.alter(f"DROP COLUMN {change}.x")
        table.alter(f"ADD COLUMN {change}.x INT")

    assert_refused(held, "update")


def test_mode_id_compares_columns_by_id(table: Table) -> None:
    filled(table, TRACKED, ID_MODE)
    held = Held(table)
    drop_and_add(table)

    assert_refused(held, "update")


def test_mode_id_refuses_equal_names_with_other_ids(table: Table) -> None:
    table.create(COLUMNS, TRACKED, ID_MODE)
    held = Held(table)
    source = Table(table.spark, table.path.with_name("source"))
    source.create(f"x INT, {COLUMNS}", TRACKED, ID_MODE)
    source.alter("DROP COLUMN x")
    source.insert(ROWS)
    table.spark.sql(f"CREATE OR REPLACE TABLE {table.name} SHALLOW CLONE {source.name}")
    assert table.log.physical_names == {"a": "a", "b": "b", "d": "d"}

    assert_refused(held, "update")


def test_stale_plan_is_refused_when_partition_column_was_renamed(table: Table) -> None:
    filled(table, TRACKED, NAME_MODE, partitioned_by="b", before=rename)
    held = Held(table)
    remove_mapping(table)
    table.alter("ADD COLUMN b STRING")

    assert_refused(held, "update")
    with table.refusal(STALE):
        held.delta_table.update("c = 'x'", {"a": "a + 1"})


@pytest.mark.without("dynamic-overwrite")
def test_stale_plan_is_refused_when_partitioning_changed(table: Table) -> None:
    filled(table, TRACKED, NAME_MODE, partitioned_by="b")
    held = Held(table)
    rows = table.spark.sql("SELECT 7 AS a, 'r' AS b, 's' AS d")
    rows.write.format("delta").mode("overwrite").option("overwriteSchema", "true").partitionBy(
        "d"
    ).save(str(table.path))

    assert_refused(held, "update")
    with table.refusal(STALE):
        held.write(held.frame)


def test_stale_plan_is_refused_when_types_changed(table: Table) -> None:
    held = Held(tracked(table))
    table.overwrite("SELECT 7 AS a, 70 AS b, 's' AS d")

    assert_refused(held, "update", "delete", "merge into", "read", "read beside a fresh one")


def test_rewrite_of_rows_is_refused_when_columns_were_added(table: Table) -> None:
    tracked(table, VECTORS.format("false"))
    held = Held(table)
    table.alter("ADD COLUMN e INT")
    table.spark.sql(f"UPDATE {table.name} SET e = 5")

    assert_refused(held, "update")
    with table.refusal(STALE):
        held.delta_table.delete("a = 1")

    assert table.selected("a, e") == [(1, 5), (2, 5)]


def test_stale_plan_is_refused_when_type_was_widened(table: Table) -> None:
    tracked(table, "'delta.enableTypeWidening' = 'true'")
    held = Held(table)
    table.alter("ALTER COLUMN a TYPE BIGINT")
    table.insert("(5000000000, 'z', 'r')")

    with table.refusal(STALE):
        held.delta_table.update("b = 'z'", {"d": "'s'"})


def test_stale_plan_is_refused_when_column_became_nullable(table: Table) -> None:
    table.create_tracked("a INT NOT NULL, b STRING")
    table.insert("(1, 'x')")
    held = Held(table)
    table.alter("ALTER COLUMN a DROP NOT NULL")
    table.insert("(NULL, 'y')")

    with table.refusal(STALE):
        held.delta_table.update("b = 'y'", {"b": "IF(a IS NULL, 'none', 'some')"})


@pytest.mark.without("row-tracking")
def test_rewrite_of_rows_is_refused_when_row_tracking_was_enabled(table: Table) -> None:
    tracked(table, VECTORS.format("false"))
    held = Held(table)
    table.alter("SET TBLPROPERTIES ('delta.enableRowTracking' = 'true')")

    assert_refused(held, "update")


@pytest.mark.parametrize(
    "settings_off",
    [[CHECKED, SKIPPING], [ROW_INDEX], *in_matrix([CHECKED], [SKIPPING])],
    ids=["both", "row index", "checked", "skipping"],
)
@pytest.mark.every_variant
def test_write_is_refused_with_every_setting_of_delta(
    table: Table, conf: SetConf, settings_off: list[str]
) -> None:
    tracked(table, before=rename)
    held = Held(table)
    remove_mapping(table)
    for key in settings_off:
        conf(key, "false")

    assert_refused(
        held, "update", "delete", "merge into", "append", "overwrite", "insert from a view"
    )


def test_read_outside_of_a_write_follows_the_setting_of_delta(table: Table, conf: SetConf) -> None:
    tracked(table)
    held = Held(table)
    rename(table)
    conf(CHECKED, "false")

    assert sorted(held.frame.select("a").collect()) == [(1,), (2,)]


# A stream that uses one DeltaTable for all batches.


def test_running_stream_stops_when_its_delta_table_is_stale(table: Table, tmp_path: Path) -> None:
    tracked(table, VECTORS.format("false"), before=rename)
    target = table.delta_table
    source = Table(table.spark, tmp_path / "source").create("a INT")
    source.insert("(1)")

    def update_target(rows: DataFrame, number: int) -> None:
        target.alias("t").merge(rows.alias("s"), "t.a = s.a").whenMatchedUpdate(
            set={"d": "'new'"}
        ).execute()

    query = (
        table.spark.readStream.format("delta")
        .load(str(source.path))
        .writeStream.foreachBatch(update_target)
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .start()
    )
    try:
        query.processAllAvailable()
        assert table.rows() == [(1, "x", "new"), (2, "y", "q")]
        remove_mapping(table)
        source.insert("(2)")
        with table.no_commit(), pytest.raises(StreamingQueryException) as stopped:
            query.processAllAvailable()
    finally:
        query.stop()

    assert STALE in str(stopped.value)
    assert table.rows() == [(1, "x", "new"), (2, "y", "q")]


# Stale plans that still fit.


@pytest.mark.parametrize("vectors", ["true", "false"])
def test_delta_table_works_when_mapping_was_removed_by_metadata_and_enabled_again(
    table: Table, vectors: str
) -> None:
    tracked(table, VECTORS.format(vectors))
    held = Held(table)

    remove_mapping(table)
    held.delta_table.update("a = 1", {"d": "'removed'"})
    held.merge(table.spark.sql("SELECT 2 AS a")).whenMatchedUpdate(set={"d": "'m'"}).execute()
    map_again(table)
    held.delta_table.update("a = 1", {"b": "d"})
    held.delta_table.delete("a = 2")

    assert table.rows() == [(1, "removed", "removed")]


def test_append_and_delete_by_vectors_succeed_when_columns_were_added(table: Table) -> None:
    tracked(table, VECTORS.format("true"))
    held = Held(table)
    table.alter("ADD COLUMN e INT")
    table.spark.sql(f"UPDATE {table.name} SET e = 5")

    held.write(held.frame)
    held.delta_table.delete("a = 1")

    assert sorted(held.frame.collect()) == [(2, "y", "q"), (2, "y", "q")]
    assert table.selected("a, e") == [(2, 5), (2, None)]


def test_delta_table_works_when_mapping_was_enabled(table: Table) -> None:
    filled(table)
    held = Held(table)

    map_again(table)
    update(held)
    held.write(held.frame)

    assert table.rows() == [(2, "x", "p"), (2, "x", "p"), (3, "y", "q"), (3, "y", "q")]


def test_delta_table_works_when_its_columns_are_the_same_after_a_removal(table: Table) -> None:
    tracked(table)
    table.alter("RENAME COLUMN d TO e")
    table.alter("RENAME COLUMN e TO d")
    held = Held(table)
    table.alter("ADD COLUMN e STRING")
    table.alter("DROP COLUMN e")
    remove_mapping(table)

    update(held)

    assert table.rows() == [(2, "x", "p"), (3, "y", "q")]


@pytest.mark.without("optimize-write")
@pytest.mark.every_variant
def test_auto_compaction_succeeds_after_an_insert(table: Table, conf: SetConf) -> None:
    conf("spark.databricks.delta.autoCompact.minNumFiles", "2")
    tracked(table, "'delta.autoOptimize.autoCompact' = 'true'")
    rows = table.spark.range(4).selectExpr("id AS a", "'r' AS other").repartition(4)

    rows.writeTo(table.name).option("overwriteSchema", "true").overwrite(lit(True))

    assert table.log.operation == "OPTIMIZE"


def test_time_travel_reads_with_the_names_of_its_version(table: Table) -> None:
    tracked(table)
    drop_and_add(table)
    remove_mapping(table)

    old = table.spark.read.format("delta").option("versionAsOf", 1).load(str(table.path))
    new = table.spark.read.format("delta").load(str(table.path))

    assert sorted(old.join(new, "a").select(old.b, new.b).collect()) == [("x", None), ("y", None)]


def test_delete_of_all_rows_succeeds_when_columns_changed(table: Table) -> None:
    held = Held(tracked(table))
    drop_and_add(table)

    held.delta_table.delete()

    assert table.rows() == []


def test_error_names_the_changed_column(table: Table) -> None:
    table.create_tracked(COLUMNS)
    held = Held(table)
    table.insert(ROWS)
    drop_and_add(table)

    with refusal(STALE) as refused:
        update(held)

    assert "b" in refused.value.getMessageParameters()["schemaDiff"]


STALE_VIEW = {
    "the same": ("a INT, b STRING", "(2, 'y')"),
    "in another order": ("b STRING, a INT", "('y', 2)"),
    "with one more": ("a INT, b STRING, c INT", "(2, 'y', 3)"),
    "with one more in between": ("a INT, c INT, b STRING", "(2, 3, 'y')"),
}


@pytest.mark.every_variant
@pytest.mark.parametrize(("columns", "tracked"), crossed(list(STALE_VIEW), [True, False]))
def test_stale_view_reads_by_name_when_tracked_table_was_created_again(
    named_table: Table, columns: str, tracked: bool
) -> None:
    """Plain Delta refuses the view, because the new table has other `col-<uuid>` names."""
    spark = named_table.spark
    properties = (NAME_MODE, TRACKED) if tracked else (NAME_MODE,)
    named_table.create("a INT, b STRING", *properties)
    named_table.insert("(1, 'x')")
    spark.table(named_table.name).createOrReplaceTempView("held")
    spark.sql(f"DROP TABLE {named_table.name}")
    made, values = STALE_VIEW[columns]
    named_table.create(made, *properties)
    named_table.insert(values)

    if tracked:
        assert [row.asDict() for row in spark.sql("SELECT * FROM held").collect()] == [
            {"a": 2, "b": "y"}
        ]
    else:
        with refusal(STALE):
            spark.sql("SELECT * FROM held").collect()


def test_insert_is_committed_although_the_refresh_of_a_stale_cache_fails(table: Table) -> None:
    spark = tracked(table, before=rename).spark
    spark.sql(f"CREATE TABLE cached USING delta LOCATION '{table.path}'")
    spark.sql("CACHE TABLE cached")
    remove_mapping(table)

    with table.one_commit(), nullcontext() if REFRESHES_STALE_CACHES else refusal(STALE):
        spark.sql("INSERT INTO cached VALUES (3, 'z', 'r')")

    rows = [(1, "x", "p"), (2, "y", "q"), (3, "z", "r")]
    if REFRESHES_STALE_CACHES:
        assert sorted(spark.table("cached").collect()) == rows
    spark.sql("DROP TABLE cached")
    assert table.rows() == rows
