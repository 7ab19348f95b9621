# SPDX-License-Identifier: Apache-2.0
"""Tests ALTER TABLE SET and UNSET TBLPROPERTIES, also those that change column mapping."""

from __future__ import annotations

import pytest

from tests.support.delta_table import NAME_MODE, NONE_MODE, TRACKED, Table, refusal, thrown
from tests.support.prepared import made_once
from tests.support.removal import SETTING
from tests.support.session_conf import SetConf
from tests.support.table_log import FEATURE, is_uuid_name


@pytest.fixture(params=["false", "true"])
def flag(request: pytest.FixtureRequest) -> str:
    return request.param


@made_once
def create_with_flag(table: Table, flag: str) -> None:
    """Makes a tracked table with two columns, one row and this flag."""
    table.create_tracked("a INT, b STRING")
    table.insert("(1, 'x')")
    if flag == "true":
        table.alter("RENAME COLUMN b TO c")
        table.alter("RENAME COLUMN c TO b")


def assert_next_column_follows(table: Table, flag: str) -> None:
    table.alter("ADD COLUMN new INT")

    assert table.log.flag == flag
    assert is_uuid_name(table.log.physical_names["new"]) == (flag == "true")
    assert table.rows() == [(1, "x", None)]
    assert table.selected("a, b") == [(1, "x")]


# Delta would refuse these properties only after the removal.
REFUSED_WITH_THE_REMOVAL = [
    ("'delta.feature.nonsense' = 'supported'", "DELTA_UNSUPPORTED_FEATURES_IN_CONFIG"),
    ("'delta.feature.deletionVectors' = 'no'", "DELTA_UNSUPPORTED_FEATURE_STATUS"),
    ("'delta.constraints.c' = 'a > 0'", "DELTA_ADD_CONSTRAINTS"),
    (
        "'delta.feature.clustering' = 'supported'",
        "DELTA_ALTER_TABLE_SET_CLUSTERING_TABLE_FEATURE_NOT_ALLOWED",
    ),
    ("'clusteringColumns' = 'a'", "DELTA_CANNOT_MODIFY_TABLE_PROPERTY"),
    (
        "'delta.enableIcebergCompatV2' = 'true'",
        "DELTA_ICEBERG_COMPAT_VIOLATION.WRONG_REQUIRED_TABLE_PROPERTY",
    ),
    ("'delta.universalFormat.enabledFormats' = 'iceberg'", "DELTA_UNIVERSAL_FORMAT_VIOLATION"),
    (
        "'delta.coordinatedCommits.commitCoordinator-preview' = 'c'",
        "DELTA_MUST_SET_ALL_COORDINATED_COMMITS_CONFS_IN_COMMAND",
    ),
]


@pytest.mark.parametrize(("property_", "condition"), REFUSED_WITH_THE_REMOVAL)
def test_mapping_is_kept_when_a_property_beside_the_mode_is_refused(
    table: Table, flag: str, property_: str, condition: str
) -> None:
    create_with_flag(table, flag)

    with table.refusal(condition):
        table.alter(f"SET TBLPROPERTIES ({property_}, {NONE_MODE})")

    assert table.log.configuration["delta.columnMapping.mode"] == "name"
    assert_next_column_follows(table, flag)


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


def test_untracked_table_loses_its_mapping_before_a_property_is_refused(table: Table) -> None:
    table.create("a INT", NAME_MODE)

    with table.one_commit(), refusal("DELTA_ADD_CONSTRAINTS"):
        table.alter(f"SET TBLPROPERTIES ('delta.constraints.c' = 'a > 0', {NONE_MODE})")

    assert table.log.configuration["delta.columnMapping.mode"] == "none"


def test_removal_commits_the_other_properties_of_the_statement(table: Table, flag: str) -> None:
    create_with_flag(table, flag)
    version = table.log.version

    table.alter(
        "SET TBLPROPERTIES ('note' = 'n', 'delta.enableChangeDataFeed' = 'true',"
        f" 'delta.feature.deletionVectors' = 'supported', {NONE_MODE})"
    )

    assert table.log.version == version + 2
    assert (table.log.is_tracked, table.log.flag) == (True, flag)
    assert table.log.configuration["note"] == "n"
    assert table.log.configuration["delta.columnMapping.mode"] == "none"
    assert {"changeDataFeed", "deletionVectors"} <= table.log.writer_features
    assert table.rows() == [(1, "x")]


# Removals of a table without column mapping.


