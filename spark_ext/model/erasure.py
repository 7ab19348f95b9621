# SPDX-License-Identifier: Apache-2.0
"""The row of `column_mapping_erasure`: whether data of a column exists, and how that is known."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from spark_ext.model.dropped import DroppedColumn
from spark_ext.model.metadata import FileCount

# The verdicts, worst first.
LIVE: Final = "LIVE"
STILL_PRESENT: Final = "STILL_PRESENT"
UNKNOWN: Final = "UNKNOWN"
ERASED: Final = "ERASED"
NEVER_HAD: Final = "NEVER_HAD"
VERDICTS: Final = (LIVE, STILL_PRESENT, UNKNOWN, ERASED, NEVER_HAD)

# The `source` of a name that only older files of the log contain.
IN_SCHEMA: Final = "SCHEMA"


@dataclass(frozen=True)
class FilesRead:
    """The existing files of one kind, including those that cannot be read.

    Args:
        kind: `live`, `removed`, `changeData` or `untracked` for data files; `commit`,
            `checkpoint`, `checksum` or `other` for files of the log.
        num_files: The number of files.
        size_in_bytes: The total size of the files, in bytes.
    """

    kind: str
    num_files: int
    size_in_bytes: int


@dataclass(frozen=True)
class LiveColumn:
    """A column of the table's newest version.

    Args:
        path: The path, quoted for SQL.
        former_paths: The earlier paths.
        physical_path: The path in data files if column mapping is on, quoted for SQL.
        id: The column id; None if the column has none.
    """

    path: str
    former_paths: tuple[str, ...]
    physical_path: str
    id: int | None


@dataclass(frozen=True)
class NameInLog:
    """A name of a column that no schema of the known history contains.

    Args:
        path: The path, quoted for SQL.
        version: The version of the commit. If the source is `SCHEMA`, the newest version of the
            files that contain the name; None if their names contain no version.
        timestamp: The time of the commit in the time zone of this process; None for a file.
        source: `DROP COLUMNS` or `RENAME COLUMN`, if a commit of that operation contains the name,
            or the name of a dropped struct above it.
            `SCHEMA`, if only an older file of the log has a schema with the name: the column was
            dropped, or was renamed and has another physical name now.
    """

    path: str
    version: int | None
    timestamp: datetime | None
    source: str


@dataclass(frozen=True)
class ColumnErasure:
    """Whether data of a column exists in a table, and how that is known.

    Args:
        verdict: `LIVE`, if the newest schema has the column; `STILL_PRESENT`, if a file has its
            data; `UNKNOWN`, if an unreadable file or schema may have the column, or if files or
            older schemas have a column that may be the requested one; `ERASED`, if the table had
            the column, and no data remains; `NEVER_HAD`, if no version since `oldest_version` has
            the column.
        column: The requested name or shell pattern; None for every dropped column.
        table_id: The id in the table's metadata.
        location: The path of the table.
        sources: Other tables in whose folders live files of the table are, such as the source of a
            shallow clone, or the folder of the files if no log is visible there.
        version: The newest version.
        timestamp: The time when the files were read, in the time zone of this process.
        oldest_version: The version since which the log has every schema. Some files of the log may
            have older schemas.
        oldest_timestamp: The time of that version; None if it is not known.
        live_columns: Columns of the newest version that have, or had, the name.
        columns: The dropped columns that had the name, and the columns in files that may have had
            it because it is not known which columns they are. If there are no such columns and
            some files cannot be read, one row without names.
        names_in_log: Names that match, and that no schema of the known history contains.
        unnamed_columns: Physical paths of columns in files or statistics that may have had the
            name. It is not known which columns had these paths when the files were written.
        unknown_files: The number and the size of the data files that cannot be read.
        unknown_log_files: The number of files in the log's folder that cannot be read, and of
            commits with texts that are older than every known schema.
        unknown_schemas: The number of versions that change metadata or protocol, and of other
            schemas in the log, whose schema cannot be read.
        forgotten_ids: The number of column ids that the table assigned and that no schema since
            `oldest_version` has. These columns, elements, keys and values were dropped before it.
            None without column mapping, or if the table's highest column id is unknown.
        files_read: The existing files by kind, including those that cannot be read.
    """

    verdict: str
    column: str | None
    table_id: str | None
    location: str
    sources: tuple[str, ...]
    version: int
    timestamp: datetime
    oldest_version: int
    oldest_timestamp: datetime | None
    live_columns: tuple[LiveColumn, ...]
    columns: tuple[DroppedColumn, ...]
    names_in_log: tuple[NameInLog, ...]
    unnamed_columns: tuple[str, ...]
    unknown_files: FileCount
    unknown_log_files: int
    unknown_schemas: int
    forgotten_ids: int | None
    files_read: tuple[FilesRead, ...]
