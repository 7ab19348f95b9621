# SPDX-License-Identifier: Apache-2.0
"""Reads the JSON of a table that the JVM has read.

Commits and summaries contain the actions as they are in the log, and only `commitInfo`, `protocol`
and `metaData`.
"""

from __future__ import annotations

from typing import Any, TypeVar

from spark_ext.errors import MalformedMessageError
from spark_ext.log import actions
from spark_ext.log.actions import Commit, Summary, TableFolder, TableLog
from spark_ext.log.replay import states
from spark_ext.model.dropped import Asked, CheckedTable
from spark_ext.model.metadata import TableMetadata
from spark_ext.wire.messages import table_metadata
from spark_ext.wire.shapes import Shape

_T = TypeVar("_T")
_L = TypeVar("_L", TableLog, TableFolder)


def parse_log(text: str) -> TableLog:
    """Returns the log of the table that a function is called with.

    Raises:
        MalformedMessageError: USAGE_TRACKING_MALFORMED_MESSAGE, if the text has another shape. The
            other functions raise the same error.
    """
    log, _, _ = TABLE_QUESTION.parse(text)
    return log


def parse_table_and_log(text: str) -> tuple[TableMetadata, TableLog]:
    """Returns the newest metadata as Delta reads it, and the log."""
    log, table, _ = TABLE_QUESTION.parse(text)
    return _required(table, "metadata"), log


def parse_folder(text: str) -> TableFolder:
    """Returns the folder of the table that a function about dropped columns is called with."""
    _, _, folder = TABLE_QUESTION.parse(text)
    return _with_state(_required(folder, "folder"))


def parse_erasure_start(text: str) -> tuple[TableLog, CheckedTable | None]:
    """Returns the log of a table, and what an earlier certificate found."""
    log, asked = ERASURE_START.parse(text)
    return _with_state(log), None if asked is None else asked.checked


def _with_state(read: _L) -> _L:
    if not states(read if isinstance(read, TableLog) else read.log):
        # The answer would be that no column was dropped.
        raise MalformedMessageError(path="log", problem="has no protocol and metadata")
    return read


def _required(part: _T | None, key: str) -> _T:
    if part is None:
        raise MalformedMessageError(path=f"$.{key}", problem="is null")
    return part


def _table_question(
    name: str,
    metadata: TableMetadata | None,
    log: dict[str, Any],
    folder: dict[str, Any] | None,
) -> tuple[TableLog, TableMetadata | None, TableFolder | None]:
    read = LOG.read(log, "log", name=name)
    if folder is None:
        return read, metadata, None
    return read, metadata, FOLDER.read(folder, "folder", name=name, log=read)


def _erasure_start(
    name: str, log: dict[str, Any], asked: Asked | None
) -> tuple[TableLog, Asked | None]:
    return LOG.read(log, "log", name=name), asked


COMMIT = Shape(actions.commit)
SUMMARY = Shape(actions.summary)
LOG = Shape(TableLog, given=("name",), parts={Commit: COMMIT.read, Summary: SUMMARY.read})
FOLDER = Shape(TableFolder, given=("name", "log"))
ERASURE_START = Shape(_erasure_start)
TABLE_QUESTION = Shape(_table_question, parts={TableMetadata: table_metadata})
