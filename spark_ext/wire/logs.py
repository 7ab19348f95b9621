# SPDX-License-Identifier: Apache-2.0
"""The JSON in which the JVM tells a table's log: a `TableLog` without its name.

Of its commits and summaries it has the actions as they stand in the log, and no others than
`commitInfo`, `protocol` and `metaData`.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from spark_ext.log import actions
from spark_ext.log.actions import Commit, Summary, TableLog
from spark_ext.model.metadata import TableMetadata
from spark_ext.wire.messages import table_metadata
from spark_ext.wire.shapes import Shape


def parse_log(text: str) -> TableLog:
    """The log of the table that a function is called with.

    Raises:
        MalformedMessageError: USAGE_TRACKING_MALFORMED_MESSAGE, where the text has another shape.
    """
    return NAMED_LOG.parse(text)


def parse_table_and_log(text: str) -> tuple[TableMetadata, TableLog]:
    """The table that `column_mapping` is called with, and its log. Raises as `parse_log`."""
    return TABLE_AND_LOG.parse(text)


def _named_log(name: str, log: dict[str, Any]) -> TableLog:
    return LOG.read(log, "log", name=name)


def _table_and_log(table: TableMetadata, log: TableLog) -> tuple[TableMetadata, TableLog]:
    return table, log


COMMIT = Shape(actions.commit)
SUMMARY = Shape(actions.summary)
LOG = Shape(TableLog, given=("name",), parts={Commit: COMMIT.read, Summary: SUMMARY.read})
NAMED_LOG = Shape(_named_log)
TABLE_AND_LOG = Shape(
    _table_and_log, parts={TableMetadata: table_metadata, TableLog: partial(LOG.read, name="")}
)
