# SPDX-License-Identifier: Apache-2.0
"""The actions of a Delta log that are about a table's metadata, as they were written.

Wrong values are kept: the audit reports them. Source: Protocol, "Actions" and "Checkpoints".
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from spark_ext.model.dropped import Asked
from spark_ext.model.metadata import FileCount, Protocol
from spark_ext.model.schema import Path, Schema, walk

Action = Mapping[str, Any]

# The `problem` of a data file, or of a deletion vector, that does not exist.
MISSING: Final = "missing"

# Kinds of data files.
LIVE: Final = "live"
REMOVED: Final = "removed"
CHANGE_DATA: Final = "changeData"
UNTRACKED: Final = "untracked"
VECTORS: Final = "vectors"


@dataclass(frozen=True)
class LoggedMetadata:
    """A `metaData` action. Its schema and its id are None if they are not valid."""

    schema: Schema | None
    configuration: Mapping[str, Any] = field(default_factory=dict)
    partition_columns: tuple[str, ...] = ()
    id: str | None = None


@dataclass(frozen=True)
class Commit:
    """A commit that has a `metaData` or a `protocol` action.

    `time` is in milliseconds since the epoch, as DESCRIBE HISTORY shows it. The writer may omit the
    `operation` and the `user`, which is `userName` or else `userId`.
    """

    version: int
    time: int | None = None
    operation: str | None = None
    user: str | None = None
    protocol: Protocol | None = None
    metadata: LoggedMetadata | None = None

    @classmethod
    def of_message(cls, version: int, time: int | None, actions: Iterable[Action]) -> Commit:
        """Returns a commit by its actions and the time of the last modification of its file."""
        found = _by_kind(actions)
        info = found.get("commitInfo", {})
        # Protocol, "In-Commit Timestamps": this is the time of the commit, if there is one.
        own_time = info.get("inCommitTimestamp")
        return cls(
            version=version,
            time=time if own_time is None else own_time,
            operation=info.get("operation"),
            user=info.get("userName") or info.get("userId"),
            protocol=protocol(found.get("protocol")),
            metadata=metadata(found.get("metaData")),
        )


@dataclass(frozen=True)
class Summary:
    """A checkpoint, or a log compaction file, with the metadata at its (last) version.

    `file` is the name in `_delta_log`, of the first part of a multi-part checkpoint.
    `first_version` is that of a log compaction file; None for a checkpoint.
    """

    file: str
    version: int
    first_version: int | None = None
    protocol: Protocol | None = None
    metadata: LoggedMetadata | None = None

    @classmethod
    def of_message(
        cls, file: str, version: int, first_version: int | None, actions: Iterable[Action]
    ) -> Summary:
        """Returns a checkpoint or a log compaction file by its actions."""
        found = _by_kind(actions)
        return cls(
            file=file,
            version=version,
            first_version=first_version,
            protocol=protocol(found.get("protocol")),
            metadata=metadata(found.get("metaData")),
        )


@dataclass(frozen=True)
class ParquetColumn:
    """A column in a data file's own schema, at any level.

    The physical path has `element`, `key` and `value` for any names of groups in the file.
    """

    path: Path
    field_id: int | None = None


@dataclass(frozen=True)
class FileGroup:
    """Files outside of the log that agree in all fields after `size_in_bytes`, except `vector`.

    Args:
        example: The path of one of them, as the log has it; below the table's folder if no action
            names it.
        num_files: The number of files. A folder without files counts as one if its name contains
            the name of a column.
        kind: `LIVE`, `REMOVED` (the log names the file and no longer needs it), `CHANGE_DATA`,
            `UNTRACKED`, or `VECTORS` for deletion vectors that are not live.
        source: The table that contains a file from outside of this table's folder, or the folder if
            no log can be seen above. None for other files, and in an audit.
        is_hidden: Whether VACUUM ignores the files.
        is_older: Whether the files are not live, and were written and removed up to the moment
            since which live files are clean. False in an audit.
        added_under: The version of the newest metadata at the last commit that added the files, as
            their rows then count as new; None if that commit was cleaned up, and in a search for
            dropped columns.
        partition_columns: The keys of `partitionValues` of live files.
        folders: The names before `=` in the folders of the files.
        statistics: The paths in `minValues`, `maxValues` and `nullCount` of live files.
        columns: The columns in the footers; None if the footers were not read, or cannot be.
            Deletion vectors have no columns.
        problem: Why a footer cannot be read; `MISSING` for a file that does not exist.
        vector: The file of the example's deletion vector if that cannot be read: its path below the
            table's folder, or its URI. `vector_problem` says why.
    """

    example: str
    num_files: int
    size_in_bytes: int
    kind: str = LIVE
    source: str | None = None
    is_hidden: bool = False
    is_older: bool = False
    added_under: int | None = None
    partition_columns: tuple[str, ...] = ()
    folders: tuple[str, ...] = ()
    statistics: tuple[Path, ...] = ()
    columns: tuple[ParquetColumn, ...] | None = None
    problem: str | None = None
    vector: str | None = None
    vector_problem: str | None = None


@dataclass(frozen=True)
class TableLog:
    """A table's log.

    Args:
        name: The table, as the user wrote it.
        commits: The commits that change metadata or protocol, by version, without those that log
            cleanup deleted.
        summaries: Every checkpoint and log compaction file.
        first_commit: The version of the oldest commit, including commits without metadata.
        last_checkpoint_target: The version that `_last_checkpoint` names; -1 if that file names
            none, None without that file.
        truncated_commits: The names of commits whose last line is incomplete. That line is omitted.
        files: The live data files, or all files of the folder; None if they were not requested.
    """

    name: str
    last_version: int
    commits: tuple[Commit, ...] = ()
    summaries: tuple[Summary, ...] = ()
    first_commit: int | None = None
    last_checkpoint_target: int | None = None
    truncated_commits: tuple[str, ...] = ()
    files: tuple[FileGroup, ...] | None = None


def metadata(action: Action | None) -> LoggedMetadata | None:
    """Returns the metadata of a `metaData` action."""
    if action is None:
        return None
    table_id = action.get("id")
    return LoggedMetadata(
        schema=_schema(action.get("schemaString")),
        configuration=action.get("configuration") or {},
        partition_columns=tuple(action.get("partitionColumns") or ()),
        id=table_id if isinstance(table_id, str) else None,
    )


def protocol(action: Action | None) -> Protocol | None:
    """Returns the protocol of a `protocol` action."""
    if action is None:
        return None
    return Protocol(
        min_reader_version=action.get("minReaderVersion") or 1,
        min_writer_version=action.get("minWriterVersion") or 1,
        reader_features=_features(action.get("readerFeatures")),
        writer_features=_features(action.get("writerFeatures")),
    )


def _by_kind(actions: Iterable[Action]) -> dict[str, Action]:
    return {kind: body for action in actions for kind, body in action.items() if body is not None}


def _features(names: Iterable[str] | None) -> frozenset[str] | None:
    return None if names is None else frozenset(names)


def _schema(text: Any) -> Schema | None:
    try:
        schema: Schema = json.loads(text)
        if schema["type"] != "struct":
            return None
        for _, column in walk(schema):
            if not isinstance(column["name"], str):
                return None
    except (TypeError, ValueError, KeyError, AttributeError):
        return None
    return schema


@dataclass(frozen=True)
class Moment:
    """A version and its time, in milliseconds since the epoch. Version -1 is before the first."""

    version: int
    time: int


@dataclass(frozen=True)
class TableFolder:
    """A table with the files in its folder. Files of other tables below it are omitted.

    Args:
        name: The table's name for a SQL statement.
        now: The time of the reading, in milliseconds since the epoch, as are all times. The
            retentions are in milliseconds.
        asked: What the caller asks for; None for every dropped column.
        moment: Since when all live files are clean, if those of the newest version are.
        other_tables: The folders of other tables below the folder.
        log_files: The files of the log that contain actions.
        older_log_files: Those that may contain actions of the moment's version or an earlier one.
        unknown_log_files: The paths of other files in `_delta_log`.
        tombstones: The number of files that checkpoints name as removed.
        older_tombstones: Those that were removed up to the moment, in newer checkpoints.
        cleanable_from: The time from which the retention of log cleanup counts for
            `older_log_files`.
    """

    name: str
    log: TableLog
    location: str
    asked: Asked | None
    now: int
    deleted_file_retention: int
    log_retention: int
    cleans_up_log: bool
    moment: Moment
    other_tables: tuple[str, ...]
    log_files: FileCount
    older_log_files: FileCount
    unknown_log_files: tuple[str, ...]
    tombstones: int
    older_tombstones: int
    cleanable_from: int

    @property
    def files(self) -> tuple[FileGroup, ...]:
        """Returns the files outside of the log."""
        return self.log.files or ()