@pytest.mark.parametrize("properties", [(NAME_MODE, TRACKED), (NAME_MODE,)])
def test_second_removal_commits_nothing(
    table: Table, conf: SetConf, properties: tuple[str, ...]
) -> None:
    if TRACKED not in properties:
        conf(SETTING, "copy")
    table.create("a INT", *properties)
    table.insert("(1)")
    table.remove_mapping()

    with table.no_commit():
        table.remove_mapping()

    with table.one_commit():
        table.alter("UNSET TBLPROPERTIES ('delta.columnMapping.mode')")
    with table.no_commit():
        table.alter("UNSET TBLPROPERTIES ('delta.columnMapping.mode')")
    assert table.rows() == [(1,)]


def test_second_removal_of_an_untracked_table_is_deltas(table: Table) -> None:
    table.create("a INT", NAME_MODE)
    table.insert("(1)")
    table.remove_mapping()
    files = table.log.live_files

    with table.one_commit():
        table.remove_mapping()

    assert table.log.live_files.keys().isdisjoint(files)


# Statements that do not change column mapping.


def test_unrelated_properties_keep_the_flag_and_the_names(table: Table, flag: str) -> None:
    create_with_flag(table, flag)
    before = table.log

    for change in (
        "SET TBLPROPERTIES ('x' = '1', 'delta.deletedFileRetentionDuration' = 'interval 9 days')",
        "SET TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')",
        "SET TBLPROPERTIES ('delta.minReaderVersion' = '3', 'delta.minWriterVersion' = '7')",
        "UNSET TBLPROPERTIES ('x')",
        "UNSET TBLPROPERTIES IF EXISTS ('y', 'delta.deletedFileRetentionDuration')",
    ):
        with table.one_commit():
            table.alter(change)
        assert table.log.is_tracked
        assert table.log.flag == before.flag == flag, change
        assert table.log.physical_names == before.physical_names, change
        assert table.log.max_column_id == before.max_column_id, change

    assert_next_column_follows(table, flag)


@pytest.mark.parametrize(
    "change",
    [
        # Delta accepts these statements, and keeps the properties.
        "UNSET TBLPROPERTIES ('delta.columnMapping.maxColumnId')",
        f"UNSET TBLPROPERTIES ('delta.feature.{FEATURE}')",
        "SET TBLPROPERTIES ('delta.minWriterVersion' = '2')",
        f"SET TBLPROPERTIES ({TRACKED}, {NAME_MODE})",
    ],
)
def test_properties_of_tracking_and_mapping_are_kept(table: Table, flag: str, change: str) -> None:
    create_with_flag(table, flag)
    before = table.log

    with table.one_commit():
        table.alter(change)

    assert table.log.configuration == before.configuration
    assert table.log.writer_features == before.writer_features
    assert table.log.flag == flag
    assert table.log.physical_names == before.physical_names


# Column mapping that is removed and enabled again.


@pytest.mark.every_variant
def test_mapping_enabled_again_has_logical_names_and_the_same_flag(table: Table, flag: str) -> None:
    create_with_flag(table, flag)
    table.remove_mapping()

    with table.one_commit():
        table.alter(f"SET TBLPROPERTIES ({NAME_MODE})")

    assert (table.log.is_tracked, table.log.flag) == (True, flag)
    assert table.log.physical_names == {"a": "a", "b": "b"}
    assert_next_column_follows(table, flag)


@pytest.mark.every_variant
def test_columns_added_while_unmapped_have_logical_names_once_mapped(
    table: Table, flag: str
) -> None:
    create_with_flag(table, flag)
    table.remove_mapping()
    table.alter("ADD COLUMN d INT")

    with table.one_commit():
        table.alter(f"SET TBLPROPERTIES ({NAME_MODE})")

    assert table.log.flag == flag
    assert table.log.physical_names == {"a": "a", "b": "b", "d": "d"}
    assert table.rows() == [(1, "x", None)]


def test_drop_after_removing_and_enabling_mapping_sets_the_flag(table: Table) -> None:
    create_with_flag(table, "false")
    table.remove_mapping()
    table.alter(f"SET TBLPROPERTIES ({NAME_MODE})")

    with table.one_commit():
        table.alter("DROP COLUMN b")
    table.alter("ADD COLUMN b STRING")

    assert table.log.flag == "true"
    assert is_uuid_name(table.log.physical_names["b"])
    assert table.rows() == [(1, None)]


def test_untracked_table_has_no_flag_when_mapping_is_enabled_and_removed(table: Table) -> None:
    table.create("a INT")

    for mode in (NAME_MODE, NONE_MODE, NAME_MODE):
        table.alter(f"SET TBLPROPERTIES ({mode})")
        assert table.log.flag is None

    assert table.log.physical_names == {"a": "a"}
