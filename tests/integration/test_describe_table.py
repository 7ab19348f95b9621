# SPDX-License-Identifier: Apache-2.0
"""Tests what DESCRIBE, SHOW and `UsageTracking` report about tracking."""

from __future__ import annotations

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

from spark_ext import UsageTracking
from tests.support.delta_table import NAME_MODE, TRACKED, Table, refusal
from tests.support.table_log import FEATURE, FLAG


def tracking_by_name_and_path(table: Table) -> list[UsageTracking]:
    return [
        UsageTracking.forName(table.spark, table.name),
        table.usage,
    ]


def table_properties(table: Table) -> dict[str, str]:
    rows = table.spark.sql(f"SHOW TBLPROPERTIES {table.name}").collect()
    return {row["key"]: row["value"] for row in rows}


# Refusals.


def test_usage_tracking_of_a_missing_table_raises_deltas_error(
    spark: SparkSession, table: Table
) -> None:
    with refusal("DELTA_MISSING_DELTA_TABLE"):
        UsageTracking.forPath(spark, str(table.path))
    with refusal("DELTA_MISSING_DELTA_TABLE"):
        UsageTracking.forName(spark, "no_such_table")


def test_disable_raises_an_error_of_pyspark_with_its_condition(table: Table) -> None:
    """Delta's error would reach PySpark as a Py4JJavaError, which callers do not catch."""
    table.create("a INT", NAME_MODE)

    with table.no_commit(), pytest.raises(AnalysisException) as refused:
        table.usage.disable()

    assert refused.value.getCondition() == "DELTA_FEATURE_DROP_FEATURE_NOT_PRESENT"
    assert refused.value.getMessageParameters() == {"feature": FEATURE}
    assert FEATURE in str(refused.value)


# The feature and the flag.


@pytest.mark.parametrize("properties", [[TRACKED], [TRACKED, NAME_MODE]])
def test_describe_detail_lists_the_feature_and_the_flag(
    table: Table, properties: list[str]
) -> None:
    table.create("a INT", *properties)

    [detail] = table.spark.sql(f"DESCRIBE DETAIL {table.name}").collect()
    [same] = table.delta_table.detail().collect()

    assert detail == same
    assert FEATURE in detail["tableFeatures"]
    assert detail["properties"][FLAG] == "false"


def test_show_tblproperties_follows_feature_and_flag(named_table: Table) -> None:
    named_table.create("a INT, b INT", NAME_MODE)
    untracked = table_properties(named_table)
    named_table.alter(f"SET TBLPROPERTIES ({TRACKED})")
    tracked = table_properties(named_table)

    assert FLAG not in untracked
    assert f"delta.feature.{FEATURE}" not in untracked
    assert tracked[FLAG] == "true"
    assert tracked[f"delta.feature.{FEATURE}"] == "supported"
    assert {key: tracked[key] for key in untracked} == untracked


# UsageTracking.has_dropped_or_renamed.


def test_has_dropped_or_renamed_follows_the_table(named_table: Table) -> None:
    named_table.create("a INT, b INT")
    both = tracking_by_name_and_path(named_table)

    def answers() -> list[bool | None]:
        return [tracking.has_dropped_or_renamed for tracking in both]

    assert answers() == [None, None]

    named_table.alter(f"SET TBLPROPERTIES ({TRACKED}, {NAME_MODE})")
    assert answers() == [False, False]

    named_table.alter("DROP COLUMN b")
    assert answers() == [True, True]

    both[0].disable()
    assert answers() == [None, None]

    both[1].enable()
    with named_table.no_commit():
        both[0].enable()
        both[1].enable()
    assert answers() == [True, True]


@pytest.mark.parametrize(
    ("written", "answer"),
    [(None, True), ("", True), ("maybe", True), ("FALSE", False), ("True", True)],
)
@pytest.mark.broken_table("feature_without_flag", "flag_not_boolean")
def test_flag_of_another_writer_is_true_unless_false(
    table: Table, written: str | None, answer: bool
) -> None:
    table.create_tracked("a INT")
    table.log.append_properties({FLAG: written})

    assert table.usage.has_dropped_or_renamed is answer


@pytest.mark.broken_table("flag_without_feature")
def test_stale_flag_of_an_untracked_table_is_ignored(table: Table) -> None:
    table.create("a INT", NAME_MODE)
    table.log.append_properties({FLAG: "false"})

    assert table.usage.has_dropped_or_renamed is None


# Statements that tracking does not change.


def test_history_shows_no_further_operations(table: Table) -> None:
    table.create_tracked("a INT, b INT")
    table.alter("ADD COLUMN c INT")
    table.alter("RENAME COLUMN a TO d")
    table.alter("DROP COLUMN b")
    table.usage.disable()

    history = table.spark.sql(f"DESCRIBE HISTORY {table.name}").collect()

    assert [(row["version"], row["operation"]) for row in reversed(history)] == [
        (0, "CREATE TABLE"),
        (1, "ADD COLUMNS"),
        (2, "RENAME COLUMN"),
        (3, "DROP COLUMNS"),
        (4, "DROP FEATURE"),
    ]


def test_describe_table_shows_columns_by_their_logical_names(table: Table) -> None:
    table.create_tracked("a INT, b INT")
    table.alter("RENAME COLUMN a TO c")
    table.alter("ADD COLUMN a INT")

    described = table.spark.sql(f"DESCRIBE TABLE {table.name}").collect()

    assert [row["col_name"] for row in described] == ["c", "b", "a"]
