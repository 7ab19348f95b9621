# SPDX-License-Identifier: Apache-2.0
"""The JSON in which the JVM tells a table's log.

Shape:
    What the actions are, `spark_ext.log.actions` says; they stand here as in the log, and no others
    than `commitInfo`, `protocol` and `metaData`::

        {"name": "db.t", "log": {
            "lastVersion": 12, "firstCommit": 0, "hintedCheckpoint": 10,
            "commits": [{"version": 0, "time": 1767225600000, "actions": [{"metaData": {..}}]}],
            "summaries": [{"file": "..", "version": 10, "firstVersion": null, "actions": [..]}],
            "files": [{"example": "part-0..", "numFiles": 4, "sizeInBytes": 4096,
                       "addedUnder": 0, "partitionColumns": [], "folders": [],
                       "statistics": [["a"], ["b", "x"]],
                       "columns": [{"path": ["a"], "id": 1}], "problem": null}]}}

    `files` is null where nobody asked for them.
"""

from __future__ import annotations

from typing import Any

from spark_ext.log import actions
from spark_ext.log.actions import Commit, FileGroup, ParquetColumn, Summary, TableLog
from spark_ext.model.metadata import TableMetadata
from spark_ext.wire.messages import table_metadata
from spark_ext.wire.shapes import request_of, shaped, strings


def parse_log(text: str) -> TableLog:
    """The log of the table that a function is called with.

    Raises:
        MalformedMessageError: USAGE_TRACKING_MALFORMED_MESSAGE, where the text has another shape.
    """
    request = request_of(text, _NAMED_LOG)
    return _log(request["name"], request["log"])


def parse_table_and_log(text: str) -> tuple[TableMetadata, TableLog]:
    """The table that `column_mapping` is called with, and its log. Raises as `parse_log`."""
    request = request_of(text, _TABLE_AND_LOG)
    return table_metadata(request["table"]), _log("", request["log"])


def _log(name: str, value: Any) -> TableLog:
    log = shaped(value, "log", _LOG)
    files = log["files"]
    return TableLog(
        name=name,
        last_version=log["lastVersion"],
        commits=tuple(_commit(value) for value in log["commits"]),
        summaries=tuple(_summary(value) for value in log["summaries"]),
        first_commit=log["firstCommit"],
        hinted_checkpoint=log["hintedCheckpoint"],
        files=None if files is None else tuple(_file_group(value) for value in files),
    )


def _commit(value: Any) -> Commit:
    fields = shaped(value, "log.commits", _COMMIT)
    return actions.commit(fields["version"], fields["time"], fields["actions"])


def _summary(value: Any) -> Summary:
    fields = shaped(value, "log.summaries", _SUMMARY)
    return actions.summary(
        fields["file"], fields["version"], fields["firstVersion"], fields["actions"]
    )


def _file_group(value: Any) -> FileGroup:
    fields = shaped(value, "log.files", _FILE_GROUP)
    columns = fields["columns"]
    return FileGroup(
        example=fields["example"],
        num_files=fields["numFiles"],
        size_in_bytes=fields["sizeInBytes"],
        added_under=fields["addedUnder"],
        partition_columns=strings(fields["partitionColumns"], "log.files.partitionColumns"),
        folders=strings(fields["folders"], "log.files.folders"),
        statistics=tuple(strings(path, "log.files.statistics") for path in fields["statistics"]),
        columns=None if columns is None else tuple(_parquet_column(value) for value in columns),
        problem=fields["problem"],
    )


def _parquet_column(value: Any) -> ParquetColumn:
    fields = shaped(value, "log.files.columns", _PARQUET_COLUMN)
    return ParquetColumn(strings(fields["path"], "log.files.columns.path"), fields["id"])


_OPTIONAL_INT = (int, type(None))
_NAMED_LOG = {"name": (str,), "log": (dict,)}
_TABLE_AND_LOG = {"table": (dict,), "log": (dict,)}
_LOG = {
    "lastVersion": (int,),
    "firstCommit": _OPTIONAL_INT,
    "hintedCheckpoint": _OPTIONAL_INT,
    "commits": (list,),
    "summaries": (list,),
    "files": (list, type(None)),
}
_COMMIT = {"version": (int,), "time": _OPTIONAL_INT, "actions": (list,)}
_SUMMARY = {
    "file": (str,),
    "version": (int,),
    "firstVersion": _OPTIONAL_INT,
    "actions": (list,),
}
_FILE_GROUP = {
    "example": (str,),
    "numFiles": (int,),
    "sizeInBytes": (int,),
    "addedUnder": _OPTIONAL_INT,
    "partitionColumns": (list,),
    "folders": (list,),
    "statistics": (list,),
    "columns": (list, type(None)),
    "problem": (str, type(None)),
}
_PARQUET_COLUMN = {"path": (list,), "id": _OPTIONAL_INT}
