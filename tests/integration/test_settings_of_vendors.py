# SPDX-License-Identifier: Apache-2.0
"""Tests that each vendor setting that changes a table has an effect, and can be disabled."""

from __future__ import annotations

import pyarrow.parquet
import pytest

from tests.support import vendors
from tests.support.delta_table import NAME_MODE, TRACKED, Table
from tests.support.session_conf import session_conf

# The settings that change a table.
SHOWN = vendors.SETTINGS.keys() - {"adaptive"}


def write(table: Table, *, mode: str = "append", partition: str = "x") -> None:
    """Writes by two tasks, each with a row of one partition."""
    rows = table.spark.range(2, numPartitions=2).selectExpr(
        "CAST(id AS INT) id", f"'{partition}' p"
    )
    rows.write.format("delta").mode(mode).save(str(table.path))


def found(table: Table) -> dict[str, bool]:
    """Returns whether each setting was on, by its effect."""
    table.create("id INT, p STRING", TRACKED, NAME_MODE, partitioned_by="p")
    write(table)
    log = table.log
    first = log.at(1)
    (file, *_) = first.actions("add")
    footer = pyarrow.parquet.ParquetFile(table.path / file["path"]).metadata.row_group(0).column(0)
    write(table)
    operations = [table.log.at(version).operation for version in range(table.log.version + 1)]
    write(table, mode="overwrite", partition="y")
    features = log.protocol["writerFeatures"]
    return {
        "optimize-write": len(first.actions("add")) == 1,
        "auto-compact": "OPTIMIZE" in operations,
        "deletion-vectors": "deletionVectors" in features,
        "row-tracking": "rowTracking" in features,
        "parquet": (footer.compression, *footer.encodings) == ("ZSTD", "DELTA_BINARY_PACKED"),
        "dynamic-overwrite": {p for _, p in table.selected()} == {"x", "y"},
    }


@pytest.mark.without(*vendors.SETTINGS)
def test_no_vendor_setting_is_on_by_default(table: Table) -> None:
    assert found(table) == dict.fromkeys(SHOWN, False)


@pytest.mark.without(*vendors.SETTINGS)
def test_each_vendor_setting_that_changes_a_table_has_an_effect(table: Table) -> None:
    with session_conf(table.spark, vendors.settings(vendors.SETTINGS)):
        assert found(table) == dict.fromkeys(SHOWN, True)
