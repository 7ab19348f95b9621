# SPDX-License-Identifier: Apache-2.0
"""Which table a name leads to, and its flag."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spark_ext.api.functions import answer
from spark_ext.launch.releases import UNKNOWN_VERSION, require_version

if TYPE_CHECKING:
    from pyspark.sql import Row, SparkSession


def named_table(spark: SparkSession, *arguments: str) -> Row:
    """The row of `column_mapping_named_table`: its full name, for functions and statements."""
    (row,) = answer(spark, "column_mapping_named_table", *arguments).collect()
    # A jar that does not say is older than this package.
    require_version(row.asDict().get("jarVersion", UNKNOWN_VERSION))
    return row


def flag_of(table: Row) -> bool | None:
    """Whether a column was ever dropped or renamed; None for an untracked table."""
    if not table["tracked"]:
        return None
    flag: str | None = table["hasDroppedOrRenamed"]
    return flag is None or flag.lower() != "false"
