# SPDX-License-Identifier: Apache-2.0
"""A tracked table has the flag."""

from __future__ import annotations

from collections.abc import Iterator

from spark_ext.auditing.findings import Finding
from spark_ext.log.actions import TableLog
from spark_ext.log.replay import State, since
from spark_ext.model.keys import FEATURE_NAME, HAS_DROPPED_OR_RENAMED


def feature_without_flag(log: TableLog, states: tuple[State, ...]) -> Iterator[Finding]:
    """Finds a protocol with the feature where the properties lack the flag.

    Source:
        RFC, "Writer Requirements for Usage Tracking".

    Example:
        >>> [found.version for found in feature_without_flag(*history(table({"a": "1 a"}, "name")))]
        [0]
    """
    version = since(
        states,
        lambda state: (
            state.is_tracked and HAS_DROPPED_OR_RENAMED not in state.metadata.configuration
        ),
    )
    if version is not None:
        yield Finding(
            version=version,
            check="feature_without_flag",
            column=None,
            file=None,
            message=(
                f"The protocol lists `{FEATURE_NAME}`, and the table has no"
                f" `{HAS_DROPPED_OR_RENAMED}`: nothing tells whether a column was dropped or"
                " renamed, so spark-ext takes it for true, and other writers may not."
            ),
            remedy="Any change of the schema in a session with spark-ext writes the flag as true.",
        )
