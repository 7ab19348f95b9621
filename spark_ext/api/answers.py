# SPDX-License-Identifier: Apache-2.0
"""The rows that our table functions answer, as values of Python.

Columns are found by name, and those that a newer jar has besides are left alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from spark_ext.api.status import ColumnChange, ColumnMappingStatus, FlagChange
from spark_ext.errors import MalformedMessageError
from spark_ext.leave.exits import ColumnMappingExit
from spark_ext.leave.reasons import Reason
from spark_ext.leave.survey import Obstacle, SurveyedTable
from spark_ext.model.metadata import FileCount

if TYPE_CHECKING:
    from pyspark.sql import Row


def exit_of(row: Row) -> ColumnMappingExit:
    """One row of `column_mapping_exit`.

    Raises:
        MalformedMessageError: USAGE_TRACKING_MALFORMED_MESSAGE, where an older jar lacks a column.
    """
    with _whole():
        return ColumnMappingExit(
            exit=row["exit"],
            meaning=row["meaning"],
            reached=row["reached"],
            cost=row["cost"],
            reasons=tuple(
                Reason(why["reason"], why["name"], why["detail"]) for why in row["reasons"]
            ),
            num_files=row["numFiles"],
            size_in_bytes=row["sizeInBytes"],
            exact=row["exact"],
            kept=_files(row["kept"]),
            copied=_files(row["copied"]),
            rewritten=_files(row["rewritten"]),
            statements=tuple(row["statements"]),
        )


def status_of(table: str, row: Row) -> ColumnMappingStatus:
    """The row of `column_mapping_status`. Raises as `exit_of`."""
    with _whole():
        since = row["trueSince"]
        return ColumnMappingStatus(
            table=table,
            mode=row["mode"],
            tracked=row["tracked"],
            has_dropped_or_renamed=row["hasDroppedOrRenamed"],
            true_since=None if since is None else _flag_change(since),
            min_reader_version=row["minReaderVersion"],
            min_writer_version=row["minWriterVersion"],
            reader_features=tuple(row["readerFeatures"] or ()),
            writer_features=tuple(row["writerFeatures"] or ()),
            dropped_or_renamed=tuple(map(_column_change, row["droppedOrRenamed"])),
            history_from=row["historyFrom"],
        )


def surveyed_of(row: Row) -> SurveyedTable:
    """One row of `column_mapping_survey`. Raises as `exit_of`."""
    with _whole():
        return SurveyedTable(
            table=row["table"],
            mode=row["mode"],
            tracked=row["tracked"],
            has_dropped_or_renamed=row["hasDroppedOrRenamed"],
            num_columns=row["numColumns"],
            num_other_names=row["numOtherNames"],
            num_files=row["numFiles"],
            size_in_bytes=row["sizeInBytes"],
            unmapped=row["unmapped"],
            readers=row["readers"],
            writers=row["writers"],
            blocked_by=tuple(
                Obstacle(why["exit"], why["reason"], why["name"], why["detail"])
                for why in row["blockedBy"]
            ),
            error=row["error"],
            message=row["message"],
        )


def _flag_change(row: Row) -> FlagChange:
    return FlagChange(row["version"], row["timestamp"], row["operation"], row["userName"])


def _column_change(row: Row) -> ColumnChange:
    return ColumnChange(
        version=row["version"],
        timestamp=row["timestamp"],
        operation=row["operation"],
        user_name=row["userName"],
        change=row["change"],
        id=row["id"],
        old_name=row["oldName"],
        new_name=row["newName"],
    )


def _files(count: Row | None) -> FileCount | None:
    return None if count is None else FileCount(count["numFiles"], count["sizeInBytes"])


@contextmanager
def _whole() -> Iterator[None]:
    try:
        yield
    except ValueError as lacking:  # by which a Row says that it has no such column
        raise MalformedMessageError(path="answer", problem=f"has no column {lacking}") from lacking
