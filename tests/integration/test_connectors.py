# SPDX-License-Identifier: Apache-2.0
"""Tests reads by Delta's two connectors: its own (modes `NONE` and `AUTO`) and Kernel's.

In mode `STRICT`, which Delta calls a mode for tests, Kernel reads every table of a catalog. Kernel
does not know the feature, so it may read tracked tables and must not write them
(`test_connector_writes.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from delta.tables import DeltaTable
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException, StreamingQueryException
from pyspark.sql import DataFrame, SparkSession

import spark_ext
from spark_ext import UsageTracking
from tests.integration.connectors import (
    AUTO_ELSEWHERE,
    KEEPS_VERSION,
    LOOKS_AGAIN,
    MODE,
    MODES,
    TWO_CONNECTORS,
    Rows,
    rows,
)
from tests.support.delta_table import NAME_MODE, TRACKED, Table, in_turn, refusal
from tests.support.held_statement import HeldStatement, Step
from tests.support.name_changes import Change, drop_and_add, nothing, remove_mapping, rename, swap
from tests.support.prepared import made_once
from tests.support.session_conf import SetConf, session_conf

pytestmark = TWO_CONNECTORS

INCOMPATIBLE_CHANGE = "DELTA_STREAMING_INCOMPATIBLE_SCHEMA_CHANGE_USE_SCHEMA_LOG"
STALE = "DELTA_SCHEMA_CHANGE_SINCE_ANALYSIS"
CHANGE_FEED = "'delta.enableChangeDataFeed' = 'true'"
ROWS = [(1, "x", "p"), (2, "y", "q")]
FURTHER = (3, "z", "r")


@made_once
def create(table: Table) -> Table:
    table.create("a INT, b STRING, d STRING", TRACKED, NAME_MODE, CHANGE_FEED)
    table.insert("(1, 'x', 'p'), (2, 'y', 'q')")
    return table


@pytest.fixture
def renamed(named_table: Table) -> Table:
    """Returns a tracked table whose column `a` was renamed to `c`."""
    named_table.create_tracked("id INT, a STRING, b STRING")
    named_table.insert("(1, 'one', 'old')")
    named_table.insert("(2, 'two', 'old')")
    named_table.alter("RENAME COLUMN a TO c")
    return named_table


def streamed(frame: DataFrame) -> Rows:
    """Returns the rows of a stream until its input ends."""
    query = frame.writeStream.format("memory").queryName("shown").trigger(availableNow=True).start()
    query.awaitTermination()
    return rows(frame.sparkSession.table("shown"))


# Reads of a table with the columns `a`, `d`, and a column whose name depends on the state.
READS: dict[str, Callable[[Table, str], DataFrame]] = {
    "name": lambda t, c: t.spark.sql(f"SELECT a, {c}, d FROM named"),
    "path": lambda t, c: t.spark.sql(f"SELECT a, {c}, d FROM delta.`{t.path}`"),
    "filter": lambda t, c: t.spark.sql(f"SELECT * FROM named WHERE {c} > '' AND a > 0"),
    "subquery": lambda t, c: t.spark.sql(
        f"SELECT * FROM named WHERE {c} IN (SELECT {c} FROM delta.`{t.path}`)"
    ),
    "table": lambda t, _: t.spark.table("named"),
    "load": lambda t, _: t.spark.read.format("delta").load(str(t.path)),
    "forName": lambda t, _: DeltaTable.forName(t.spark, "named").toDF(),
    "forPath": lambda t, _: DeltaTable.forPath(t.spark, str(t.path)).toDF(),
}
EARLIER: dict[str, Callable[[Table, int], DataFrame]] = {
    "name": lambda t, v: t.spark.sql(f"SELECT a, b, d FROM named VERSION AS OF {v}"),
    "path": lambda t, v: t.spark.sql(f"SELECT a, b, d FROM delta.`{t.path}` VERSION AS OF {v}"),
    "path@v": lambda t, v: t.spark.sql(f"SELECT a, b, d FROM delta.`{t.path}@v{v}`"),
    "load": lambda t, v: t.spark.read.option("versionAsOf", v).format("delta").load(str(t.path)),
    "table": lambda t, v: t.spark.read.option("versionAsOf", v).table("named"),
}
# Changes of names, each with the resulting name of `b`.
STATES: dict[str, tuple[Change, str]] = {
    "flag-true": (rename, "c"),
    "flag-false": (nothing, "b"),
    "removed": (in_turn(rename, remove_mapping), "c"),
}


@pytest.mark.every_variant
@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("mode", AUTO_ELSEWHERE)
def test_every_read_shows_the_rows(
    named_table: Table, conf: SetConf, mode: str, state: str
) -> None:
    change, column = STATES[state]
    create(named_table)
    before = named_table.log.version
    change(named_table)
    named_table.insert("(3, 'z', 'r')")
    conf(MODE, mode)

    for how, read in READS.items():
        assert rows(read(named_table, column)) == [*ROWS, FURTHER], how
    for how, read_earlier in EARLIER.items():
        assert rows(read_earlier(named_table, before)) == ROWS, how
    stream = named_table.spark.readStream
    assert streamed(stream.table("named")) == [*ROWS, FURTHER]
    assert streamed(stream.format("delta").load(str(named_table.path))) == [*ROWS, FURTHER]


def changes(table: Table, start: int) -> dict[str, Callable[[], Rows]]:
    """Returns reads of the change feed since a version, except those of `changes_by_name`."""
    since = {"readChangeFeed": "true", "startingVersion": str(start)}
    path = str(table.path)

    def shown(frame: DataFrame) -> DataFrame:
        return frame.drop("_commit_version", "_commit_timestamp")

    stream = table.spark.readStream.options(**since)
    return {
        "by path": lambda: rows(
            shown(table.spark.read.options(**since).format("delta").load(path))
        ),
        "table_changes_by_path": lambda: rows(
            shown(table.spark.sql(f"SELECT * FROM table_changes_by_path('{path}', {start})"))
        ),
        "stream": lambda: streamed(shown(stream.table("named"))),
        "stream by path": lambda: streamed(shown(stream.format("delta").load(path))),
    }


def changes_by_name(table: Table, start: int) -> dict[str, Callable[[], Rows]]:
    """Returns batch reads of the change feed by name."""
    since = {"readChangeFeed": "true", "startingVersion": str(start)}
    columns = "* EXCEPT (_commit_version, _commit_timestamp)"
    return {
        "by name": lambda: rows(
            table.spark.read.options(**since)
            .table("named")
            .drop("_commit_version", "_commit_timestamp")
        ),
        "table_changes": lambda: rows(
            table.spark.sql(f"SELECT {columns} FROM table_changes('named', {start})")
        ),
    }


@pytest.mark.every_variant
@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("mode", AUTO_ELSEWHERE)
def test_every_change_feed_shows_the_rows(
    named_table: Table, conf: SetConf, mode: str, state: str
) -> None:
    create(named_table)
    STATES[state][0](named_table)
    start = named_table.log.version + 1
    named_table.insert("(3, 'z', 'r')")
    conf(MODE, mode)

    for how, read in changes(named_table, start).items():
        assert read() == [(*FURTHER, "insert")], how
    for how, read in changes_by_name(named_table, start).items():
        if mode == "STRICT":
            # Delta's functions need columns that a table of Kernel lacks.
            with pytest.raises((PySparkException, Py4JError)):
                read()
        else:
            assert read() == [(*FURTHER, "insert")], how


@pytest.mark.parametrize("mode", AUTO_ELSEWHERE)
def test_no_change_feed_crosses_a_change_of_names(
    named_table: Table, conf: SetConf, mode: str
) -> None:
    create(named_table)
    in_turn(rename, remove_mapping)(named_table)
    named_table.insert("(3, 'z', 'r')")
    conf(MODE, mode)

    for read in {**changes(named_table, 1), **changes_by_name(named_table, 1)}.values():
        with pytest.raises((PySparkException, Py4JError)):
            read()


@pytest.mark.skipif(not LOOKS_AGAIN, reason="Spark has no CHANGES")
@pytest.mark.parametrize("mode", AUTO_ELSEWHERE)
def test_change_feed_of_spark_is_disabled(named_table: Table, conf: SetConf, mode: str) -> None:
    create(named_table)
    conf(MODE, mode)

    with refusal("UNSUPPORTED_FEATURE.CHANGE_DATA_CAPTURE"):
        named_table.spark.sql("SELECT * FROM named CHANGES FROM VERSION 1 TO VERSION 1")


# Our calls need Delta's own table. Under STRICT they are refused: the catalog has Kernel's table.
OURS: dict[str, Callable[[SparkSession, Path], object]] = {
    "columns": lambda spark, _: spark.sql("SELECT * FROM column_mapping('named')"),
    "stages": lambda spark, _: spark.sql("SELECT * FROM column_mapping_removal('named')"),
    "history": lambda spark, _: spark.sql("SELECT * FROM column_mapping_history('named')"),
    "dropped": lambda spark, _: spark.sql("SELECT * FROM column_mapping_dropped('named')"),
    "by path": lambda spark, path: spark.sql(f"SELECT * FROM column_mapping('delta.`{path}`')"),
    "forName": lambda spark, _: UsageTracking.forName(spark, "named"),
    "forPath": UsageTracking.forPath,
}


def test_refusal_of_a_table_of_kernel_names_the_setting(renamed: Table, conf: SetConf) -> None:
    conf(MODE, "STRICT")
    names = ("named", f"delta.`{renamed.path}`", f"delta.`file:{renamed.path}`")

    for ask in OURS.values():
        with renamed.refusal("USAGE_TRACKING_KERNEL_TABLE") as refused:
            ask(renamed.spark, renamed.path)

        params = refused.value.getMessageParameters()
        assert params.pop("table") in names
        assert params == {"setting": MODE, "value": "STRICT"}


# Calls on an object that was made with another setting.
LATER: dict[str, Callable[[UsageTracking], object]] = {
    "enable": UsageTracking.enable,
    "disable": UsageTracking.disable,
    "remove_column_mapping": UsageTracking.remove_column_mapping,
    "align_names": UsageTracking.align_names,
    "status": UsageTracking.status,
    "flag": lambda usage: usage.has_dropped_or_renamed,
}


def test_no_call_of_ours_changes_the_catalog_in_place_of_the_table(
    renamed: Table, conf: SetConf
) -> None:
    usages = [
        UsageTracking.forName(renamed.spark, "named"),
        renamed.usage,
    ]
    conf(MODE, "STRICT")

    for usage in usages:
        for call in LATER.values():
            with renamed.refusal("USAGE_TRACKING_KERNEL_TABLE"):
                call(usage)


def test_survey_reports_a_table_of_kernel_and_an_audit_reads_it(
    renamed: Table, conf: SetConf
) -> None:
    conf(MODE, "STRICT")

    (surveyed,) = spark_ext.survey(renamed.spark, progress=None).tables
    assert surveyed.error == "USAGE_TRACKING_KERNEL_TABLE"
    for name in ("named", f"delta.`{renamed.path}`"):
        assert spark_ext.audit(renamed.spark, name, progress=None).findings == ()


@pytest.mark.every_variant
@pytest.mark.parametrize("mode", MODES)
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
        streamed(
            renamed.spark.readStream.options(startingVersion="1", ignoreChanges="true")
            .table("named")
            .select("id", "c")
        )
    assert INCOMPATIBLE_CHANGE in str(refused.value)
    if mode == "STRICT":
        # Spark analyses the plan again by names, so it reads the later column, unless the release
        # keeps the plan's version.
        later = "old" if KEEPS_VERSION else None
        assert rows(held) == [(1, "one", later), (2, "two", later)]
    else:
        with refusal("DELTA_SCHEMA_CHANGE_SINCE_ANALYSIS"):
            held.collect()


# Stale plans across a change of names. Spark analyses plans of Kernel's tables again, by names.


def meanwhile(table: Table, change: Change) -> None:
    """Makes a change in mode `NONE`, as a session without Kernel may."""
    with session_conf(table.spark, {MODE: "NONE"}):
        change(table)


@pytest.mark.parametrize("mode", AUTO_ELSEWHERE)
def test_stale_plan_by_path_is_refused_after_a_change_of_names(
    named_table: Table, conf: SetConf, mode: str
) -> None:
    create(named_table)
    conf(MODE, mode)
    path = str(named_table.path)
    frame = named_table.spark.read.format("delta").load(path)
    held = DeltaTable.forPath(named_table.spark, path)
    meanwhile(named_table, in_turn(swap, remove_mapping))

    uses: list[Callable[[], object]] = [
        frame.collect,
        lambda: frame.write.format("delta").mode("append").save(path),
        lambda: held.update("a = 1", {"a": "9"}),
        lambda: held.delete("b = 'x'"),
    ]
    for use in uses:
        with named_table.refusal(STALE):
            use()
    assert named_table.selected("a, d, b") == ROWS


@pytest.mark.parametrize("mode", ["AUTO", "NONE"])
def test_stale_plan_by_name_is_refused_after_a_change_of_names(
    named_table: Table, conf: SetConf, mode: str
) -> None:
    create(named_table)
    conf(MODE, mode)
    frame = named_table.spark.table("named")
    frame.createOrReplaceTempView("held")
    held = DeltaTable.forName(named_table.spark, "named")
    swap(named_table)

    uses: list[Callable[[], object]] = [
        frame.collect,
        lambda: named_table.spark.sql("SELECT * FROM held").collect(),
        lambda: frame.write.format("delta").mode("append").saveAsTable("named"),
        lambda: frame.write.insertInto("named"),
        lambda: held.update("a = 1", {"a": "9"}),
    ]
    for use in uses:
        with named_table.refusal(STALE):
            use()
    assert named_table.selected("a, d, b") == ROWS


@pytest.mark.without("auto-compact")
@pytest.mark.skipif(not LOOKS_AGAIN, reason="Spark keeps the version that it found")
def test_kernels_tables_are_read_by_their_current_names(named_table: Table, conf: SetConf) -> None:
    create(named_table)
    conf(MODE, "STRICT")
    frames = [
        named_table.spark.table("named"),
        named_table.spark.sql(f"SELECT * FROM delta.`{named_table.path}`"),
        DeltaTable.forName(named_table.spark, "named").toDF(),
    ]
    frames[0].createOrReplaceTempView("held")
    meanwhile(named_table, in_turn(swap, remove_mapping))

    for frame in [*frames, named_table.spark.table("held")]:
        assert rows(frame.select("a", "d", "b")) == ROWS
    with named_table.one_commit():
        frames[0].write.format("delta").mode("append").save(str(named_table.path))
    assert named_table.selected("a, d, b") == sorted([*ROWS, *ROWS])


@pytest.mark.skipif(not LOOKS_AGAIN, reason="Spark keeps the version that it found")
def test_stale_plan_of_a_table_of_kernel_is_refused_after_a_rename(
    named_table: Table, conf: SetConf
) -> None:
    create(named_table)
    conf(MODE, "STRICT")
    frame = named_table.spark.table("named")
    frame.createOrReplaceTempView("held")
    meanwhile(named_table, rename)

    with refusal("INCOMPATIBLE_TABLE_CHANGE_AFTER_ANALYSIS.COLUMNS_MISMATCH"):
        frame.collect()
    with refusal("INCOMPATIBLE_COLUMN_CHANGES_AFTER_VIEW_WITH_PLAN_CREATION"):
        named_table.spark.sql("SELECT * FROM held")


REPLACE = "CREATE OR REPLACE TABLE named USING delta TBLPROPERTIES ({}) AS SELECT * FROM named"


def replaced_late(table: Table, change: Change) -> Exception | None:
    """Returns the error of a REPLACE by own rows, if names change after its analysis."""
    statement = REPLACE.format(NAME_MODE)
    with HeldStatement(table.spark, lambda: table.spark.sql(statement), Step.START) as held:
        meanwhile(table, change)
        return held.release()


@pytest.mark.every_variant
@pytest.mark.parametrize("mode", AUTO_ELSEWHERE)
@pytest.mark.parametrize(
    ("change", "columns", "expected"),
    [
        (rename, "a, c, d", ROWS),
        (swap, "a, d, b", ROWS),
        (in_turn(swap, remove_mapping), "a, d, b", ROWS),
        (drop_and_add, "a, b, d", [(1, None, "p"), (2, None, "q")]),
    ],
    ids=["renamed", "swapped", "swapped and removed", "dropped and added"],
)
def test_late_replacement_by_own_rows_is_refused_or_keeps_each_value_in_its_column(
    named_table: Table, conf: SetConf, mode: str, change: Change, columns: str, expected: Rows
) -> None:
    create(named_table)
    conf(MODE, mode)

    error = replaced_late(named_table, change)

    conf(MODE, "NONE")
    if mode == "STRICT" and KEEPS_VERSION:
        # The plan reads its own version, and the REPLACE overwrites the later versions.
        assert error is None
        assert named_table.selected("a, b, d") == ROWS
        return
    if mode == "STRICT" and change is not rename:
        assert error is None
        assert named_table.log.flag == "true"
    else:
        assert isinstance(error, PySparkException)
        assert (error.getCondition() == STALE) is (mode != "STRICT")
    assert named_table.selected(columns) == expected
