# SPDX-License-Identifier: Apache-2.0
"""Tests CONVERT TO DELTA of Parquet folders."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from delta.tables import DeltaTable

from tests.support.delta_table import NAME_MODE, TRACKED, Table, refusal
from tests.support.releases import TAKES_PARQUET
from tests.support.session_conf import SetConf
from tests.support.table_log import FEATURE, UUID

pytestmark = TAKES_PARQUET

DEFAULTS = "spark.databricks.delta.properties.defaults"
TRACK_MAPPED = "spark.sparkext.usageTracking.enabledByDefault"

Convert = Callable[[Table], object]


def convert(table: Table) -> None:
    table.spark.sql(f"CONVERT TO DELTA parquet.`{table.path}`")


def convert_by_builder(table: Table) -> None:
    DeltaTable.convertToDelta(table.spark, f"parquet.`{table.path}`")


EVERY_WAY = pytest.mark.parametrize("convert_by", [convert, convert_by_builder])


@pytest.fixture
def parquet(table: Table) -> Table:
    """Returns a folder of Parquet files."""
    rows = table.spark.sql("SELECT 1 AS a, named_struct('x', 2) AS s")
    rows.write.parquet(str(table.path))
    return table


@pytest.mark.parametrize("tracking", ["defaults", "enabledByDefault", "nobody"])
def test_conversion_is_refused_while_new_tables_are_mapped_by_default(
    parquet: Table, conf: SetConf, tracking: str
) -> None:
    conf(f"{DEFAULTS}.columnMapping.mode", "name")
    if tracking == "defaults":
        conf(f"{DEFAULTS}.feature.{FEATURE}", "supported")
    elif tracking == "enabledByDefault":
        conf(TRACK_MAPPED, "true")

    with refusal("DELTA_CONVERSION_UNSUPPORTED_COLUMN_MAPPING"):
        convert(parquet)

    assert not parquet.log.commits


def test_iceberg_folder_is_refused_without_deltas_iceberg(parquet: Table, conf: SetConf) -> None:
    conf(f"{DEFAULTS}.feature.{FEATURE}", "supported")
    (parquet.path / "metadata").mkdir()
    before = set(parquet.path.rglob("*"))

    with refusal("DELTA_MISSING_ICEBERG_CLASS"):
        parquet.spark.sql(f"CONVERT TO DELTA iceberg.`{parquet.path}`")

    assert set(parquet.path.rglob("*")) == before


@EVERY_WAY
def test_table_that_is_tracked_by_default_starts_with_the_flag_false(
    parquet: Table, conf: SetConf, convert_by: Convert
) -> None:
    conf(f"{DEFAULTS}.feature.{FEATURE}", "supported")
    convert_by(parquet)
    converted = parquet.log
    parquet.alter(f"SET TBLPROPERTIES ({NAME_MODE})")
    parquet.alter("ADD COLUMN b INT")
    parquet.insert("(3, struct(4), 5)")

    assert (converted.version, converted.is_tracked, converted.flag) == (0, True, "false")
    assert set(converted.columns.values()) == {(None, None)}
    assert converted.written_columns() == ["a", "s.x"]
    assert parquet.log.flag == "false"
    assert parquet.log.columns == {"a": (1, "a"), "s": (2, "s"), "s.x": (3, "x"), "b": (4, "b")}
    assert parquet.log.max_column_id == 4
    assert parquet.log.written_columns() == ["a", "b", "s.x"]
    assert parquet.selected("a, s.x, b") == [(1, 2, None), (3, 4, 5)]


def test_column_renamed_after_the_conversion_keeps_the_values_of_its_files(
    parquet: Table,
) -> None:
    convert(parquet)
    converted = parquet.log
    parquet.alter(f"SET TBLPROPERTIES ({TRACKED}, {NAME_MODE})")
    enabled = parquet.log
    parquet.alter("RENAME COLUMN a TO b")
    parquet.alter("ADD COLUMN a INT")
    parquet.insert("(3, struct(4), 5)")

    assert (converted.is_tracked, converted.flag) == (False, None)
    assert (enabled.is_tracked, enabled.flag) == (True, "false")
    assert (parquet.log.flag, parquet.log.columns["b"]) == ("true", (1, "a"))
    assert parquet.log.columns["a"] == (4, UUID)
    assert parquet.log.written_columns() == ["a", UUID, "s.x"]
    assert parquet.selected("b, s.x, a") == [(1, 2, None), (3, 4, 5)]


def test_partitioned_folder_is_converted_and_tracked(table: Table, conf: SetConf) -> None:
    rows = table.spark.sql("SELECT 1 AS a, 2 AS p")
    rows.write.partitionBy("p").parquet(str(table.path))
    conf(f"{DEFAULTS}.feature.{FEATURE}", "supported")
    table.spark.sql(f"CONVERT TO DELTA parquet.`{table.path}` PARTITIONED BY (p INT)")
    converted = table.log
    table.alter(f"SET TBLPROPERTIES ({NAME_MODE})")
    table.alter("RENAME COLUMN p TO q")
    table.insert("(3, 4)")

    assert (converted.is_tracked, converted.flag) == (True, "false")
    assert converted.metadata["partitionColumns"] == ["p"]
    assert (table.log.flag, table.log.columns) == ("true", {"a": (1, "a"), "q": (2, "p")})
    assert table.log.actions("add")[0]["partitionValues"] == {"p": "4"}
    assert table.selected() == [(1, 2), (3, 4)]


def test_table_of_the_catalog_is_mapped_after_its_conversion(named_table: Table) -> None:
    named_table.spark.sql(f"CREATE TABLE {named_table.name} (a INT, p INT) USING parquet")
    named_table.insert("(1, 2)")
    named_table.spark.sql(f"CONVERT TO DELTA {named_table.name}")
    converted = named_table.log
    named_table.alter(f"SET TBLPROPERTIES ({TRACKED}, {NAME_MODE})")
    enabled = named_table.log
    named_table.alter("RENAME COLUMN a TO b")
    named_table.alter("ADD COLUMN a INT")
    named_table.insert("(3, 4, 5)")

    assert (converted.version, converted.is_tracked, converted.flag) == (0, False, None)
    assert (enabled.is_tracked, enabled.flag) == (True, "false")
    assert enabled.columns == {"a": (1, "a"), "p": (2, "p")}
    assert named_table.log.flag == "true"
    assert named_table.log.columns == {"b": (1, "a"), "p": (2, "p"), "a": (3, UUID)}
    assert named_table.log.written_columns() == ["a", UUID, "p"]
    assert named_table.selected() == [(1, 2, None), (3, 4, 5)]


def test_conversion_of_a_delta_table_changes_nothing(table: Table, conf: SetConf) -> None:
    table.create("a INT")
    conf(f"{DEFAULTS}.feature.{FEATURE}", "supported")

    with table.no_commit():
        convert(table)

    assert (table.log.is_tracked, table.log.flag) == (False, None)
