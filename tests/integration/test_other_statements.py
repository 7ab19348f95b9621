# SPDX-License-Identifier: Apache-2.0
"""Tests of statements that the notation of `statements/*.txt` cannot express."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import deltalake
import pytest
from delta.tables import DeltaTable
from pyspark.errors import AnalysisException

from tests.support.delta_table import NAME_MODE, NONE_MODE, Table, refusal, thrown
from tests.support.releases import TAKES_PARQUET, evolving_merge
from tests.support.rule_process import PYTHON
from tests.support.session_conf import SetConf
from tests.support.table_log import FEATURE, FLAG, UUID

TRACK_MAPPED = "spark.sparkext.usageTracking.enabledByDefault"
ODD_NAMES = [
    "a b",
    "a,b",
    "a.b",
    "a`b",
    "größe",
    "日本",
    "Capital",
    "q=1;{}()",
    "tab\tline\n",
    "col-1",
]

# Errors.


@pytest.mark.parametrize(
    "change", [lambda table: table.restore(0), lambda table: table.overwrite("SELECT 2 AS a")]
)
def test_change_is_refused_when_the_rules_are_unavailable(
    table: Table, driver_conf: SetConf, change: Callable[[Table], None]
) -> None:
    table.create_tracked("a INT")
    table.alter("ADD COLUMN b INT")
    driver_conf(PYTHON, "/nowhere/python")

    with table.refusal("USAGE_TRACKING_RULES_UNAVAILABLE"):
        change(table)


@pytest.mark.parametrize("property_", ["'delta.nonsense' = '1'", "'delta.appendOnly' = 'maybe'"])
def test_property_refused_before_the_removal_has_the_error_of_delta(
    table: Table, property_: str
) -> None:
    table.create_tracked("a INT")
    untracked = Table(table.spark, table.path.with_name("untracked")).create("a INT", NAME_MODE)
    errors = []

    for one in (table, untracked):
        with one.refusal() as refused:
            one.alter(f"SET TBLPROPERTIES ({property_}, {NONE_MODE})")
        error = thrown(refused.value)
        errors.append((type(refused.value), error.getCondition(), error.getMessageParameters()))

    assert errors[0] == errors[1]


@pytest.mark.parametrize("value", ["yes", "1", "", "true false"])
def test_enabled_by_default_must_be_true_or_false(table: Table, conf: SetConf, value: str) -> None:
    conf(TRACK_MAPPED, value)

    with pytest.raises(AnalysisException) as refused:
        table.create("a INT", NAME_MODE)

    assert refused.value.getCondition() == "USAGE_TRACKING_INVALID_SETTING"
    assert refused.value.getSqlState() == "22023"
    assert refused.value.getMessageParameters() == {
        "setting": TRACK_MAPPED,
        "value": value,
        "expected": "true or false",
    }
    assert table.log.version == -1


@TAKES_PARQUET
def test_iceberg_folder_is_refused_without_deltas_iceberg(table: Table, conf: SetConf) -> None:
    table.spark.sql("SELECT 1 AS a").write.parquet(str(table.path))
    conf(f"spark.databricks.delta.properties.defaults.feature.{FEATURE}", "supported")
    (table.path / "metadata").mkdir()
    before = set(table.path.rglob("*"))

    with refusal("DELTA_MISSING_ICEBERG_CLASS"):
        table.spark.sql(f"CONVERT TO DELTA iceberg.`{table.path}`")

    assert set(table.path.rglob("*")) == before


# Columns.


def test_names_with_any_characters_are_physical_names(table: Table) -> None:
    columns = ", ".join(f"`{name.replace('`', '``')}` INT" for name in ODD_NAMES)
    table.create_tracked(f"{columns}, `s t` STRUCT<{columns.replace('` INT', '`: INT')}>")
    numbers = range(len(ODD_NAMES))
    values = ", ".join(map(str, numbers))
    table.insert(f"({values}, struct({values}))")

    nested = [f"s t.{name}" for name in ODD_NAMES]
    numbered = dict(zip(ODD_NAMES, numbers, strict=True))
    assert table.log.flag == "false"
    assert table.log.physical_names == dict(
        zip([*ODD_NAMES, "s t", *nested], [*ODD_NAMES, "s t", *ODD_NAMES], strict=True)
    )
    assert table.log.parquet_columns() == sorted(ODD_NAMES + nested)
    statistics = json.loads(table.log.actions("add")[0]["stats"])["minValues"]
    assert statistics == {**numbered, "s t": numbered}
    assert table.selected() == [(*numbers, tuple(numbers))]


@pytest.mark.without("deletion-vectors")
def test_another_reader_finds_every_value_by_its_name(table: Table) -> None:
    table.create_tracked("a INT, s STRUCT<x: INT>")
    table.insert("(1, struct(2))")
    table.alter("ADD COLUMNS (`b c` STRING, s.y INT)")
    table.insert("(3, struct(4, 5), 'six')")

    read = deltalake.DeltaTable(str(table.path)).to_pyarrow_table()

    assert sorted(read.to_pylist(), key=lambda row: row["a"]) == [
        {"a": 1, "s": {"x": 2, "y": None}, "b c": None},
        {"a": 3, "s": {"x": 4, "y": 5}, "b c": "six"},
    ]


def test_column_that_an_explicit_assignment_names_is_added(table: Table) -> None:
    table.create_tracked("id INT, a INT")
    table.insert("(1, 10), (2, 20)")
    with table.one_commit(), evolving_merge(table.spark):
        table.spark.sql(
            f"MERGE WITH SCHEMA EVOLUTION INTO {table.name} t"
            " USING (SELECT 1 AS id, 7 AS b, 8 AS unused) s ON t.id = s.id"
            " WHEN MATCHED THEN UPDATE SET b = s.b"
        )

    assert table.log.flag == "false"
    assert table.log.columns == {"id": (1, "id"), "a": (2, "a"), "b": (3, "b")}
    assert table.rows() == [(1, 10, 7), (2, 20, None)]


# Tables.


@pytest.mark.parametrize(
    ("flag", "name"),
    [("false", "b"), pytest.param("true", UUID, marks=pytest.mark.broken_table("flag_too_early"))],
)
@pytest.mark.every_variant
def test_flag_of_a_table_that_another_writer_created_counts(
    table: Table, flag: str, name: str
) -> None:
    features = ["columnMapping", FEATURE]
    mapping = {"delta.columnMapping.id": 1, "delta.columnMapping.physicalName": "a"}
    column = {"name": "a", "type": "integer", "nullable": True, "metadata": mapping}
    metadata = {
        "id": "5d2c6a3e-8b0f-4f6e-9b1e-2f7a0c9d4e11",
        "format": {"provider": "parquet", "options": {}},
        "schemaString": json.dumps({"type": "struct", "fields": [column]}),
        "partitionColumns": [],
        "configuration": {
            "delta.columnMapping.mode": "name",
            "delta.columnMapping.maxColumnId": "1",
            FLAG: flag,
        },
    }
    protocol = {"minReaderVersion": 2, "minWriterVersion": 7, "writerFeatures": features}
    table.log.append_foreign({"protocol": protocol}, {"metaData": metadata})
    table.insert("(1)")

    with table.one_commit():
        table.alter("ADD COLUMN b INT")

    assert table.log.flag == flag
    assert table.log.columns == {"a": (1, "a"), "b": (2, name)}
    assert table.selected() == [(1, None)]


@pytest.mark.parametrize("flag", ["false", "true"])
@pytest.mark.parametrize("properties", [["mode", "feature"], ["mode"]])
def test_builder_finds_the_table(table: Table, properties: list[str], flag: str) -> None:
    table.create_tracked("a INT, b STRING, gone INT")
    table.insert("(1, 'x', 2)")
    table.alter(
        "DROP COLUMN gone" if flag == "true" else "REPLACE COLUMNS (a INT, b STRING, gone INT)"
    )
    builder = DeltaTable.createIfNotExists(table.spark).location(str(table.path))
    for name in table.frame().columns:
        builder = builder.addColumn(name, "STRING" if name == "b" else "INT")
    builder = builder.property("delta.columnMapping.mode", "name")
    if "feature" in properties:
        builder = builder.property(f"delta.feature.{FEATURE}", "supported")

    with table.no_commit():
        found = builder.tableName("found").execute().toDF().select("a", "b").collect()
    by_name = table.spark.sql(f"SHOW TBLPROPERTIES found ('{FLAG}')").collect()
    table.spark.sql("DROP TABLE found")

    assert [tuple(row) for row in found] == [(1, "x")]
    assert [row["value"] for row in by_name] == [flag]


def test_builder_does_not_change_an_existing_table(table: Table) -> None:
    table.create("a INT", NAME_MODE)
    builder = DeltaTable.createIfNotExists(table.spark).location(str(table.path))
    builder = builder.addColumn("b", "INT").property(f"delta.feature.{FEATURE}", "supported")

    with table.no_commit():
        builder.property("delta.columnMapping.mode", "name").execute()

    assert (table.log.is_tracked, table.log.flag) == (False, None)


@pytest.mark.matrix
def test_restore_to_a_timestamp_before_an_add_sets_the_flag(table: Table) -> None:
    table.create_tracked("a INT")
    table.insert("(1)")
    table.alter("ADD COLUMN b INT")
    today = datetime.now().replace(microsecond=0)
    commits = sorted((table.path / "_delta_log").glob("*.json"))
    for days_ago, commit in zip((3, 2, 1), commits, strict=True):
        day = (today - timedelta(days=days_ago)).timestamp()
        os.utime(commit, (day, day))
    before_the_add = today - timedelta(days=2) + timedelta(hours=1)
    with table.one_commit():
        table.spark.sql(f"RESTORE TABLE {table.name} TO TIMESTAMP AS OF '{before_the_add}'")

    assert (table.log.is_tracked, table.log.flag) == (True, "true")
    assert (table.log.columns, table.log.max_column_id) == ({"a": (1, "a")}, 2)
    assert table.rows() == [(1,)]


# A stale plan reads each commit since its analysis, and a stream may run for months.


@pytest.mark.without("auto-compact")
def test_commits_that_only_count_identities_share_one_schema_in_memory(table: Table) -> None:
    table.create_tracked("i BIGINT GENERATED ALWAYS AS IDENTITY, a INT")
    held = table.frame()
    for number in range(3):
        table.spark.sql(f"INSERT INTO {table.name} (a) VALUES ({number})")
        assert held.count() == number + 1

    versions, schemas = cached_changes(table)

    assert table.log.fields["i"].metadata["delta.identity.highWaterMark"] == 3
    assert versions == [1, 2, 3]
    assert schemas == 1


def cached_changes(table: Table) -> tuple[list[int], int]:
    """Returns the versions in the cache of a table, and the number of metadata objects."""
    jvm: Any = table.spark._jvm

    def read(of: Any, kind: Any, name: str) -> Any:
        field = kind.getDeclaredField(name)
        field.setAccessible(True)
        return field.get(of)

    loader = jvm.java.lang.Thread.currentThread().getContextClassLoader()
    histories = loader.loadClass("sparkext.stale.NameHistories")
    # A lookup by key would change the order of the cache's entries.
    [cached] = [
        entry.getValue()
        for entry in read(None, histories, "CACHE").entrySet()
        if entry.getKey()._2().toUri().getPath() == str(table.path)
    ]
    changes = list(read(cached, cached.getClass(), "changes"))
    objects = {
        jvm.java.lang.System.identityHashCode(read(change, change.getClass(), "metadata"))
        for change in changes
    }
    return [read(change, change.getClass(), "version") for change in changes], len(objects)
