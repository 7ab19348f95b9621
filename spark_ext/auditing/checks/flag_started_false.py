# SPDX-License-Identifier: Apache-2.0
"""Tracking starts with the flag true on a table that has column mapping."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from spark_ext.auditing.findings import Finding
from spark_ext.log.actions import TableLog
from spark_ext.log.replay import State
from spark_ext.model.keys import HAS_DROPPED_OR_RENAMED


def flag_started_false(log: TableLog, states: tuple[State, ...]) -> Iterator[Finding]:
    """Finds versions that add the feature to a table with column mapping, and the flag as false.

    Source:
        RFC, "Writer Requirements for Usage Tracking": "set to `true` when enabling usage tracking
        on an existing table with column mapping enabled".

    Example:
        >>> mapped = table({"a": "1 a"}, "name")
        >>> tracked = table({"a": "1 a"}, "name", "false")
        >>> [found.version for found in flag_started_false(*history((mapped, ()), tracked))]
        [1]
        >>> list(flag_started_false(*history((table({"a": ""}), ()), tracked)))
        []
    """
    for before, after in pairwise(states):
        if before.is_tracked or not after.is_tracked or after.flag is not False:
            continue
        if before.is_mapped and before.columns:
            yield Finding(
                version=after.version,
                check="flag_started_false",
                column=None,
                file=None,
                message=(
                    f"`{HAS_DROPPED_OR_RENAMED}` is false from the start of tracking, on a table"
                    " that had column mapping: what was dropped or renamed before is not recorded,"
                    " and a column that is added may show what an older one left in the files."
                ),
                remedy=(
                    "Run DROP FEATURE columnMappingUsageTracking and add the feature again in a"
                    " session with spark-ext, which makes the flag true."
                ),
            )
