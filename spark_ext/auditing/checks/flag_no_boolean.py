# SPDX-License-Identifier: Apache-2.0
"""The flag is true or false."""

from __future__ import annotations

from collections.abc import Iterator

from spark_ext.auditing.findings import Finding
from spark_ext.log.actions import TableLog
from spark_ext.log.replay import State, since
from spark_ext.model.keys import HAS_DROPPED_OR_RENAMED


def flag_no_boolean(log: TableLog, states: tuple[State, ...]) -> Iterator[Finding]:
    """Finds a flag of a tracked table that is neither, in any letter case.

    Source:
        RFC, "Usage Tracking".

    Example:
        >>> one = table({"a": "1 a"}, "name", "maybe")
        >>> [found.version for found in flag_no_boolean(*history(one))]
        [0]
    """
    version = since(
        states,
        lambda state: (
            state.is_tracked
            and HAS_DROPPED_OR_RENAMED in state.metadata.configuration
            and state.flag is None
        ),
    )
    if version is not None:
        value = states[-1].metadata.configuration[HAS_DROPPED_OR_RENAMED]
        yield Finding(
            version=version,
            check="flag_no_boolean",
            column=None,
            file=None,
            message=(
                f"`{HAS_DROPPED_OR_RENAMED}` is {value!r}: nothing tells whether a column was"
                " dropped or renamed, so spark-ext takes it for true, and other writers may not."
            ),
            remedy="Any change of the schema in a session with spark-ext writes the flag as true.",
        )
