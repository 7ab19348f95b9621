# SPDX-License-Identifier: Apache-2.0
"""Tests tracking of an existing table, and tables with a flag of another writer."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from spark_ext import UsageTracking
from tests.support.delta_table import ID_MODE, LEGACY_PROTOCOL, NAME_MODE, TRACKED, Table
from tests.support.table_log import FEATURE, FLAG, is_uuid_name


def by_property(table: Table) -> None:
    table.alter(f"SET TBLPROPERTIES ({TRACKED})")


def by_delta_table(table: Table) -> None:
    table.delta_table.addFeatureSupport(FEATURE)


def by_usage_tracking(table: Table) -> None:
    table.usage.enable()


Enable = Callable[[Table], None]

WAYS = [by_property, by_delta_table, by_usage_tracking]


# Tables without column mapping.


@pytest.mark.parametrize("enable", WAYS)
def test_plain_table_starts_with_the_flag_false(table: Table, enable: Enable) -> None:
    table.create("a INT")
    table.insert("(1)")

    with table.one_commit():
        enable(table)
    enabled = table.log
    with table.one_commit():
        table.alter(f"SET TBLPROPERTIES ({NAME_MODE})")
    mapped = table.log
    table.alter("ADD COLUMN b INT")

    assert enabled.actions("protocol")
    assert enabled.actions("metaData")
    assert (enabled.is_tracked, enabled.flag) == (True, "false")
    assert enabled.physical_names == {"a": None}
    assert mapped.flag == table.log.flag == "false"
    assert mapped.physical_names == {"a": "a"}
    assert table.log.physical_names == {"a": "a", "b": "b"}
    assert table.selected() == [(1, None)]


def test_tracking_and_mapping_in_one_statement_start_with_the_flag_false(table: Table) -> None:
    table.create("a INT, s STRUCT<x: INT>")
    table.insert("(1, struct(2))")

    with table.one_commit():
        table.alter(f"SET TBLPROPERTIES ({TRACKED}, {NAME_MODE})")
    enabled = table.log
    table.alter("ADD COLUMNS (s.y INT, b INT)")

    assert (enabled.is_tracked, enabled.flag) == (True, "false")
    assert enabled.physical_names == {"a": "a", "s": "s", "s.x": "x"}
    assert enabled.max_column_id == 3
    assert table.log.flag == "false"
    assert table.log.physical_names["s.y"] == "y"
    assert table.log.physical_names["b"] == "b"
    assert table.selected() == [(1, (2, None), None)]


def test_drop_after_mapping_is_enabled_sets_the_flag(table: Table) -> None:
    table.create("a INT, b INT")
    table.insert("(1, 2)")
    table.alter(f"SET TBLPROPERTIES ({TRACKED}, {NAME_MODE})")

    with table.one_commit():
        table.alter("DROP COLUMN b")
    table.alter("ADD COLUMN b INT")

    assert table.log.flag == "true"
    assert is_uuid_name(table.log.physical_names["b"])
    assert table.selected() == [(1, None)]


# Tables with column mapping.


def test_mapped_table_of_a_legacy_protocol_is_tracked_until_the_feature_is_dropped(
    table: Table,
) -> None:
    table.create("a INT", NAME_MODE, LEGACY_PROTOCOL)
    table.insert("(1)")
    before = table.log

    with table.one_commit():
        by_property(table)
    enabled = table.log
    table.alter("ADD COLUMN b INT")
    added = table.log
    table.alter(f"DROP FEATURE {FEATURE}")

    assert before.protocol == {"minReaderVersion": 2, "minWriterVersion": 5}
    assert (enabled.protocol["minReaderVersion"], enabled.protocol["minWriterVersion"]) == (2, 7)
    assert {FEATURE, "columnMapping", "invariants"} < enabled.writer_features
    assert (enabled.flag, enabled.physical_names) == ("true", before.physical_names)
    assert (added.flag, is_uuid_name(added.physical_names["b"])) == ("true", True)
    assert (table.log.protocol, table.log.flag) == (before.protocol, None)
    assert table.log.physical_names == added.physical_names
    assert table.selected() == [(1, None)]


@pytest.mark.parametrize("enable", WAYS)
def test_mapped_table_starts_with_the_flag_true(table: Table, enable: Enable) -> None:
    table.create("a INT", NAME_MODE)
    table.insert("(1)")
    before = table.log

    with table.one_commit():
        enable(table)
    enabled = table.log
    table.alter("ADD COLUMN b INT")

    assert (enabled.is_tracked, enabled.flag) == (True, "true")
    assert enabled.actions("protocol")
    assert enabled.physical_names == before.physical_names
    assert table.log.flag == "true"
    assert is_uuid_name(table.log.physical_names["b"])
    assert table.selected() == [(1, None)]


def test_table_mapped_by_id_starts_with_the_flag_true(table: Table) -> None:
    table.create("a INT", ID_MODE)

    with table.one_commit():
        by_property(table)
    table.alter("ADD COLUMN b INT")

    assert table.log.flag == "true"
    assert is_uuid_name(table.log.physical_names["b"])


def test_table_mapped_after_its_creation_starts_with_the_flag_true(table: Table) -> None:
    # Physical names equal logical names, but nothing proves that no column was dropped.
    table.create("a INT")
    table.alter(f"SET TBLPROPERTIES ({NAME_MODE})")

    with table.one_commit():
        by_property(table)

    assert table.log.physical_names == {"a": "a"}
    assert table.log.flag == "true"


# Tables that are tracked already.


@pytest.mark.parametrize("columns", ["a INT", "a INT, b INT"])
def test_enabling_twice_makes_no_commit(named_table: Table, columns: str) -> None:
    named_table.create(columns)
    tracking = UsageTracking.forName(named_table.spark, "named")
    with named_table.one_commit():
        tracking.enable()

    with named_table.no_commit():
        tracking.enable()
        named_table.usage.enable()

    assert named_table.log.flag == "false"


@pytest.mark.parametrize("enable", [by_property, by_delta_table])
@pytest.mark.parametrize("flag", ["false", "true"])
def test_enabling_again_keeps_the_flag(table: Table, enable: Enable, flag: str) -> None:
    table.create_tracked("a INT, b INT")
    if flag == "true":
        table.alter("DROP COLUMN b")

    enable(table)

    assert (table.log.is_tracked, table.log.flag) == (True, flag)


# Untracked tables with a stale flag.


@pytest.mark.broken_table("flag_without_feature")
@pytest.mark.parametrize("enable", WAYS)
def test_stale_flag_of_a_mapped_table_becomes_true(table: Table, enable: Enable) -> None:
    table.create("a INT", NAME_MODE)
    table.log.append_properties({FLAG: "false"})

    with table.one_commit():
        enable(table)
    table.alter("ADD COLUMN b INT")

    assert table.log.flag == "true"
    assert is_uuid_name(table.log.physical_names["b"])


@pytest.mark.broken_table("flag_without_feature")
@pytest.mark.parametrize(("stale", "flag"), [("false", "false"), ("true", "true"), ("?", "true")])
def test_stale_flag_of_a_plain_table_becomes_true_unless_it_is_false(
    table: Table, stale: str, flag: str
) -> None:
    table.create("a INT")
    table.log.append_properties({FLAG: stale})

    with table.one_commit():
        by_property(table)

    assert table.log.flag == flag


@pytest.mark.broken_table("flag_without_feature")
def test_stale_false_flag_becomes_true_when_tracking_is_enabled_after_mapping(
    table: Table,
) -> None:
    # RFC: `true` is for tables that already have column mapping when tracking is enabled.
    table.create("a INT, b INT")
    table.log.append_properties({FLAG: "false"})

    with table.one_commit():
        table.alter(f"SET TBLPROPERTIES ({NAME_MODE})")
    mapped = table.log
    with table.one_commit():
        by_property(table)

    assert (mapped.is_tracked, mapped.flag) == (False, "false")
    assert mapped.physical_names == {"a": "a", "b": "b"}
    assert (table.log.is_tracked, table.log.flag) == (True, "true")


@pytest.mark.broken_table("flag_without_feature")
def test_stale_false_flag_is_kept_when_mapping_and_tracking_are_enabled_at_once(
    table: Table,
) -> None:
    table.create("a INT, b INT")
    table.log.append_properties({FLAG: "false"})

    with table.one_commit():
        table.alter(f"SET TBLPROPERTIES ({NAME_MODE}, {TRACKED})")

    assert (table.log.is_tracked, table.log.flag) == (True, "false")
    assert table.log.physical_names == {"a": "a", "b": "b"}


@pytest.mark.broken_table("flag_without_feature")
def test_stale_flag_of_an_untracked_mapped_table_becomes_true_at_the_next_change(
    table: Table,
) -> None:
    # A RESTORE or CLONE may add the feature again, and would read the flag.
    table.create("a INT, b INT", NAME_MODE)
    table.log.append_properties({FLAG: "false"})

    with table.one_commit():
        table.alter("ADD COLUMN c INT")

    assert not table.log.is_tracked
    assert table.log.flag == "true"
    assert is_uuid_name(table.log.physical_names["c"])


@pytest.mark.broken_table("flag_without_feature")
def test_clone_of_a_tracked_table_over_a_stale_flag_sets_the_flag(
    table: Table, tmp_path: Path
) -> None:
    tracked = Table(table.spark, tmp_path / "tracked").create_tracked("a INT")
    table.create("a INT", NAME_MODE)
    table.log.append_properties({FLAG: "false"})

    table.spark.sql(f"CREATE OR REPLACE TABLE {table.name} SHALLOW CLONE {tracked.name}")

    assert table.log.is_tracked
    assert table.log.flag == "true"


# Tracked tables whose flag another writer removed or changed.


@pytest.mark.broken_table("feature_without_flag", "flag_not_boolean")
@pytest.mark.parametrize("written", [None, "", "maybe", "1"])
def test_flag_that_is_not_a_boolean_becomes_true_at_the_next_change(
    table: Table, written: str | None
) -> None:
    table.create_tracked("a INT")
    table.insert("(1)")
    table.log.append_properties({FLAG: written})

    with table.one_commit():
        table.alter("ADD COLUMN b INT")

    assert table.log.flag == "true"
    assert table.log.physical_names["a"] == "a"
    assert is_uuid_name(table.log.physical_names["b"])
    assert table.selected() == [(1, None)]


@pytest.mark.broken_table("feature_without_flag")
def test_missing_flag_becomes_true_at_a_change_of_properties(table: Table) -> None:
    table.create_tracked("a INT")
    table.log.append_properties({FLAG: None})

    with table.one_commit():
        table.alter("SET TBLPROPERTIES ('delta.appendOnly' = 'true')")

    assert table.log.flag == "true"
    assert table.log.physical_names == {"a": "a"}


@pytest.mark.broken_table("feature_without_flag")
def test_missing_flag_of_an_unmapped_table_becomes_true(table: Table) -> None:
    table.create("a INT", TRACKED)
    table.log.append_properties({FLAG: None})

    with table.one_commit():
        table.alter(f"SET TBLPROPERTIES ({NAME_MODE})")
    mapped = table.log
    table.alter("ADD COLUMN b INT")

    assert mapped.flag == "true"
    assert mapped.physical_names == {"a": "a"}
    assert is_uuid_name(table.log.physical_names["b"])


@pytest.mark.broken_table("feature_without_flag")
def test_append_does_not_restore_a_missing_flag(table: Table) -> None:
    table.create_tracked("a INT")
    table.log.append_properties({FLAG: None})

    with table.one_commit():
        table.insert("(1)")

    assert table.log.actions("metaData") == []
    assert table.log.flag is None


@pytest.mark.parametrize(("written", "name_is_uuid"), [("FALSE", False), ("True", True)])
def test_boolean_in_other_letter_case_is_a_boolean(
    table: Table, written: str, name_is_uuid: bool
) -> None:
    table.create_tracked("a INT")
    table.log.append_properties({FLAG: written})

    with table.one_commit():
        table.alter("ADD COLUMN b INT")

    assert table.log.flag == written.lower()
    assert is_uuid_name(table.log.physical_names["b"]) == name_is_uuid


@pytest.mark.parametrize(
    ("flag", "name_is_uuid"),
    [
        ("false", False),
        pytest.param("true", True, marks=pytest.mark.broken_table("flag_too_early")),
    ],
)
@pytest.mark.every_variant
def test_flag_of_a_table_that_another_writer_created_counts(
    table: Table, flag: str, name_is_uuid: bool
) -> None:
    mapping = {"delta.columnMapping.id": 1, "delta.columnMapping.physicalName": "a"}
    column = {"name": "a", "type": "integer", "nullable": True, "metadata": mapping}
    configuration = {
        "delta.columnMapping.mode": "name",
        "delta.columnMapping.maxColumnId": "1",
        FLAG: flag,
    }
    table.log.append_foreign(
        {
            "protocol": {
                "minReaderVersion": 2,
                "minWriterVersion": 7,
                "writerFeatures": ["columnMapping", FEATURE],
            }
        },
        {
            "metaData": {
                "id": "5d2c6a3e-8b0f-4f6e-9b1e-2f7a0c9d4e11",
                "format": {"provider": "parquet", "options": {}},
                "schemaString": json.dumps({"type": "struct", "fields": [column]}),
                "partitionColumns": [],
                "configuration": configuration,
            }
        },
    )
    table.insert("(1)")

    with table.one_commit():
        table.alter("ADD COLUMN b INT")

    assert table.log.flag == flag
    assert is_uuid_name(table.log.physical_names["b"]) == name_is_uuid
    assert table.log.ids == {"a": 1, "b": 2}
    assert table.selected() == [(1, None)]
