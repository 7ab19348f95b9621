# SPDX-License-Identifier: Apache-2.0
"""ALTER TABLE SET and UNSET TBLPROPERTIES, column mapping switched off and on among them."""

from __future__ import annotations

import pytest
from delta_table import NAME_MODE, TRACKED, Table
from table_log import FEATURE, is_uuid_name

NO_MODE = "'delta.columnMapping.mode' = 'none'"


@pytest.fixture(params=["false", "true"])
def flag(request: pytest.FixtureRequest) -> str:
    return request.param


def create_with_flag(table: Table, flag: str) -> None:
    """A tracked table with columns a and b and one row, whose flag is as given."""
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
    assert table.rows("a, b") == [(1, "x")]


# Refusals.


@pytest.mark.parametrize(
    ("property_", "condition"),
    [
        ("'delta.columnMapping.maxColumnId' = '99'", "DELTA_CANNOT_MODIFY_TABLE_PROPERTY"),
        (
            "'delta.columnMapping.mode' = 'id'",
            "DELTA_UNSUPPORTED_COLUMN_MAPPING_MODE_CHANGE",
        ),
    ],
)
def test_a_refused_property_changes_nothing(table: Table, property_: str, condition: str) -> None:
    table.create_tracked("a INT")

    with table.refusal(condition):
        table.alter(f"SET TBLPROPERTIES ('x' = '1', {property_})")

    assert "x" not in table.log.configuration


def test_mapping_can_not_be_switched_off_while_a_name_needs_it(table: Table) -> None:
    table.create_tracked("`a b` INT")

    with table.refusal("DELTA_INVALID_COLUMN_NAMES_WHEN_REMOVING_COLUMN_MAPPING"):
        table.alter(f"SET TBLPROPERTIES ({NO_MODE})")

    assert table.log.flag == "false"
    assert table.log.physical_names == {"a b": "a b"}


# Properties that do not concern column mapping.


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
        # Delta lets these through and keeps what they name.
        "UNSET TBLPROPERTIES ('delta.columnMapping.maxColumnId')",
        f"UNSET TBLPROPERTIES ('delta.feature.{FEATURE}')",
        "SET TBLPROPERTIES ('delta.minWriterVersion' = '2')",
        f"SET TBLPROPERTIES ({TRACKED}, {NAME_MODE})",
    ],
)
def test_the_properties_of_tracking_and_mapping_stay(table: Table, flag: str, change: str) -> None:
    create_with_flag(table, flag)
    before = table.log

    with table.one_commit():
        table.alter(change)

    assert table.log.configuration == before.configuration
    assert table.log.writer_features == before.writer_features
    assert table.log.flag == flag
    assert table.log.physical_names == before.physical_names


# Column mapping switched off and on again.


@pytest.mark.parametrize(
    "off", [f"SET TBLPROPERTIES ({NO_MODE})", "UNSET TBLPROPERTIES ('delta.columnMapping.mode')"]
)
def test_switching_mapping_off_keeps_the_flag_and_leaves_no_mapping(
    table: Table, flag: str, off: str
) -> None:
    create_with_flag(table, flag)

    with table.one_commit():
        table.alter(off)

    assert (table.log.is_tracked, table.log.flag) == (True, flag)
    assert table.log.configuration.get("delta.columnMapping.mode", "none") == "none"
    assert "delta.columnMapping.maxColumnId" not in table.log.configuration
    assert [field.metadata for field in table.log.fields.values()] == [{}, {}]
    assert table.rows() == [(1, "x")]


def test_mapping_switched_on_again_has_logical_names_and_the_same_flag(
    table: Table, flag: str
) -> None:
    create_with_flag(table, flag)
    table.alter(f"SET TBLPROPERTIES ({NO_MODE})")

    with table.one_commit():
        table.alter(f"SET TBLPROPERTIES ({NAME_MODE})")

    assert (table.log.is_tracked, table.log.flag) == (True, flag)
    assert table.log.physical_names == {"a": "a", "b": "b"}
    assert_next_column_follows(table, flag)


def test_columns_added_while_mapping_is_off_have_logical_names_once_it_is_on(
    table: Table, flag: str
) -> None:
    create_with_flag(table, flag)
    table.alter(f"SET TBLPROPERTIES ({NO_MODE})")
    table.alter("ADD COLUMN d INT")

    with table.one_commit():
        table.alter(f"SET TBLPROPERTIES ({NAME_MODE})")

    assert table.log.flag == flag
    assert table.log.physical_names == {"a": "a", "b": "b", "d": "d"}
    assert table.rows() == [(1, "x", None)]


def test_a_drop_after_mapping_was_off_and_on_sets_the_flag(table: Table) -> None:
    create_with_flag(table, "false")
    table.alter(f"SET TBLPROPERTIES ({NO_MODE})")
    table.alter(f"SET TBLPROPERTIES ({NAME_MODE})")

    with table.one_commit():
        table.alter("DROP COLUMN b")
    table.alter("ADD COLUMN b STRING")

    assert table.log.flag == "true"
    assert is_uuid_name(table.log.physical_names["b"])
    assert table.rows() == [(1, None)]


def test_drop_feature_column_mapping_keeps_tracking_and_the_flag(table: Table) -> None:
    create_with_flag(table, "true")

    table.alter("DROP FEATURE columnMapping")

    assert "columnMapping" not in table.log.writer_features
    assert (table.log.is_tracked, table.log.flag) == (True, "true")
    assert set(table.log.physical_names.values()) == {None}
    assert table.rows() == [(1, "x")]


def test_an_untracked_table_has_no_flag_with_mapping_on_off_and_on(table: Table) -> None:
    table.create("a INT")

    for mode in (NAME_MODE, NO_MODE, NAME_MODE):
        table.alter(f"SET TBLPROPERTIES ({mode})")
        assert table.log.flag is None

    assert table.log.physical_names == {"a": "a"}
