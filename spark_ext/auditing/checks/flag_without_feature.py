# SPDX-License-Identifier: Apache-2.0
"""The flag stands on tracked tables only."""

from __future__ import annotations

from collections.abc import Iterator

from spark_ext.auditing.findings import Finding
from spark_ext.log.actions import TableLog
from spark_ext.log.replay import State, since
from spark_ext.model.keys import FEATURE_NAME, HAS_DROPPED_OR_RENAMED


def flag_without_feature(log: TableLog, states: tuple[State, ...]) -> Iterator[Finding]:
    """Finds the flag where the protocol does not list the feature.

    A CLONE by a session without spark-ext leaves it so.

    Source:
        RFC, "Usage Tracking": the feature is what makes every writer keep the flag right.

    Example:
        >>> one = table({"a": "1 a"}, "name", "false")
        >>> [found.version for found in flag_without_feature(*history((one, ())))]
        [0]
    """
    version = since(
        states,
        lambda state: (
            not state.is_tracked and HAS_DROPPED_OR_RENAMED in state.metadata.configuration
        ),
    )
    if version is not None:
        yield Finding(
            version=version,
            check="flag_without_feature",
            column=None,
            file=None,
            message=(
                f"The table has `{HAS_DROPPED_OR_RENAMED}`, and its protocol does not list"
                f" `{FEATURE_NAME}`: any writer may drop and rename columns without touching the"
                " flag, so that it says nothing."
            ),
            remedy=(
                "Track the table in a session with spark-ext, which sets the flag as it must be:"
                " spark_ext.UsageTracking.forName(spark, ..).enable()."
            ),
        )
