# SPDX-License-Identifier: Apache-2.0
"""Tests removals of column mapping by metadata alone, and when files must change too."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from chispa.dataframe_comparer import assert_df_equality
from deltalake import DeltaTable

from tests.support.delta_table import ID_MODE, NAME_MODE, TRACKED, Table
from tests.support.removal import WAYS, by_unset, removal_of, unmap, untouched
from tests.support.session_conf import SetConf
from tests.support.table_log import FLAG, TableLog

MODE = "delta.columnMapping.mode"
MAX_ID = "delta.columnMapping.maxColumnId"

Removal = Callable[[Table], object]


def assert_metadata_only(log: TableLog) -> None:
    """Asserts that one commit without files removed column mapping."""
    commit = removal_of(log)
    assert commit.actions("add") == commit.actions("remove") == []
    assert set(commit.ids.values()) == set(commit.physical_names.values()) == {None}
    assert not any("delta.columnMapping" in str(f.metadata) for f in commit.fields.values())
    assert MAX_ID not in commit.configuration
    metrics: dict[str, Any] = commit.actions("commitInfo")[0]["operationMetrics"]
    assert metrics["numRewrittenFiles"] == "0"
    assert commit.live_files == log.at(commit.version - 1).live_files == log.live_files


def assert_written_anew(log: TableLog) -> None:
    """Asserts that the commit replaced files, by a byte copy or by Delta."""
    commit = removal_of(log)
    assert len(commit.actions("add")) > 0
    assert len(commit.actions("remove")) > 0


# Refusals.


@pytest.mark.every_variant
@pytest.mark.parametrize(
    ("remove_mapping", "flag"), [(Table.remove_mapping, "false"), (by_unset, "true")]
)
def test_names_that_are_invalid_without_mapping_are_refused(
    table: Table, remove_mapping: Removal, flag: str
) -> None:
    table.create_tracked("a INT, `b c` INT, d INT")
    table.insert("(1, 2, 3)")
    if flag == "true":
        table.alter("RENAME COLUMN d TO e")

    with (
        untouched(table),
        table.refusal("DELTA_INVALID_COLUMN_NAMES_WHEN_REMOVING_COLUMN_MAPPING"),
    ):
        remove_mapping(table)


@pytest.mark.parametrize("column", ["a", "renamed"])
@pytest.mark.parametrize(
    "change",
    [
        f"SET TBLPROPERTIES ('{MODE}' = 'None')",
        "UNSET TBLPROPERTIES ('delta.columnmapping.MODE')",
    ],
)
def test_mode_in_another_letter_case_is_refused(table: Table, change: str, column: str) -> None:
    """Delta would only unset the mode, and renamed columns would be null in every row."""
    table.create_tracked("a INT")
    table.insert("(1)")
    if column != "a":
        table.alter(f"RENAME COLUMN a TO {column}")

    with table.refusal("USAGE_TRACKING_INCOMPLETE_REMOVAL"):
        table.alter(change)

    assert table.log.columns == {column: (1, "a")}
    assert table.selected() == [(1,)]


def test_removal_is_refused_when_the_rules_are_unavailable(
    table: Table, driver_conf: SetConf
) -> None:
    table.create_tracked()
    table.insert("(1, 'x')")
    driver_conf("spark.sparkext.worker.python", "no-such-python")

    with table.refusal("USAGE_TRACKING_RULES_UNAVAILABLE"):
        unmap(table)


# Removal by metadata alone.


@pytest.mark.without("deletion-vectors")
@pytest.mark.every_variant
@WAYS
def test_every_way_keeps_the_files_of_a_table_that_never_dropped_or_renamed(
    table: Table, remove_mapping: Removal, mode: str | None
) -> None:
    table.create_tracked("a INT, s STRUCT<x: INT, y: ARRAY<STRUCT<z: INT>>>")
    table.insert("(1, named_struct('x', 2, 'y', array(named_struct('z', 3))))")
    written = table.log.version

    remove_mapping(table)

    assert_metadata_only(table.log)
    assert removal_of(table.log).configuration.get(MODE) == mode
    assert (table.log.is_tracked, table.log.flag) == (True, "false")
    if remove_mapping not in (unmap, by_unset):
        assert "columnMapping" not in table.log.writer_features
        assert table.log.protocol["minReaderVersion"] == 1
    assert table.frame().count() == 1
    assert_df_equality(table.frame(), table.frame(version=written))


@pytest.mark.without("deletion-vectors")
def test_reader_that_ignores_mapping_reads_the_same_rows_after_removal(table: Table) -> None:
    table.create_tracked("a INT, b STRING")
    table.insert("(1, 'x'), (2, 'y')")
    table.alter("ADD COLUMN c INT")
    table.insert("(3, 'z', 4)")
    before = DeltaTable(table.path).to_pyarrow_table().sort_by("a").to_pylist()

    unmap(table)

    after = DeltaTable(table.path).to_pyarrow_table().sort_by("a").to_pylist()
    assert after == before
    assert after[2] == {"a": 3, "b": "z", "c": 4}


def test_rows_can_be_written_after_removal(table: Table) -> None:
    table.create_tracked("a INT, b STRING")
    table.insert("(1, 'x')")
    unmap(table)

    table.insert("(2, 'y')")
    table.alter("ADD COLUMN c INT")

    assert table.selected() == [(1, "x", None), (2, "y", None)]


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
def test_removal_is_metadata_only_with_other_features(table: Table, properties: str) -> None:
    table.create("a INT, b STRING", TRACKED, NAME_MODE, properties)
    table.insert("(1, 'x'), (2, 'y'), (3, 'z')")
    table.spark.sql(f"DELETE FROM {table.name} WHERE a = 2")

    unmap(table)

    assert_metadata_only(table.log)
    assert table.selected() == [(1, "x"), (3, "z")]


def test_removal_is_metadata_only_with_partitions_in_id_mode(table: Table) -> None:
    table.create("a INT, p STRING", TRACKED, ID_MODE, partitioned_by="p")
    table.insert("(1, 'x'), (2, 'y')")

    unmap(table)

    assert_metadata_only(table.log)
    assert table.selected() == [(1, "x"), (2, "y")]
    assert table.spark.sql(f"SELECT a FROM {table.name} WHERE p = 'y'").collect() == [(2,)]


@pytest.mark.without("auto-compact")
def test_removal_is_metadata_only_with_clustering(table: Table) -> None:
    table.spark.sql(
        f"CREATE TABLE {table.name} (a INT, b STRING) USING delta CLUSTER BY (a)"
        f" TBLPROPERTIES ({TRACKED}, {NAME_MODE})"
    )
    table.insert("(1, 'x')")

    unmap(table)
    table.spark.sql(f"OPTIMIZE {table.name}")

    assert_metadata_only(table.log.at(2))
    assert table.selected() == [(1, "x")]


def test_older_versions_are_readable_and_restorable_after_metadata_only_removal(
    table: Table,
) -> None:
    table.create_tracked("a INT, b STRING")
    table.insert("(1, 'x')")
    unmap(table)

    unmapped = table.log.version
    table.restore(1)

    assert table.selected() == [(1, "x")]
    for version in (1, unmapped):
        assert_df_equality(table.frame(version), table.frame())
    assert table.log.physical_names == {"a": "a", "b": "b"}
    assert table.log.flag == "false"


@pytest.mark.matrix
def test_removal_is_metadata_only_with_ten_thousand_files(table: Table) -> None:
    table.create_tracked("a INT")
    table.insert("(1)")
    (add,) = table.log.actions("add")
    (written,) = table.path.rglob("*.snappy.parquet")
    copies = [table.path / f"copy-{number}.parquet" for number in range(10_000)]
    for copy in copies:
        os.link(written, copy)
    table.log.append_foreign(*[{"add": {**add, "path": copy.name}} for copy in copies])

    unmap(table)

    assert_metadata_only(table.log)
    assert len(table.log.live_files) == 10_001
    read = DeltaTable(str(table.path)).to_pyarrow_table()
    assert (read.num_rows, set(read["a"].to_pylist())) == (10_001, {1})


def test_mapping_can_be_enabled_and_removed_again(table: Table) -> None:
    table.create_tracked("a INT, b STRING")
    table.insert("(1, 'x')")
    unmap(table)
    table.alter(f"SET TBLPROPERTIES ({NAME_MODE})")
    table.alter("ADD COLUMN c INT")
    table.insert("(2, 'y', 3)")

    by_unset(table)

    assert_metadata_only(table.log)
    assert table.selected() == [(1, "x", None), (2, "y", 3)]


# Removal by copies or by Delta's rewrite.


def test_files_of_a_table_with_a_dropped_column_are_replaced_when_names_agree(table: Table) -> None:
    table.create_tracked("a INT, b STRING")
    table.insert("(1, 'x')")
    table.alter("DROP COLUMN b")

    unmap(table)
    table.alter("ADD COLUMN b STRING")

    assert_written_anew(table.log)
    assert table.selected() == [(1, None)]


@pytest.mark.broken_table("feature_without_flag", "flag_not_boolean")
@pytest.mark.parametrize("flag", [None, "perhaps"])
def test_flag_that_is_not_a_boolean_counts_as_true(table: Table, flag: str | None) -> None:
    table.create_tracked("a INT, dropped INT")
    table.insert("(1, 2)")
    table.alter("DROP COLUMN dropped")
    table.log.append_properties({FLAG: flag})

    unmap(table)

    assert_written_anew(table.log)


@pytest.mark.broken_table("flag_turned_back")
def test_files_with_other_names_are_replaced_when_the_flag_is_false(table: Table) -> None:
    table.create("s STRUCT<x: INT>", NAME_MODE)
    table.insert("(named_struct('x', 1))")
    table.alter(f"SET TBLPROPERTIES ({TRACKED})")
    table.log.append_properties({FLAG: "false"})

    unmap(table)

    assert_written_anew(table.log)
    assert table.selected("s.x") == [(1,)]


@pytest.mark.broken_table("feature_lost", "flag_without_feature")
def test_stale_flag_of_a_clone_made_without_tracking_is_ignored(
    table: Table, tmp_path: Path
) -> None:
    table.create_tracked("a INT, b STRING")
    table.insert("(1, 'x')")
    clone = table.clone(tmp_path / "clone")
    # A session without the extension clones the flag without the feature, and drops a column.
    protocol = clone.log.protocol
    kept = [name for name in protocol["writerFeatures"] if name != "columnMappingUsageTracking"]
    clone.log.append_foreign({"protocol": {**protocol, "writerFeatures": kept}})
    clone.alter("DROP COLUMN b")
    clone.alter(f"SET TBLPROPERTIES ({TRACKED})")

    unmap(clone)
    clone.alter("ADD COLUMN b STRING")

    assert_written_anew(clone.log)
    assert clone.selected() == [(1, None)]
