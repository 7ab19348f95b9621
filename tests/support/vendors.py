# SPDX-License-Identifier: Apache-2.0
"""Default settings of vendors that the released Delta and Spark have.

TEST_SETTINGS in the environment says with which of them the tests' session starts: `vendors` for
all at once, which no vendor has, or names such as `auto-compact,row-tracking`. A test that one of
them changes, by a further commit, file, column or feature that it would count, is marked with its
name, as `@pytest.mark.without("auto-compact")`, and runs without it. `one-connector` is no
vendor's, and has a name of its own only.
"""

from __future__ import annotations

import os
from collections.abc import Iterable

SETTINGS = {
    "optimize-write": {"spark.databricks.delta.optimizeWrite.enabled": "true"},
    "auto-compact": {
        "spark.databricks.delta.autoCompact.enabled": "true",
        "spark.databricks.delta.autoCompact.minNumFiles": "2",
    },
    "deletion-vectors": {
        "spark.databricks.delta.properties.defaults.enableDeletionVectors": "true"
    },
    "row-tracking": {"spark.databricks.delta.properties.defaults.enableRowTracking": "true"},
    "parquet": {
        "spark.sql.parquet.compression.codec": "zstd",
        "parquet.writer.version": "v2",
        "parquet.block.size": "1048576",
    },
    "adaptive": {"spark.sql.adaptive.enabled": "true"},
    "dynamic-overwrite": {"spark.sql.sources.partitionOverwriteMode": "dynamic"},
}
# Set by no vendor, but by whoever wants Delta as it was before 4.4.
CONNECTOR = {"one-connector": {"spark.databricks.delta.v2.enableMode": "NONE"}}


def chosen() -> list[str]:
    """The names that TEST_SETTINGS has."""
    text = os.environ.get("TEST_SETTINGS", "")
    return list(SETTINGS) if text == "vendors" else [name for name in text.split(",") if name]


def settings(names: Iterable[str]) -> dict[str, str]:
    """The settings under these names."""
    return {key: value for name in names for key, value in (SETTINGS | CONNECTOR)[name].items()}
