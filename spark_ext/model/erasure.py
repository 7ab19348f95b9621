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

# The source of a name that no commit contains.
IN_SCHEMA: Final = "SCHEMA"


@dataclass(frozen=True)
class FilesRead:
    """The files of one kind that were read.

    Args:
        kind: Data files are `live`, `removed`, `changeData` or `untracked`; files of the log are
            `commit`, `checkpoint`, `checksum` or `other`.
        num_files: The number of files.
        size_in_bytes: The size of all files.
    """

    kind: str
    num_files: int
    size_in_bytes: int


@dataclass(frozen=True)
class LiveColumn:
    """A column of the newest version.

    Args:
        path: The path, quoted for SQL.
        former_paths: The earlier paths, oldest first.
        physical_path: The path in data files, quoted for SQL.
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
        version: The version of the commit, or the newest version of the file that has the name.
        timestamp: The time of the commit in the time zone of this process; None for a file.
        source: `DROP COLUMNS` or `RENAME COLUMN`, if a commit of that operation has the name;
            `SCHEMA`, if only an older file of the log has a schema with the name. Then the column
            was dropped, or it was renamed and has another physical name now.
    """

    path: str
    version: int | None
    timestamp: datetime | None
    source: str


@dataclass(frozen=True)
class ColumnErasure:
    """Whether data of a column exists in a table, and how that is known.

    Args:
        verdict: `LIVE`, if the newest schema has the column; `STILL_PRESENT`, if some place has its
            data; `UNKNOWN`, if something unreadable or ambiguous may have it; `ERASED`, if the
            table had the column, and no data remains; `NEVER_HAD`, if the log knows of no such
            column since `oldest_version`.
        column: The requested name or shell pattern; None for every dropped column.
        table_id: The id in the table's metadata.
        location: The path of the table.
        sources: Other tables in whose folders live files of the table are, such as the source of a
            shallow clone, or the folder of the files if no log is visible there.
        version: The newest version.
        timestamp: The time when the files were read, in the time zone of this process.
        oldest_version: The oldest version whose schema the log has. From 0, the history is whole.
        oldest_timestamp: The time of that version; None if it is not known.
        live_columns: Columns of the newest version that have, or had, the name.
        columns: Dropped columns that had the name; columns of files whose name no schema contains,
            because they may have had it; and a row without names if none of these exists, and some
            files cannot be read.
        names_in_log: Names that match, and that no schema of the known history contains.
        unnamed_columns: Physical paths of columns in files or statistics that may have had the
            name. No schema of the log contains these paths.
        unknown_files: Data files that cannot be read.
        unknown_log_files: Files in the log's folder that cannot be read.
        unknown_schemas: Versions whose schema cannot be read.
        forgotten_ids: Column ids that the table assigned, and that no schema of the log has: so
            many columns, elements, keys and values were dropped before `oldest_version`. None
            without column mapping.
        files_read: The files that were read, by kind.
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
