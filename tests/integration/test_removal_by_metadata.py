# SPDX-License-Identifier: Apache-2.0
"""Switching column mapping off: by metadata alone where that is right, else with the files."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from chispa.dataframe_comparer import assert_df_equality
from delta.tables import DeltaTable as SparkDeltaTable
from deltalake import DeltaTable

from tests.support.delta_table import NAME_MODE, TRACKED, Table
from tests.support.table_log import FLAG, TableLog

MODE = "delta.columnMapping.mode"
MAX_ID = "delta.columnMapping.maxColumnId"

Disable = Callable[[Table], None]


def by_set(table: Table) -> None:
    table.alter(f"SET TBLPROPERTIES ('{MODE}' = 'none')")


def by_unset(table: Table) -> None:
    table.alter(f"UNSET TBLPROPERTIES ('{MODE}')")


def by_drop_feature(table: Table) -> None:
    table.alter("DROP FEATURE columnMapping")


def by_drop_feature_support(table: Table) -> None:
    SparkDeltaTable.forPath(table.spark, str(table.path)).dropFeatureSupport("columnMapping")


PROPERTIES = [by_set, by_unset]
WAYS = [*PROPERTIES, by_drop_feature, by_drop_feature_support]


def leaving(log: TableLog) -> TableLog:
    """The version that removed column mapping."""
    for version in range(log.version, -1, -1):
        if log.at(version).operation == "REMOVE COLUMN MAPPING":
            return log.at(version)
    raise AssertionError("column mapping was not removed")


def assert_free(log: TableLog) -> None:
    """Column mapping went in one commit that touched no file."""
    commit = leaving(log)
    assert commit.actions("add") == commit.actions("remove") == []
    assert set(commit.ids.values()) == set(commit.physical_names.values()) == {None}
    assert not any("delta.columnMapping" in str(f.metadata) for f in commit.fields.values())
    assert MAX_ID not in commit.configuration
    metrics: dict[str, Any] = commit.actions("commitInfo")[0]["operationMetrics"]
    assert metrics["numRewrittenFiles"] == "0"
    assert commit.live_files == log.at(commit.version - 1).live_files == log.live_files


def assert_written_anew(log: TableLog) -> None:
    """Every file was replaced in the commit, by a copy or by Delta."""
    commit = leaving(log)
    assert len(commit.actions("add")) > 0
    assert len(commit.actions("remove")) > 0


# Refusals.


@pytest.mark.parametrize("disable", PROPERTIES)
def test_names_that_are_illegal_without_mapping_are_refused(table: Table, disable: Disable) -> None:
    table.create_tracked("a INT, `b c` INT")

    with table.refusal("DELTA_INVALID_COLUMN_NAMES_WHEN_REMOVING_COLUMN_MAPPING"):
        disable(table)

    assert table.log.flag == "false"


@pytest.mark.parametrize("column", ["a", "renamed"])
@pytest.mark.parametrize(
    "change",
    [
        f"SET TBLPROPERTIES ('{MODE}' = 'None')",
        "UNSET TBLPROPERTIES ('delta.columnmapping.MODE')",
    ],
)
def test_what_delta_takes_for_another_statement_is_refused(
    table: Table, change: str, column: str
) -> None:
    """It would set the mode alone: renamed columns would be null in every row."""
    table.create_tracked("a INT")
    table.insert("(1)")
    if column != "a":
        table.alter(f"RENAME COLUMN a TO {column}")

    with table.refusal("USAGE_TRACKING_INCOMPLETE_REMOVAL"):
        table.alter(change)

    assert table.log.columns == {column: (1, "a")}
    assert table.rows() == [(1,)]


def test_without_rules_nothing_is_rewritten_either(
    table: Table, driver_conf: Callable[[str, str], None]
) -> None:
    table.create_tracked()
    table.insert("(1, 'x')")
    driver_conf("spark.sparkext.worker.python", "no-such-python")

    with table.refusal("USAGE_TRACKING_RULES_UNAVAILABLE"):
        by_set(table)


# By metadata alone.


@pytest.mark.parametrize("disable", WAYS)
def test_a_table_that_never_dropped_or_renamed_keeps_its_files(
    table: Table, disable: Disable
) -> None:
    table.create_tracked("a INT, s STRUCT<x: INT, y: ARRAY<STRUCT<z: INT>>>")
    table.insert("(1, named_struct('x', 2, 'y', array(named_struct('z', 3))))")
    written = table.log.version

    disable(table)

    assert_free(table.log)
    assert table.log.flag == "false"
    assert table.frame().count() == 1
    assert_df_equality(table.frame(), table.frame(version=written))


@pytest.mark.parametrize(("disable", "mode"), [(by_set, "none"), (by_unset, None)])
def test_it_is_one_commit(table: Table, disable: Disable, mode: str | None) -> None:
    table.create_tracked()
    table.insert("(1, 'x')")

    with table.one_commit():
        disable(table)

    assert table.log.configuration.get(MODE) == mode


@pytest.mark.without("deletion-vectors")
def test_the_feature_leaves_the_protocol(table: Table) -> None:
    table.create_tracked()
    table.insert("(1, 'x')")

    by_drop_feature(table)

    assert "columnMapping" not in table.log.writer_features
    assert table.log.is_tracked
    assert table.log.protocol["minReaderVersion"] == 1


@pytest.mark.without("deletion-vectors")
def test_a_reader_that_ignores_mapping_reads_before_and_after(table: Table) -> None:
    table.create_tracked("a INT, b STRING")
    table.insert("(1, 'x'), (2, 'y')")
    table.alter("ADD COLUMN c INT")
    table.insert("(3, 'z', 4)")
    before = DeltaTable(table.path).to_pyarrow_table().sort_by("a").to_pylist()

    by_set(table)

    after = DeltaTable(table.path).to_pyarrow_table().sort_by("a").to_pylist()
    assert after == before
    assert after[2] == {"a": 3, "b": "z", "c": 4}


def test_rows_written_afterwards_join_the_old_ones(table: Table) -> None:
    table.create_tracked("a INT, b STRING")
    table.insert("(1, 'x')")
    by_set(table)

    table.insert("(2, 'y')")
    table.alter("ADD COLUMN c INT")

    assert table.rows() == [(1, "x", None), (2, "y", None)]


@pytest.mark.parametrize(
    "properties",
    [
        "'delta.enableDeletionVectors' = 'true'",
        "'delta.enableRowTracking' = 'true'",
        "'delta.enableChangeDataFeed' = 'true'",
        "'delta.checkpointPolicy' = 'v2'",
        "'delta.checkpointInterval' = '1'",
    ],
)
def test_it_is_free_with(table: Table, properties: str) -> None:
    table.create("a INT, b STRING", TRACKED, NAME_MODE, properties)
    table.insert("(1, 'x'), (2, 'y'), (3, 'z')")
    table.spark.sql(f"DELETE FROM {table.name} WHERE a = 2")

    by_set(table)

    assert_free(table.log)
    assert table.rows() == [(1, "x"), (3, "z")]


def test_it_is_free_with_partitions_and_in_id_mode(table: Table) -> None:
    table.create("a INT, p STRING", TRACKED, f"'{MODE}' = 'id'", partitioned_by="p")
    table.insert("(1, 'x'), (2, 'y')")

    by_set(table)

    assert_free(table.log)
    assert table.rows() == [(1, "x"), (2, "y")]
    assert table.spark.sql(f"SELECT a FROM {table.name} WHERE p = 'y'").collect() == [(2,)]


@pytest.mark.without("auto-compact")
def test_it_is_free_with_clustering(table: Table) -> None:
    table.spark.sql(
        f"CREATE TABLE {table.name} (a INT, b STRING) USING delta CLUSTER BY (a)"
        f" TBLPROPERTIES ({TRACKED}, {NAME_MODE})"
    )
    table.insert("(1, 'x')")

    by_set(table)
    table.spark.sql(f"OPTIMIZE {table.name}")

    assert_free(table.log.at(2))
    assert table.rows() == [(1, "x")]


def test_older_versions_stay_readable_and_can_be_restored(table: Table) -> None:
    table.create_tracked("a INT, b STRING")
    table.insert("(1, 'x')")
    by_set(table)

    unmapped = table.log.version
    table.spark.sql(f"RESTORE TABLE {table.name} TO VERSION AS OF 1")

    assert table.rows() == [(1, "x")]
    for version in (1, unmapped):
        assert_df_equality(table.frame(version), table.frame())
    assert table.log.physical_names == {"a": "a", "b": "b"}
    assert table.log.flag == "false"


@pytest.mark.matrix
def test_it_is_free_with_ten_thousand_files(table: Table) -> None:
    table.create_tracked("a INT")
    table.insert("(1)")
    (add,) = table.log.actions("add")
    (written,) = table.path.rglob("*.snappy.parquet")
    copies = [table.path / f"copy-{number}.parquet" for number in range(10_000)]
    for copy in copies:
        os.link(written, copy)
    table.log.append_foreign(*[{"add": {**add, "path": copy.name}} for copy in copies])

    by_set(table)

    assert_free(table.log)
    assert len(table.log.live_files) == 10_001
    read = DeltaTable(str(table.path)).to_pyarrow_table()
    assert (read.num_rows, set(read["a"].to_pylist())) == (10_001, {1})


def test_mapping_can_be_switched_on_and_off_again(table: Table) -> None:
    table.create_tracked("a INT, b STRING")
    table.insert("(1, 'x')")
    by_set(table)
    table.alter(f"SET TBLPROPERTIES ({NAME_MODE})")
    table.alter("ADD COLUMN c INT")
    table.insert("(2, 'y', 3)")

    by_unset(table)

    assert_free(table.log)
    assert table.rows() == [(1, "x", None), (2, "y", 3)]


# By Delta's rewrite.


@pytest.mark.parametrize("disable", WAYS)
def test_a_table_that_renamed_is_rewritten(table: Table, disable: Disable) -> None:
    table.create_tracked("a INT, b STRING")
    table.insert("(1, 'x')")
    table.alter("RENAME COLUMN a TO c")

    disable(table)

    assert_written_anew(table.log)
    assert table.log.flag == "true"
    assert table.rows() == [(1, "x")]


def test_a_table_that_dropped_is_rewritten_though_all_names_agree(table: Table) -> None:
    table.create_tracked("a INT, b STRING")
    table.insert("(1, 'x')")
    table.alter("DROP COLUMN b")

    by_set(table)
    table.alter("ADD COLUMN b STRING")

    assert_written_anew(table.log)
    assert table.rows() == [(1, None)]


def test_an_untracked_table_is_rewritten(table: Table) -> None:
    table.create("a INT", NAME_MODE)
    table.insert("(1)")

    by_set(table)

    assert_written_anew(table.log)
    assert table.rows() == [(1,)]


@pytest.mark.parametrize("flag", [None, "perhaps"])
def test_a_flag_that_is_no_boolean_counts_as_true(table: Table, flag: str | None) -> None:
    table.create_tracked("a INT, dropped INT")
    table.insert("(1, 2)")
    table.alter("DROP COLUMN dropped")
    foreign = {**table.log.configuration, FLAG: flag}
    kept = {key: value for key, value in foreign.items() if value is not None}
    table.log.append_foreign({"metaData": {**table.log.metadata, "configuration": kept}})

    by_set(table)

    assert_written_anew(table.log)


@pytest.mark.broken_table("flag_turned_back")
def test_names_that_differ_are_rewritten_though_the_flag_is_false(table: Table) -> None:
    table.create("s STRUCT<x: INT>", NAME_MODE)
    table.insert("(named_struct('x', 1))")
    table.alter(f"SET TBLPROPERTIES ({TRACKED})")
    foreign = {**table.log.configuration, FLAG: "false"}
    table.log.append_foreign({"metaData": {**table.log.metadata, "configuration": foreign}})

    by_set(table)

    assert_written_anew(table.log)
    assert table.rows("s.x") == [(1,)]


def test_a_stale_flag_of_a_clone_made_without_tracking_is_not_trusted(
    table: Table, tmp_path: Path
) -> None:
    table.create_tracked("a INT, b STRING")
    table.insert("(1, 'x')")
    clone = Table(table.spark, tmp_path / "clone")
    table.spark.sql(f"CREATE TABLE {clone.name} SHALLOW CLONE {table.name}")
    # As a session without us leaves it: no feature, a copy of the flag, a column dropped since.
    protocol = clone.log.protocol
    kept = [name for name in protocol["writerFeatures"] if name != "columnMappingUsageTracking"]
    clone.log.append_foreign({"protocol": {**protocol, "writerFeatures": kept}})
    clone.alter("DROP COLUMN b")
    clone.alter(f"SET TBLPROPERTIES ({TRACKED})")

    by_set(clone)
    clone.alter("ADD COLUMN b STRING")

    assert_written_anew(clone.log)
    assert clone.rows() == [(1, None)]
