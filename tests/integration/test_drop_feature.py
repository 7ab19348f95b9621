# SPDX-License-Identifier: Apache-2.0
"""Tests DROP FEATURE columnMappingUsageTracking by SQL, `DeltaTable` and `UsageTracking`."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from pyspark.errors import AnalysisException

from tests.support.delta_table import NAME_MODE, TRACKED, Table
from tests.support.table_log import FEATURE, is_uuid_name


def by_statement(table: Table) -> None:
    table.alter(f"DROP FEATURE {FEATURE}")


def by_delta_table(table: Table) -> None:
    table.delta_table.dropFeatureSupport(FEATURE)


def by_usage_tracking(table: Table) -> None:
    table.usage.disable()


Disable = Callable[[Table], None]

WAYS = [by_statement, by_delta_table, by_usage_tracking]

# Refusals.


@pytest.mark.parametrize("disable", WAYS)
def test_untracked_table_has_no_feature_to_drop(table: Table, disable: Disable) -> None:
    table.create("a INT", NAME_MODE)

    with table.refusal("DELTA_FEATURE_DROP_FEATURE_NOT_PRESENT"):
        disable(table)


def test_usage_tracking_raises_an_error_of_pyspark_with_its_condition(table: Table) -> None:
    """Delta's error would reach PySpark as a Py4JJavaError, which callers do not catch."""
    table.create("a INT", NAME_MODE)

    with table.no_commit(), pytest.raises(AnalysisException) as refused:
        by_usage_tracking(table)

    assert refused.value.getCondition() == "DELTA_FEATURE_DROP_FEATURE_NOT_PRESENT"
    assert refused.value.getMessageParameters() == {"feature": FEATURE}
    assert FEATURE in str(refused.value)


def test_truncate_history_is_refused(table: Table) -> None:
    table.create_tracked("a INT")

    with table.refusal("DELTA_FEATURE_DROP_HISTORY_TRUNCATION_NOT_ALLOWED"):
        table.alter(f"DROP FEATURE {FEATURE} TRUNCATE HISTORY")

    assert (table.log.is_tracked, table.log.flag) == (True, "false")


# The drop.


@pytest.mark.parametrize("disable", WAYS)
def test_feature_and_flag_are_removed_in_one_commit(table: Table, disable: Disable) -> None:
    table.create_tracked("a INT, b INT")
    table.insert("(1, 2)")
    before = table.log

    with table.one_commit():
        disable(table)

    assert table.log.operation == "DROP FEATURE"
    assert before.writer_features - table.log.writer_features == {FEATURE}
    assert not table.log.is_tracked
    assert table.log.flag is None
    assert table.log.configuration == {
        key: value for key, value in before.configuration.items() if not key.endswith("Renamed")
    }
    assert table.log.metadata["schemaString"] == before.metadata["schemaString"]
    assert table.log.actions("add") == table.log.actions("remove") == []
    assert table.rows() == [(1, 2)]


def test_true_flag_is_removed_with_the_feature(table: Table) -> None:
    table.create_tracked("a INT, b INT")
    table.alter("DROP COLUMN b")

    with table.one_commit():
        by_statement(table)

    assert not table.log.is_tracked
    assert table.log.flag is None
    assert table.log.physical_names == {"a": "a"}


def test_new_columns_have_uuid_names_after_the_drop(table: Table) -> None:
    table.create_tracked("a INT, b INT")
    table.insert("(1, 2)")
    by_statement(table)

    table.alter("ADD COLUMN c INT")
    table.alter("RENAME COLUMN b TO d")

    assert table.log.flag is None
    assert is_uuid_name(table.log.physical_names.pop("c"))
    assert table.log.physical_names["d"] == "b"
    assert table.rows() == [(1, 2, None)]


@pytest.mark.without("deletion-vectors", "row-tracking")
def test_unmapped_table_is_unchanged_after_enable_and_drop(table: Table) -> None:
    table.create("a INT")
    before = table.log
    table.alter(f"SET TBLPROPERTIES ({TRACKED})")

    with table.one_commit():
        by_statement(table)

    assert table.log.protocol == before.protocol
    assert table.log.configuration == before.configuration == {}
    assert table.log.physical_names == {"a": None}


@pytest.mark.without("deletion-vectors", "row-tracking")
def test_protocol_has_no_table_features_after_the_drop(table: Table) -> None:
    table.create("a INT", TRACKED)
    tracked = table.log.protocol
    by_usage_tracking(table)

    assert tracked["minWriterVersion"] == 7
    assert table.log.protocol == {"minReaderVersion": 1, "minWriterVersion": 2}


# Tables that are tracked again.


def test_mapped_table_tracked_again_has_the_flag_true(table: Table) -> None:
    table.create_tracked("a INT")
    table.insert("(1)")
    by_statement(table)

    with table.one_commit():
        table.alter(f"SET TBLPROPERTIES ({TRACKED})")
    table.alter("ADD COLUMN b INT")

    assert (table.log.is_tracked, table.log.flag) == (True, "true")
    assert is_uuid_name(table.log.physical_names["b"])
    assert table.rows() == [(1, None)]


def test_unmapped_table_tracked_again_has_the_flag_false(table: Table) -> None:
    table.create("a INT", TRACKED)
    by_statement(table)

    with table.one_commit():
        table.alter(f"SET TBLPROPERTIES ({TRACKED})")

    assert (table.log.is_tracked, table.log.flag) == (True, "false")
