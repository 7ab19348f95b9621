# SPDX-License-Identifier: Apache-2.0
"""Lists settings of the released Delta and Spark that vendors set by default.

TEST_SETTINGS in the environment selects the settings of the tests' session: `vendors` for all,
which no vendor has, or names such as `auto-compact,row-tracking`. A setting may add a commit, file,
column or feature that a test counts. The test then has the marker
`@pytest.mark.without("auto-compact")`, and runs without the setting. `one-connector` is not in
`vendors`, because no vendor sets it.
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
# Users set it to get Delta as it was before 4.4.
CONNECTOR = {"one-connector": {"spark.databricks.delta.v2.enableMode": "NONE"}}


def chosen() -> list[str]:
    """Returns the names in TEST_SETTINGS."""
    text = os.environ.get("TEST_SETTINGS", "")
    return list(SETTINGS) if text == "vendors" else [name for name in text.split(",") if name]


def settings(names: Iterable[str]) -> dict[str, str]:
    """Returns the settings with these names."""
    return {key: value for name in names for key, value in (SETTINGS | CONNECTOR)[name].items()}
