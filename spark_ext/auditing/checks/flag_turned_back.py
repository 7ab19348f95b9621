# SPDX-License-Identifier: Apache-2.0
"""The flag never turns from true to false while the table is tracked."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from spark_ext.auditing.findings import Finding
from spark_ext.log.actions import TableLog
from spark_ext.log.replay import State
from spark_ext.model.keys import HAS_DROPPED_OR_RENAMED


def flag_turned_back(log: TableLog, states: tuple[State, ...]) -> Iterator[Finding]:
    """Finds versions in which the flag is false although it was not before.

    One that was missing, or no boolean, counts as true.

    Source:
        RFC, "Writer Requirements for Usage Tracking": "it must never be set back".

    Example:
        >>> one, other = (table({"a": "1 a"}, "name", flag) for flag in ("true", "false"))
        >>> [found.version for found in flag_turned_back(*history(one, other))]
        [1]
        >>> list(flag_turned_back(*history(other, one)))
        []
    """
    for before, after in pairwise(states):
        if not before.is_tracked or not after.is_tracked:
            continue
        if before.flag is not False and after.flag is False:
            yield Finding(
                version=after.version,
                check="flag_turned_back",
                column=None,
                file=None,
                message=(
                    f"`{HAS_DROPPED_OR_RENAMED}` was not false before and is false from here on:"
                    " a column that is added gets its own name in the files, and shows what a"
                    " dropped or renamed column of that name left in older files."
                ),
                remedy=(
                    "Run DROP FEATURE columnMappingUsageTracking and add the feature again, which"
                    " makes the flag true. Compare columns that were added since this version with"
                    " what should be in them."
                ),
            )
